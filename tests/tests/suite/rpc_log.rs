//! The log of each transport: who came, what was asked, what came of it, who left; never a token,
//! never what was in a request or an answer.

use ralph_tests::{Bridge, Client, Listening, Mcp, Peer, Project, go, ready, waiting};
use rustix::process::{Signal, getuid};
use serde_json::json;

/// Stands in bodies of requests and answers.
const BODY: &str = "marker-of-a-body";
const TOKEN: &str = "0123456789-marker-of-a-token";

/// The rows of one transport, in their order.
fn rows<'a>(log: &'a str, transport: &str) -> Vec<&'a str> {
    let named = format!("transport=\"{transport}\"");
    log.lines().filter(|row| row.contains(&named)).collect()
}

/// The only row that has all of this.
#[track_caller]
fn row<'a>(rows: &[&'a str], parts: &[&str]) -> &'a str {
    let found: Vec<_> = rows
        .iter()
        .filter(|row| parts.iter().all(|part| row.contains(part)))
        .collect();
    assert_eq!(found.len(), 1, "{parts:?} in {rows:#?}");
    found[0]
}

#[track_caller]
fn holds_no_secret(log: &str) {
    for secret in [BODY, TOKEN] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

/// The most that can be asked for.
const ALL: (&str, &str) = ("RALPH_LOG", "trace");

#[test]
fn a_run_s_socket_tells_process_requests_and_end() {
    let p = ready(waiting());
    let mut command = p.command(&["run", "-n", "1"]);
    command.env(ALL.0, ALL.1);
    let run = p.start_command(command);
    p.hear("here");
    let mut client = Client::of(&p);
    let said = client.call("inject_prompt", json!({"prompt": BODY}));
    assert!(said["result"].is_object(), "{said}");
    client.call("skip_task", json!({"id": BODY}));
    client.send("nonsense\n");
    client.line().unwrap();
    drop(client);
    go(&p);
    let log = run.wait().stderr;
    let rows = rows(&log, "socket");
    let me = format!("pid={}", std::process::id());
    let uid = format!("uid={}", getuid().as_raw());
    row(&rows, &["connected", &me, &uid]);
    let asked = row(&rows, &["method=\"inject_prompt\"", "outcome=ok", "ms="]);
    assert!(asked.contains("id=\"1\""), "{asked}");
    row(&rows, &["method=\"skip_task\"", "outcome=-32602"]);
    row(&rows, &["no request", "outcome=-32700"]);
    row(&rows, &["left", "requests=3"]);
    holds_no_secret(&log);
}

#[test]
fn a_bridge_tells_its_parent_requests_and_end() {
    let p = Project::build()
        .tasks("PRD.md", format!("## Tasks\n- [ ] {BODY}\n"))
        .ready();
    let mut bridge = Bridge::with(&p, &[ALL]);
    assert!(
        bridge
            .result("status", json!({}))
            .to_string()
            .contains(BODY)
    );
    bridge.call("step", json!({"agent": BODY}));
    let log = bridge.close().stderr;
    let rows = rows(&log, "bridge");
    row(
        &rows,
        &["connected", &format!("pid={}", std::process::id())],
    );
    row(&rows, &["method=\"status\"", "id=\"1\"", "outcome=ok"]);
    row(&rows, &["method=\"step\"", "id=\"2\"", "outcome=-32602"]);
    row(&rows, &["left", "requests=2"]);
    holds_no_secret(&log);
}

#[test]
fn both_ports_tell_address_names_requests_and_end() {
    let p = Project::build()
        .tasks("PRD.md", format!("## Tasks\n- [ ] {BODY}\n"))
        .ready();
    let server = Listening::of(&p, &[], |c| {
        c.env(ALL.0, ALL.1).env("RALPH_AUTH_TOKEN", TOKEN);
    });
    let wrong = format!("{TOKEN}-{BODY}");
    let said = Peer::to(server.tools).call("hello", json!({"token": wrong}));
    assert_eq!(said["error"]["code"], -32001);
    let mut writers = Vec::new();
    for addr in [server.tools, server.commands] {
        let mut peer = Peer::to(addr);
        // Its own words can't forge a row, or colour one.
        let name = "odd\n2026 connected \u{1b}[31m\u{202e}".to_owned() + &"x".repeat(5000);
        let hello =
            json!({"name": name, "version": "1.2", "agent": "claude", "pid": 4711, "token": TOKEN});
        assert_eq!(peer.call("hello", hello)["result"]["success"], true);
        let (method, params) = if addr == server.tools {
            ("tools/call", json!({"name": "status", "arguments": {}}))
        } else {
            ("eval", json!({"code": format!("task list {BODY}")}))
        };
        peer.call_as(
            json!(format!("i\u{1b}[2J{}", "d".repeat(5000))),
            method,
            params,
        );
        writers.push((peer.writer().local_addr().unwrap(), method));
    }
    server.live.signal(Signal::TERM);
    let log = server.live.wait().expect(0).stderr;
    holds_no_secret(&log);
    row(
        &log.lines().collect::<Vec<_>>(),
        &["WARN", "a client is refused"],
    );
    for (transport, (address, method)) in ["tcp-tools", "tcp-commands"].iter().zip(writers) {
        let rows = rows(&log, transport);
        row(&rows, &["connected", &format!("address={address}")]);
        let named = row(&rows, &["named itself"]);
        for part in [
            "name=\"odd 2026 connected",
            "version=\"1.2\"",
            "agent=\"claude\"",
            "pid=4711",
        ] {
            assert!(named.contains(part), "{named}");
        }
        let asked = row(
            &rows,
            &[&format!("method=\"{method}\""), "outcome=ok", "ms="],
        );
        for row in [named, asked] {
            assert!(
                row.len() < 400 && !row.contains(['\u{1b}', '\u{202e}']),
                "{row}"
            );
        }
        row(&rows, &["left", "requests=2"]);
    }
}

#[test]
fn mcp_tells_the_client_s_name_requests_and_end() {
    let p = Project::build()
        .tasks("PRD.md", format!("## Tasks\n- [ ] {BODY}\n"))
        .ready();
    let mut mcp = Mcp::with(&p, &[], &[ALL]);
    assert!(mcp.tool("tasks", json!({})).to_string().contains(BODY));
    mcp.tool("status", json!({"workspace": BODY}));
    mcp.tool(BODY, json!({BODY: BODY}));
    mcp.send(format!("{BODY}\n"));
    mcp.line();
    let log = mcp.close().stderr;
    let rows = rows(&log, "mcp");
    row(
        &rows,
        &["connected", &format!("pid={}", std::process::id())],
    );
    row(&rows, &["named itself", "name=\"test\"", "version=\"1\""]);
    row(&rows, &["method=\"initialize\"", "id=\"1\"", "outcome=ok"]);
    row(&rows, &["method=\"tools/call\"", "id=\"2\"", "outcome=ok"]);
    row(
        &rows,
        &["method=\"tools/call\"", "id=\"3\"", "outcome=-32002"],
    );
    row(
        &rows,
        &["method=\"tools/call\"", "id=\"4\"", "outcome=-32601"],
    );
    row(&rows, &["no request", "outcome=-32700"]);
    row(&rows, &["left", "requests=5"]);
    holds_no_secret(&log);
}

/// `-v`: who comes and goes; `-vv`: requests too; without either, what goes wrong.
#[test]
fn how_much_is_told_follows_the_usual_switches() {
    let p = Project::build().ready();
    for (args, rows_at_least, requests) in [
        (&[][..], 0, false),
        (&["-v"], 2, false),
        (&["-vv"], 4, true),
    ] {
        let mut mcp = Mcp::with(&p, args, &[]);
        mcp.tool("status", json!({}));
        let log = mcp.close().stderr;
        let rows = rows(&log, "mcp");
        assert!(rows.len() >= rows_at_least, "{args:?}: {log}");
        assert_eq!(rows.is_empty(), rows_at_least == 0, "{args:?}: {log}");
        assert_eq!(log.contains("tools/call"), requests, "{args:?}: {log}");
    }
    let server = Listening::of(&p, &[], |c| {
        c.env("RALPH_AUTH_TOKEN", TOKEN);
    });
    Peer::to(server.tools).call("hello", json!({}));
    server.live.signal(Signal::TERM);
    server.live.wait().expect(0).says("a client is refused");
}

/// Editors and agents may hold the pipe and never read it.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let p = Project::build().ready();
    let mut command = p.command(&["mcp", "-vvv"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Many times what a pipe holds.
    for id in 0..5000 {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        writeln!(stdin, "{frame}").unwrap();
        lines.next().unwrap().unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
