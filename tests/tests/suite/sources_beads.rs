//! Tasks that are issues of Beads.

use ralph_tests::{Project, below};
use rustix::process::Signal;
use serde_json::json;

use crate::sources::{Tracked, bead};

#[test]
fn issues_are_worked_through_in_bds_order_and_closed_once() {
    let mut house = bead("bd-9", "House", 0, &[]);
    house["issue_type"] = "epic".into();
    let t = Tracked::new(
        Project::build(),
        "bd",
        "",
        &[
            bead("bd-1", "Roof", 0, &["bd-2"]),
            bead("bd-2", "Walls", 1, &[]),
            bead("bd-3", "Garden", 3, &[]),
            house,
        ],
    );
    t.run(&["run"]).expect(0).says("complete: 3 of 3");
    assert_eq!(
        t.p.commits(),
        [
            "ralph: bd-2 Walls",
            "ralph: bd-1 Roof",
            "ralph: bd-3 Garden"
        ]
    );
    let head = t.p.git(&["rev-parse", "HEAD"]);
    for id in ["bd-1", "bd-2", "bd-3"] {
        assert_eq!(t.issue(id)["closed_times"], 1);
    }
    assert!(
        t.issue("bd-3")["close_reason"]
            .as_str()
            .unwrap()
            .contains(head.trim())
    );
    assert_eq!(t.issue("bd-9")["status"], "open");
    assert_eq!(t.calls("update").len(), 3, "each was claimed");
    t.p.journal();
}

#[test]
fn nothing_ready_while_some_are_open_is_not_all_done() {
    let mut waits = bead("bd-1", "One", 1, &[]);
    waits["deferred"] = true.into();
    let t = Tracked::new(Project::build(), "bd", "", &[waits]);
    t.run(&["run"]).expect(1).says("bd-1");
    assert_eq!(t.p.count("agent"), 0);
}

#[test]
fn a_blocked_issue_has_its_reason_and_can_be_opened_again() {
    let t = Tracked::new(
        Project::build()
            .in_loop("max_attempts = 2")
            .gate("no", "exit 1\n"),
        "bd",
        "",
        &[bead("bd-1", "One", 1, &[])],
    );
    t.run(&["step"]).expect(1);
    assert_eq!(t.issue("bd-1")["status"], "open", "the claim is given up");
    t.run(&["step"]).expect(1);
    let issue = t.issue("bd-1");
    assert_eq!(issue["status"], "blocked");
    assert!(
        issue["comments"][0]["text"]
            .as_str()
            .unwrap()
            .contains("gate failed: no")
    );
    t.run(&["task", "unblock", "bd-1"]).expect(0).says("open");
    let added = t
        .run(&[
            "task",
            "add",
            "--json",
            "--depends",
            "bd-1",
            "--accept",
            "it is",
            "Two",
        ])
        .expect(0)
        .json();
    assert_eq!(added["result"]["id"], "bd-2");
    assert_eq!(added["result"]["depends_on"], json!(["bd-1"]));
    t.run(&["task", "done", "bd-1"]).expect(0).says("done");
    t.run(&["convert", "beads", "plan.yaml"]).expect(0);
    assert!(t.p.read("plan.yaml").contains("id: \"bd-2\""));
    t.run(&["convert", "plan.yaml", "beads"]).expect(3);
}

#[test]
fn what_keeps_bd_from_answering_is_said_and_nothing_is_begun() {
    let t = Tracked::new(
        Project::build(),
        "bd",
        "timeout = \"8s\"",
        &[bead("bd-1", "One", 1, &[])],
    );
    for (what, kind, code, said) in [
        ("ready", "garbage", 3, "it isn't JSON"),
        ("list", "silent", 2, "no answer within 8s"),
    ] {
        t.fault(what, kind);
        t.run(&["run"]).expect(code).says(said).says("Beads issues");
        assert!(!t.p.exists(".ralph/journal.jsonl"));
    }
    assert_eq!(below(&t.p.root()), []);
    std::fs::remove_file(t.p.side("bin/bd")).unwrap();
    t.run(&["run"]).expect(3).says("no program `bd`");
}

#[test]
fn killed_before_the_issue_is_closed_it_is_closed_once_by_the_next_run() {
    for kind in ["hang", "hang-after"] {
        let t = Tracked::new(Project::build(), "bd", "", &[bead("bd-1", "One", 1, &[])]);
        t.p.fifo("here");
        t.fault("close", kind);
        let run = t.start(&["run"]);
        t.p.hear("here");
        run.signal(Signal::KILL);
        run.wait();
        t.run(&["run"]).expect(0).says("complete: 1 of 1");
        assert_eq!(t.issue("bd-1")["closed_times"], 1);
        assert_eq!((t.p.count("agent"), t.p.commits().len()), (1, 1));
    }
}

#[test]
fn what_bd_writes_below_its_directory_is_nobodys_work() {
    let agent =
        "cat >/dev/null\nmkdir -p .beads\necho x >>.beads/issues.jsonl\necho 'EXIT_SIGNAL: true'\n";
    let t = Tracked::new(
        Project::build().agent(agent).in_loop("max_attempts = 1"),
        "bd",
        "",
        &[bead("bd-1", "One", 1, &[])],
    );
    t.run(&["run"]).expect(1).says("nothing had changed");
}
