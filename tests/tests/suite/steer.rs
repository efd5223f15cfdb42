//! A run, steered from another terminal, and over its socket by whoever else may come.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use ralph_tests::{Client, Live, Project, below, go, ready, socket, waiting};
use rustix::process::Signal;
use serde_json::{Value, json};

fn json_of(p: &Project, args: &[&str]) -> Value {
    p.run(&[args, &["--json"]].concat()).expect(0).json()["result"].clone()
}

pub fn status(p: &Project) -> Value {
    Client::of(p).call("get_status", json!({}))["result"].clone()
}

#[test]
fn paused_no_new_iteration_starts_until_it_is_resumed() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    assert_eq!(p.hear("here"), "1");
    let mut client = Client::of(&p);
    client.call("subscribe", json!({"events": ["state_change"]}));
    assert_eq!(json_of(&p, &["pause"])["status"], "pause_requested");
    assert_eq!(json_of(&p, &["pause"])["status"], "already_paused");
    p.run(&["status"])
        .expect(0)
        .says("pauses after this iteration");
    go(&p);
    client.wait_for("status", &json!("paused"));
    p.run(&["status"]).expect(0).says("paused; `ralph resume`");
    assert_eq!(p.status()["run"]["paused"], true);
    assert_eq!(p.count("agent"), 1);
    p.run(&["verify"]).expect(0);
    assert_eq!(json_of(&p, &["resume"])["status"], "resumed");
    assert_eq!(p.hear("here"), "2");
    assert_eq!(json_of(&p, &["resume"])["status"], "not_paused");
    go(&p);
    run.wait().expect(0);
    p.run(&["verify"]).expect(0);
    assert_eq!(p.facts("pause_asked").len(), 1);
}

#[test]
fn stop_while_paused_runs_nothing_more() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    client.call("subscribe", json!({"events": ["*"]}));
    p.run(&["pause"]).expect(0);
    go(&p);
    client.wait_for("status", &json!("paused"));
    p.run(&["stop"]).expect(0);
    assert_eq!(
        client.wait_for("status", &json!("stopped"))["data"]["end_reason"],
        "stopped"
    );
    run.wait().expect(1);
    assert_eq!(p.count("agent"), 1);
}

#[test]
fn stop_lets_the_iteration_come_to_its_end_and_twice_or_now_ends_it_at_once() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    assert_eq!(json_of(&p, &["stop"])["force"], false);
    assert_eq!(status(&p)["stop_requested"], true);
    go(&p);
    run.wait().expect(1);
    assert_eq!(p.commits().len(), 1, "what was begun was finished");

    for args in [&["stop", "--now"][..], &["stop"]] {
        let p = ready(waiting());
        let run = p.start(&["run"]);
        p.hear("here");
        if args.len() == 1 {
            p.run(args).expect(0);
        }
        assert_eq!(json_of(&p, args)["force"], true);
        run.wait().expect(1);
        assert_eq!(below(&p.root()), [], "the agent is ended with it");
        assert!(!socket(&p).exists());
        assert_eq!(p.status()["last_end"], "stopped");
    }
}

#[test]
fn without_a_run_there_is_nothing_to_steer_and_that_is_said() {
    let p = Project::build().ready();
    for args in [
        &["stop"][..],
        &["pause"],
        &["resume"],
        &["checkpoint"],
        &["inject", "x"],
    ] {
        p.run(args).expect(1).says("no run is on in this project");
    }
    p.run(&["ps"]).expect(0).says("no run is on");
}

#[test]
fn a_checkpoint_answers_with_the_journals_last_line_and_by_the_protocol_pauses() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let last = p.journal().last().unwrap()["seq"].clone();
    assert_eq!(json_of(&p, &["checkpoint"])["sequence"], last);
    assert!(p.exists(".ralph/state.json"));
    assert_eq!(status(&p)["pause_requested"], false);
    let mut client = Client::of(&p);
    client.call("subscribe", json!({"events": ["state_change"]}));
    let said = client.call("checkpoint", json!({}))["result"].clone();
    assert_eq!(said["status"], "checkpoint_requested");
    go(&p);
    client.wait_for("status", &json!("checkpointed"));
    p.run(&["resume"]).expect(0);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
}

#[test]
fn injected_words_reach_the_next_prompt_once_and_survive_a_kill() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    client.call("subscribe", json!({"events": ["state_change"]}));
    p.run(&["inject", "  Mind the gap.  "]).expect(0);
    let said = client.call("inject_prompt", json!({"prompt": "And the step."}));
    assert_eq!(
        said["result"],
        json!({"status": "prompt_injected", "prompt": "And the step."})
    );
    for bad in [
        json!({}),
        json!({"prompt": " \n"}),
        json!({"prompt": 5}),
        json!({"prompt": "x".repeat(20_000)}),
    ] {
        assert_eq!(client.call("inject_prompt", bad)["error"]["code"], -32602);
    }
    assert_eq!(status(&p)["pending_prompts"], 2);
    run.signal(Signal::KILL);
    run.wait();
    assert!(!p.noted("prompt.1").contains("Mind the gap."));

    let run = p.start(&["run"]);
    p.hear("here");
    assert_eq!(status(&p)["pending_prompts"], 0);
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
    let second = p.noted("prompt.2");
    assert!(
        second.contains("Mind the gap.") && second.contains("And the step."),
        "{second}"
    );
    assert!(!p.noted("prompt.3").contains("Mind the gap."));
    assert_eq!(p.facts("delivered").len(), 1);
    p.run(&["verify"]).expect(0);
}

#[test]
fn ps_lists_the_runs_that_are_on_and_a_killed_one_no_more() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let runs = json_of(&p, &["ps"])["runs"].clone();
    assert_eq!(runs[0]["pid"], run.pid());
    assert_eq!(runs[0]["project"], json!(p.root().canonicalize().unwrap()));
    assert_eq!(runs[0]["current_story"], "T1");
    let meta = std::fs::metadata(socket(&p)).unwrap();
    assert_eq!(meta.mode() & 0o777, 0o600);
    run.signal(Signal::KILL);
    run.wait();
    assert!(socket(&p).exists(), "it is stale now");
    p.run(&["ps"]).expect(0).says("no run is on");
    // The next run replaces it.
    let run = p.start(&["run"]);
    p.hear("here");
    assert_eq!(status(&p)["pid"], run.pid());
    p.run(&["stop", "--now"]).expect(0);
    run.wait();
}

#[test]
fn a_home_that_takes_no_socket_is_no_reason_not_to_work() {
    let p = Project::build().ready();
    std::fs::write(p.all().join("file"), "").unwrap();
    let mut command = p.command(&["run"]);
    command.env("XDG_DATA_HOME", p.all().join("file"));
    let ran = p.start_command(command).wait();
    ran.expect(0).says("can't be steered");
}

fn memory(run: &Live) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", run.pid())).unwrap();
    let line = text.lines().find(|l| l.starts_with("VmRSS:")).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
}

/// E05, E08, G02
#[test]
fn garbage_endless_lines_vanishing_and_deaf_clients_neither_stall_nor_grow_the_run() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let before = memory(&run);

    let mut garbage = Client::of(&p);
    garbage.send("\u{0}\u{1}not json\n{\"jsonrpc\":\"2.0\"}\n[]\n\n{\"jsonrpc\":\"2.0\",\"method\":\"nope\",\"id\":\"x\"}\n");
    let codes: Vec<_> = (0..4)
        .map(|_| garbage.line().unwrap()["error"]["code"].clone())
        .collect();
    assert_eq!(codes, [-32700, -32600, -32600, -32601]);
    assert!(
        garbage.call("get_status", json!({}))["result"].is_object(),
        "it lives on"
    );

    // 100 MB without an end: it is told, and closed; whatever else it writes goes nowhere.
    let endless = UnixStream::connect(socket(&p)).unwrap();
    let mut writing = endless.try_clone().unwrap();
    let piece = vec![b'x'; 1 << 20];
    let written = (0..100)
        .take_while(|_| writing.write_all(&piece).is_ok())
        .count();
    assert!(written < 100);
    let mut said = Vec::new();
    let _ = (&endless).read_to_end(&mut said);
    assert!(
        String::from_utf8_lossy(&said).contains("-32600"),
        "{said:?}"
    );

    // Asks without ever reading, and goes away in the midst of a line.
    let deaf = UnixStream::connect(socket(&p)).unwrap();
    deaf.set_nonblocking(true).unwrap();
    let ask = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_status\"}\n".repeat(64);
    let mut asked = 0;
    while (&deaf).write(&ask).is_ok_and(|n| n > 0) && asked < 100_000 {
        asked += 1;
    }
    assert!(asked < 100_000, "its own writing waits");
    let mut vanishing = Client::of(&p);
    vanishing.call("subscribe", json!({"events": ["*"]}));
    vanishing.send("{\"jsonrpc\":");
    drop(vanishing);
    let mut silent = Client::of(&p);
    silent.call("subscribe", json!({"events": ["*"]}));

    let after = memory(&run);
    assert!(after < before + 48 * 1024, "{before} KiB, then {after} KiB");
    assert_eq!(
        garbage.call("get_status", json!({}))["result"]["status"],
        "running"
    );
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
    drop(deaf);
    // What was said meanwhile is there to read to the last.
    silent.wait_for("status", &json!("completed"));
    assert!(silent.line().is_none());
}

#[test]
fn output_comes_live_and_a_client_that_comes_late_is_shown_the_newest() {
    let p = ready(Project::build().in_loop("max_iterations = 1").agent(
        "cat >/dev/null; tell here x; cat \"$SIDE/go.fifo\" >/dev/null; echo 'first words'; tell here y; cat \"$SIDE/go.fifo\" >/dev/null; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n",
    ));
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    let said = client.call("subscribe", json!({"events": ["state_change", "output"]}));
    assert_eq!(
        said["result"]["subscribed"],
        json!(["output", "state_change"])
    );
    let bad = client.call("subscribe", json!({"events": ["output", "nothing"]}));
    assert_eq!(bad["error"]["code"], -32602);
    go(&p);
    client.wait_for("line", &json!("first words"));
    p.hear("here");
    let late = status(&p);
    assert_eq!(late["recent_output"], json!(["first words"]));
    // Nothing is lost between `get_status` and `subscribe`.
    let mut again = Client::of(&p);
    again.call("subscribe", json!({"events": ["output"], "since": 0}));
    again.wait_for("line", &json!("first words"));
    let left = client.call("unsubscribe", json!({"events": ["output"]}));
    assert_eq!(left["result"]["subscribed"], json!(["state_change"]));
    go(&p);
    client.wait_for("status", &json!("stopped"));
    run.wait().expect(1);
}
