//! From one form of task file to another.
#![allow(clippy::unwrap_used, missing_docs)]

use proptest::prelude::*;
use ralph_engine::tasks::TaskFile;

const PLAN: &str = "# Plan\n\n## Tasks\n\n- [ ] Let it take a name\n  - `greet Ada` prints it\n  - Depends on: T3\n- [x] US-7: Something done\n- [-] Stuck\n- [~] Somebody is at it\n";

fn facts(file: &TaskFile) -> Vec<String> {
    file.entries()
        .iter()
        .map(|e| {
            let t = &e.task;
            format!(
                "{} {} {:?} {:?} {:?}",
                t.id, t.title, e.state, t.acceptance, t.depends_on
            )
        })
        .collect()
}

#[test]
fn every_form_holds_the_same_tasks_as_every_other() {
    let plan = TaskFile::parse("PRD.md", PLAN.as_bytes()).unwrap();
    let mut file = plan.clone();
    for name in [
        "prd.json",
        "tasks.yaml",
        "again.md",
        "again.yml",
        "again.json",
    ] {
        let converted = file.convert(name).unwrap();
        assert_eq!(converted.lost, Vec::<String>::new(), "{name}");
        file = TaskFile::parse(name, &converted.bytes).unwrap();
        assert_eq!(facts(&file), facts(&plan), "{name}");
    }
}

#[test]
fn what_the_new_form_does_not_hold_is_named() {
    let stories =
        r#"{"userStories":[{"id":"A","title":"a","priority":3,"passes":false,"notes":"n"}]}"#;
    let file = TaskFile::parse("prd.json", stories.as_bytes()).unwrap();
    assert_eq!(
        file.convert("PRD.md").unwrap().lost,
        ["A: its priority", "A: its notes"]
    );
    assert_eq!(file.convert("b.json").unwrap().lost, Vec::<String>::new());
}

#[test]
fn another_ending_is_an_error() {
    let file = TaskFile::parse("PRD.md", PLAN.as_bytes()).unwrap();
    for name in ["tasks.txt", "tasks", ""] {
        let error = file.convert(name).unwrap_err().to_string();
        assert!(error.contains(".md, .json, .yaml"), "{error}");
    }
}

proptest! {
    #[test]
    fn what_is_handed_out_reads_as_it_was(titles in prop::collection::vec("[ -~äß日]{1,30}", 1..5)) {
        let stories: Vec<_> = titles
            .iter()
            .enumerate()
            .map(|(i, t)| serde_json::json!({"id": format!("S-{i}"), "title": t, "passes": i % 2 == 0}))
            .collect();
        let text = serde_json::json!({ "userStories": stories }).to_string();
        if let Ok(file) = TaskFile::parse("prd.json", text.as_bytes()) {
            for name in ["x.md", "x.yaml", "x.json"] {
                // A title that Markdown would read otherwise is refused, never changed.
                if let Ok(converted) = file.convert(name) {
                    let back = TaskFile::parse(name, &converted.bytes).unwrap();
                    prop_assert_eq!(facts(&back), facts(&file));
                }
            }
        }
    }
}
