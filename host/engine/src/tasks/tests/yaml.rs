use proptest::prelude::*;

use super::*;
use crate::tasks::Format;

fn yaml(text: &str) -> TaskFile {
    TaskFile::parse("tasks.yaml", text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

const PLAN: &str = "# my plan
version: 1
metadata: {branch: ralph/x, owners: [a, b]}
tasks:
  - id: 1            # the first
    title: \"Lay the ground\"  # quoted
    completed: true

  # it needs the ground
  - id: walls
    group: house
    title: Walls: none
    acceptance:
      - four of them
      - 2.50
    depends_on: [1]
    priority: 2
  - {id: roof, title: Roof é, depends_on: [walls], blocked: false}
  - title: >-
      Move
      in
    id: T9
";

fn plan() -> String {
    PLAN.replace("Walls: none", "Walls")
}

#[test]
fn fields_of_the_python_loop_are_read() {
    let file = yaml(&plan());
    assert_eq!(file.format(), Format::Yaml);
    assert_eq!(
        tasks(&file),
        [
            "1=Lay the ground",
            "walls=Walls",
            "roof=Roof é",
            "T9=Move in"
        ]
    );
    let walls = file.get("walls").unwrap();
    assert_eq!(walls.task.acceptance, ["four of them", "2.50"]);
    assert_eq!(walls.task.depends_on, ["1"]);
    assert_eq!((walls.line, walls.task.priority), (10, Some(2)));
    assert_eq!(file.counts(), (1, 4));
    assert_eq!(next_id(&file).as_deref(), Some("walls"));
}

#[test]
fn marking_keeps_comments_quotes_and_layout() {
    let text = plan();
    let file = yaml(&text);
    assert_eq!(
        set(&file, "1", TaskState::Open),
        text.replace("completed: true", "completed: false")
    );
    assert_eq!(
        set(&file, "walls", TaskState::Done),
        text.replace("title: Walls\n", "title: Walls\n    completed: true\n")
    );
    assert_eq!(
        set(&file, "roof", TaskState::Blocked),
        text.replace("blocked: false", "blocked: true")
    );
    assert_eq!(
        set(&file, "roof", TaskState::Done),
        text.replace("{id: roof", "{completed: true, id: roof")
    );
    // Above the next field, where the title takes more than a line.
    assert_eq!(
        set(&file, "T9", TaskState::Done),
        text.replace("    id: T9", "    completed: true\n    id: T9")
    );
}

#[test]
fn crlf_and_a_byte_order_mark_survive() {
    let text = format!("\u{feff}{}", plan().replace('\n', "\r\n"));
    let file = TaskFile::parse("t.yml", text.as_bytes()).unwrap();
    let after = set(&file, "walls", TaskState::Blocked);
    assert_eq!(
        after,
        text.replace("Walls\r\n", "Walls\r\n    blocked: true\r\n")
    );
}

#[test]
fn a_file_without_a_last_line_end_can_be_marked() {
    let file = yaml("tasks:\n- id: a\n  title: b");
    assert_eq!(
        set(&file, "a", TaskState::Done),
        "tasks:\n- id: a\n  title: b\n  completed: true"
    );
}

#[test]
fn a_status_is_understood_and_edited() {
    let file = yaml("tasks:\n- {id: a, title: b, status: \"open\"} # x\n");
    assert_eq!(
        set(&file, "a", TaskState::InProgress),
        "tasks:\n- {id: a, title: b, status: in_progress} # x\n"
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let cases = [
        ("tasks:\n- id: a\n  title: [\n", "not valid YAML"),
        ("tasks:\n- id: a\n", "no `title`"),
        ("tasks: []\n", "no tasks"),
        ("# nothing\n", "no tasks"),
        ("- id: a\n", "expected a mapping"),
        ("other: 1\n", "has no `tasks`"),
        ("version: 2\ntasks: []\n", "version: 1"),
        (
            "tasks:\n- id: a\n  title: b\n- id: a\n  title: c\n",
            "two tasks",
        ),
        (
            "tasks:\n- id: a\n  title: b\n  depends_on: [z]\n",
            "no task of this file",
        ),
        (
            "tasks:\n- {id: a, title: b, depends_on: [c]}\n- {id: c, title: d, depends_on: [a]}\n",
            "circle",
        ),
        ("tasks:\n- id: a\n  title: b\n  title: c\n", "twice"),
        (
            "tasks:\n- id: a\n  title: b\n  completed: yes\n",
            "true or false",
        ),
        (
            "x: &x {id: a}\ntasks:\n- <<: *x\n  title: b\n",
            "merge keys",
        ),
        (
            "x: &x [a]\ntasks:\n- id: b\n  title: c\n  acceptance: *x\n",
            "alias",
        ),
        (
            "tasks:\n- {id: a, title: b}\n---\ntasks:\n",
            "second document",
        ),
    ];
    for (text, what) in cases {
        let e = fails("tasks.yaml", text);
        assert!(e.message.contains(what), "{e}\n{text}");
    }
    let e = fails(
        "tasks.yaml",
        "tasks:\n- id: é\n  title: b\n- id: é\n  title: c\n",
    );
    assert_eq!((e.line, e.column), (4, 7), "{e}");
}

#[test]
fn an_odd_layout_is_refused_rather_than_broken() {
    let file = yaml("tasks:\n- ? id\n  : a\n  ? title\n  : >\n    b\n");
    let e = file.set_state("a", TaskState::Done);
    if let Ok(bytes) = e {
        let again = TaskFile::parse("t.yaml", &bytes).unwrap();
        assert_eq!(again.get("a").unwrap().state, TaskState::Done);
    }
}

#[test]
fn deep_nesting_ends_in_an_error() {
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(5_000),
    ] {
        fails("tasks.yaml", &text);
    }
}

fn documents() -> impl Strategy<Value = String> {
    let title = prop::sample::select(vec![
        "t",
        "\"q: é\"",
        "'it''s'",
        "|\n      two\n      lines",
        ">-\n      folded",
        "t  # why",
        "2024",
    ]);
    let field = prop::sample::select(vec![
        "completed: true",
        "completed: false # no",
        "blocked: true",
        "blocked: False",
        "x: [1, {}]",
        "notes: é",
        "priority: 3",
        "acceptance:\n    - one\n    # two\n    - two",
        "# a comment",
        "depends_on: []",
    ]);
    let task = (
        title,
        prop::collection::vec(field, 0..5),
        any::<bool>(),
        any::<bool>(),
    );
    (prop::collection::vec(task, 1..6), any::<bool>()).prop_map(|(tasks, crlf)| {
        let mut out = "# top\ntasks:\n".to_owned();
        for (i, (title, fields, first, blank)) in tasks.iter().enumerate() {
            let mut seen: Vec<&str> = Vec::new();
            let mut lines = vec![format!("id: s{i}"), format!("title: {title}")];
            if *first {
                lines.swap(0, 1);
            }
            for f in fields {
                let key = f.split(':').next().unwrap();
                if !seen.contains(&key) {
                    seen.push(key);
                    lines.push((*f).to_owned());
                }
            }
            out.push_str(&format!("  - {}\n", lines.join("\n    ")));
            out.push_str(if *blank { "\n" } else { "" });
        }
        if crlf { out.replace('\n', "\r\n") } else { out }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_yaml_parser_panic(text in "\\PC{0,200}") {
        let _ = TaskFile::parse("a.yaml", text.as_bytes());
    }

    #[test]
    fn no_bytes_make_the_yaml_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = TaskFile::parse("a.yml", &bytes);
    }

    #[test]
    fn nothing_near_yaml_makes_the_parser_panic(text in r#"[\[\]{}:,"'\\a0\-+ \n\t#&*!|>%@`?é~]{0,60}"#) {
        let _ = TaskFile::parse("a.yml", format!("tasks:\n- id: a\n  title: {text}").as_bytes());
        let _ = TaskFile::parse("a.yml", text.as_bytes());
    }

    #[test]
    fn a_task_changes_alone_and_back(text in documents(), state in prop::sample::select(vec![TaskState::Open, TaskState::Blocked, TaskState::Done]), pick in any::<prop::sample::Index>()) {
        let file = yaml(&text);
        let entry = pick.get(file.entries());
        let after = file.set_state(&entry.task.id, state).unwrap();
        let again = TaskFile::parse("tasks.yaml", &after).unwrap();
        for (old, new) in file.entries().iter().zip(again.entries()) {
            prop_assert_eq!(&old.task, &new.task);
            prop_assert_eq!(new.state, if old.task.id == entry.task.id { state } else { old.state });
        }
        let eol = if text.contains('\r') { "\r\n" } else { "\n" };
        let added = ["completed", "blocked"].map(|key| format!("    {key}: true{eol}"));
        let after = String::from_utf8(after).unwrap();
        let lines = |t: &str| t.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
        let (old, new) = (lines(&text), lines(&after));
        // Either one line more, or the same lines but those of the two fields.
        if new.len() == old.len() {
            for (o, n) in old.iter().zip(&new) {
                prop_assert!(o == n || n.contains("completed:") || n.contains("blocked:"), "{} {}", o, n);
            }
        } else {
            prop_assert_eq!(new.len(), old.len() + 1);
            let at = (0..old.len()).find(|&i| old[i] != new[i]).unwrap_or(old.len());
            prop_assert!(added.contains(&new[at]), "{:?}", &new[at]);
        }
    }
}
