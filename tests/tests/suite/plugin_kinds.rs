//! Tools, notifiers and trackers that are components.

use ralph_tests::{Builder, Listening, Peer, Project, components};
use serde_json::{Value, json};

/// `more` lies behind `[plugins.kinds]`.
fn builder(tables: &str, more: &str) -> Builder {
    Project::build().toml(&format!(
        "{tables}\n[plugins.kinds]\nsource = \"kinds.wasm\"\n{more}\n[plugins.kinds.allow]\nwrite = [\"kept\"]"
    ))
}

fn ready(builder: Builder) -> Project {
    let p = builder.untrusted();
    p.write("kinds.wasm", components("tests/kinds"));
    p.write("kept/.gitkeep", "");
    p.commit_all("component");
    p.trust();
    p
}

fn told(p: &Project) -> Value {
    serde_json::from_str(&p.read("kept/told.json")).unwrap()
}

const DIR: &str = "config = { dir = \"/workspace/kept\" }";

#[test]
fn tools_are_listed_checked_and_called() {
    let p = ready(builder("[tools]\nplugins = [\"kinds\"]", DIR));
    let listening = Listening::of(&p, &[], |_| {});
    let mut peer = Peer::hello(listening.tools);
    let list = peer.call("tools/list", json!({}));
    let all = list["result"]["tools"].as_array().unwrap();
    let add = all.iter().find(|t| t["name"] == "kinds.add").unwrap();
    assert_eq!(add["description"], "Adds two numbers");
    assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
    assert!(all.iter().any(|t| t["name"] == "status"));
    let sum = peer.tool("kinds.add", json!({ "a": 2, "b": 40 }));
    assert_eq!(sum["result"]["sum"], 42, "{sum}");
    assert_eq!(sum["result"]["success"], true);
    let text = sum["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["sum"], 42);
    for (name, arguments, code, says) in [
        ("kinds.add", json!({ "a": 2 }), -32602, "`b` is missing"),
        (
            "kinds.add",
            json!({ "a": "x", "b": 1 }),
            -32602,
            "should be integer",
        ),
        ("kinds.add", json!({ "a": 1, "b": 1001 }), -32602, "maximum"),
        (
            "kinds.add",
            json!({ "a": 1, "b": 1, "c": 1 }),
            -32602,
            "`c` isn't known",
        ),
        ("kinds.fail", json!({}), -32000, "it never answers"),
        ("kinds.none", json!({}), -32601, "kinds.none"),
        ("other.add", json!({}), -32601, "other.add"),
    ] {
        let error = &peer.tool(name, arguments)["error"];
        assert_eq!(error["code"], code, "{name}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn a_tool_that_cannot_be_checked_is_not_offered_and_nothing_runs_untrusted() {
    let odd = "config = { dir = \"/workspace/kept\", odd = \"bad-schema\" }";
    let p = ready(builder("[tools]\nplugins = [\"kinds\"]", odd));
    let listening = Listening::of(&p, &[], |_| {});
    let mut peer = Peer::hello(listening.tools);
    let list = peer.call("tools/list", json!({})).to_string();
    assert!(
        !list.contains("kinds.") && list.contains("status"),
        "{list}"
    );
    let error = &peer.tool("kinds.add", json!({}))["error"];
    assert_eq!(error["code"], -32000);
    assert!(
        error["message"].as_str().unwrap().contains("`pattern`"),
        "{error}"
    );
    // The component is another one than was accepted.
    p.write("kinds.wasm", wat::parse_str("(component)").unwrap());
    let error = &peer.tool("kinds.add", json!({}))["error"];
    assert!(
        error["message"].as_str().unwrap().contains("trust"),
        "{error}"
    );
}

#[test]
fn a_notifier_is_told_of_the_end() {
    let p = ready(builder("[notify]\nplugins = [\"kinds\"]", DIR));
    p.run(&["run"]).expect(0);
    let told = told(&p);
    assert_eq!(told["event"], "complete");
    assert_eq!(told["text"], "complete: 2 of 2 tasks done");
    assert_eq!(told["details"]["done"], 2);
}

#[test]
fn a_notifier_that_fails_or_hangs_changes_nothing() {
    for (odd, says) in [
        ("fail", "nobody is there"),
        ("loop", "`time` in [plugins.kinds.limits]"),
    ] {
        let config = format!("config = {{ odd = \"{odd}\" }}\nlimits = {{ time = \"50ms\" }}");
        let p = ready(builder("[notify]\nplugins = [\"kinds\"]", &config));
        let ran = p.run(&["run"]).expect(0);
        assert!(
            ran.stderr.contains("warning: not notified: plugin kinds"),
            "{}",
            ran.stderr
        );
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}

const TASKS: &str = r#"[
    { "id": "K-1", "title": "First", "state": "open" },
    { "id": "K-2", "title": "Second", "state": "open", "depends_on": ["K-1"], "acceptance": ["it works"] }
]"#;

fn tracked(more: &str) -> Project {
    let tables = "[tasks]\nsource = \"plugin\"\nplugin = \"kinds\"";
    let p = ready(builder(tables, more));
    p.write("kept/tasks.json", TASKS);
    p
}

fn kept(p: &Project) -> Vec<Value> {
    serde_json::from_str(&p.read("kept/tasks.json")).unwrap()
}

#[test]
fn a_tracker_s_tasks_are_worked_through_and_told_of_once() {
    let p = tracked(DIR);
    p.run(&["run"]).expect(0);
    let tasks = kept(&p);
    for task in &tasks {
        assert_eq!(task["state"], "done", "{tasks:?}");
        let said = task["said"].as_array().unwrap();
        assert_eq!(said.len(), 1, "{tasks:?}");
    }
    // The commit is named, and what the tracker keeps isn't in it.
    let commits = p.commits();
    let said = tasks[0]["said"][0].as_str().unwrap();
    let sha = said.rsplit(' ').next().unwrap();
    assert!(commits.len() == 3, "{commits:?}");
    let shown = p.git(&["show", "--name-only", "--format=%s", sha]);
    assert!(
        shown.contains("K-1 First") && shown.contains("work.txt"),
        "{shown}"
    );
    assert!(!shown.contains("kept"), "{shown}");
    assert!(p.noted("prompt.2").contains("it works"));
    p.run(&["verify"]).expect(0);
}

#[test]
fn a_tracker_takes_tasks_in_and_is_told_what_is_blocked() {
    let p = tracked(DIR);
    p.run(&["task", "add", "Third"]).expect(0).says("K-3");
    p.run(&["task", "block", "K-1"]).expect(0);
    p.run(&["task", "block", "K-3"]).expect(0);
    p.run(&["run"]).expect(1).says("blocked");
    let states: Vec<Value> = kept(&p).iter().map(|t| t["state"].clone()).collect();
    assert_eq!(states, ["blocked", "open", "blocked"]);
    p.run(&["task", "unblock", "K-1"]).expect(0);
    p.run(&["run"]).expect(1);
    let states: Vec<Value> = kept(&p).iter().map(|t| t["state"].clone()).collect();
    assert_eq!(states, ["done", "done", "blocked"]);
}

#[test]
fn a_tracker_that_fails_ends_the_run_with_its_words() {
    let p = tracked("config = { dir = \"/workspace/kept\", odd = \"fail\" }");
    let ran = p.run(&["run"]).expect(3);
    assert!(
        ran.stderr.contains("the tracker is out of order"),
        "{}",
        ran.stderr
    );
    assert_eq!(p.count("agent"), 0);
}
