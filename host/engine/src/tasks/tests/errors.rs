use super::*;

#[test]
fn lines_are_counted_whatever_ends_them() {
    for end in ["\n", "\r\n", "\r"] {
        let e = fails(
            "a.md",
            &format!("# p{end}{end}- [ ] é{end}  - Depends on: x{end}"),
        );
        assert_eq!((e.line, e.column), (4, 17), "{end:?}");
    }
}

#[test]
fn errors_name_file_line_and_column() {
    let e = fails("x/PRD.md", "# p\n- [ ] a\n  - Depends on: T1x\n");
    assert_eq!(
        e.to_string(),
        "x/PRD.md:3:17: `T1` depends on `T1x`, which is no task of this file"
    );
}

/// E11: an empty list must never look like "all done".
#[test]
fn a_file_without_tasks_is_an_error() {
    for (name, text) in [
        ("a.md", ""),
        ("a.md", " \n\n"),
        ("a.md", "# Title\n\ntext"),
        ("a.md", "```\n- [ ] a\n```"),
        ("a.md", "\u{feff}"),
        ("a.json", ""),
        ("a.json", r#"{"userStories":[]}"#),
        ("a.json", r#"{"stories":[]}"#),
    ] {
        let e = fails(name, text);
        assert!(
            e.message.starts_with(&format!("no tasks in {name}")),
            "{text:?}: {e}"
        );
    }
    let e = fails("a.md", "## Tasks\n## Acceptance\n- [ ] a");
    assert!(
        e.message
            .contains("line 3: a box below `Acceptance` is no task"),
        "{e}"
    );
}

/// E10
#[test]
fn utf16_and_other_encodings_are_named() {
    let utf16 = |big: bool, bom: bool| {
        let mut bytes = Vec::new();
        let text = format!("{}- [ ] a", if bom { "\u{feff}" } else { "" });
        for unit in text.encode_utf16() {
            bytes.extend(if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            });
        }
        bytes
    };
    for bytes in [
        utf16(true, true),
        utf16(false, true),
        utf16(true, false),
        utf16(false, false),
    ] {
        let e = TaskFile::parse("a.md", &bytes).unwrap_err();
        assert_eq!(e.message, "the file is UTF-16; save it as UTF-8");
    }
    let e = TaskFile::parse("a.md", b"- [ ] a\n- [ ] \xe9t\xe9").unwrap_err();
    assert_eq!((e.line, e.column), (2, 7));
    let e = TaskFile::parse("a.md", b"- [ ] a long enough title\n- [ ] b\0c").unwrap_err();
    assert_eq!((e.line, e.column), (2, 8));
    assert!(e.message.starts_with("a NUL byte"), "{e}");
}

/// E11, F14
#[test]
fn a_broken_prd_json_is_an_error_with_its_place() {
    for (text, line, column, part) in [
        (
            "{\"stories\":[\n{\"id\":1 \"title\":\"t\"}]}",
            2,
            9,
            "here `,` or `}` should stand",
        ),
        (
            "{\"stories\":[\n{\"id\":1,\"title\":\"t\",\"id\":2}]}",
            2,
            21,
            "the key `id` stands twice",
        ),
        (
            "{\"stories\":[\n{\"id\":1,\"title\":\"t\"}",
            2,
            21,
            "the file ends where `,` or `]`",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t",
            1,
            29,
            "the file ends inside the string",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\"},]}",
            1,
            34,
            "a comma too many before `]`",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",}]}",
            1,
            33,
            "a comma too many before `}`",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"é\",\"passes\":\"true\"}]}",
            1,
            42,
            "`passes` should be true or false, without quotes,",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"passes\":null}]}",
            1,
            42,
            "`passes` should be true or false",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"passes\":1}]}",
            1,
            42,
            "`passes` should be",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\"},\n{\"id\":\"1\",\"title\":\"u\"}]}",
            2,
            7,
            "`1` is the id of two tasks; the other one is in line 1",
        ),
        (
            "{\"stories\":[{\"title\":\"t\"}]}",
            1,
            13,
            "story 1 has no `id`",
        ),
        (
            "{\"stories\":[{\"id\":1}]}",
            1,
            13,
            "story 1 has no `title`",
        ),
        (
            "{\"stories\":[{\"id\":1.5,\"title\":\"t\"}]}",
            1,
            19,
            "an id is a string or a whole number",
        ),
        (
            "{\"stories\":[{\"id\":\"\",\"title\":\"t\"}]}",
            1,
            19,
            "is empty",
        ),
        (
            "{\"stories\":[{\"id\":\"a\\u001b[2J\",\"title\":\"t\"}]}",
            1,
            19,
            "invisible",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\" \"}]}",
            1,
            29,
            "the title of story 1 is empty",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"priority\":\"high\"}]}",
            1,
            44,
            "`priority` should be a whole number",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"priority\":1e99}]}",
            1,
            44,
            "`priority` should be a whole number",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"acceptance\":[1]}]}",
            1,
            47,
            "an entry of `acceptance`",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"depends_on\":[\"q\"]}]}",
            1,
            47,
            "`1` depends on `q`",
        ),
        (
            "{\"stories\":[{\"id\":\"a\",\"title\":\"t\",\"depends_on\":[1]}]}",
            1,
            49,
            "`a` depends on `1`",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"status\":\"maybe\"}]}",
            1,
            42,
            "`status` should be open",
        ),
        (
            "{\"stories\":[{\"id\":1,\"title\":\"t\",\"acceptance\":[],\"acceptanceCriteria\":[]}]}",
            1,
            49,
            "mean the same",
        ),
        (
            "{\"stories\":[5]}",
            1,
            13,
            "story 1 should be an object and is a number",
        ),
        ("{\"stories\":{}}", 1, 12, "`stories` should be an array"),
        ("{\"tasks\":[]}", 1, 1, "no `userStories`"),
        ("[]", 1, 1, "expected an object"),
        ("{} x", 1, 4, "something follows"),
        (
            "\u{feff}{\"stories\":[5]}",
            1,
            13,
            "story 1 should be an object",
        ),
    ] {
        let e = fails("prd.json", text);
        assert!(e.message.contains(part), "{text}\n{e}");
        assert_eq!((e.line, e.column), (line, column), "{text}\n{e}");
    }
}

/// E05
#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let e = fails("prd.json", &"[".repeat(100_000));
    assert!(e.message.contains("nested more than 128 deep"), "{e}");
    assert_eq!(
        titles(&format!("{}[ ] a\n- [ ] b", "- ".repeat(100_000))),
        ["b"]
    );
}

/// F14
#[test]
fn circles_are_named() {
    for (text, circle) in [
        ("- [ ] a\n  - Depends on: T1\n", "T1 → T1"),
        (
            "- [ ] a\n  - Depends on: T2\n- [ ] b\n  - Depends on: T1\n",
            "T1 → T2 → T1",
        ),
        (
            "- [x] a\n  - Depends on: T2\n- [ ] b\n  - Depends on: T3\n- [ ] c\n  - Depends on: T2\n",
            "T2 → T3 → T2",
        ),
    ] {
        let e = fails("a.md", text);
        assert_eq!(
            e.message,
            format!("tasks wait for one another in a circle: {circle}")
        );
    }
    let mut chain = String::new();
    for i in 1..=50_000 {
        chain.push_str(&format!("- [ ] x\n  - Depends on: {}\n", i + 1));
    }
    assert_eq!(md(&format!("{chain}- [ ] x\n")).entries().len(), 50_001);
    let e = fails("a.md", &format!("{chain}- [ ] x\n  - Depends on: 1\n"));
    assert!(e.message.contains("T12 → … 49989 more → T1"), "{e}");
}

#[test]
fn ids_that_meet_are_an_error() {
    let e = fails("a.md", "- [ ] US-1: a\n- [ ] US-1: b\n");
    assert_eq!(
        e.to_string(),
        "a.md:2:4: `US-1` is the id of two tasks; the other one is in line 1"
    );
    let e = fails("a.md", "- [ ] T2: a\n- [ ] b\n");
    assert!(
        e.message
            .contains("the task in line 2 has no id of its own and would be `T2`"),
        "{e}"
    );
    let e = fails("a.md", "- [ ] a\n- [ ] T1: b\n");
    assert!(
        e.message
            .contains("the task in line 1 has no id of its own and would be `T1`"),
        "{e}"
    );
}

#[test]
fn an_unknown_id_cannot_be_set() {
    let e = md("- [ ] a").set_state("T9", TaskState::Done).unwrap_err();
    assert_eq!(e.message, "there is no task `T9`");
}
