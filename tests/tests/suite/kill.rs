//! SIGKILL in each phase: the next run neither repeats what had passed nor skips what hadn't.

use ralph_tests::{LIMIT, Project, below};
use rustix::process::{Pid, Signal, kill_process};

/// One task, with counters at everything that can be repeated.
fn counted(agent: &str, gate: &str, judge: &str) -> Project {
    let with = |name: &str, at_first: &str, then: &str| {
        format!("n=$(count {name})\nif [ $n = 1 ]; then {at_first}\nfi\n{then}\n")
    };
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n- [ ] Only thing\n")
        .agent(&format!(
            "cat >/dev/null\n{}",
            with(
                "agent",
                &format!("echo work >work.txt; {agent}"),
                "echo work >work.txt\necho 'EXIT_SIGNAL: true'"
            )
        ))
        .gate("first", "count first >/dev/null\n")
        .gate("second", &with("second", gate, ":"))
        .in_loop("fail_fast = true")
        .toml("[judge]\nenabled = true\nagent = \"wise\"")
        .other_agent(
            "wise",
            &format!(
                "cat >/dev/null\n{}",
                with("judge", judge, "echo 'JUDGE_SIGNAL: true'")
            ),
        )
        .ready();
    p.fifo("here");
    p
}

fn kill_and_resume(p: &Project) {
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::KILL);
    assert_eq!(run.wait().code, -1);
    p.journal();
    let status = p.status();
    assert_eq!(status["run"]["alive"], false, "{status}");
    p.run(&["verify"]).expect(0).says("was cut off");
    is_finished_by_the_next_run(p);
}

fn is_finished_by_the_next_run(p: &Project) {
    p.run(&["run"]).expect(0);
    p.run(&["verify"]).expect(0);
    assert_eq!(p.commits(), ["ralph: T1 Only thing"]);
    assert_eq!(
        p.git(&["show", "--format=", "--name-only"])
            .lines()
            .collect::<Vec<_>>(),
        ["PRD.md", "work.txt"]
    );
    assert_eq!(below(&p.root()), []);
    let attempts: Vec<_> = p
        .receipts("T1", "iteration")
        .iter()
        .map(|r| r["attempt"].as_u64())
        .collect();
    assert!(
        attempts.iter().all(|a| *a == Some(1)),
        "a death costs no attempt: {attempts:?}"
    );
}

fn counts(p: &Project) -> [usize; 4] {
    ["agent", "first", "second", "judge"].map(|name| p.count(name))
}

/// F12, D02, F08
#[test]
fn killed_while_the_agent_works_it_is_asked_again_and_the_old_one_is_ended() {
    let p = counted(
        "setsid sh -c 'while :; do sleep 1; done' & tell here $$; hang",
        ":",
        ":",
    );
    kill_and_resume(&p);
    assert_eq!(counts(&p), [2, 1, 1, 1]);
    let records = p.receipts("T1", "iteration");
    assert_eq!(
        records.len(),
        2,
        "the interrupted attempt keeps its records"
    );
    assert_eq!(records[0]["result"], "interrupted");
}

#[test]
fn killed_while_a_gate_runs_the_agent_and_the_other_gate_are_not_asked_again() {
    let p = counted(":", "tell here $$; exec sleep 600", ":");
    kill_and_resume(&p);
    assert_eq!(counts(&p), [1, 1, 2, 1]);
}

#[test]
fn killed_while_the_judge_thinks_agent_and_gates_are_not_asked_again() {
    let p = counted(":", ":", "tell here $$; hang");
    kill_and_resume(&p);
    assert_eq!(counts(&p), [1, 1, 1, 2]);
}

/// A hook that is at work when the run is killed. Its name beside the repository, and how it waits.
fn slow_hook(p: &Project, name: &str) {
    let side = p.side("");
    let once = format!(
        "if [ ! -e {0}/once ]; then touch {0}/once; echo x >{0}/here.fifo; cat {0}/go.fifo; fi",
        side.display()
    );
    hook(p, name, &once);
    p.fifo("go");
}

/// As a power cut: the run, and git with it.
fn kill_all(p: &Project) {
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::KILL);
    run.wait();
    // One may just be starting another.
    let until = std::time::Instant::now() + LIMIT;
    loop {
        let left = below(&p.root());
        if left.is_empty() {
            return;
        }
        assert!(std::time::Instant::now() < until, "{left:?}");
        for left in left {
            let pid = Pid::from_raw(left.pid.cast_signed()).unwrap();
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// F16
#[test]
fn killed_before_the_commit_nobody_is_asked_again_and_it_is_committed_once() {
    let p = counted(":", ":", ":");
    slow_hook(&p, "pre-commit");
    kill_all(&p);
    assert_eq!(p.commits(), [""; 0]);
    is_finished_by_the_next_run(&p);
    assert_eq!(counts(&p), [1, 1, 1, 1]);
}

#[test]
fn killed_after_the_commit_it_is_not_committed_again() {
    let p = counted(":", ":", ":");
    slow_hook(&p, "post-commit");
    kill_all(&p);
    assert_eq!(p.commits().len(), 1);
    is_finished_by_the_next_run(&p);
    assert_eq!(counts(&p), [1, 1, 1, 1]);
}

#[test]
fn a_git_that_outlives_a_killed_run_does_not_lead_to_two_commits() {
    let p = counted(":", ":", ":");
    slow_hook(&p, "pre-commit");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::KILL);
    run.wait();
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    is_finished_by_the_next_run(&p);
    assert_eq!(counts(&p), [1, 1, 1, 1]);
}

#[test]
fn a_git_that_outlives_a_killed_run_and_does_not_end_is_ended_by_the_next() {
    let p = counted(":", ":", ":");
    slow_hook(&p, "pre-commit");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::KILL);
    run.wait();
    is_finished_by_the_next_run(&p);
    assert_eq!(counts(&p), [1, 1, 1, 1]);
    assert_eq!(below(&p.root()), []);
}

/// The second is what another git is just about to write.
#[test]
fn objects_without_content_go_and_those_being_written_stay() {
    let p = counted(":", ":", ":");
    slow_hook(&p, "pre-commit");
    kill_all(&p);
    let empty = format!(".git/objects/ab/{}", "0".repeat(38));
    let written = ".git/objects/ab/tmp_obj_Xy12Zw";
    p.write(&empty, "");
    p.write(written, "");
    p.run(&["run"])
        .expect(0)
        .says("1 objects of git were empty");
    assert!(!p.root().join(empty).exists());
    assert!(p.root().join(written).exists());
}

#[test]
fn what_a_dead_process_had_half_written_goes_and_a_living_ones_stays() {
    let p = counted(":", ":", ":");
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let half = |dir: &str, pid: u32| format!("{dir}.ralph-tmp-{pid}-7");
    for dir in ["", ".ralph/"] {
        p.write(&half(dir, dead.id()), "half");
        p.write(&half(dir, std::process::id()), "half");
    }
    p.run(&["run"]).expect(0);
    for dir in ["", ".ralph/"] {
        assert!(!p.root().join(half(dir, dead.id())).exists());
        assert!(p.root().join(half(dir, std::process::id())).exists());
    }
}

#[test]
fn killed_between_two_tasks_the_first_is_not_done_again() {
    let p = Project::build()
        .agent("cat >/dev/null; n=$(count agent)\nif [ $n = 2 ]; then tell here $$; hang; fi\necho \"work $n\" >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::KILL);
    run.wait();
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.commits(),
        ["ralph: T1 First thing", "ralph: T2 Second thing"]
    );
    assert_eq!(p.count("agent"), 3);
}

#[test]
fn a_half_written_journal_line_is_cut_off_and_the_run_goes_on() {
    let p = Project::build().ready();
    p.run(&["run", "-n", "1"]).expect(1);
    let whole = p.read(".ralph/journal.jsonl");
    p.write(
        ".ralph/journal.jsonl",
        format!("{whole}{{\"seq\":99,\"at\":\"20"),
    );
    p.run(&["run"]).expect(0);
    assert!(p.read(".ralph/journal.jsonl").starts_with(&whole));
    p.journal();
    assert_eq!(p.commits().len(), 2);
}

#[test]
fn what_changed_while_no_run_was_on_is_checked_again() {
    let p = counted(":", ":", "tell here $$; hang");
    let run = p.start(&["run"]);
    p.hear("here");
    run.signal(Signal::KILL);
    run.wait();
    p.write("work.txt", "somebody else was here\n");
    p.run(&["run"])
        .expect(0)
        .says("changed since the run was cut off");
    assert_eq!(
        counts(&p),
        [1, 2, 2, 2],
        "all that had been said of it is asked anew"
    );
    assert_eq!(p.commits().len(), 1);
}

/// A selected task stands in the journal with its whole text.
#[test]
fn a_task_of_5_mib_does_not_make_the_journal_unreadable() {
    let text = "lorem ipsum dolor ".repeat(5 * (1 << 20) / 18);
    let tasks = format!(
        "{{\"userStories\":[{{\"id\":\"A\",\"title\":\"a\",\"passes\":false,\"description\":\"{text}\"}}]}}\n"
    );
    let p = Project::build()
        .tasks("prd.json", tasks)
        .agent("cat >/dev/null; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(0);
    std::fs::remove_file(p.root().join(".ralph/state.json")).unwrap();
    assert_eq!(p.status()["last_end"], "complete");
    p.run(&["run"]).expect(0);
}

pub fn hook(p: &Project, name: &str, body: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = format!(".git/hooks/{name}");
    p.write(&path, format!("#!/bin/sh\n{body}\n"));
    let path = p.root().join(path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
