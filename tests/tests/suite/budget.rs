//! What a run may spend, and what it waits for.

use ralph_tests::Project;

const LIMIT: &str = "echo \"You've hit your usage limit.\"\nexit 1\n";

/// B07: a limit's tries cost neither an attempt nor an iteration.
#[test]
fn a_limit_is_waited_for_and_costs_nothing() {
    let p = Project::build()
        .agent(&format!(
            "cat >/dev/null\nn=$(count agent)\nif [ $n -le 2 ]; then\n{LIMIT}fi\necho \"work $n\" >>work.txt\necho 'EXIT_SIGNAL: true'\n"
        ))
        .in_loop("max_attempts = 1\nmax_iterations = 2")
        .toml("[limits]\nunknown_wait = \"1s\"")
        .ready();
    p.run(&["run"]).expect(0).says("waiting for fake's limit");
    assert_eq!(p.count("agent"), 4);
    assert_eq!(p.commits().len(), 2);
    let receipts = p.receipts("T1", "iteration");
    assert!(receipts.iter().all(|r| r["attempt"] == 1), "{receipts:?}");
}

#[test]
fn a_limit_can_end_the_run_instead() {
    let p = Project::build()
        .agent(LIMIT)
        .toml("[limits]\non_limit = \"stop\"")
        .ready();
    p.run(&["run"]).expect(1).says("limit");
    assert_eq!(p.status()["last_end"], "limited");
    assert_eq!(p.count("agent"), 0);
}

/// B06
#[test]
fn a_limit_that_lasts_too_long_ends_the_run() {
    let p = Project::build()
        .agent(LIMIT)
        .toml("[limits]\nmax_wait = \"1m\"\nunknown_wait = \"1h\"")
        .ready();
    p.run(&["run"]).expect(1);
    assert_eq!(p.status()["last_end"], "limited");
}

#[test]
fn another_agent_takes_over_while_the_limit_lasts() {
    let p = Project::build()
        .agent(&format!("count agent >/dev/null\n{LIMIT}"))
        .other_agent(
            "second",
            "cat >/dev/null\necho \"work $(count second)\" >>work.txt\necho 'EXIT_SIGNAL: true'\n",
        )
        .in_loop("fallback = [\"second\"]")
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!((p.count("agent"), p.count("second")), (1, 2));
    let receipts = p.receipts("T2", "iteration");
    assert!(
        receipts[0]["plugins_sha256"]["agent second"].is_string(),
        "{receipts:?}"
    );
}

/// B04: a judge that meets a limit has not ruled.
#[test]
fn a_judge_at_its_limit_is_waited_for_and_the_work_is_not_done_again() {
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n- [ ] Only thing\n")
        .toml("[judge]\nenabled = true\nagent = \"wise\"\n[limits]\nunknown_wait = \"1s\"")
        .other_agent(
            "wise",
            &format!("cat >/dev/null\nif [ $(count wise) = 1 ]; then\n{LIMIT}fi\necho 'JUDGE_SIGNAL: true'\n"),
        )
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!((p.count("agent"), p.count("wise")), (1, 2));
}

#[test]
fn a_run_ends_when_its_time_is_used_up_and_the_next_one_has_its_own() {
    let p = Project::build()
        .agent("cat >/dev/null\nsleep 1.1\necho \"work $(count agent)\" >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .toml("[budget]\ntime = \"1s\"")
        .ready();
    p.run(&["run"]).expect(1).says("[budget] time");
    assert_eq!(p.status()["last_end"], "budget_time");
    p.run(&["run"]).expect(0);
    assert_eq!(p.count("agent"), 2);
}

#[test]
fn the_hours_iterations_are_waited_for_over_runs() {
    let p = Project::build()
        .toml("[budget]\niterations_per_hour = 1")
        .ready();
    p.run(&["step"]).expect(0);
    let run = p.start(&["run"]);
    // The wait is journaled before it begins.
    let waits = || {
        p.read(".ralph/journal.jsonl")
            .contains("\"fact\":\"waiting\"")
    };
    let begun = std::time::Instant::now();
    while !waits() {
        assert!(begun.elapsed() < ralph_tests::LIMIT, "it doesn't wait");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(p.status()["waiting"]["why"], "rate");
    p.run(&["stop"]).expect(0);
    assert_eq!(run.wait().code, 1);
    assert_eq!(p.count("agent"), 1);
}

#[test]
fn the_same_failure_again_and_again_ends_the_run() {
    let p = Project::build()
        .agent(
            "cat >/dev/null\necho \"work $(count agent)\" >>work.txt\necho 'EXIT_SIGNAL: true'\n",
        )
        .gate("g", "echo \"broken at $(date +%s%N)\"; exit 1\n")
        .in_loop("max_attempts = 9\nrepeat_limit = 3\nno_progress_limit = 50")
        .ready();
    p.run(&["run"]).expect(1).says("in the same way");
    assert_eq!(p.count("agent"), 3);
    assert_eq!(p.status()["last_end"], "repeated_failure");
}

#[test]
fn a_budget_of_nothing_is_no_budget_but_an_error() {
    for bad in ["time = \"0s\"", "cost_usd = 0.0", "tokens = 0"] {
        let p = Project::build()
            .toml(&format!("[budget]\n{bad}"))
            .untrusted();
        p.run(&["status"]).expect(3).says("ralph.toml:");
    }
    let p = Project::build()
        .in_loop("fallback = [\"nobody\"]")
        .untrusted();
    p.run(&["status"]).expect(3).says("nobody");
}

#[test]
fn a_provider_that_can_not_be_reached_costs_no_attempt() {
    let p = Project::build()
        .agent(
            "n=$(count agent); cat >/dev/null\n\
             if [ $n = 1 ]; then echo 'error: connect ECONNREFUSED 127.0.0.1:1' >&2; exit 1; fi\n\
             echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n",
        )
        .in_loop("max_attempts = 1")
        .toml("[limits]\nunknown_wait = \"1s\"\n")
        .ready();
    p.run(&["run"]).expect(0).says("can't be reached");
    assert_eq!(p.count("agent"), 3);
    assert_eq!(p.facts("iteration_ended")[0]["result"], "environment");
}
