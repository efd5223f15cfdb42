//! `check`, `watch`, `supervise`, and who is told of an end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use ralph_tests::{Project, tree};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn check_asks_the_gates_about_a_persons_own_work_and_changes_nothing() {
    let p = Project::build()
        .gate(
            "no-bad",
            "if [ -e bad.txt ]; then echo 'bad.txt is there'; exit 1; fi\n",
        )
        .ready();
    p.run(&["check"]).expect(0).says("no-bad");
    p.write("bad.txt", "x");
    // What git keeps for itself, objects of files it has looked at, may grow.
    let files = || {
        let all = tree(&p.root()).into_iter();
        all.filter(|(name, _)| !name.starts_with(".git/"))
            .collect::<Vec<_>>()
    };
    let before = files();
    let failed = p.run(&["check", "--json"]).expect(1).json();
    assert_eq!(failed["result"]["gates"][0]["name"], "no-bad");
    assert_eq!(failed["result"]["files"], 1);
    p.run(&["check"]).expect(1).says("bad.txt is there");
    assert_eq!(files(), before);
}

#[test]
fn check_without_gates_says_so_and_an_untrusted_project_runs_nothing() {
    Project::build()
        .ready()
        .run(&["check"])
        .expect(3)
        .says("[[gates]]");
    let p = Project::build()
        .gate("g", "echo ran >>\"$SIDE/ran\"\n")
        .untrusted();
    p.run(&["check"]).expect(3).says("ralph trust");
    assert!(!p.side("ran").exists());
}

/// B-37 of the Python loop: once for many changed files, and what git ignores is no change.
#[test]
fn watch_asks_once_for_several_changes_and_not_for_ignored_files() {
    let p = Project::build()
        .gate("g", "n=$(count gate); [ ! -e new/bad.txt ]\n")
        .ready();
    p.write(".gitignore", "target/\n");
    p.write("target/old", "");
    p.commit_all("ignore");
    let mut command = p.command(&["watch", "--json", "--debounce", "200ms"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["gates"][0]["verdict"]["status"], "pass");
    p.write("target/new", "no change");
    std::fs::create_dir_all(p.side("new/dir")).unwrap();
    for name in ["a.txt", "bad.txt", "dir/b.txt"] {
        std::fs::write(p.side("new").join(name), name).unwrap();
    }
    std::fs::rename(p.side("new"), p.root().join("new")).unwrap();
    let second = next();
    assert_eq!(second["gates"][0]["verdict"]["status"], "fail");
    assert_eq!(second["files"], 3);
    // In a directory that came after the start.
    std::fs::write(p.side("later"), "x").unwrap();
    std::fs::rename(p.side("later"), p.root().join("new/dir/later")).unwrap();
    assert_eq!(next()["files"], 4);
    assert_eq!(p.count("gate"), 3);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_run_that_is_killed_is_started_again_and_ends_complete() {
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n- [ ] Only thing\n")
        // The agent's parent is ralph itself, which it can't reach from a sandbox.
        .agent("cat >/dev/null\nif [ $(count agent) = 1 ]; then kill -9 $PPID; hang; fi\necho work >work.txt\necho 'EXIT_SIGNAL: true'\n")
        .toml("[supervise]\nbackoff = \"1ms\"\n[sandbox]\nprofile = \"off\"")
        .ready();
    p.run(&["supervise"]).expect(0).says("restart 1");
    assert_eq!(p.commits(), ["ralph: T1 Only thing"]);
    assert_eq!(p.count("agent"), 2);
}

#[test]
fn a_supervised_run_that_ended_in_good_order_or_for_its_configuration_is_not_started_again() {
    let p = Project::build()
        .gate("g", "exit 1\n")
        .in_loop("max_attempts = 1\nmax_iterations = 1")
        .ready();
    p.run(&["supervise"]).expect(1);
    assert_eq!(p.count("agent"), 1);
    p.run(&["supervise", "--", "--task", "nope"]).expect(3);
}

#[test]
fn the_end_of_a_run_is_told_to_a_program() {
    let p = Project::build()
        .toml("[notify]\non = [\"complete\"]\ncommand = [\"sh\", \"SIDE/told.sh\", \"{event}\", \"{text}\"]")
        .ready();
    p.script(
        "told.sh",
        "cat >\"$SIDE/told.json\"\necho \"$1|$2\" >\"$SIDE/told\"\n",
    );
    p.run(&["step"]).expect(0);
    assert!(!p.side("told").exists(), "one task is open");
    p.run(&["run"]).expect(0);
    assert_eq!(p.noted("told"), "complete|complete: 2 of 2 tasks done\n");
    let json: Value = serde_json::from_str(&p.noted("told.json")).unwrap();
    assert_eq!(json["details"]["done"], 2);
}
