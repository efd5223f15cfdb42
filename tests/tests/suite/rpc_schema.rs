//! What `rpc.discover` publishes, held against what is really answered.

use std::collections::BTreeSet;

use ralph_tests::{Bridge, Client, Listening, Peer, Project, check, go, ready, valid, waiting};
use serde_json::{Value, json};

/// A document's methods, by name.
struct Methods {
    all: Vec<Value>,
    left: BTreeSet<String>,
}

impl Methods {
    fn of(document: &Value) -> Methods {
        assert_eq!(document["openrpc"], "1.3.2");
        assert!(document["info"]["version"].is_string() && document["info"]["title"].is_string());
        let all = document["methods"].as_array().unwrap().clone();
        let name = |m: &Value| m["name"].as_str().unwrap().to_owned();
        let left: BTreeSet<String> = all.iter().map(name).collect();
        assert_eq!(left.len(), all.len(), "each once");
        Methods { all, left }
    }

    /// The method was called with these parameters, and answered so.
    #[track_caller]
    fn answered(&mut self, method: &str, params: &Value, answer: &Value) {
        let result = answer
            .get("result")
            .unwrap_or_else(|| panic!("{method}: {answer}"));
        let told = self.all.iter().find(|m| m["name"] == method);
        let told = told.unwrap_or_else(|| panic!("{method} isn't published"));
        valid(&told["result"]["schema"], result);
        let known = told["params"].as_array().unwrap();
        for param in known {
            match params.get(param["name"].as_str().unwrap()) {
                Some(value) => valid(&param["schema"], value),
                None => assert_eq!(param["required"], false, "{method}: {param}"),
            }
        }
        for name in params.as_object().unwrap().keys() {
            let there = known.iter().any(|p| p["name"] == **name);
            assert!(there, "{method}: `{name}` isn't published");
        }
        self.left.remove(method);
    }

    /// Parameters that the document calls required are, and those it forbids are refused.
    fn wants(&self, mut call: impl FnMut(&str, Value) -> Value) {
        for method in &self.all {
            let required = (method["params"].as_array().unwrap().iter())
                .filter(|p| p["required"] == true)
                .collect::<Vec<_>>();
            if !required.is_empty() {
                let name = method["name"].as_str().unwrap();
                let said = call(name, json!({}));
                assert_eq!(said["error"]["code"], -32602, "{name} {said}");
            }
        }
    }

    fn all_called(&self) {
        assert!(self.left.is_empty(), "never called: {:?}", self.left);
    }
}

#[test]
fn a_run_answers_each_method_as_its_document_says() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    let document = client.call("rpc.discover", json!({}));
    let mut methods = Methods::of(&document["result"]);
    methods.answered("rpc.discover", &json!({}), &document);
    methods.wants(|method, params| client.call(method, params));
    for (method, params) in [
        ("subscribe", json!({"events": ["*"], "since": 0})),
        ("get_status", json!({})),
        ("list_tasks", json!({})),
        ("get_log", json!({"since": 0})),
        ("get_log", json!({})),
        ("pause", json!({})),
        ("resume", json!({})),
        ("checkpoint", json!({"pause": false})),
        ("inject_prompt", json!({"prompt": "mind the gap"})),
        ("skip_task", json!({"id": "T2"})),
        ("skip_task", json!({"id": "T2", "undo": true})),
        ("skip_task", json!({"id": "T2"})),
        ("write_pty", json!({"data": "x"})),
        ("set_interactive_mode", json!({"enabled": true})),
        ("set_interactive_mode", json!({"enabled": false})),
        ("unsubscribe", json!({"events": ["output"]})),
        ("stop", json!({"force": false})),
    ] {
        let answer = client.call(method, params.clone());
        methods.answered(method, &params, &answer);
    }
    methods.all_called();
    go(&p);
    run.wait().expect(1);
}

#[test]
fn a_bridge_answers_each_method_as_its_document_says() {
    let p = Project::build().gate("tests", "true\n").ready();
    let mut bridge = Bridge::of(&p);
    let document = bridge.call("rpc.discover", json!({}));
    let mut methods = Methods::of(&document["result"]);
    methods.answered("rpc.discover", &json!({}), &document);
    methods.wants(|method, params| bridge.call(method, params));
    for (method, params) in [
        ("ping", json!({})),
        ("subscribe", json!({"events": ["output"]})),
        ("unsubscribe", json!({"events": ["output"]})),
        ("status", json!({})),
        ("step", json!({"agent": "fake"})),
        ("status", json!({})),
        ("run", json!({"agent": "fake", "maxIterations": 3})),
        ("pause", json!({})),
        ("resume", json!({})),
        ("stop", json!({"force": true})),
    ] {
        let answer = bridge.call(method, params.clone());
        methods.answered(method, &params, &answer);
    }
    bridge.event("run_stopped");
    // Nothing is left to be done, or the run was ended before it was: both are a step's answers.
    let last = bridge.call("step", json!({}));
    methods.answered("step", &json!({}), &last);
    methods.all_called();
    assert_eq!(bridge.close().code, Some(0));
}

#[test]
fn both_ports_answer_each_method_as_their_documents_say() {
    let p = Project::build().ready();
    let server = Listening::of(&p, &[], |_| {});
    let hello = json!({"name": "t", "version": "1", "agent": "t", "pid": 9});
    for (addr, calls) in [
        (
            server.tools,
            vec![
                ("tools/list", json!({})),
                (
                    "tools/call",
                    json!({"name": "status", "arguments": {"workspace": "."}}),
                ),
                ("tools/call", json!({"name": "plugins"})),
                ("resources/list", json!({})),
                ("prompts/list", json!({})),
            ],
        ),
        (
            server.commands,
            vec![
                ("eval", json!({"code": "task list --json"})),
                ("eval", json!({"code": "nonsense"})),
            ],
        ),
    ] {
        let mut peer = Peer::to(addr);
        let said = peer.call("hello", hello.clone());
        let document = peer.call("rpc.discover", json!({}));
        let mut methods = Methods::of(&document["result"]);
        methods.answered("rpc.discover", &json!({}), &document);
        methods.answered("hello", &hello, &said);
        let pong = peer.call("ping", json!({}));
        methods.answered("ping", &json!({}), &pong);
        methods.wants(|method, params| peer.call(method, params));
        for (method, params) in calls {
            let answer = peer.call(method, params.clone());
            methods.answered(method, &params, &answer);
        }
        methods.all_called();
    }
}

#[test]
fn the_command_line_prints_the_documents_that_are_served() {
    let p = Project::build().ready();
    let all = p.run(&["rpc", "schema"]).expect(0);
    let all: Value = serde_json::from_str(&all.stdout).unwrap();
    for transport in ["tui", "bridge", "tcp"] {
        let one = p
            .run(&["rpc", "schema", "--transport", transport])
            .expect(0);
        let one: Value = serde_json::from_str(&one.stdout).unwrap();
        assert_eq!(one, all[transport]);
    }
    let mut bridge = Bridge::of(&p);
    assert_eq!(bridge.result("rpc.discover", json!({})), all["bridge"]);
    let server = Listening::of(&p, &[], |_| {});
    let mut served = BTreeSet::new();
    for addr in [server.tools, server.commands] {
        let said = Peer::hello(addr).call("rpc.discover", json!({}));
        for method in said["result"]["methods"].as_array().unwrap() {
            served.insert(method.to_string());
        }
    }
    let told = all["tcp"]["methods"].as_array().unwrap();
    assert_eq!(served, told.iter().map(Value::to_string).collect());
}

/// The checker has to be able to say no.
#[test]
fn what_is_not_as_published_is_found() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": ["integer", "null"], "minimum": 1}, "b": {"type": "array", "items": {"enum": ["x"]}}}});
    for good in [json!({"a": 1}), json!({"a": null, "b": ["x"], "c": 0})] {
        assert_eq!(check(&schema, &good, ""), Ok(()));
    }
    for bad in [
        json!({}),
        json!({"a": 0}),
        json!({"a": "1"}),
        json!({"a": 1, "b": ["y"]}),
        json!([]),
    ] {
        assert!(check(&schema, &bad, "").is_err(), "{bad}");
    }
    assert!(check(&json!({"pattern": "x"}), &json!("x"), "").is_err());
}
