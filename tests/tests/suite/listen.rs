//! `ralph listen`: the TCP protocol, as other programs speak it.

use ralph_tests::{Listening, Peer, Project, below, go, ready, waiting};
use rustix::process::Signal;
use serde_json::{Value, json};

fn listening(p: &Project) -> Listening {
    Listening::of(p, &[], |_| {})
}

fn code(said: &Value) -> i64 {
    said["error"]["code"].as_i64().unwrap_or_default()
}

#[test]
fn hello_comes_first_and_ping_before_it() {
    let p = Project::build().ready();
    let server = listening(&p);
    for addr in [server.tools, server.commands] {
        let mut peer = Peer::to(addr);
        assert_eq!(
            peer.call("ping", json!({}))["result"],
            json!({"status": "ok"})
        );
        let early = peer.call("tools/list", json!({}));
        assert_eq!(code(&early), -32600);
        assert!(early["error"]["data"]["hint"].is_string(), "{early}");
        let hello = peer.call(
            "hello",
            json!({"name": "supex-driver", "version": "0.2.0", "agent": "claude-code", "pid": 1}),
        );
        assert_eq!(hello["result"]["message"], "Client identified");
        assert_eq!(hello["result"]["server"]["name"], "ralph");
        assert_eq!(code(&peer.call("nope", json!({}))), -32601);
    }
}

#[test]
fn tools_are_listed_with_schemas_and_called() {
    let p = Project::build().gate("g", "exit 0\n").ready();
    let server = listening(&p);
    let mut peer = Peer::hello(server.tools);
    let tools = peer.call("tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(tool["description"].is_string());
    }
    assert_eq!(
        peer.call("resources/list", json!({}))["result"]["resources"],
        json!([])
    );
    let status = peer.tool("status", json!({}))["result"].clone();
    assert_eq!(status["success"], true);
    assert_eq!(status["total"], 2);
    let text = status["content"][0]["text"].as_str().unwrap();
    let again: Value = serde_json::from_str(text).unwrap();
    assert_eq!(again["next"], status["next"]);
    assert_eq!(
        peer.tool("tasks", json!({}))["result"]["tasks"][0]["id"],
        "T1"
    );
    assert_eq!(
        peer.tool("check", json!({}))["result"]["gates"][0]["name"],
        "g"
    );
    let step = peer.tool("step", json!({}))["result"].clone();
    assert_eq!(
        (&step["task_id"], &step["success"]),
        (&json!("T1"), &json!(true)),
        "{step}"
    );
    assert_eq!(
        peer.tool("log", json!({"newest": 1}))["result"]["iterations"][0]["task"],
        "T1"
    );
    assert!(peer.tool("plugins", json!({}))["result"]["plugins"].is_array());
    assert_eq!(p.commits().len(), 1);
}

#[test]
fn what_is_wrong_with_a_call_has_its_code() {
    let p = Project::build().ready();
    let server = listening(&p);
    let mut peer = Peer::hello(server.tools);
    assert_eq!(code(&peer.tool("nope", json!({}))), -32601);
    assert_eq!(code(&peer.tool("status", json!({"odd": 1}))), -32602);
    assert_eq!(code(&peer.tool("status", json!([]))), -32602);
    assert_eq!(
        code(&peer.tool("run", json!({"max_iterations": 0}))),
        -32602
    );
    assert_eq!(code(&peer.tool("run", json!({"agent": "nobody"}))), -32602);
    assert_eq!(code(&peer.call("tools/call", json!({}))), -32602);
    p.write("ralph.toml", "[nope]\n");
    let failed = peer.tool("status", json!({}));
    assert_eq!(code(&failed), -32000, "{failed}");
    assert_eq!(failed["error"]["data"]["exitCode"], 3);
}

#[test]
fn a_path_outside_of_the_roots_is_denied() {
    let p = Project::build().ready();
    std::fs::create_dir(p.all().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("/", p.root().join("link")).unwrap();
    let server = listening(&p);
    let mut peer = Peer::hello(server.tools);
    for bad in [
        "..",
        "/",
        "/etc",
        "../elsewhere",
        "link",
        "link/etc",
        "gone",
        "a/../../elsewhere",
    ] {
        let said = peer.tool("status", json!({"workspace": bad}));
        assert_eq!(code(&said), -32002, "{bad}: {said}");
        assert_eq!(said["error"]["data"]["path"], bad);
        assert_eq!(said["error"]["data"]["roots"], json!([p.root()]));
    }
    let whole = p.root();
    assert_eq!(
        peer.tool("status", json!({"workspace": whole}))["result"]["total"],
        2
    );
    let mut commands = Peer::hello(server.commands);
    let said = commands.call("eval", json!({"code": "-C / status"}));
    assert_eq!(said["result"]["success"], false, "{said}");
}

#[test]
fn a_call_that_is_sent_again_is_not_carried_out_again() {
    let p = ready(waiting());
    let server = listening(&p);
    let mut first = Peer::hello(server.tools);
    let frame = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "step", "arguments": {}}});
    first.send(format!("{frame}\n"));
    assert_eq!(p.hear("here"), "1");
    // It waited too long, and comes back.
    drop(first);
    let mut second = Peer::hello(server.tools);
    second.send(format!("{frame}\n"));
    go(&p);
    let answer = second.line().unwrap();
    assert_eq!(answer["result"]["task_id"], "T1", "{answer}");
    let third =
        Peer::hello(server.tools).call_as(json!("a"), "tools/call", frame["params"].clone());
    assert_eq!(third["result"], answer["result"]);
    assert_eq!(p.count("agent"), 1);
}

#[test]
fn the_token_is_asked_for_and_a_wrong_one_ends_the_connection() {
    let p = Project::build().ready();
    let secret = "0123456789abcdef-secret";
    let server = Listening::of(&p, &["-vv"], |c| {
        c.env("RALPH_AUTH_TOKEN", secret);
    });
    for params in [
        json!({"name": "x"}),
        json!({"name": "x", "token": "wrong"}),
        json!({"token": ""}),
    ] {
        let mut peer = Peer::to(server.tools);
        let said = peer.call("hello", params);
        assert_eq!(code(&said), -32001, "{said}");
        assert_eq!(peer.line(), None, "closed");
    }
    let mut peer = Peer::to(server.tools);
    let said = peer.call("hello", json!({"name": "x", "token": secret}));
    assert_eq!(said["result"]["success"], true);
    assert_eq!(peer.tool("status", json!({}))["result"]["total"], 2);
    server.live.signal(Signal::TERM);
    let ran = server.live.wait().expect(0);
    assert!(
        ran.stderr.contains("hello") && !ran.stderr.contains("secret"),
        "{}",
        ran.stderr
    );
}

#[test]
fn an_agent_that_is_started_there_comes_to_no_token() {
    let secret = "0123456789abcdef-secret";
    let p = Project::build()
        .agent("cat >/dev/null\nenv >\"$SIDE/env\"\ncat \"$SIDE/../operator/token\" >\"$SIDE/stolen\"\necho it is 0123456789abcdef-secret\n")
        .in_agent("env = [\"*\"]")
        .ready();
    std::fs::write(p.operator("token"), secret).unwrap();
    let file = p.operator("token").display().to_string();
    for args in [&["--token-file", &file][..], &[]] {
        let server = Listening::of(&p, args, |c| {
            c.env("RALPH_AUTH_TOKEN", secret).env("OTHER", "variable");
        });
        let mut peer = Peer::to(server.tools);
        peer.call("hello", json!({"name": "x", "token": secret}));
        let step = peer.tool("step", json!({}));
        assert!(step["result"].is_object(), "{step}");
        let env = p.noted("env");
        assert!(env.contains("OTHER=") && !env.contains(secret), "{env}");
        let receipt = p.receipts("T1", "runner").remove(0);
        if receipt["sandbox"]["layer"] == "landlock" && !args.is_empty() {
            assert_eq!(p.noted("stolen"), "");
        }
        let logs = p.root().join(".ralph/logs");
        for log in std::fs::read_dir(logs).unwrap() {
            let text = std::fs::read_to_string(log.unwrap().path()).unwrap();
            assert!(
                text.contains("[redacted") && !text.contains(secret),
                "{text}"
            );
        }
    }
}

#[test]
fn other_machines_are_let_in_only_on_purpose() {
    let p = Project::build().ready();
    let args = [
        "listen",
        "--host",
        "0.0.0.0",
        "--port",
        "0",
        "--repl-port",
        "0",
    ];
    p.run(&args).expect(3).says("--allow-remote");
    p.run(&[&args[..], &["--allow-remote"]].concat())
        .expect(3)
        .says("RALPH_AUTH_TOKEN");
    let mut command = p.command(&["listen"]);
    command.env("RALPH_AUTH_TOKEN", "short");
    p.start_command(command)
        .wait()
        .expect(3)
        .says("16 characters");
    p.run(&["listen", "--root", "gone"]).expect(3).says("gone");
}

/// A web page can have a browser post lines to a port of this machine.
#[test]
fn what_a_browser_posts_is_not_listened_to() {
    let p = Project::build().ready();
    let server = listening(&p);
    let mut peer = Peer::to(server.tools);
    peer.send(concat!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"run\"}}\n",
    ));
    assert_eq!(code(&peer.line().unwrap()), -32700);
    assert_eq!(peer.line(), None);
    assert!(!p.exists(".ralph/journal.jsonl"));
}

#[test]
fn commands_are_carried_out_and_their_output_is_the_answer() {
    let p = Project::build().ready();
    let server = listening(&p);
    let mut peer = Peer::hello(server.commands);
    let said = peer.call("eval", json!({"code": "task list --json"}));
    assert_eq!(said["result"]["success"], true, "{said}");
    let envelope: Value = serde_json::from_str(said["result"]["result"].as_str().unwrap()).unwrap();
    assert_eq!(envelope["result"]["tasks"][1]["id"], "T2");
    let said = peer.call("eval", json!({"code": "task add 'A third, with blanks'"}));
    assert_eq!(said["result"]["exit_code"], 0, "{said}");
    assert!(p.read("PRD.md").contains("- [ ] A third, with blanks"));
    for (line, error) in [
        ("task done T99", "T99"),
        ("nope", "unrecognized"),
        ("task add 'open", "quote"),
        ("run", "can't be given here"),
        ("trust --yes", "a person"),
        ("inject -", "standard input"),
        ("plugin build .", "at a terminal"),
    ] {
        let said = peer.call("eval", json!({"code": line}));
        assert_eq!(said["result"]["success"], false, "{line}: {said}");
        let why = said["result"]["error"].as_str().unwrap();
        assert!(why.contains(error), "{line}: {why}");
    }
    assert_eq!(code(&peer.call("eval", json!({}))), -32602);
}

#[test]
fn connections_are_served_side_by_side_and_a_silent_one_is_ended() {
    let p = ready(waiting());
    let server = Listening::of(&p, &[], |c| {
        c.env("RALPH_TIMEOUT", "1");
    });
    let mut works = Peer::hello(server.tools);
    let frame =
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "step"}});
    works.send(format!("{frame}\n"));
    assert_eq!(p.hear("here"), "1");
    // While a call of its is on, a client may be silent.
    let mut silent = Peer::hello(server.tools);
    assert_eq!(silent.line(), None, "closed after a second");
    let mut other = Peer::hello(server.tools);
    assert_eq!(other.tool("status", json!({}))["result"]["running"], true);
    assert_eq!(code(&other.tool("step", json!({}))), -32000);
    go(&p);
    assert_eq!(works.line().unwrap()["result"]["task_id"], "T1");
}

#[test]
fn a_signal_ends_runs_and_agents_with_it() {
    let p = ready(waiting());
    let server = listening(&p);
    let mut peer = Peer::hello(server.tools);
    assert!(peer.tool("run", json!({}))["result"]["runId"].is_string());
    assert_eq!(p.hear("here"), "1");
    server.live.signal(Signal::TERM);
    server.live.wait().expect(0);
    assert!(below(p.all()).is_empty());
    p.run(&["verify"]).expect(0);
}
