//! Agents and gates that reach for what would outlive or outrank the loop.

use ralph_tests::{Project, below};
use rustix::process::Signal;

const CLAIM: &str = "echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n";

#[test]
fn what_a_gate_started_is_ended_at_the_start_after_a_sigkill() {
    let p = Project::build()
        .gate("g", "n=$(count gate)\nif [ $n = 1 ]; then setsid sh -c 'while :; do sleep 1; done' & tell here $$; hang; fi\n")
        .ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::KILL);
    run.wait();
    p.run(&["run"]).expect(0);
    assert_eq!(below(&p.root()), []);
}

/// D05
#[test]
fn a_git_hook_that_an_agent_plants_is_never_run_and_ends_the_run() {
    let p = Project::build()
        .agent(&format!("cat >/dev/null; printf '#!/bin/sh\\ntouch \"%s/hooked\"\\n' \"$SIDE\" >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; {CLAIM}"))
        .ready();
    let ran = p.run(&["run"]).expect(2);
    assert!(!p.side("hooked").exists(), "{}", ran.stdout);
    assert!(
        ran.stdout.contains(".git/hooks/pre-commit"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        p.receipts("T1", "iteration").len(),
        1,
        "no second iteration ran: {}",
        ran.stdout
    );
}

#[test]
fn a_step_after_a_missing_agent_was_mended_does_a_whole_iteration() {
    let p = Project::build().ready();
    let toml = p.read("ralph.toml");
    p.write(
        "ralph.toml",
        "[loop]\nagent = \"fake\"\n[agents.fake]\nargv = [\"no-such-agent-anywhere\"]\n",
    );
    p.trust();
    p.run(&["step"]).expect(2);
    p.write("ralph.toml", toml);
    p.run(&["step"]).expect(0);
}
