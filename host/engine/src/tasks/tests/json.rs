use super::*;

const PRETTY: &str = "{\r\n  \"project\": \"x\",\r\n  \"branchName\": \"ralph/x\",\r\n  \"userStories\": [\r\n    {\r\n      \"id\": \"US-1\",\r\n      \"title\": \"Été\\nfest\",\r\n      \"description\": \"d\",\r\n      \"acceptanceCriteria\": [\"one\", \"two\"],\r\n      \"priority\": 2,\r\n      \"passes\": false,\r\n      \"notes\": \"n\",\r\n      \"mine\": {\"k\": [1, 2.50]}\r\n    },\r\n    {\r\n      \"id\": 7,\r\n      \"title\": \"two\",\r\n      \"dependsOn\": [\"US-1\"],\r\n      \"priority\": 1\r\n    }\r\n  ]\r\n}";

#[test]
fn a_story_is_read_with_all_its_fields() {
    let file = json(PRETTY);
    let first = &file.entries()[0];
    assert_eq!(first.task.id, "US-1");
    assert_eq!(first.task.title, "Été fest");
    assert_eq!(first.task.description, "d");
    assert_eq!(first.task.acceptance, ["one", "two"]);
    assert_eq!(first.task.priority, Some(2));
    assert_eq!(
        (first.state, first.line, first.notes.as_str()),
        (TaskState::Open, 5, "n")
    );
    let second = file.get("7").unwrap();
    assert_eq!(second.task.depends_on, ["US-1"]);
    assert_eq!((second.state, second.line), (TaskState::Open, 15));
    assert_eq!(
        next_id(&file).unwrap(),
        "US-1",
        "7 comes first but has to wait"
    );
}

#[test]
fn passes_is_edited_where_it_stands() {
    for start in ["", "\u{feff}"] {
        let text = format!("{start}{PRETTY}");
        let file = json(&text);
        assert_eq!(
            set(&file, "US-1", TaskState::Done),
            text.replace("\"passes\": false", "\"passes\": true")
        );
    }
}

#[test]
fn a_missing_field_is_added_in_the_story_s_own_layout() {
    let file = json(PRETTY);
    let want = PRETTY.replace(
        "\"priority\": 1\r\n",
        "\"priority\": 1,\r\n      \"passes\": true\r\n",
    );
    assert_eq!(set(&file, "7", TaskState::Done), want);
    let want = PRETTY.replace(
        "\"priority\": 1\r\n",
        "\"priority\": 1,\r\n      \"blocked\": true\r\n",
    );
    assert_eq!(set(&file, "7", TaskState::Blocked), want);
    for (story, done) in [
        (
            r#"{"id":1,"title":"t"}"#,
            r#"{"id":1,"title":"t","passes":true}"#,
        ),
        (
            r#"{"id": 1, "title": "t"}"#,
            r#"{"id": 1, "title": "t", "passes": true}"#,
        ),
        (
            r#"{ "id": 1, "title": "t" }"#,
            r#"{ "id": 1, "title": "t", "passes": true }"#,
        ),
    ] {
        assert_eq!(
            set(
                &json(&format!("{{\"stories\":[{story}]}}")),
                "1",
                TaskState::Done
            ),
            format!("{{\"stories\":[{done}]}}")
        );
    }
}

#[test]
fn every_way_to_say_a_state_is_understood_and_undone() {
    use TaskState::*;
    for (fields, state) in [
        (r#""passes":true"#, Done),
        (r#""passes":false"#, Open),
        (r#""passes":false,"blocked":true"#, Blocked),
        (r#""passes":true,"blocked":true"#, Done),
        (r#""blocked":true"#, Blocked),
        (r#""blocked":null"#, Open),
        (r#""status":"open""#, Open),
        (r#""status":"In Progress""#, InProgress),
        (r#""status":"done""#, Done),
        (r#""status":"stuck""#, Blocked),
        (r#""status":"done","passes":false"#, Open),
        (r#""status":"open","blocked":true"#, Blocked),
        (r#""status":"my own word","passes":true"#, Done),
        (r#""passes":true,"status":"blocked""#, Done),
        (r#""x":1"#, Open),
    ] {
        let file = json(&format!(
            r#"{{"stories":[{{"id":1,"title":"t",{fields}}}]}}"#
        ));
        assert_eq!(file.entries()[0].state, state, "{fields}");
        for to in [Open, Blocked, Done] {
            let text = set(&file, "1", to);
            assert_eq!(
                json(&text).entries()[0].state,
                to,
                "{fields} to {to:?}: {text}"
            );
        }
        let status = fields.contains("status") && !fields.contains("own");
        let running = file.set_state("1", InProgress);
        assert_eq!(running.is_ok(), status || state == InProgress, "{fields}");
        if let Ok(bytes) = running {
            assert_eq!(
                TaskFile::parse("x.json", &bytes).unwrap().entries()[0].state,
                InProgress,
                "{fields}"
            );
        }
    }
}

#[test]
fn files_of_the_python_loop_are_read() {
    let file = json(
        r#"{"project":"x","branchName":"b","stories":[{"id":1,"priority":1,"title":"…","description":"","acceptance":["a"],"passes":false,"depends_on":[],"notes":""},{"story_id":"S-2","title":"b","status":"blocked","blocked":true,"blocked_reason":"why"}]}"#,
    );
    assert_eq!(tasks(&file), ["1=…", "S-2=b"]);
    assert_eq!(file.get("S-2").unwrap().notes, "why");
    let open = json(&set(&file, "S-2", TaskState::Open));
    assert_eq!(
        open.get("S-2").unwrap().state,
        TaskState::Open,
        "reopening clears every sign of the block"
    );
}

#[test]
fn a_status_is_edited_alone() {
    let text = r#"{"stories":[{"id":1,"title":"t","status":"todo"}]}"#;
    assert_eq!(
        set(&json(text), "1", TaskState::Done),
        text.replace("todo", "done")
    );
    assert_eq!(
        set(&json(text), "1", TaskState::Blocked),
        text.replace("todo", "blocked")
    );
}

#[test]
fn every_escape_is_read_as_json_says() {
    let text = r#"{"stories":[{"id":"\u0041\ud83d\ude00","title":"\"\\\/\b\f\n\r\tx"}]}"#;
    let want: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(json(text).entries()[0].task.id, "A😀");
    assert_eq!(want["stories"][0]["id"], "A😀");
    for bad in [
        r#"\ud83d"#,
        r#"\ud83dx"#,
        r#"\ud83d\u0041"#,
        r#"\ude00"#,
        r#"\u12g4"#,
        r#"\x"#,
        r#"\"#,
    ] {
        let e = fails(
            "prd.json",
            &format!(r#"{{"stories":[{{"id":1,"title":"{bad}"}}]}}"#),
        );
        assert_eq!(e.line, 1, "{bad}: {e}");
    }
}
