//! `ralph mcp`: lines, ids, order and limits.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ralph_tests::{Mcp, Project, below, ready};
use serde_json::{Value, json};

fn code(said: &Value) -> i64 {
    said["error"]["code"].as_i64().unwrap_or_default()
}

/// The next line, which answers with this error and no id.
#[track_caller]
fn refused(mcp: &mut Mcp, want: i64) -> Value {
    let said = mcp.line();
    assert_eq!((code(&said), &said["id"]), (want, &Value::Null), "{said}");
    said
}

#[test]
fn a_line_is_a_line_however_its_bytes_come() {
    let p = Project::build().ready();
    let mut mcp = Mcp::raw(&p, &[], &[]);
    mcp.send("\u{feff}\n\n  \r\n");
    for byte in b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\r\n" {
        mcp.send([*byte]);
    }
    assert_eq!(mcp.line()["id"], "a");
    // Two in one piece, with what some take for the end of a line.
    mcp.send("{\"jsonrpc\":\"2.0\",\"id\":\"b\u{2028}\",\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"ping\"}\n");
    let mut ids = [mcp.line()["id"].to_string(), mcp.line()["id"].to_string()];
    ids.sort();
    assert_eq!(ids, ["\"b\u{2028}\"", "\"c\""]);
    // The last one lacks its end.
    mcp.send("{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"ping\"}");
    let ended = mcp.close();
    assert_eq!((ended.code, &ended.rest[0]["id"]), (Some(0), &json!("d")));
}

#[test]
fn what_is_no_request_has_its_error_and_the_next_line_is_served() {
    let p = Project::build().ready();
    let mut mcp = Mcp::of(&p);
    for (line, want) in [
        ("{", -32700),
        ("hello", -32700),
        ("\"x\"", -32600),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
    ] {
        mcp.send(format!("{line}\n"));
        refused(&mut mcp, want);
    }
    mcp.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n");
    refused(&mut mcp, -32700);
    for (line, want) in [
        (r#"{"id":"a","method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"a"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[1]}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":5}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"a","method":"resources/list"}"#,
            -32601,
        ),
    ] {
        mcp.send(format!("{line}\n"));
        let said = mcp.line();
        assert_eq!(
            (code(&said), &said["id"]),
            (want, &json!("a")),
            "{line}: {said}"
        );
    }
    // Nothing was asked that these could answer, and nobody waits for what comes of these.
    mcp.send("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":9,\"error\":{\"code\":1,\"message\":\"\"}}\n");
    mcp.notify("notifications/nothing", json!({}));
    mcp.notify("notifications/cancelled", json!([1]));
    mcp.notify("tools/call", json!({"name": "run"}));
    assert_eq!(mcp.call("ping", json!({}))["result"], json!({}));
    assert!(!p.exists(".ralph/journal.jsonl"));
    let ended = mcp.close();
    assert_eq!((ended.code, ended.rest.len()), (Some(0), 0));
}

#[test]
fn an_id_comes_back_as_it_was_written() {
    let p = Project::build().ready();
    let mut command = p.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let ids = [
        "0",
        "-1",
        "1.50",
        "1e3",
        "9223372036854775808",
        "123456789012345678901234567890",
        "\"a\\u00e9\"",
        "\"\"",
        "\"\\ud800\"",
        "7",
        "7",
    ];
    let mut stdin = child.stdin.take().unwrap();
    for id in ids {
        writeln!(stdin, r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).unwrap();
    }
    drop(stdin);
    let out = child.wait_with_output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let mut said: Vec<&str> = text.lines().collect();
    let mut want = ids.map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    said.sort_unstable();
    want.sort_unstable();
    assert_eq!(said, want);
}

#[test]
fn initialize_comes_first_and_once() {
    let p = Project::build().ready();
    let mut mcp = Mcp::raw(&p, &[], &[]);
    mcp.notify("notifications/initialized", json!({}));
    let early = mcp.call("tools/list", json!({}));
    assert_eq!(code(&early), -32600, "{early}");
    assert!(
        early["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`initialize` comes first")
    );
    let odd = mcp.call("initialize", json!({"protocolVersion": "2025-06-18"}));
    assert_eq!(code(&odd), -32602, "{odd}");
    // A version that nobody knows isn't agreed to, and the connection goes on.
    let who = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": who});
    let said = mcp.call("initialize", params.clone());
    assert_ne!(said["result"]["protocolVersion"], "1999-01-01");
    assert!(said["result"]["protocolVersion"].is_string(), "{said}");
    assert_eq!(code(&mcp.call("initialize", params)), -32600);
    assert!(mcp.result("tools/list", json!({}))["tools"].is_array());
}

/// Since 2026 each request may tell what `initialize` told, and there is none.
#[test]
fn a_client_of_the_newer_protocol_needs_no_initialize() {
    let p = Project::build().ready();
    let mut mcp = Mcp::raw(&p, &[], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = mcp.result("server/discover", json!({"_meta": meta}));
    assert!(
        found["supportedVersions"]
            .to_string()
            .contains("2026-07-28"),
        "{found}"
    );
    let tools = mcp.result("tools/list", json!({"_meta": meta}))["tools"].clone();
    assert!(tools.as_array().unwrap().len() >= 10);
    let params = json!({"name": "status", "arguments": {}, "_meta": meta});
    let status = mcp.result("tools/call", params);
    assert_eq!(status["structuredContent"]["total"], 2, "{status}");
    let odd = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    assert_eq!(code(&mcp.call("tools/list", odd)), -32602);
    assert_eq!(mcp.close().code, Some(0));
}

#[test]
fn a_line_that_is_too_long_or_too_deep_ends_the_connection_with_an_error() {
    let p = Project::build().ready();
    let ping = |fill: usize| {
        let frame = json!({"jsonrpc": "2.0", "id": "x", "method": "ping", "params": {"a": ""}});
        let frame = frame.to_string();
        let fill = "x".repeat(fill - frame.len());
        frame.replace(r#""a":"""#, &format!(r#""a":"{fill}""#)) + "\n"
    };
    let mut mcp = Mcp::of(&p);
    mcp.send(ping(1 << 20));
    assert_eq!(mcp.line()["id"], "x");
    mcp.send(ping((1 << 20) + 1));
    refused(&mut mcp, -32600);
    assert_eq!(mcp.ended().code, Some(0));
    let mut mcp = Mcp::of(&p);
    let deep = format!("{}{}\n", "[".repeat(65), "]".repeat(65));
    mcp.send(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{deep}"#
    ));
    let said = refused(&mut mcp, -32600);
    assert!(said.to_string().contains("64 levels"), "{said}");
    assert_eq!(mcp.ended().code, Some(0));
}

#[test]
fn no_more_calls_are_at_work_than_may_be_and_they_can_be_given_up() {
    let p = ready(Project::build().gate("g", "tell here x\nhang\n"));
    let mut mcp = Mcp::of(&p);
    // One by one: what is asked behind them may begin sooner, and take the place of one of them.
    let checks: Vec<u64> = (0..16)
        .map(|_| {
            let check = mcp.ask_tool("check", json!({}));
            p.hear("here");
            check
        })
        .collect();
    let refused = mcp.tool("status", json!({}));
    assert_eq!(code(&refused), -32000, "{refused}");
    assert_eq!(mcp.call("ping", json!({}))["result"], json!({}));
    for check in &checks {
        mcp.notify("notifications/cancelled", json!({"requestId": check}));
    }
    // There is room again once they are over.
    while mcp.tool("status", json!({}))["result"].is_null() {}
    let ended = mcp.close();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended
            .rest
            .iter()
            .all(|said| !checks.iter().any(|c| said["id"] == *c))
    );
    assert!(below(p.all()).is_empty());
}

/// What it says is bounded, and so is what it keeps: it reads no further.
#[test]
fn a_client_that_asks_without_reading_is_not_read_any_further() {
    let p = Project::build().ready();
    let mut command = p.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    writeln!(stdin, "{hello}").unwrap();
    // Some hundred MiB of answers, had it carried them all out.
    const MANY: u32 = 100_000;
    let sent = Arc::new(AtomicU32::new(0));
    let counted = sent.clone();
    let writing = std::thread::spawn(move || {
        let frame = format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        );
        for _ in 0..MANY {
            if stdin.write_all(frame.as_bytes()).is_err() {
                return;
            }
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    // Nothing tells when the writer is stuck but that it writes no more.
    let mut before = u32::MAX;
    let stuck = loop {
        let now = sent.load(Ordering::Relaxed);
        if now == before && now > 0 || now == MANY {
            break now;
        }
        before = now;
        std::thread::sleep(std::time::Duration::from_secs(1));
    };
    assert!(stuck < MANY);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 300 * 1024, "{peak}");
    // Its end is the end of the process, stuck or not.
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    writing.join().unwrap();
}
