//! The example project, from its first command to its last record.

use ralph_tests::{Project, chain_is_whole, examples};
use serde_json::Value;

fn quickstart() -> Project {
    let project = Project::bare();
    for entry in std::fs::read_dir(examples("quickstart")).unwrap().flatten() {
        project.write(
            entry.file_name().to_str().unwrap(),
            std::fs::read(entry.path()).unwrap(),
        );
    }
    project.commit_all("The example as it was");
    project.trust();
    project
}

#[test]
fn the_quickstart_runs_to_its_end_and_leaves_all_its_records() {
    let p = quickstart();
    let ran = p
        .run(&["run"])
        .expect(0)
        .says("complete: 3 of 3 tasks done, 4 iterations");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));

    let tasks = p.read("PRD.md");
    assert_eq!(tasks.matches("- [x]").count(), 3, "{tasks}");
    assert_eq!(
        tasks.replace("[x]", "[ ]"),
        String::from_utf8(std::fs::read(examples("quickstart/PRD.md")).unwrap()).unwrap()
    );
    assert_eq!(
        p.commits(),
        [
            "ralph: T1 Add entries and show them",
            "ralph: T2 Remove an entry by its number",
            "ralph: T3 Count what is left"
        ]
    );
    assert_eq!(
        p.git(&["status", "--porcelain"]),
        "",
        "nothing is left over, ralph's records are ignored"
    );
    assert!(
        p.git(&["log", "-1", "--format=%B"])
            .contains("Ralph-Task: T3")
    );

    the_second_attempt_was_told_what_the_gate_had_said(&p);
    receipts_name_components_and_prompt(&p);

    let progress = p.read(".ralph/progress.md");
    let lines: Vec<_> = progress.lines().filter(|l| l.starts_with("- [")).collect();
    assert_eq!(lines.len(), 4, "{progress}");
    assert!(
        lines[1].contains("status=CONTINUE checks=FAIL story=T2"),
        "{}",
        lines[1]
    );
    assert!(
        lines[2].contains("status=DONE checks=PASS story=T2"),
        "{}",
        lines[2]
    );

    let facts = p.journal();
    let ended: Vec<_> = facts
        .iter()
        .filter(|f| f["fact"] == "iteration_ended")
        .map(|f| f["result"].as_str().unwrap())
        .collect();
    assert_eq!(ended, ["accepted", "rejected", "accepted", "accepted"]);
    assert_eq!(facts.last().unwrap()["fact"], "run_ended");

    let status = p.status();
    assert_eq!(
        (&status["done"], &status["total"], &status["iterations"]),
        (&3.into(), &3.into(), &4.into())
    );
    assert_eq!(status["last_end"], "complete");
    assert_eq!(status["run"], Value::Null);

    // A second run has nothing to do and does nothing.
    let before = p.journal().len();
    p.run(&["run"]).expect(0);
    assert_eq!(p.commits().len(), 3);
    assert!(
        p.journal().len() > before,
        "it is recorded that there was a run"
    );
}

fn the_second_attempt_was_told_what_the_gate_had_said(p: &Project) {
    let of_t2 = p.receipts("T2", "iteration");
    assert_eq!(of_t2.len(), 2);
    let prompts: Vec<_> = of_t2
        .iter()
        .map(|r| p.read(r["prompt_path"].as_str().unwrap()))
        .collect();
    let words = "done with a number that no entry has: wanted '1', got '0'";
    assert!(!prompts[0].contains(words), "{}", prompts[0]);
    assert!(prompts[1].contains(words), "{}", prompts[1]);
    assert!(prompts[1].contains("Attempt 2 of 3"), "{}", prompts[1]);
}

fn receipts_name_components_and_prompt(p: &Project) {
    let last = p.receipts("T3", "iteration").pop().unwrap();
    let digests = last["plugins_sha256"].as_object().unwrap();
    for who in [
        "agent scripted",
        "gate tests",
        "gate scope",
        "gate secrets",
        "judge",
        "review",
    ] {
        let digest = digests
            .get(who)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no digest of {who}: {last}"));
        assert_eq!(digest.len(), 64, "{who}");
    }
    let listed = p.run(&["plugin", "list", "--json"]).expect(0).json();
    let scope = listed["result"]["plugins"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == "diff-scope")
        .unwrap();
    assert_eq!(
        scope["sha256"], digests["gate scope"],
        "the receipt names the component that ran"
    );
    let fingerprint = last["prompt_fingerprint"].as_str().unwrap();
    assert!(
        fingerprint.starts_with("sha256:") && fingerprint.len() == 71,
        "{fingerprint}"
    );
    for name in [
        "runner", "gate_01", "gate_02", "gate_03", "judge", "review", "commit",
    ] {
        assert_eq!(p.receipts("T3", name).len(), 1, "{name}");
    }
    assert_eq!(
        p.receipts("T2", "judge").len(),
        1,
        "a rejected attempt costs no judge"
    );
}

#[test]
fn a_forged_journal_line_is_noticed() {
    let p = Project::build().ready();
    p.run(&["run"]).expect(0);
    let journal = p.read(".ralph/journal.jsonl");
    let forged = journal.replacen("\"total\":2", "\"total\":9", 1);
    assert_ne!(forged, journal);
    assert!(
        std::panic::catch_unwind(|| chain_is_whole(&forged)).is_err(),
        "the test's own check works"
    );
    p.write(".ralph/journal.jsonl", &forged);
    // The checkpoint stands behind the forged line; without it the whole is read.
    std::fs::remove_file(p.root().join(".ralph/state.json")).unwrap();
    p.run(&["run"])
        .expect(2)
        .says(".ralph/journal.jsonl, line")
        .says("doesn't follow from the line before");
}

#[test]
fn a_step_is_one_iteration_and_says_whether_it_was_accepted() {
    let p = Project::build()
        .gate(
            "g",
            "[ $(count gate) -gt 1 ] || { echo not yet; exit 1; }\n",
        )
        .ready();
    p.run(&["step"]).expect(1);
    assert_eq!(p.status()["next"]["attempts"], 1);
    p.run(&["step"]).expect(0);
    assert_eq!(p.commits(), ["ralph: T1 First thing"]);
    p.run(&["step", "--task", "T2", "--no-commit"]).expect(0);
    assert_eq!(
        p.commits().len(),
        1,
        "nothing is committed with --no-commit"
    );
    assert_eq!(p.count("agent"), 3);
}
