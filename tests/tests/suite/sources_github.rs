//! Tasks that are GitHub issues.

use ralph_tests::{GOOD_AGENT, Project, below};
use rustix::process::Signal;
use serde_json::json;

use crate::sources::{Tracked, gh};

fn three() -> Vec<serde_json::Value> {
    vec![
        gh(
            1,
            "Roof",
            "Depends on: #2\n\n## Acceptance criteria\n- [ ] it is dry\n",
            &["ready"],
        ),
        gh(2, "Walls", "- [ ] they stand\r\n", &["ready", "P1"]),
        gh(3, "Garden", "", &["ready"]),
        gh(4, "Not ours", "", &[]),
        gh(5, "Not now", "", &["ready", "later"]),
    ]
}

const READY: &str = "repo = \"o/r\"\nlabel = \"ready\"\nexclude_labels = [\"later\"]";

#[test]
fn issues_are_worked_through_and_closed_once_with_their_commit() {
    let t = Tracked::new(Project::build(), "gh", READY, &three());
    t.run(&["run"]).expect(0).says("complete: 3 of 3");
    assert_eq!(
        t.p.commits(),
        [
            "ralph: GH-2 Walls",
            "ralph: GH-1 Roof",
            "ralph: GH-3 Garden"
        ]
    );
    let log = t.p.git(&["log", "--format=%H %s"]);
    for number in [1, 2, 3] {
        let issue = t.issue(number);
        assert_eq!(
            (&issue["state"], &issue["closed_times"]),
            (&json!("CLOSED"), &json!(1))
        );
        let comments = issue["comments"].as_array().unwrap();
        assert_eq!(comments.len(), 1, "{issue}");
        let commit = log
            .lines()
            .find(|l| l.contains(&format!("GH-{number} ")))
            .unwrap();
        let sha = commit.split(' ').next().unwrap();
        assert!(
            comments[0]["body"].as_str().unwrap().contains(sha),
            "{issue}"
        );
    }
    for number in [4, 5] {
        assert_eq!(t.issue(number)["state"], "OPEN");
    }
    let prompt = t.p.noted("prompt.2");
    assert!(prompt.contains("- it is dry"), "{prompt}");
    for call in t.calls("issue") {
        assert!(call.contains("--repo o/r"), "{call}");
    }
    t.p.journal();
    t.run(&["verify"]).expect(0);
    t.run(&["run"]).expect(0).says("complete: 3 of 3");
}

#[test]
fn a_blocked_issue_gets_label_and_reason_and_unblocking_takes_the_label_off() {
    let t = Tracked::new(
        Project::build()
            .in_loop("max_attempts = 1")
            .gate("no", "exit 1\n"),
        "gh",
        "",
        &[gh(7, "One", "", &[])],
    );
    t.run(&["run"]).expect(1).says("every open issue is a task");
    let issue = t.issue(7);
    assert_eq!(issue["state"], "OPEN");
    assert_eq!(issue["labels"][0]["name"], "ralph:blocked");
    let comments = issue["comments"].as_array().unwrap();
    assert_eq!(comments.len(), 1);
    assert!(
        comments[0]["body"]
            .as_str()
            .unwrap()
            .contains("gate failed: no"),
        "{issue}"
    );
    t.run(&["blocked"]).expect(0).says("GH-7");
    t.run(&["explain", "GH-7"]).expect(0).says("is blocked");
    t.run(&["task", "unblock", "GH-7"]).expect(0).says("open");
    assert_eq!(t.issue(7)["labels"], json!([]));
    t.run(&["task", "unblock", "GH-7"]).expect(3);
    let status = t.run(&["status", "--json"]).expect(0).json();
    assert_eq!(status["result"]["next"]["id"], "GH-7");
    assert_eq!(status["result"]["task_file"], "GitHub issues");
}

#[test]
fn what_a_person_does_with_tasks_is_done_to_the_issues() {
    let t = Tracked::new(Project::build(), "gh", READY, &three());
    t.run(&["task", "list"])
        .expect(0)
        .says("GH-2")
        .never_says("GH-4");
    let added = t
        .run(&[
            "task",
            "add",
            "Paint",
            "--accept",
            "it is red",
            "--depends",
            "GH-1",
            "--json",
        ])
        .expect(0)
        .json();
    assert_eq!(added["result"]["id"], "GH-6");
    assert_eq!(added["result"]["depends_on"], json!(["GH-1"]));
    assert_eq!(added["result"]["acceptance"], json!(["it is red"]));
    t.run(&["task", "add", "x", "--after", "GH-1"]).expect(3);
    t.run(&["task", "add", "x", "--depends", "GH-99"]).expect(3);
    t.run(&["task", "block", "GH-3", "--reason", "ask @ann"])
        .expect(0);
    assert!(
        t.issue(3)["comments"][0]["body"]
            .as_str()
            .unwrap()
            .contains("```\nask @ann")
    );
    t.run(&["task", "retry", "GH-3"]).expect(0).says("open");
    t.run(&["task", "done", "GH-3"]).expect(0).says("done");
    assert_eq!(t.issue(3)["state"], "CLOSED");
    t.run(&["task", "retry", "GH-3"]).expect(0);
    assert_eq!(t.issue(3)["state"], "OPEN");
    t.run(&["task", "done", "GH-4"])
        .expect(3)
        .says("no task `GH-4`");
    t.run(&["run", "--dry-run"]).expect(0).says("GH-2");
    t.run(&["explain", "GH-6"]).expect(0).says("waits for GH-1");
    t.run(&["convert", "github", "plan.md"]).expect(0);
    assert!(
        t.p.read("plan.md").contains("- [ ] GH-2: Walls"),
        "{}",
        t.p.read("plan.md")
    );
    t.run(&["convert", "plan.md", "github"])
        .expect(3)
        .says("ralph task add");
    t.run(&["step", "--task", "GH-3"]).expect(0);
    assert_eq!(t.p.commits(), ["ralph: GH-3 Garden"]);
}

#[test]
fn what_keeps_gh_from_answering_is_said_and_nothing_is_begun() {
    let t = Tracked::new(Project::build(), "gh", "timeout = \"15s\"", &three());
    for (kind, code, said) in [
        ("login", 3, "gh auth login"),
        ("garbage", 3, "it isn't JSON"),
        ("network", 2, "see to the network"),
        ("rate", 2, "rate limit"),
        ("huge", 2, "more than 32 MiB"),
        ("silent", 2, "no answer within 15s"),
    ] {
        t.fault("issue list", kind);
        let ran = t
            .run(&["run"])
            .expect(code)
            .says(said)
            .says("GitHub issues");
        assert_eq!(
            ran.stderr.matches("GitHub issues").count(),
            1,
            "{}",
            ran.stderr
        );
        assert!(!t.p.exists(".ralph/journal.jsonl"), "{kind}");
    }
    assert_eq!(below(&t.p.root()), [], "the one that hung was ended");
    std::fs::remove_file(t.p.side("bin/gh")).unwrap();
    t.run(&["run"])
        .expect(3)
        .says("no program `gh`")
        .says("cli.github.com");
}

#[test]
fn no_issue_at_all_is_never_all_done() {
    let t = Tracked::new(Project::build(), "gh", "label = \"reday\"", &three());
    t.run(&["run"])
        .expect(3)
        .says("no issue with the label `reday`");
}

#[test]
fn nothing_runs_before_somebody_has_accepted_it() {
    let t = Tracked::untrusted(Project::build(), "gh", READY, &three());
    for args in [
        &["status"][..],
        &["task", "list"],
        &["run"],
        &["run", "--dry-run"],
        &["explain"],
    ] {
        t.run(args).expect(3).says("isn't trusted");
    }
    assert_eq!(t.calls(""), [""; 0]);
    t.run(&["trust"]).says("gh issue --repo o/r --label ready");
    t.run(&["run", "--trust"]).expect(0);
    t.run(&["status"]).expect(0);
}

/// One issue, and a run that is ended while or after gh closes it.
fn cut_off(kind: &str, signal: Signal) {
    let t = Tracked::new(Project::build(), "gh", "", &[gh(1, "One", "", &[])]);
    t.p.fifo("here");
    t.fault("issue close", kind);
    let run = t.start(&["run"]);
    t.p.hear("here");
    run.signal(signal);
    run.wait();
    t.run(&["run"]).expect(0).says("complete: 1 of 1");
    let issue = t.issue(1);
    assert_eq!(
        (&issue["state"], &issue["closed_times"]),
        (&json!("CLOSED"), &json!(1))
    );
    assert_eq!(issue["comments"].as_array().unwrap().len(), 1, "{issue}");
    assert_eq!(t.p.commits(), ["ralph: GH-1 One"]);
    assert_eq!(
        t.p.count("agent"),
        1,
        "what was accepted is not asked again"
    );
    assert_eq!(below(&t.p.root()), []);
    t.p.journal();
}

#[test]
fn killed_before_the_issue_is_closed_it_is_closed_once_by_the_next_run() {
    cut_off("hang", Signal::KILL);
}

#[test]
fn killed_after_the_issue_was_closed_it_is_not_closed_again() {
    cut_off("hang-after", Signal::KILL);
}

#[test]
fn a_run_that_is_stopped_does_not_wait_for_gh() {
    cut_off("hang", Signal::TERM);
}

#[test]
fn trouble_in_the_middle_costs_no_attempt_and_loses_nothing() {
    let t = Tracked::new(Project::build(), "gh", "", &[gh(1, "One", "", &[])]);
    for what in ["issue close", "issue view"] {
        t.fault(what, "network!");
        t.run(&["run"]).expect(2).says("see to the network");
        assert_eq!(t.issue(1)["state"], "OPEN");
        t.mended();
    }
    t.run(&["run"]).expect(0).says("complete: 1 of 1");
    assert_eq!(t.p.count("agent"), 1);
    let records = t.p.receipts("GH-1", "iteration");
    assert_eq!(records.len(), 1);
    assert_eq!(records[0]["attempt"], 1);
    assert_eq!(t.issue(1)["closed_times"], 1);
}

/// An agent may well have `gh` at hand.
#[test]
fn an_issue_that_the_agent_closed_is_reopened_unless_the_work_is_accepted() {
    let t = Tracked::new(
        Project::build()
            .agent(&format!("gh issue close 1\n{GOOD_AGENT}"))
            .gate("twice", "[ $(count twice) = 2 ]\n"),
        "gh",
        "",
        &[gh(1, "One", "", &[])],
    );
    t.run(&["step"]).expect(1);
    assert_eq!(t.issue(1)["state"], "OPEN");
    t.run(&["run"]).expect(0);
    let issue = t.issue(1);
    assert_eq!(issue["state"], "CLOSED");
    assert!(
        issue["comments"][0]["body"]
            .as_str()
            .unwrap()
            .starts_with("Done by ralph in ")
    );
}

#[test]
fn a_refused_commit_closes_nothing() {
    let t = Tracked::new(
        Project::build().in_loop("max_attempts = 1"),
        "gh",
        "",
        &[gh(1, "One", "", &[])],
    );
    crate::kill::hook(&t.p, "pre-commit", "echo not today; exit 1");
    t.run(&["run"]).expect(1);
    assert_eq!(t.calls("issue close"), [""; 0]);
    assert!(
        t.issue(1)["comments"][0]["body"]
            .as_str()
            .unwrap()
            .contains("hook")
    );
}

#[test]
fn workers_close_what_was_merged_and_nothing_else() {
    let agent = "cat >/dev/null\nn=$(count agent)\necho x >file-$n.txt\necho 'EXIT_SIGNAL: true'\n";
    let t = Tracked::new(
        Project::build()
            .agent(agent)
            .in_loop("max_attempts = 1")
            .gate("roof", "case $PWD in *GH-1*) exit 1;; esac\n"),
        "gh",
        READY,
        &three(),
    );
    t.run(&["run", "--parallel", "2"]).expect(1);
    assert_eq!(t.issue(1)["labels"][1]["name"], "ralph:blocked");
    for number in [2, 3] {
        let issue = t.issue(number);
        assert_eq!(issue["closed_times"], 1, "{issue}");
        assert_eq!(issue["comments"].as_array().unwrap().len(), 1);
    }
    assert_eq!(t.p.commits().len(), 2);
    t.p.journal();
}

#[test]
fn a_worker_whose_merge_could_not_be_told_is_told_at_the_next_start() {
    let t = Tracked::new(Project::build(), "gh", "", &[gh(1, "One", "", &[])]);
    t.fault("issue close", "network!");
    t.run(&["run", "--parallel", "1"])
        .expect(2)
        .says("see to the network");
    assert_eq!(t.p.commits(), ["ralph: GH-1 One"]);
    t.mended();
    t.run(&["run", "--parallel", "1"])
        .expect(0)
        .says("complete: 1 of 1");
    assert_eq!(t.issue(1)["closed_times"], 1);
    assert_eq!(t.p.count("agent"), 1);
    assert_eq!(t.p.commits().len(), 1);
}
