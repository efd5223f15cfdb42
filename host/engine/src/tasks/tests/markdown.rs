use super::*;

/// A12
#[test]
fn only_gfm_task_items_count() {
    for (text, want) in [
        ("- [ ] a", &["a"][..]),
        ("* [x] a", &["a"]),
        ("+ [X] a", &["a"]),
        ("1. [ ] a\n2) [ ] b", &["a", "b"]),
        ("-\t[ ]\ta", &["a"]),
        ("   - [ ] a", &["a"]),
        ("- [ ] text with [ ] in it", &["text with [ ] in it"]),
        ("- [2026-01-29] note\n- [ ] a", &["a"]),
        ("- [link](x)\n- [ ] a", &["a"]),
        ("- [x](y) z\n- [ ] a", &["a"]),
        ("- [ ]no space\n- [ ] a", &["a"]),
        ("- [x]\n- [ ] a", &["a"]),
        ("* [x]\n* [ ] \n- [ ] a", &["a"]),
        ("-[ ] no\n- [ ] a", &["a"]),
        ("[ ] no\n- [ ] a", &["a"]),
        ("- [] no\n- [ ] a", &["a"]),
        ("- [  ] no\n- [ ] a", &["a"]),
        ("1234567890. [ ] no\n- [ ] a", &["a"]),
        ("- \\[ ] no\n- [ ] a", &["a"]),
        ("-     [ ] code\n- [ ] a", &["a"]),
        ("- - [ ] a", &["a"]),
        ("> - [ ] quoted\n\n- [ ] a", &["a"]),
        ("- [?] odd\n- [ ] a", &["a"]),
    ] {
        assert_eq!(titles(text), want, "{text:?}");
    }
}

#[test]
fn marks_say_the_state() {
    use TaskState::*;
    for (mark, state) in [
        (' ', Open),
        ('x', Done),
        ('X', Done),
        ('-', Blocked),
        ('!', Blocked),
        ('~', InProgress),
    ] {
        assert_eq!(md(&format!("* [{mark}] a")).entries()[0].state, state);
    }
}

#[test]
fn boxes_in_code_comments_and_html_are_text() {
    for text in [
        "```\n- [ ] a\n```",
        "~~~md\n- [ ] a\n```\n- [ ] b\n~~~",
        "````\n```\n- [ ] a\n```\n````",
        "  ```\n- [ ] a\n  ```",
        "    - [ ] a",
        "\t- [ ] a",
        "para\n\n    - [ ] a",
        "para\n    - [ ] a",
        "<!-- - [ ] a -->",
        "<!--\n- [ ] a\n\n- [ ] b\n-->",
        "<pre>\n- [ ] a\n</pre>",
        "- item\n  ```\n  - [ ] a\n  ```",
        "- ```\n  - [ ] a\n  ```",
        "- <!--\n  - [ ] a\n  -->",
        "1. [ ] t\n  ```\n- [ ] a\n  ```",
        "- [ ] t\n\n      - [ ] a",
    ] {
        let got = titles(&format!("{text}\n\n- [ ] last"));
        let want: &[&str] = if text.contains("] t") {
            &["t", "last"]
        } else {
            &["last"]
        };
        assert_eq!(got, want, "{text}");
    }
}

#[test]
fn code_and_comments_end_where_they_end() {
    for text in [
        "```\ncode\n```\n- [ ] a",
        "``` not ` a fence\n- [ ] a",
        "<!-- x -->\n- [ ] a",
        "- <!-- x -->\n- [ ] a",
        "- item\n  ```\n  code\n- [ ] a",
        "- ```\n- [ ] a",
        "text <!-- open\n- [ ] a",
        "<previous>\n- [ ] a",
    ] {
        assert_eq!(titles(text), ["a"], "{text}");
    }
}

#[test]
fn an_unclosed_fence_is_said() {
    let file = md("- [ ] a\n\n```\n- [ ] b\n");
    assert_eq!(tasks(&file), ["T1=a"]);
    assert_eq!(
        file.warnings(),
        ["line 3: the code fence is never closed; nothing below it is a task"]
    );
}

/// A11
#[test]
fn only_boxes_in_the_task_section_count_and_the_rest_warn() {
    let text = "# Plan\n- [ ] before\n## Tasks for now\n- [x] a [ ] b\n### Part\n- [x] c\n## Success criteria\n- [ ] s1\n- [ ] s2\n# Other\n- [ ] o\n";
    let file = md(text);
    assert_eq!(tasks(&file), ["T1=a [ ] b", "T2=c"]);
    assert_eq!(file.next(&|_| false), Selection::AllDone);
    assert_eq!(
        file.warnings(),
        [
            "line 2: a box below `Plan`, outside the section \"Tasks\", is no task",
            "line 8: 2 boxes below `Success criteria` are no tasks",
            "line 11: a box below `Other`, outside the section \"Tasks\", is no task",
        ]
    );
}

#[test]
fn headings_of_every_make_open_and_end_the_task_section() {
    for (text, want) in [
        ("## tasks\n- [ ] a\n## Notes\n- [ ] b", &["a"][..]),
        ("## ✅ **Tasks**\n- [ ] a\n# Notes\n- [ ] b", &["a"]),
        ("## 2. Tasks: now ##\n- [ ] a\n## x\n- [ ] b", &["a"]),
        ("Tasks\n-----\n- [ ] a\n\nNotes\n---\n- [ ] b", &["a"]),
        ("## Tasks\n- [ ] a\n\ntext\n\n---\n\n- [ ] b", &["a", "b"]),
        (
            "## Tasks 1\n- [ ] a\n## Tasks 2\n- [ ] b\n## No\n- [ ] c",
            &["a", "b"],
        ),
        ("### Tasks\n- [ ] a\n## Else\n- [ ] b", &["a", "b"]),
        ("# Tasks\n- [ ] a\n## Else\n- [ ] b", &["a", "b"]),
        ("## Tasksmith\n- [ ] a", &["a"]),
        ("```\n## Tasks\n```\n- [ ] a", &["a"]),
        ("##Tasks\n- [ ] a", &["a"]),
        (
            "## Tasks\n- [ ] a\n### Acceptance criteria\n- [ ] b\n### More\n- [ ] c",
            &["a", "c"],
        ),
        (
            "# Definition of Done\n- [ ] b\n## Sub\n- [ ] b\n# Work\n- [ ] c",
            &["c"],
        ),
    ] {
        assert_eq!(titles(text), want, "{text}");
    }
}

#[test]
fn nested_items_are_criteria_with_or_without_a_box() {
    let file = md(
        "- [ ] a\n  - one\n    more of it\n  - [x] two\n    * three\n\t- four\n\n  Text below.\n\n  Second.\n- [ ] b\n   - five\n1. [ ] c\n  - six\n  - [ ] seven\n   2. eight\n",
    );
    let got: Vec<_> = file
        .entries()
        .iter()
        .map(|e| (e.task.title.as_str(), e.task.acceptance.clone()))
        .collect();
    assert_eq!(got[0].1, ["one more of it", "two", "three", "four"]);
    assert_eq!(file.entries()[0].task.description, "Text below.\n\nSecond.");
    assert_eq!(got[1], ("b", vec!["five".to_owned()]));
    assert_eq!(got[2].1, ["six", "seven", "eight"]);
    assert_eq!(got.len(), 3);
}

#[test]
fn a_box_below_an_item_without_one_is_a_task() {
    assert_eq!(
        titles("- Phase 1\n  - [ ] a\n    - [ ] crit\n  - [ ] b\n- Phase 2\n  1. [ ] c"),
        ["a", "b", "c"]
    );
}

#[test]
fn items_that_commonmark_shows_side_by_side_are_tasks_of_their_own() {
    assert_eq!(titles("- [ ] a\n - [ ] b\n- [ ] c"), ["a", "b", "c"]);
    assert_eq!(titles(" 9. [ ] a\n10. [ ] b"), ["a", "b"]);
    assert_eq!(titles("1. [ ] a\n  2. [ ] b"), ["a", "b"]);
    assert_eq!(titles("-   [ ] a\n  - [ ] b"), ["a", "b"]);
}

#[test]
fn text_after_a_blank_line_ends_the_task() {
    let file = md("- [ ] a\n  still a\nlazily a\n\nnot a\n  - not a either\n");
    assert_eq!(file.entries()[0].task.description, "still a\nlazily a");
    assert!(file.entries()[0].task.acceptance.is_empty());
}

#[test]
fn code_in_a_task_is_part_of_its_description_as_it_is() {
    let file = md("- [ ] a\n  ```sh\n  if x\n    then - [ ] y\n  ```\n- [ ] b\n");
    assert_eq!(tasks(&file), ["T1=a", "T2=b"]);
    assert_eq!(
        file.entries()[0].task.description,
        "```sh\nif x\n  then - [ ] y\n```"
    );
}

/// E10
#[test]
fn bom_crlf_and_a_missing_last_newline_survive_a_write() {
    let text = "\u{feff}# Plan\r\n\r\n- [ ] été 🎉\r\n- [X] b\r\n  - c\r\n* [~] d";
    let file = md(text);
    assert_eq!(tasks(&file), ["T1=été 🎉", "T2=b", "T3=d"]);
    assert_eq!(file.entries()[2].line, 6);
    assert_eq!(
        set(&file, "T1", TaskState::Done),
        text.replace("- [ ] été", "- [x] été")
    );
    assert_eq!(
        set(&file, "T2", TaskState::Open),
        text.replace("[X]", "[ ]")
    );
    assert_eq!(
        set(&file, "T2", TaskState::Done),
        text,
        "an X is as good as an x"
    );
    assert_eq!(
        set(&file, "T3", TaskState::Blocked),
        text.replace("[~]", "[-]")
    );
}

#[test]
fn old_mac_line_ends_are_line_ends() {
    let file = md("# x\r- [ ] a\r- [ ] b\r");
    assert_eq!(tasks(&file), ["T1=a", "T2=b"]);
    assert_eq!(file.entries()[1].line, 3);
}

#[test]
fn the_format_is_told_by_extension_then_by_content() {
    use crate::tasks::Format;
    let json = br#" {"stories":[{"id":1,"title":"t"}]}"#;
    assert_eq!(
        TaskFile::parse("tasks", json).unwrap().format(),
        Format::PrdJson
    );
    assert_eq!(
        TaskFile::parse("x/prd.JSON", json).unwrap().format(),
        Format::PrdJson
    );
    assert_eq!(
        TaskFile::parse("tasks", b"- [ ] a").unwrap().format(),
        Format::Markdown
    );
    assert_eq!(
        TaskFile::parse("a.md", b"{x}\n- [ ] a").unwrap().format(),
        Format::Markdown
    );
}

#[test]
fn a_long_file_is_read_once_not_once_per_task() {
    let mut text = String::new();
    for i in 0..100_000 {
        text.push_str(&format!("- [ ] task {i}\n  - criterion\n"));
    }
    let started = std::time::Instant::now();
    let file = md(&text);
    assert_eq!(file.entries().len(), 100_000);
    assert_eq!(next_id(&file).unwrap(), "T1");
    // A second or so without optimisation; anything quadratic takes minutes.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn indented_code_in_a_task_is_no_criterion() {
    let file = md("- [ ] a\n\n      - [ ] b\n\n      - c\n  - d\n        - e\n");
    let task = &file.entries()[0].task;
    assert_eq!(
        task.acceptance,
        ["d", "e"],
        "too far in, but not after a blank line: people mean it"
    );
    assert_eq!(task.description, "    - [ ] b\n\n    - c");
}
