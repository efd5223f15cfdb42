//! A signal ends a run within moments, with everything it had started, and the next run takes it up.

use std::time::Duration;

use ralph_tests::{Project, below};
use rustix::process::Signal;

/// From the signal to the last process: more than that hangs, on the slowest machine.
const SOON: Duration = Duration::from_secs(30);

/// Two grandchildren, one of them in a session of its own and deaf to polite requests.
const CHILDREN: &str = "
(while :; do echo x >>\"$SIDE/writes\"; sleep 0.1; done) &
setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' &
";

fn stuck_agent() -> ralph_tests::Builder {
    Project::build().agent(&format!(
        "n=$(count agent); cat >/dev/null; echo \"work $n\" >>work.txt\n\
         if [ $n = 1 ]; then {CHILDREN} tell here $$; hang; fi\necho 'EXIT_SIGNAL: true'\n"
    ))
}

fn stuck_gate() -> ralph_tests::Builder {
    Project::build().gate(
        "g",
        &format!("n=$(count gate)\nif [ $n = 1 ]; then {CHILDREN} tell here $$; hang; fi\n"),
    )
}

/// D01
fn ends_everything(p: &Project, signal: Signal, code: i32) {
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    assert!(
        below(&p.root()).len() >= 3,
        "the run and what it started: {:?}",
        below(&p.root())
    );
    run.signal(signal);
    let ran = run.wait_at_most(SOON).expect(code);
    assert_eq!(below(&p.root()), [], "left behind\n{}", ran.stdout);
    let writes = std::fs::metadata(p.side("writes")).map(|m| m.len()).ok();
    p.journal();
    let status = p.status();
    assert_eq!(status["last_end"], "stopped", "{status}");
    p.run(&["run"]).expect(0);
    assert_eq!(
        std::fs::metadata(p.side("writes")).map(|m| m.len()).ok(),
        writes,
        "somebody still writes"
    );
    assert_eq!(
        p.commits(),
        ["ralph: T1 First thing", "ralph: T2 Second thing"]
    );
    for task in p.receipts("T1", "iteration") {
        assert_eq!(task["attempt"], 1, "a signal costs no attempt");
    }
}

#[test]
fn sigint_while_the_agent_works_ends_its_whole_tree_and_costs_no_attempt() {
    let p = stuck_agent().ready();
    ends_everything(&p, Signal::INT, 130);
    assert_eq!(p.count("agent"), 3);
}

#[test]
fn sigterm_while_the_agent_works_ends_its_whole_tree_and_costs_no_attempt() {
    let p = stuck_agent().ready();
    ends_everything(&p, Signal::TERM, 143);
}

#[test]
fn sighup_while_the_agent_works_ends_its_whole_tree() {
    let p = stuck_agent().ready();
    ends_everything(&p, Signal::HUP, 129);
}

#[test]
fn sigint_while_a_gate_runs_ends_its_whole_tree_and_the_agent_is_not_asked_again() {
    let p = stuck_gate().ready();
    ends_everything(&p, Signal::INT, 130);
    assert_eq!(p.count("agent"), 2, "once for each task");
}

#[test]
fn sigterm_while_a_gate_runs_ends_its_whole_tree() {
    let p = stuck_gate().ready();
    ends_everything(&p, Signal::TERM, 143);
    assert_eq!(p.count("agent"), 2);
}

#[test]
fn sigint_while_the_judge_s_agent_works_ends_it_and_only_the_judge_is_asked_again() {
    let p = Project::build()
        .gate("g", "count gate >/dev/null\n")
        .toml("[judge]\nenabled = true\nagent = \"wise\"")
        .other_agent("wise", &format!("n=$(count judge); cat >/dev/null\nif [ $n = 1 ]; then {CHILDREN} tell here $$; hang; fi\necho 'JUDGE_SIGNAL: true'\n"))
        .ready();
    ends_everything(&p, Signal::INT, 130);
    assert_eq!(
        (p.count("agent"), p.count("gate"), p.count("judge")),
        (2, 2, 3)
    );
}

#[test]
fn two_signals_end_it_no_worse_than_one() {
    let p = stuck_agent().ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::INT);
    run.signal(Signal::TERM);
    let ran = run.wait_at_most(SOON);
    assert!([130, 143].contains(&ran.code), "{}", ran.code);
    assert_eq!(below(&p.root()), []);
    p.run(&["run"]).expect(0);
}

#[test]
fn a_signal_between_iterations_ends_the_pause() {
    let p = Project::build()
        .in_loop("sleep = \"1h\"")
        .toml("[git]\nauto_commit = false")
        .agent("echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .gate(
            "g",
            "( sleep 0.2; echo x >\"$SIDE/here.fifo\" ) >/dev/null 2>&1 </dev/null\n",
        )
        .ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::INT);
    run.wait_at_most(SOON).expect(130);
    assert_eq!(p.status()["last_end"], "stopped");
}
