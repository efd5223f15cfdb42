//! Workers in worktrees: each task once, merged one at a time, nothing of the user's touched.

use ralph_tests::{Project, below, tree};
use rustix::process::Signal;

const FOUR: &str = "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n- [ ] Gamma\n- [ ] Delta\n";

/// `$id` is the task's; a file of that name is the work.
const OWN_FILE: &str = "prompt=$(cat)\nid=$(printf '%s\\n' \"$prompt\" | sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p')\n\
echo $id >>\"$SIDE/started\"\necho \"work of $id\" >\"$id.txt\"\n";
const CLAIM: &str = "echo 'EXIT_SIGNAL: true'\n";

fn agent(between: &str) -> String {
    format!("{OWN_FILE}{between}\n{CLAIM}")
}

fn started(p: &Project) -> Vec<String> {
    let mut ids: Vec<String> = p.noted("started").lines().map(str::to_owned).collect();
    ids.sort();
    ids
}

fn nothing_is_left_over(p: &Project) {
    assert_eq!(p.git(&["branch", "--list", "ralph/*"]), "");
    assert_eq!(p.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(below(&p.root()), []);
}

/// F15
#[test]
fn each_task_is_done_once_and_they_are_done_side_by_side() {
    // Nobody goes on before two are there.
    let barrier = "touch \"$SIDE/here.$id\"; i=0; while [ $(ls \"$SIDE\"/here.* | wc -l) -lt 2 ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; [ $i -lt 600 ]";
    let p = Project::build()
        .tasks("PRD.md", FOUR)
        .agent(&agent(&format!("{barrier} || exit 1")))
        .ready();
    p.run(&["run", "--parallel", "3"]).expect(0);
    assert_eq!(started(&p), ["T1", "T2", "T3", "T4"]);
    let mut commits = p.commits();
    commits.sort();
    assert_eq!(
        commits,
        [
            "ralph: T1 Alpha",
            "ralph: T2 Beta",
            "ralph: T3 Gamma",
            "ralph: T4 Delta"
        ]
    );
    for n in 1..=4 {
        assert_eq!(p.read(&format!("T{n}.txt")), format!("work of T{n}\n"));
        let receipts = p.receipts(&format!("T{n}"), "iteration");
        assert_eq!(receipts.len(), 1);
        assert_eq!(receipts[0]["result"], "accepted");
    }
    assert_eq!(p.read("PRD.md"), FOUR.replace("[ ]", "[x]"));
    assert_eq!(p.git(&["status", "--porcelain"]), "");
    // The tick is in the task's own commit.
    let files = p.git(&["show", "--format=", "--name-only"]);
    assert!(files.contains("PRD.md"), "{files}");
    let status = p.status();
    assert_eq!(status["iterations"], 4, "{status}");
    nothing_is_left_over(&p);
}

/// F14
#[test]
fn a_task_begins_when_what_it_depends_on_is_merged() {
    let tasks = "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n  - Depends on: T1\n- [ ] Gamma\n  - Depends on: T2\n";
    let check = "case $id in T2) test -f T1.txt || exit 1;; T3) test -f T2.txt || exit 1;; esac";
    let p = Project::build()
        .tasks("PRD.md", tasks)
        .agent(&agent(check))
        .in_loop("max_attempts = 1")
        .ready();
    p.run(&["run", "--parallel", "4"]).expect(0);
    assert_eq!(
        p.commits(),
        ["ralph: T1 Alpha", "ralph: T2 Beta", "ralph: T3 Gamma"]
    );
}

/// F04
#[test]
fn work_that_conflicts_is_done_again_on_top_and_its_branch_is_kept() {
    let two = "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n";
    let both = "touch \"$SIDE/here.$id\"; i=0; while [ $(ls \"$SIDE\"/here.* | wc -l) -lt 2 ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; echo $id >>shared.txt; printf '%s' \"$prompt\" >\"$SIDE/prompt.$id.$(count $id)\"";
    let p = Project::build().tasks("PRD.md", two).agent(&agent(both));
    let p = p.ready();
    p.write("shared.txt", "first\n");
    p.commit_all("shared");
    p.run(&["run", "--parallel", "2"])
        .expect(0)
        .says("not merged");
    let lines = p.read("shared.txt");
    assert!(
        lines == "first\nT1\nT2\n" || lines == "first\nT2\nT1\n",
        "{lines}"
    );
    let second = if lines.ends_with("T2\n") { "T2" } else { "T1" };
    let prompt = p.noted(&format!("prompt.{second}.2"));
    assert!(prompt.contains("shared.txt"), "{prompt}");
    assert!(prompt.contains("Attempt 2 of 3"), "{prompt}");
    let branches = p.git(&["branch", "--list", "ralph/*"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    assert_eq!(p.commits().len(), 3);
    assert_eq!(p.git(&["worktree", "list"]).lines().count(), 1);
}

/// Each is right by itself, the two together aren't: the gates are asked again after the merge.
#[test]
fn work_that_fails_together_with_what_was_merged_meanwhile_is_not_merged() {
    let two = "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n";
    let both = "touch \"$SIDE/here.$id\"; i=0; while [ $(ls \"$SIDE\"/here.* | wc -l) -lt 2 ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done";
    let p = Project::build()
        .tasks("PRD.md", two)
        .agent(&agent(both))
        .gate("alone", "! { test -f T1.txt && test -f T2.txt; }\n")
        .in_loop("max_attempts = 2")
        .ready();
    p.run(&["run", "--parallel", "2"]).expect(1);
    assert_ne!(p.exists("T1.txt"), p.exists("T2.txt"));
    assert_eq!(p.commits().len(), 1);
    let plan = p.read("PRD.md");
    assert!(plan.contains("[x]") && plan.contains("[-]"), "{plan}");
    assert_eq!(p.git(&["worktree", "list"]).lines().count(), 1);
}

/// F11, F06
#[test]
fn the_users_own_changes_are_not_in_the_worktrees_and_stay_as_they_are() {
    let p = Project::build()
        .tasks("PRD.md", FOUR)
        .agent(&agent(""))
        .ready();
    p.write("mine.txt", "as committed\n");
    p.commit_all("mine");
    p.write("mine.txt", "mine\n");
    p.write("staged.txt", "staged\n");
    p.git(&["add", "staged.txt"]);
    p.write("untracked.txt", "untracked\n");
    let before = p.git(&["status", "--porcelain"]);
    p.run(&["run", "--parallel", "2"]).expect(0);
    assert_eq!(p.git(&["status", "--porcelain"]), before);
    assert_eq!(p.read("mine.txt"), "mine\n");
    assert_eq!(p.git(&["diff", "--cached", "--name-only"]), "staged.txt\n");
    nothing_is_left_over(&p);
}

/// F03, F04
#[test]
fn what_is_in_the_way_of_a_merge_is_named_and_nothing_is_paid_for_twice() {
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n\n- [ ] Alpha\n")
        .agent(&agent(""))
        .ready();
    p.write("T1.txt", "the user's, untracked\n");
    p.run(&["run", "--parallel", "2"])
        .expect(2)
        .says("T1.txt")
        .says("ralph/T1-alpha");
    assert_eq!(p.read("T1.txt"), "the user's, untracked\n");
    assert_eq!(p.read("PRD.md"), "## Tasks\n\n- [ ] Alpha\n");
    std::fs::remove_file(p.root().join("T1.txt")).unwrap();
    p.run(&["run", "--parallel", "2"]).expect(0);
    assert_eq!(started(&p), ["T1"]);
    assert_eq!(p.read("T1.txt"), "work of T1\n");
    assert_eq!(p.commits(), ["ralph: T1 Alpha"]);
    nothing_is_left_over(&p);
}

#[test]
fn a_blocked_task_leaves_nothing_in_the_working_tree_and_its_work_on_a_branch() {
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n")
        .agent(&agent(""))
        .gate("not-alpha", "! test -f T1.txt\n")
        .in_loop("max_attempts = 2")
        .toml("[git]\nisolation = \"worktree\"")
        .ready();
    p.run(&["run"]).expect(1);
    assert!(!p.exists("T1.txt") && p.exists("T2.txt"));
    assert_eq!(p.read("PRD.md"), "## Tasks\n\n- [-] Alpha\n- [x] Beta\n");
    assert_eq!(started(&p), ["T1", "T1", "T2"]);
    let kept = p.git(&["show", "ralph/T1-alpha:T1.txt"]);
    assert_eq!(kept, "work of T1\n");
    assert_eq!(p.status()["blocked"][0], "T1");
}

/// D02, F05, F12
#[test]
fn a_run_whose_host_was_killed_with_workers_at_work_is_taken_up() {
    let p = Project::build()
        .tasks("PRD.md", FOUR)
        .agent(&agent(
            "if [ $id = T2 ] && [ $(count T2) = 1 ]; then tell here T2; hang; fi",
        ))
        .ready();
    p.fifo("here");
    let run = p.start(&["run", "--parallel", "2"]);
    p.hear("here");
    run.signal(Signal::KILL);
    run.wait();
    p.run(&["run", "--parallel", "2"]).expect(0);
    let mut commits = p.commits();
    commits.sort();
    assert_eq!(commits.len(), 4, "{commits:?}");
    commits.dedup();
    assert_eq!(commits.len(), 4);
    assert_eq!(p.read("PRD.md"), FOUR.replace("[ ]", "[x]"));
    p.journal();
    nothing_is_left_over(&p);
}

/// F13
#[test]
fn a_repository_without_commits_is_told_that_worktrees_need_one() {
    let p = Project::build().agent(&agent("")).ready();
    p.git(&["update-ref", "-d", "HEAD"]);
    let before = tree(&p.root());
    p.run(&["run", "--parallel", "2"]).expect(2).says("commit");
    let after = tree(&p.root());
    let own = |name: &str| name.starts_with(".ralph") || name.starts_with(".git");
    for (name, what) in &before {
        if !own(name) {
            assert_eq!(after.get(name), Some(what), "{name}");
        }
    }
    p.run(&["run", "--parallel", "2", "--no-commit"])
        .expect(3)
        .says("--no-commit");
}

/// `[git] branch`
#[test]
fn a_run_switches_to_the_branch_it_is_told_and_the_users_changes_come_along() {
    let p = Project::build()
        .toml("[git]\nbranch = \"work/plan\"")
        .ready();
    p.write("untracked.txt", "mine\n");
    let before = p.git(&["rev-parse", "HEAD"]);
    p.run(&["run"]).expect(0);
    assert_eq!(p.git(&["branch", "--show-current"]), "work/plan\n");
    assert_eq!(p.git(&["rev-parse", "work/plan~2"]), before);
    assert_eq!(p.read("untracked.txt"), "mine\n");
}

/// D04
#[test]
fn gates_that_need_the_same_thing_take_turns_in_all_workers_and_say_how_long_they_waited() {
    // Two at a time fail, as two servers on one port do.
    let gate = "mkdir \"$SIDE/port\" || exit 1\nsleep 1.2\nrmdir \"$SIDE/port\"\n";
    let p = Project::build()
        .tasks("PRD.md", FOUR)
        .agent(&agent(""))
        .toml("[[gates]]\nname = \"one\"\nrun = [\"sh\", \"SIDE/port.sh\"]\nexclusive = \"port 4000\"\n")
        .toml("[[gates]]\nname = \"two\"\nrun = [\"sh\", \"SIDE/port.sh\"]\nexclusive = \"port 4000\"\n")
        .ready();
    p.script("port.sh", gate);
    let ran = p.run(&["run", "--parallel", "2"]).expect(0);
    assert_eq!(p.commits().len(), 4);
    let waited = p.receipts("T1", "gate_02")[0]["waited_seconds"].as_f64();
    assert!(waited.is_some_and(|s| s > 0.0), "{waited:?}");
    ran.says("for its turn");
}
