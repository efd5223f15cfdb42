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

/// Edits the gate's script so that it passes, and says it is done.
const RIGS: &str = "cat >\"$SIDE/prompt.$(count agent)\"; echo x >>work.txt; printf 'exit 0\\n' >ci/check.sh; echo 'EXIT_SIGNAL: true'\n";

fn with_script(tasks: &str, agent: &str) -> Project {
    let p = Project::build()
        .tasks("PRD.md", tasks)
        .agent(agent)
        .toml("[[gates]]\nname = 'ci'\nrun = ['sh', 'ci/check.sh']\nprotect = ['rules/']\n")
        .in_loop("max_attempts = 2")
        .ready();
    p.write("ci/check.sh", "echo asked; exit 1\n");
    p.write("rules/a.txt", "strict\n");
    p.commit_all("gate");
    p
}

#[test]
fn a_gate_s_script_that_the_agent_edits_to_pass_makes_the_attempt_tampered() {
    let p = with_script("- [ ] First thing\n", RIGS);
    let before = p.commits();
    let ran = p.run(&["run"]).expect(1);
    assert!(
        ran.stdout.contains("tampered with ci/check.sh"),
        "{}",
        ran.stdout
    );
    assert_eq!(p.commits(), before, "nothing is committed");
    let prompt = p.noted("prompt.2");
    assert!(prompt.contains("Put it back as it was"), "{prompt}");
    p.run(&["explain", "T1"])
        .expect(0)
        .says("tampered with ci/check.sh");
}

#[test]
fn an_attempt_that_puts_the_script_back_is_ruled_on_by_it() {
    let agent = "n=$(count agent); cat >/dev/null; echo x >>work.txt\nif [ $n = 1 ]; then printf 'exit 0\\n' >ci/check.sh; else git checkout -q ci/check.sh; touch done.txt; fi\necho 'EXIT_SIGNAL: true'\n";
    let p = with_script("- [ ] First thing\n", agent);
    p.write("ci/check.sh", "test -e done.txt\n");
    p.commit_all("a gate that can pass");
    p.run(&["run"]).expect(0);
    assert_eq!(p.count("agent"), 2);
    assert_eq!(p.read("ci/check.sh"), "test -e done.txt\n");
}

#[test]
fn a_task_about_the_gate_s_script_may_change_it() {
    let p = with_script("- [ ] Let ci/check.sh pass\n", RIGS);
    p.run(&["run"]).expect(0);
    assert_eq!(p.read("ci/check.sh"), "exit 0\n");
}

#[test]
fn what_a_gate_protects_is_not_the_agent_s_to_change() {
    let agent = "cat >/dev/null; echo lax >rules/a.txt; echo 'EXIT_SIGNAL: true'\n";
    let p = with_script("- [ ] First thing\n", agent);
    let ran = p.run(&["step"]).expect(1);
    assert!(
        ran.stdout.contains("tampered with rules/a.txt"),
        "{}",
        ran.stdout
    );
}
