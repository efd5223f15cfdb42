use proptest::prelude::*;

use super::*;
use crate::tasks::json as scanner;

/// Pieces from which documents are thrown together that come near what the scanner looks at.
pub(super) fn markdown() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "- [ ] ",
        "- [x] ",
        "* [~] ",
        "1. [-] ",
        "- ",
        "  ",
        "    ",
        "\t",
        "\n",
        "\r\n",
        "\n\n",
        "```",
        "~~~",
        "<!--",
        "-->",
        "## Tasks",
        "## Acceptance",
        "# ",
        "---",
        "a",
        "é",
        "Depends on: 1",
        "US-1: ",
        "{#x}",
        "> ",
        "[?] ",
        "<pre>",
        "日",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|p| p.concat())
}

fn stories() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(vec!["", " ", "\n  ", "\r\n\t"]);
    let field = prop::sample::select(vec![
        "\"passes\":true",
        "\"passes\":false",
        "\"blocked\":true",
        "\"blocked\":false",
        "\"x\":[1,{}]",
        "\"notes\":\"é\"",
        "\"priority\":3",
    ]);
    let story = (prop::collection::btree_set(field, 0..5), blank);
    prop::collection::vec(story, 1..6).prop_map(|stories| {
        let mut keys = Vec::new();
        for (i, (fields, blank)) in stories.iter().enumerate() {
            let mut seen: Vec<&str> = Vec::new();
            let mut parts = vec![
                format!("{blank}\"id\":\"s{i}\""),
                format!("{blank}\"title\":\"t\""),
            ];
            for f in fields {
                let key = f.split(':').next().unwrap();
                if !seen.contains(&key) {
                    seen.push(key);
                    parts.push(format!("{blank}{f}"));
                }
            }
            keys.push(format!("{{{}{blank}}}", parts.join(",")));
        }
        format!("{{\"mine\":1,\"userStories\":[{}]}}", keys.join(", "))
    })
}

fn any_state() -> impl Strategy<Value = TaskState> {
    prop::sample::select(vec![TaskState::Open, TaskState::Blocked, TaskState::Done])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), json in any::<bool>()) {
        let _ = TaskFile::parse(if json { "a.json" } else { "a.md" }, &bytes);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}", json in any::<bool>()) {
        let _ = TaskFile::parse(if json { "a.json" } else { "a.md" }, text.as_bytes());
    }

    #[test]
    fn a_mark_changes_one_byte_and_its_task_only(text in markdown(), state in any_state(), pick in any::<prop::sample::Index>()) {
        let Ok(file) = TaskFile::parse("a.md", text.as_bytes()) else { return Ok(()) };
        let entry = pick.get(file.entries());
        let after = file.set_state(&entry.task.id, state).unwrap();
        prop_assert_eq!(after.len(), text.len());
        let changed = after.iter().zip(text.as_bytes()).filter(|(a, b)| a != b).count();
        prop_assert_eq!(changed, usize::from(entry.state != state));
        let again = TaskFile::parse("a.md", &after).unwrap();
        for (old, new) in file.entries().iter().zip(again.entries()) {
            prop_assert_eq!(&old.task, &new.task);
            prop_assert_eq!(new.state, if old.task.id == entry.task.id { state } else { old.state });
        }
        prop_assert_eq!(again.set_state(&entry.task.id, entry.state).unwrap(), text.into_bytes());
    }

    #[test]
    fn a_story_changes_alone_and_back(text in stories(), state in any_state(), pick in any::<prop::sample::Index>()) {
        let file = TaskFile::parse("a.json", text.as_bytes()).unwrap();
        let entry = pick.get(file.entries());
        let after = file.set_state(&entry.task.id, state).unwrap();
        let valid: serde_json::Value = serde_json::from_slice(&after).unwrap();
        prop_assert!(valid["mine"] == 1);
        let again = TaskFile::parse("a.json", &after).unwrap();
        for (old, new) in file.entries().iter().zip(again.entries()) {
            prop_assert_eq!(&old.task, &new.task);
            prop_assert_eq!(new.state, if old.task.id == entry.task.id { state } else { old.state });
        }
        let back = again.set_state(&entry.task.id, entry.state).unwrap();
        if after.len().abs_diff(text.len()) <= 1 && !(text.contains("\"passes\":true") && text.contains("\"blocked\":true")) {
            // Nothing was added; so the way back leads to the same bytes.
            prop_assert_eq!(String::from_utf8(back).unwrap(), text);
        }
    }

    #[test]
    fn all_at_once_is_one_after_another(
        text in stories(),
        list in markdown(),
        states in prop::collection::vec(any_state(), 1..6),
    ) {
        for (name, text) in [("a.json", text), ("a.md", list)] {
            let Ok(file) = TaskFile::parse(name, text.as_bytes()) else { continue };
            let changes: Vec<(&str, TaskState)> = file.entries().iter()
                .map(|e| e.task.id.as_str()).zip(states.iter().copied().cycle()).collect();
            let mut one_by_one = file.clone();
            for (id, state) in &changes {
                let bytes = one_by_one.set_state(id, *state).unwrap();
                one_by_one = TaskFile::parse(name, &bytes).unwrap();
            }
            let at_once = file.set_states(&changes).unwrap();
            prop_assert_eq!(String::from_utf8_lossy(&at_once), String::from_utf8_lossy(one_by_one.bytes()));
        }
    }

    #[test]
    fn the_scanner_agrees_with_serde_json(text in r#"[\[\]{}:,"\\a0-9e.\-+ \ntruefalsn]{0,24}"#) {
        let ours = scanner::parse(&text, 0);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(_) => prop_assert!(ours.is_ok() || ours.unwrap_err().message.contains("twice"), "{}", text),
            // serde_json also refuses numbers beyond its range; those are fine as JSON.
            Err(e) => prop_assert!(ours.is_err() || e.to_string().contains("out of range"), "{}", text),
        }
    }

    #[test]
    fn the_scanner_reads_what_serde_json_writes(text in any::<String>()) {
        let written = serde_json::to_string(&text).unwrap();
        let value = scanner::parse(&written, 0).unwrap();
        prop_assert_eq!(value.end, written.len());
        prop_assert_eq!(value.kind, scanner::Kind::String(text));
    }
}
