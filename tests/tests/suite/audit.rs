//! What was: log, show, explain, blocked, stats, verify, replay, clean, and what would be.

use ralph_tests::{Builder, Project, TWO_TASKS, tree};
use rustix::process::Signal;
use serde_json::Value;

fn result(p: &Project, args: &[&str]) -> Value {
    result_of(p, args, 0)
}

fn result_of(p: &Project, args: &[&str], code: i32) -> Value {
    p.run(&[args, &["--json"]].concat()).expect(code).json()["result"].clone()
}

/// Fails its gate once, then passes; a judge that agrees.
fn twice() -> Builder {
    Project::build()
        .gate(
            "g",
            "n=$(count g)\necho \"looked $n times\"\n[ $n -gt 1 ]\n",
        )
        .toml("[judge]\nenabled = true\nagent = \"wise\"\n[[gates]]\nname = \"scope\"\nplugin = \"diff-scope\"\nconfig = { allow = [\"work.txt\"] }\n[[gates]]\nname = \"secrets\"\nplugin = \"no-secrets\"")
        .other_agent("wise", "cat >/dev/null; echo 'It is met.'; echo 'JUDGE_SIGNAL: true'\n")
}

#[test]
fn log_lists_iterations_newest_last_and_by_task() {
    let p = twice().ready();
    p.run(&["run"]).expect(0);
    let all = result(&p, &["log"]);
    let all = all["iterations"].as_array().unwrap().clone();
    let field = |key: &str| all.iter().map(|e| e[key].clone()).collect::<Vec<_>>();
    assert_eq!(field("iteration"), [1, 2, 3]);
    assert_eq!(field("task"), ["T1", "T1", "T2"]);
    assert_eq!(field("attempt"), [1, 2, 1]);
    assert_eq!(field("result"), ["rejected", "accepted", "accepted"]);
    assert_eq!(all[0]["reason"], "gate failed: g");
    let head = p.git(&["rev-parse", "HEAD"]);
    assert_eq!(all[2]["commit"], head.trim());
    let newest = result(&p, &["log", "-n", "1"]);
    assert_eq!(newest["iterations"][0]["iteration"], 3);
    let first = result(&p, &["log", "--task", "T1"]);
    assert_eq!(first["iterations"].as_array().unwrap().len(), 2);
    p.run(&["log"]).expect(0).says("gate failed: g");
    p.run(&["log", "-n", "0"]).expect(3);
    Project::bare()
        .run(&["log"])
        .expect(0)
        .says("nothing has run");
}

#[test]
fn show_tells_everything_of_one_iteration_and_who_accepted_it() {
    let p = twice().ready();
    p.run(&["run", "-n", "2"]).expect(1);
    let s = result(&p, &["show", "2"]);
    assert_eq!(
        s["accepted_by"].as_array().unwrap().len(),
        5,
        "the claim, three gates, the judge: {s}"
    );
    assert_eq!(
        s["outcome"]["text"].as_str().unwrap().trim(),
        "EXIT_SIGNAL: true"
    );
    assert_eq!(s["changed_files"][0]["path"], "work.txt");
    for gate in s["gates"].as_array().unwrap() {
        assert_eq!(gate["status"], "pass");
        assert_eq!(gate["plugin_sha256"].as_str().unwrap().len(), 64);
    }
    assert_eq!(s["judge"]["status"], "pass");
    assert!(p.exists(s["prompt_path"].as_str().unwrap()), "{s}");
    assert!(
        s["prompt_fingerprint"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    let failed = p.run(&["show", "1"]).expect(0).says("looked 1 times");
    failed.says("rejected");
    p.run(&["show", "9"]).expect(3).says("the last one is 2");
}

#[test]
fn explain_says_why_a_task_is_next_waits_or_is_blocked() {
    let p = Project::build()
        .tasks(
            "PRD.md",
            "## Tasks\n- [ ] A-1: first\n- [ ] B-1: second\n  - Depends on: A-1\n- [ ] C-1: third\n",
        )
        .gate("g", "echo broken; false\n")
        .in_loop("max_attempts = 2\nno_progress_limit = 9")
        .ready();
    let e = result(&p, &["explain"]);
    assert_eq!((&e["id"], &e["next"]), (&"A-1".into(), &true.into()), "{e}");
    let e = result(&p, &["explain", "B-1"]);
    assert!(e["why"].as_str().unwrap().contains("waits for A-1"), "{e}");
    let e = result(&p, &["explain", "C-1"]);
    assert!(
        e["why"].as_str().unwrap().contains("before it comes A-1"),
        "{e}"
    );
    p.run(&["run", "-n", "2"]).expect(1);
    let e = result(&p, &["explain", "A-1"]);
    assert_eq!(e["state"], "blocked");
    assert_eq!(e["attempts"].as_array().unwrap().len(), 2);
    assert!(e["why"].as_str().unwrap().contains("gate failed: g"), "{e}");
    let e = result(&p, &["explain"]);
    assert_eq!(e["id"], "C-1");
    assert!(
        e["why"]
            .as_str()
            .unwrap()
            .contains("B-1 (waits for A-1, which is blocked)"),
        "{e}"
    );
    let blocked = result(&p, &["blocked"])["blocked"].clone();
    assert_eq!(blocked.as_array().unwrap().len(), 1);
    assert_eq!(blocked[0]["reason"], "gate failed: g");
    assert_eq!(blocked[0]["attempts"], 2);
    assert_eq!(blocked[0]["waiting"], serde_json::json!(["B-1"]));
    assert!(
        blocked[0]["suggestion"]
            .as_str()
            .unwrap()
            .contains("ralph show 2")
    );
    p.run(&["blocked"]).expect(0).says("what to do");
    p.run(&["explain", "Z"]).expect(3).says("no task `Z`");
}

#[test]
fn a_task_a_person_blocked_is_told_from_one_that_failed() {
    let p = Project::build()
        .tasks("PRD.md", "## Tasks\n- [-] A-1: mine\n- [ ] B-1: other\n")
        .ready();
    let blocked = result(&p, &["blocked"])["blocked"][0].clone();
    assert_eq!(blocked["iteration"], Value::Null);
    assert!(
        blocked["reason"]
            .as_str()
            .unwrap()
            .contains("PRD.md says so")
    );
    p.run(&["explain", "A-1"]).expect(0).says("PRD.md says so");
}

#[test]
fn stats_add_up_by_task_and_by_agent() {
    let p = twice().ready();
    p.run(&["run"]).expect(0);
    let s = result(&p, &["stats"]);
    assert_eq!(s["total"]["iterations"], 3);
    assert_eq!(s["by_task"]["T1"]["rejected"], 1);
    assert_eq!(s["by_task"]["T1"]["success_rate"], 0.5);
    assert_eq!(s["by_agent"]["fake"]["accepted"], 2);
    p.run(&["stats"]).expect(0).says("agent fake");
}

#[test]
fn verify_is_clean_after_a_run_and_changes_nothing() {
    let p = twice().ready();
    p.run(&["verify"])
        .expect(0)
        .says("nothing has run here yet");
    p.run(&["run"]).expect(0);
    let before = tree(&p.root());
    let v = result(&p, &["verify"]);
    assert_eq!(
        (&v["clean"], &v["iterations"], &v["commits"]),
        (&true.into(), &3.into(), &2.into())
    );
    assert!(v["files"].as_u64().unwrap() > 20, "{v}");
    assert!(before == tree(&p.root()));
}

/// What `verify` says of a project after something was done to it.
fn found(spoil: impl Fn(&Project)) -> String {
    let p = twice().ready();
    p.run(&["run"]).expect(0);
    spoil(&p);
    let v = result_of(&p, &["verify"], 1);
    p.run(&["verify"]).expect(1).says("BAD");
    v["problems"][0].to_string()
}

fn swap(p: &Project, path: &str, from: &str, to: &str) {
    let text = p.read(path);
    assert!(text.contains(from), "{path} has no {from}");
    p.write(path, text.replacen(from, to, 1));
}

const JOURNAL: &str = ".ralph/journal.jsonl";

#[test]
fn verify_finds_a_changed_journal_line() {
    let said = found(|p| swap(p, JOURNAL, "gate failed: g", "gate passed: g"));
    assert!(
        said.contains("journal.jsonl, line") && said.contains("the line before"),
        "{said}"
    );
}

#[test]
fn verify_finds_a_journal_line_that_was_taken_out_or_the_last_one_changed() {
    let said = found(|p| {
        let text = p.read(JOURNAL);
        let lines: Vec<_> = text.lines().collect();
        p.write(
            JOURNAL,
            [&lines[..4], &lines[5..]].concat().join("\n") + "\n",
        );
    });
    assert!(said.contains("journal.jsonl, line 5"), "{said}");
    let said = found(|p| {
        swap(
            p,
            JOURNAL,
            "\"reason\":\"complete\"",
            "\"reason\":\"stopped\"",
        )
    });
    assert!(said.contains("state.json"), "{said}");
    let said = found(|p| std::fs::remove_file(p.root().join(JOURNAL)).unwrap());
    assert!(said.contains("it is gone"), "{said}");
    let said = found(|p| {
        let text = p.read(JOURNAL);
        let cut = text.trim_end().rfind('\n').unwrap();
        p.write(JOURNAL, &text[..=cut]);
    });
    assert!(said.contains("state.json"), "{said}");
}

#[test]
fn verify_finds_a_changed_missing_or_added_record() {
    let of = |p: &Project, kind: &str, name: &str| {
        let dir = p.root().join(format!(".ralph/{kind}/T1"));
        let mut attempts: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        attempts.sort();
        let attempt = attempts[0].to_str().unwrap().to_owned();
        format!(".ralph/{kind}/T1/{attempt}{name}")
    };
    let said = found(|p| {
        swap(
            p,
            &of(p, "receipts", "/iteration.json"),
            "rejected",
            "accepted",
        )
    });
    assert!(
        said.contains("receipts/T1") && said.contains("iteration.json"),
        "{said}"
    );
    let said =
        found(|p| std::fs::remove_file(p.root().join(of(p, "receipts", "/runner.json"))).unwrap());
    assert!(
        said.contains("runner.json") && said.contains("gone"),
        "{said}"
    );
    let said = found(|p| p.write(&of(p, "receipts", "/gate_09.json"), "{}"));
    assert!(said.contains("gate_09.json"), "{said}");
    let said = found(|p| swap(p, &of(p, "context", "/prompt.md"), "First", "Other"));
    assert!(said.contains("prompt.md"), "{said}");
    let said = found(|p| swap(p, &of(p, "attempts", ""), "rejected", "accepted"));
    assert!(said.contains("attempts/T1"), "{said}");
    let said = found(|p| {
        swap(
            p,
            ".ralph/state.json",
            "\"iterations\": 3",
            "\"iterations\": 2",
        )
    });
    assert!(said.contains("state.json"), "{said}");
    let said = found(|p| swap(p, ".ralph/state.json", "gate failed: g", "all was well"));
    assert!(said.contains("state.json"), "{said}");
}

#[test]
fn verify_finds_a_commit_that_is_gone() {
    let said = found(|p| {
        p.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        p.git(&["reflog", "expire", "--expire=now", "--all"]);
        p.git(&["gc", "--quiet", "--prune=now"]);
    });
    assert!(said.contains("no such commit"), "{said}");
}

#[test]
fn killed_in_the_middle_verify_is_clean_before_and_after_the_resume() {
    let p = Project::build()
        .agent("cat >/dev/null; n=$(count agent)\necho \"work $n\" >>work.txt\nif [ $n = 2 ]; then tell here $$; hang; fi\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    let alive = result(&p, &["verify"]);
    assert_eq!(alive["clean"], true, "{alive}");
    run.signal(Signal::KILL);
    run.wait();
    p.run(&["verify"]).expect(0).says("was cut off");
    let whole = p.read(JOURNAL);
    p.write(JOURNAL, format!("{whole}{{\"seq\":99,\"at\":\"20"));
    p.run(&["verify"]).expect(0).says("unfinished line");
    p.run(&["run"]).expect(0);
    let v = result(&p, &["verify"]);
    assert_eq!(v["notes"], serde_json::json!([]), "{v}");
    p.run(&["log"]).expect(0).says("interrupted");
}

fn items(replay: &Value) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let items = replay["items"].as_array().unwrap();
    items
        .iter()
        .map(|i| (text(&i["what"]), text(&i["outcome"])))
        .collect()
}

#[test]
fn replay_asks_every_component_again_and_runs_no_program() {
    let p = twice().ready();
    p.run(&["run"]).expect(0);
    let counts = [p.count("g")];
    let before = tree(&p.root());
    for n in ["1", "2", "3"] {
        let r = result(&p, &["replay", n]);
        let items = items(&r);
        assert!(items.iter().all(|(_, outcome)| outcome == "same"), "{r:#}");
        let names: Vec<_> = items.iter().map(|(what, _)| what.as_str()).collect();
        for what in [
            "prompt fingerprint",
            "agent fake",
            "gate g",
            "gate scope",
            "gate secrets",
        ] {
            assert!(names.contains(&what), "{names:?}");
        }
        assert_eq!(names.contains(&"judge, question 1"), n != "1", "{names:?}");
        assert_eq!(names.contains(&"judge's agent wise, question 1"), n != "1");
    }
    assert_eq!(counts, [p.count("g")], "no gate's program ran");
    assert!(before == tree(&p.root()), "nothing changed");
    p.run(&["replay", "1"]).expect(0).says("not run again");
    p.run(&["replay", "7"]).expect(3);
}

#[test]
fn replay_notices_a_changed_input_and_says_what_can_not_be_asked_again() {
    let p = twice().ready();
    p.run(&["run"]).expect(0);
    let log = std::fs::read_dir(p.root().join(".ralph/logs"))
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    std::fs::write(
        log.path(),
        "EXIT_SIGNAL: false\nand more and more and more\n",
    )
    .unwrap();
    let name = log.file_name().to_str().unwrap().to_owned();
    let n = name.split("-iter").nth(1).unwrap()[..4]
        .trim_start_matches('0')
        .to_owned();
    p.run(&["replay", &n])
        .expect(1)
        .says("isn't what the journal recorded");

    let p = Project::build()
        .agent("cat >/dev/null; echo x >>work.txt; echo 'EXIT_SIGNAL: true'; exec sleep 600\n")
        .in_agent("timeout = \"1s\"")
        .in_loop("max_iterations = 1")
        .ready();
    p.run(&["run"]).expect(1);
    p.run(&["replay", "1"])
        .expect(0)
        .says("the host had ended its program");
}

#[test]
fn clean_removes_old_records_keeps_the_journal_and_verify_stays_clean() {
    let p = twice().ready();
    p.run(&["run"]).expect(0);
    let before = tree(&p.root());
    let would = result(&p, &["clean", "--keep", "1", "--dry-run"]);
    assert!(before == tree(&p.root()), "a dry run removes nothing");
    let journal = p.read(JOURNAL);
    let did = result(&p, &["clean", "--keep", "1"]);
    for key in ["files", "bytes", "iterations", "through"] {
        assert_eq!(would[key], did[key], "{key}");
    }
    assert_eq!(did["through"], 2);
    assert!(
        p.read(JOURNAL).starts_with(&journal),
        "the journal is never cut"
    );
    assert!(!p.exists(".ralph/receipts/T1") && !p.exists(".ralph/context/T1"));
    assert!(p.exists(".ralph/receipts/T2") && p.exists(".ralph/attempts/T1"));
    let logs: Vec<_> = std::fs::read_dir(p.root().join(".ralph/logs"))
        .unwrap()
        .flatten()
        .collect();
    assert!(
        logs.iter()
            .all(|l| l.file_name().to_str().unwrap().contains("iter0003")),
        "{logs:?}"
    );
    p.journal();
    p.run(&["verify"]).expect(0);
    p.run(&["clean", "--keep", "1"])
        .expect(0)
        .says("nothing to remove");
    p.run(&["clean", "--older-than", "1d"])
        .expect(0)
        .says("nothing to remove");
    p.run(&["clean", "--older-than", "soon"]).expect(3);
    p.run(&["clean", "--keep", "1", "--older-than", "1d"])
        .expect(3);
    // What is left of the others stays checked.
    std::fs::remove_dir_all(p.root().join(".ralph/attempts/T1")).unwrap();
    p.run(&["verify"]).expect(1);
}

#[test]
fn clean_is_refused_while_a_run_is_on() {
    let p = Project::build()
        .agent("cat >/dev/null; tell here $$; cat \"$SIDE/go.fifo\" >/dev/null; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .in_loop("max_iterations = 1")
        .ready();
    p.fifo("here");
    p.fifo("go");
    let run = p.start(&["run"]);
    p.hear("here");
    p.run(&["clean", "--keep", "0"])
        .expect(2)
        .says(&format!("process {}", run.pid()));
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    run.wait().expect(1);
    p.run(&["clean", "--keep", "0"]).expect(0).says("removed");
}

#[test]
fn a_dry_run_says_what_would_be_done_and_changes_nothing() {
    let p = twice().untrusted();
    let before = tree(p.all());
    let d = result(&p, &["run", "--dry-run"]);
    assert_eq!((&d["task"], &d["agent"]), (&"T1".into(), &"fake".into()));
    assert_eq!(d["gates"], serde_json::json!(["g", "scope", "secrets"]));
    assert_eq!(d["judge"], "wise");
    assert_eq!(d["attempt"], serde_json::json!([1, 3]));
    let prompt = result(&p, &["prompt"])["prompt"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(d["prompt_bytes"], prompt.len());
    let same = |t: &ralph_tests::Tree| t.iter().filter(|(k, _)| !k.starts_with("side/")).count();
    assert_eq!(same(&before), same(&tree(p.all())));
    assert!(!p.exists(".ralph"));
    p.trust();
    p.run(&["run", "-n", "1"]).expect(1);
    // The prompt is the one that is sent.
    let p2 = result(&p, &["prompt"])["prompt"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        p2.contains("looked 1 times") && p2.contains("Attempt 2 of 3"),
        "{p2}"
    );
    p.run(&["run", "--dry-run", "--task", "T2"])
        .expect(0)
        .says("T2 Second thing");
    let workers = result(&p, &["run", "--dry-run", "--parallel", "3"]);
    assert_eq!(workers["workers"], 3);
    p.run(&["run"]).expect(0);
    assert_eq!(p.noted("prompt.2"), p2);
    p.run(&["run", "--dry-run"]).expect(0).says("all are done");
    p.run(&["prompt"]).expect(3);
    p.run(&["prompt", "T1"]).expect(0).says("First thing");
    assert_eq!(TWO_TASKS.matches("- [ ]").count(), 2);
}
