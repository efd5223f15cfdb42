//! The documents' tables: each method's result and each event with the fields and types they list.

use ralph_tests::{Bridge, Client, Listening, Peer, go, ready, waiting};
use serde_json::{Value, json};

/// `name:type`, separated by blanks: b(ool), n(umber), s(tring), a(rray), o(bject), t(imestamp), `?` for
/// one that may be null.
#[track_caller]
fn has(value: &Value, fields: &str) {
    for field in fields.split_whitespace() {
        let (name, kind) = field.split_once(':').unwrap();
        let found = value
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {value}"));
        let fits = match kind.trim_end_matches('?') {
            "b" => found.is_boolean(),
            "n" => found.is_number(),
            "s" => found.is_string(),
            "a" => found.is_array(),
            "o" => found.is_object(),
            "t" => timestamp(found),
            odd => panic!("{odd}"),
        };
        assert!(
            fits || kind.ends_with('?') && found.is_null(),
            "{name}: {found}"
        );
    }
}

/// RFC 3339, UTC, with a fraction.
fn timestamp(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let shape: String = whole
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c })
            .collect();
        shape == "0000-00-00T00:00:00" && fraction.ends_with('Z') && fraction.len() > 3
    })
}

const STEP: &str = "iteration:n agent:s task_id:s? exit_signal:b return_code:n log_path:s progress_made:b \
     no_progress_streak:n gates_ok:b? repo_clean:b judge_ok:b? review_ok:b? blocked:b attempt_id:s? \
     receipts_dir:s? context_dir:s? task_title:s?";
const STATUS: &str = "version:s cwd:s prd:s progress:s agents:a prompt:s done:n total:n next:o? running:b \
     paused:b activeRunId:s? last:o?";
const LAST: &str = "iteration_id:s task_id:s status:s exit_code:n started_at:t finished_at:t";
const FINISHED: &str = "runId:s iteration:n agent:s task_id:s? exitSignal:b returnCode:n repoClean:b gatesOk:b? \
     judgeOk:b? reviewOk:b? blocked:b attemptId:s? receiptsDir:s? contextDir:s? durationSeconds:n logPath:s";

#[test]
fn the_bridges_methods_and_events_have_their_documents_fields() {
    let p = ready(waiting().gate("tests", "exit 0\n"));
    let mut b = Bridge::of(&p);
    has(&b.result("ping", json!({})), "ok:b version:s cwd:s time:t");
    let status = b.result("status", json!({}));
    has(&status, STATUS);
    has(&status["next"], "task_id:s title:s kind:s");
    let step = b.ask("step", json!({"agent": "fake"}));
    p.hear("here");
    has(
        &b.event("iteration_started"),
        "ts:t runId:s iteration:n agent:s task_id:s? title:s?",
    );
    go(&p);
    has(&b.answer(step)["result"], STEP);
    has(&b.event("iteration_finished"), FINISHED);
    has(&b.result("status", json!({}))["last"], LAST);
    has(
        &b.result("run", json!({"agent": "fake", "maxIterations": 3})),
        "runId:s",
    );
    p.hear("here");
    has(
        &b.event("run_started"),
        "ts:t runId:s agent:s maxIterations:n startIteration:n",
    );
    for method in ["pause", "resume", "pause"] {
        has(&b.result(method, json!({})), "ok:b runId:s? paused:b");
    }
    has(&b.event("run_paused"), "ts:t runId:s");
    has(&b.event("run_resumed"), "ts:t runId:s");
    has(&b.result("stop", json!({})), "ok:b stopped:b");
    has(&b.result("stop", json!({})), "ok:b stopped:b");
    has(&b.event("run_stopped"), "ts:t runId:s reason:s");
    // An iteration that comes to nothing is told with the same fields.
    has(&b.event("iteration_finished"), FINISHED);
    let toml = p.read("ralph.toml");
    p.write(
        "ralph.toml",
        toml.replacen("argv = [\"", "argv = [\"/nowhere", 1),
    );
    p.trust();
    b.result("run", json!({}));
    has(&b.event("error"), "ts:t runId:s? message:s");
    let ended = b.close();
    has(&ended.rest.last().unwrap()["params"], "type:s ts:t");
}

#[test]
fn a_runs_methods_and_events_have_their_documents_fields() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    let mut result = |method: &str, params: Value| {
        let said = client.call(method, params);
        assert!(said["result"].is_object(), "{method}: {said}");
        said["result"].clone()
    };
    let status = result("get_status", json!({}));
    has(
        &status,
        "task_name:s task_dir:s iteration:n max_iterations:n current_story:s agent:s status:s interactive_mode:b \
         started_at:t updated_at:t recent_output:a mode_indicator:s",
    );
    assert_eq!(
        (&status["task_name"], &status["status"]),
        (&json!("repo"), &json!("running"))
    );
    assert_eq!(
        (&status["iteration"], &status["current_story"]),
        (&json!(1), &json!("T1"))
    );
    for (method, params, want) in [
        (
            "subscribe",
            json!({"events": ["state_change", "output"]}),
            json!({"subscribed": ["output", "state_change"]}),
        ),
        (
            "subscribe",
            json!({"events": ["output"]}),
            json!({"subscribed": ["output", "state_change"]}),
        ),
        (
            "unsubscribe",
            json!({"events": ["output"]}),
            json!({"subscribed": ["state_change"]}),
        ),
        (
            "inject_prompt",
            json!({"prompt": " first \n"}),
            json!({"status": "prompt_injected", "prompt": "first"}),
        ),
        (
            "write_pty",
            json!({"data": "ls -la\n"}),
            json!({"status": "ignored", "reason": "not in interactive mode"}),
        ),
        (
            "set_interactive_mode",
            json!({"enabled": true}),
            json!({"interactive_mode": true}),
        ),
        (
            "set_interactive_mode",
            json!({"enabled": false}),
            json!({"interactive_mode": false}),
        ),
    ] {
        assert_eq!(result(method, params), want, "{method}");
    }
    has(
        &result("checkpoint", json!({"pause": false})),
        "status:s sequence:n",
    );
    assert_eq!(result("stop", json!({}))["status"], "stop_requested");
    for bad in [
        json!({}),
        json!({"events": "output"}),
        json!({"events": ["output", "x"]}),
        json!({"events": [1]}),
    ] {
        for method in ["subscribe", "unsubscribe"] {
            assert_eq!(
                client.call(method, bad.clone())["error"]["code"],
                -32602,
                "{method} {bad}"
            );
        }
    }
    for (method, bad) in [
        ("inject_prompt", json!({"prompt": "\n"})),
        ("set_interactive_mode", json!({"enabled": "yes"})),
        ("set_interactive_mode", json!({})),
        ("write_pty", json!({"data": 1})),
        ("write_pty", json!({"data": "x".repeat(1 << 18)})),
    ] {
        assert_eq!(
            client.call(method, bad)["error"]["code"],
            -32602,
            "{method}"
        );
    }
    let left = client.call("subscribe", json!({"events": []}));
    assert_eq!(
        left["result"],
        json!({"subscribed": ["state_change"]}),
        "all or nothing"
    );
    go(&p);
    loop {
        let said = client.line().unwrap();
        assert_eq!(said["method"], "event");
        has(&said["params"], "type:s timestamp:t data:o");
        assert!(
            said.get("id").is_none() && said["params"]["type"] == "state_change",
            "{said}"
        );
        if said["params"]["data"].get("status").is_some() {
            break;
        }
    }
    run.wait().expect(1);
}

#[test]
fn both_ports_methods_have_their_documents_fields() {
    let p = ready(waiting());
    let server = Listening::of(&p, &[], |_| {});
    for addr in [server.tools, server.commands] {
        let mut peer = Peer::to(addr);
        let early = peer.call("tools/call", json!({"name": "status"}));
        assert_eq!(early["error"]["code"], -32600);
        assert!(early["error"]["data"]["hint"].is_string(), "{early}");
        assert_eq!(
            peer.call("ping", json!({}))["result"],
            json!({"status": "ok"})
        );
        let hello = peer.call("hello", json!({"name": "supex-driver", "version": "0.2.0", "agent": "claude-code", "pid": 12345}));
        has(&hello["result"], "success:b message:s server:o");
        has(&hello["result"]["server"], "name:s version:s");
        assert_eq!(hello["result"]["message"], "Client identified");
        assert_eq!(peer.call("nope", json!({}))["error"]["code"], -32601);
    }
    let mut peer = Peer::hello(server.tools);
    let listed = peer.call("tools/list", json!({}))["result"]["tools"].clone();
    for tool in listed.as_array().unwrap() {
        has(tool, "name:s description:s inputSchema:o");
    }
    let status = peer.tool("status", json!({}))["result"].clone();
    has(&status, &format!("{STATUS} success:b content:a"));
    has(&status["content"][0], "type:s text:s");
    peer.send("{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"tools/call\",\"params\":{\"name\":\"step\"}}\n");
    p.hear("here");
    go(&p);
    let step = peer.line().unwrap()["result"].clone();
    has(&step, &format!("{STEP} success:b content:a"));
    let again: Value = serde_json::from_str(step["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(again["attempt_id"], step["attempt_id"]);
    let mut commands = Peer::hello(server.commands);
    let said = commands.call("eval", json!({"code": "task list"}))["result"].clone();
    has(&said, "success:b result:s error:s? exit_code:n");
}
