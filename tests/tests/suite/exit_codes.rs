//! Each exit code, from a run that earns it. 130 and 143 are in `signals`.

use ralph_tests::Project;

#[test]
fn zero_is_all_tasks_done() {
    let p = Project::build().ready();
    p.run(&["run"])
        .expect(0)
        .says("complete: 2 of 2 tasks done");
}

#[test]
fn one_is_ended_without_being_done() {
    let p = Project::build().ready();
    p.run(&["run", "-n", "1"])
        .expect(1)
        .says("the number of iterations is used up");
    assert_eq!(p.status()["last_end"], "max_iterations");
    // F02: what is left is taken up by the next run.
    p.run(&["run"]).expect(0);
    assert_eq!(p.count("agent"), 2);
}

#[test]
fn one_is_no_progress() {
    let p = Project::build()
        .agent("count agent >/dev/null\n")
        .in_loop("max_attempts = 9\nno_progress_limit = 2")
        .ready();
    p.run(&["run"]).expect(1).says("no progress");
    assert_eq!(p.count("agent"), 2);
    assert_eq!(p.status()["last_end"], "no_progress");
}

/// A16
#[test]
fn the_same_words_with_real_work_are_no_standstill() {
    let p = Project::build()
        .tasks(
            "PRD.md",
            "## Tasks\n- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n- [ ] e\n",
        )
        .in_loop("no_progress_limit = 1")
        .ready();
    p.run(&["run"]).expect(0);
    assert_eq!(p.commits().len(), 5);
}

#[test]
fn two_is_failed_with_the_reason() {
    let p = Project::build().ready();
    // Not the work's fault: git's.
    p.write(".git/index.lock", "");
    let ran = p.run(&["run"]).expect(2);
    assert!(
        ran.stderr.contains("index.lock") || ran.stdout.contains("index.lock"),
        "{}\n{}",
        ran.stdout,
        ran.stderr
    );
    std::fs::remove_file(p.root().join(".git/index.lock")).unwrap();
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.commits().len(),
        2,
        "each task is committed once: {:?}",
        p.commits()
    );
}

#[test]
fn three_is_configuration_or_usage() {
    let p = Project::build().ready();
    p.write("PRD.md", "## Tasks\n- [ ] US-1: a\n- [ ] US-1: b\n");
    let ran = p.run(&["run"]).expect(3);
    let told = ran
        .stderr
        .lines()
        .any(|l| l.starts_with("error: PRD.md:3:"));
    assert!(told, "{}", ran.stderr);
}

/// A11, A12
#[test]
fn a_task_file_without_tasks_is_not_all_done() {
    let p = Project::build()
        .tasks("PRD.md", "# Plan\n\n- [2026-01-29] note\n- [link](x)\n")
        .ready();
    let ran = p.run(&["run"]);
    assert_ne!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(p.count("agent"), 0);
}

/// F07
#[test]
fn a_branch_changed_by_the_agent_is_noticed_and_nothing_is_committed_there() {
    let p = Project::build()
        .agent("cat >/dev/null; git checkout -q -b elsewhere; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(2).says("elsewhere");
    assert_eq!(p.commits(), [""; 0]);
}

/// F14
#[test]
fn a_circle_of_dependencies_is_said_at_the_start() {
    let stories = r#"{"userStories":[
{"id":"A","title":"a","passes":false,"depends_on":["B"]},
{"id":"B","title":"b","passes":false,"depends_on":["A"]}]}"#;
    let p = Project::build().tasks("prd.json", stories).ready();
    let ran = p.run(&["run"]).expect(3);
    let told = ran
        .stderr
        .lines()
        .any(|l| l.starts_with("error: prd.json:"));
    assert!(told, "{}", ran.stderr);
    p.write("prd.json", stories.replace("[\"A\"]", "[\"Z\"]"));
    p.run(&["run"]).expect(3).says("`Z`");
    assert_eq!(p.count("agent"), 0);
}

/// F13
#[test]
fn odd_repositories_are_worked_in_or_refused_at_once() {
    let detached = Project::build().ready();
    detached.git(&["checkout", "--quiet", "--detach"]);
    detached.run(&["run"]).expect(0);
    assert_eq!(detached.commits().len(), 2);

    let empty = Project::bare();
    empty.write("PRD.md", ralph_tests::TWO_TASKS);
    let agent = empty.script("agent.sh", ralph_tests::GOOD_AGENT);
    empty.write(
        "ralph.toml",
        format!("[loop]\nagent = \"fake\"\n[agents.fake]\nargv = [\"sh\", \"{agent}\"]\n"),
    );
    empty.run(&["run", "--trust"]).expect(0);
    assert_eq!(empty.git(&["log", "--format=%s"]).lines().count(), 2);

    let none = Project::build().ready();
    std::fs::remove_dir_all(none.root().join(".git")).unwrap();
    none.run(&["run"]).expect(2).says("git");
    assert_eq!(none.count("agent"), 0);
}
