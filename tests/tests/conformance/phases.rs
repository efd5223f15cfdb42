//! A client that goes away, and signals, in each phase of a run: the run and what it started end, its
//! end is told in order, nothing is left, and the next run goes on from there.

use std::time::Duration;

use ralph_tests::{Bridge, Client, Listening, Peer, Project, below, socket};
use rustix::process::Signal;
use serde_json::json;

use crate::load::full;

/// Where the run stands still.
const PHASES: [&str; 5] = ["agent", "gate", "judge", "review", "commit"];

/// Slow machines are; but a run that waits for what never comes doesn't end at all.
const SOON: Duration = Duration::from_secs(30);

/// Each phase with each signal; in the short version with one of them: they take the same way.
fn each() -> impl Iterator<Item = (&'static str, Signal)> {
    let both = [Signal::TERM, Signal::INT];
    let of = move |(n, phase): (usize, &'static str)| {
        let from = if full() { 0..2 } else { n % 2..n % 2 + 1 };
        from.map(move |which| (phase, both[which]))
    };
    PHASES.into_iter().enumerate().flat_map(of)
}

/// A project whose run comes to one phase, tells of it and goes no further.
fn stuck_in(phase: &str) -> Project {
    let stuck = |name: &str, then: &str| match name == phase {
        true => format!("if [ $(count {name}) = 1 ]; then tell here {name}; hang; fi\n{then}"),
        false => then.to_owned(),
    };
    let work = "n=$(count work); cat >/dev/null; echo \"work $n\" >>work.txt\n";
    let p = Project::build()
        .agent(&format!("{work}{}", stuck("agent", "echo 'EXIT_SIGNAL: true'\n")))
        .gate("tests", &stuck("gate", "exit 0\n"))
        .other_agent("rules", &stuck("judge", "cat >/dev/null; echo 'JUDGE_SIGNAL: true'\n"))
        .other_agent("reads", &stuck("review", "cat >/dev/null; echo SHIP\n"))
        .toml("[judge]\nenabled = true\nagent = \"rules\"\n[review]\nenabled = true\nagent = \"reads\"")
        .ready();
    p.fifo("here");
    let hook = p.script("hook", &stuck("commit", "exit 0\n"));
    let link = p.root().join(".git/hooks/pre-commit");
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::fs::copy(hook, &link).unwrap();
    std::fs::set_permissions(&link, std::fs::Permissions::from_mode(0o755)).unwrap();
    p
}

/// Nothing of it is left, nothing is torn, and the next run does all there is to do.
fn goes_on(p: &Project, phase: &str) {
    assert_eq!(below(&p.root()), [], "{phase}: left behind");
    assert!(!socket(p).exists(), "{phase}");
    p.run(&["verify"]).expect(0);
    assert_eq!(p.status()["last_end"], "stopped", "{phase}");
    p.run(&["run"]).expect(0);
    assert_eq!(p.commits().len(), 2, "{phase}: {:?}", p.commits());
    p.run(&["verify"]).expect(0);
}

/// `None` is the end of standard input.
fn bridge_ends(phase: &str, how: Option<Signal>) {
    let p = stuck_in(phase);
    let mut b = Bridge::of(&p);
    b.result("run", json!({}));
    assert_eq!(p.hear("here"), phase);
    b.event("run_started");
    b.event("iteration_started");
    let ended = match how {
        None => b.close(),
        Some(signal) => {
            b.signal(signal);
            b.ended()
        }
    };
    assert_eq!(ended.code, Some(0), "{phase}: {}", ended.stderr);
    let want = ["iteration_finished", "run_stopped", "bridge_stopped"];
    assert_eq!(ended.events(), want, "{phase}");
    assert_eq!(ended.rest[1]["params"]["reason"], "stopped");
    goes_on(&p, phase);
}

#[test]
fn the_end_of_standard_input_ends_a_bridges_run_in_any_phase() {
    PHASES.iter().for_each(|phase| bridge_ends(phase, None));
}

#[test]
fn a_signal_ends_a_bridges_run_in_any_phase() {
    for (phase, signal) in each() {
        bridge_ends(phase, Some(signal));
    }
}

/// Each of many clients is told the end, and the socket's file goes.
#[test]
fn a_signal_tells_every_client_of_a_run_its_end_in_any_phase() {
    for (phase, signal) in each() {
        let code = 128 + signal.as_raw();
        let p = stuck_in(phase);
        let run = p.start(&["run"]);
        assert_eq!(p.hear("here"), phase);
        let mut clients: Vec<Client> = (0..20).map(|_| Client::of(&p)).collect();
        for client in &mut clients {
            client.call("subscribe", json!({"events": ["*"]}));
        }
        run.signal(signal);
        run.wait_at_most(SOON).expect(code);
        for client in &mut clients {
            let last = client.wait_for("status", &json!("stopped"));
            assert_eq!(last["data"]["end_reason"], "stopped", "{phase}");
            assert_eq!(client.line(), None, "{phase}: closed after it");
        }
        goes_on(&p, phase);
    }
}

#[test]
fn a_signal_ends_the_runs_of_a_server_in_any_phase() {
    for (phase, signal) in each() {
        let p = stuck_in(phase);
        let server = Listening::of(&p, &[], |_| {});
        let mut peer = Peer::hello(server.tools);
        assert!(peer.tool("run", json!({}))["result"]["runId"].is_string());
        assert_eq!(p.hear("here"), phase);
        let call = json!({"jsonrpc": "2.0", "id": "late", "method": "tools/call", "params": {"name": "step"}});
        peer.send(format!("{call}\n"));
        assert_eq!(peer.line().unwrap()["error"]["code"], -32000, "{phase}");
        server.live.signal(signal);
        server.live.wait_at_most(SOON).expect(0);
        assert_eq!(peer.line(), None, "{phase}: closed");
        goes_on(&p, phase);
    }
}

/// A step that was cut off is an iteration that was interrupted, whatever it was doing.
#[track_caller]
fn interrupted(answer: &serde_json::Value, phase: &str) {
    let result = &answer["result"];
    for (field, want) in [
        ("status", json!("interrupted")),
        ("end", json!("stopped")),
        ("task_id", json!("T1")),
        ("iteration", json!(1)),
        ("exit_signal", json!(false)),
    ] {
        assert_eq!(result[field], want, "{phase}: {field} in {answer}");
    }
}

#[test]
fn a_step_that_is_stopped_is_answered_alike_in_any_phase() {
    for phase in PHASES {
        let p = stuck_in(phase);
        let mut b = Bridge::of(&p);
        let step = b.ask("step", json!({}));
        assert_eq!(p.hear("here"), phase);
        assert_eq!(b.result("stop", json!({}))["stopped"], true);
        interrupted(&b.answer(step), phase);
        b.event("iteration_started");
        let told = b.event("iteration_finished");
        assert_eq!(told["status"], "interrupted", "{phase}: {told}");
        b.close();
        goes_on(&p, phase);
    }
}

/// A step's answer comes before the bridge's last words.
#[test]
fn a_step_that_a_signal_cuts_off_has_its_answer_first() {
    for phase in ["agent", "judge"] {
        let p = stuck_in(phase);
        let mut b = Bridge::of(&p);
        let step = b.ask("step", json!({}));
        assert_eq!(p.hear("here"), phase);
        b.signal(Signal::TERM);
        let ended = b.ended();
        let at = ended.rest.iter().position(|said| said["id"] == step);
        let at = at.unwrap_or_else(|| panic!("{:?}", ended.rest));
        interrupted(&ended.rest[at], phase);
        let last = &ended.rest.last().unwrap()["params"]["type"];
        assert_eq!(last, "bridge_stopped");
        assert!(at + 1 < ended.rest.len());
    }
}
