//! Task files of all makes are worked through, and only the bytes of marks change.

use ralph_tests::Project;

/// A plan as people write them: nested lists, fences, criteria, notes.
fn long_plan() -> String {
    let mut out = String::from(
        "# The plan\n\nIntroduction with `- [ ] no task` in it.\n\n## Background\n\n1. one\n2. two\n   - nested\n\n## Tasks\n\n",
    );
    for n in 1..=6 {
        out.push_str(&format!(
            "- [ ] US-{n}: Thing number {n}\n  - it holds\n    - deeper, and more so\n  - `- [ ] not a task {n}`\n\n  ```sh\n  - [ ] in a fence {n}\n  echo \"- [x] neither\"\n  ```\n\n"
        ));
    }
    out.push_str("~~~\n- [ ] fenced with tildes\n~~~\n\n## Success criteria\n\n- [ ] people like it\n- [2026-01-29] a note\n- [link](x)\n");
    out
}

fn one_byte_per_task(before: &[u8], after: &[u8], marks: usize) {
    assert_eq!(before.len(), after.len());
    let changed: Vec<_> = before.iter().zip(after).filter(|(a, b)| a != b).collect();
    assert_eq!(changed.len(), marks, "{}", String::from_utf8_lossy(after));
    assert!(
        changed.iter().all(|(a, b)| (**a, **b) == (b' ', b'x')),
        "{changed:?}"
    );
}

/// A11, A12
#[test]
fn a_long_markdown_plan_is_worked_through_and_six_bytes_change() {
    let plan = long_plan();
    let p = Project::build().tasks("PRD.md", &plan).ready();
    p.run(&["run"]).expect(0).says("complete: 6 of 6");
    one_byte_per_task(plan.as_bytes(), &p.bytes("PRD.md"), 6);
    assert_eq!(p.commits()[0], "ralph: US-1 Thing number 1");
    let prompt = p.noted("prompt.1");
    assert!(
        prompt.contains("it holds") && !prompt.contains("Thing number 2"),
        "{prompt}"
    );
}

fn stories(n: usize) -> String {
    let mut out = String::from(
        "{\n  \"project\": \"Großes\",\n  \"custom\": {\"kept\": [1, 2.50, null]},\n  \"userStories\": [\n",
    );
    for i in 1..=n {
        // Priorities run against the order in the file.
        out.push_str(&format!(
            "    {{\"id\": \"US-{i:03}\", \"title\": \"Story {i} – ünïcödé 漢字 🚀\", \"description\": \"d\",\t\"acceptanceCriteria\": [\"a\", \"b\"], \"priority\": {}, \"passes\": false, \"notes\": \"\", \"extra\": 1e3}}{}\n",
            n + 1 - i,
            if i < n { "," } else { "" }
        ));
    }
    out.push_str("  ]\n}\n");
    out
}

#[test]
fn fifty_stories_are_worked_through_by_priority_and_only_passes_changes() {
    let json = stories(50);
    let p = Project::build()
        .tasks("prd.json", &json)
        .in_loop("max_iterations = 60")
        .agent("cat >/dev/null; n=$(count agent); echo \"work $n\" >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(0).says("complete: 50 of 50");
    assert_eq!(
        p.read("prd.json"),
        json.replace("\"passes\": false", "\"passes\": true")
    );
    assert_eq!(p.commits().len(), 50);
    assert!(
        p.commits()[0].starts_with("ralph: US-050 Story 50 – ünïcödé 漢字 🚀"),
        "{}",
        p.commits()[0]
    );
    p.journal();
}

/// E10
#[test]
fn crlf_byte_order_mark_and_foreign_letters_survive() {
    let plan = "\u{feff}# Plán\r\n\r\n## Tasks\r\n\r\n- [ ] Größe prüfen – 漢字 🚀\r\n  - žádné chyby\r\n* [ ] `T` e\u{301}\r\n1. [ ] третья\r\n";
    let p = Project::build().tasks("TASKS.md", plan).ready();
    p.run(&["run"]).expect(0).says("Größe prüfen – 漢字 🚀");
    one_byte_per_task(plan.as_bytes(), &p.bytes("TASKS.md"), 3);
    assert_eq!(p.commits()[0], "ralph: T1 Größe prüfen – 漢字 🚀");

    let json = format!("\u{feff}{}", stories(2)).replace('\n', "\r\n");
    let p = Project::build().tasks("prd.json", &json).ready();
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.read("prd.json"),
        json.replace("\"passes\": false", "\"passes\": true")
    );
}

/// E10
#[test]
fn another_encoding_is_a_clear_error() {
    let utf16: Vec<u8> = "\u{feff}## Tasks\n- [ ] a\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let p = Project::build().tasks("PRD.md", utf16).ready();
    let ran = p.run(&["run"]).expect(3);
    assert!(
        ran.stderr.contains("PRD.md:1:1: ") && ran.stderr.contains("UTF-16"),
        "{}",
        ran.stderr
    );
}

#[test]
fn dependencies_are_done_first() {
    let json = r#"{"userStories":[
{"id":"C","title":"c","passes":false,"priority":1,"depends_on":["A","B"]},
{"id":"B","title":"b","passes":false,"priority":3,"depends_on":["A"]},
{"id":"A","title":"a","passes":false,"priority":9}]}"#;
    let p = Project::build().tasks("prd.json", json).ready();
    p.run(&["run"]).expect(0);
    assert_eq!(p.commits(), ["ralph: A a", "ralph: B b", "ralph: C c"]);
}

/// G08, E04
#[test]
fn hostile_titles_and_ids_stay_words() {
    let json = r#"{"userStories":[
{"id":"../../x","title":"--amend '\" $(touch pwned) `touch pwned` ; | & > x \u001b[2J\u001b]0;own\u0007","passes":false},
{"id":"-n","title":"{task_id} {title} <img src=x>","passes":false}]}"#;
    let p = Project::build().tasks("prd.json", json).ready();
    let ran = p.run(&["run"]).expect(0);
    assert!(
        !ran.stdout.contains('\u{1b}') && !ran.stdout.contains('\u{7}'),
        "{:?}",
        ran.stdout
    );
    assert!(!p.exists("pwned") && !p.all().join("x").exists());
    assert_eq!(p.commits().len(), 2);
    assert!(
        p.commits()[0].starts_with("ralph: ../../x --amend '\" $(touch pwned)"),
        "{:?}",
        p.commits()
    );
    assert_eq!(p.commits()[1], "ralph: -n {task_id} {title} <img src=x>");
    for kind in ["receipts", "attempts", "context"] {
        let made = std::fs::read_dir(p.root().join(".ralph").join(kind))
            .unwrap()
            .count();
        assert_eq!(made, 2, "{kind}");
    }
}

#[test]
fn a_task_file_that_was_edited_between_runs_is_read_anew() {
    let p = Project::build().ready();
    p.run(&["run", "-n", "1"]).expect(1);
    let now = p.read("PRD.md").replace("Second thing", "Another thing") + "- [ ] Third thing\n";
    p.write("PRD.md", now);
    p.run(&["run"]).expect(0);
    assert_eq!(
        p.commits(),
        [
            "ralph: T1 First thing",
            "ralph: T2 Another thing",
            "ralph: T3 Third thing"
        ]
    );
}
