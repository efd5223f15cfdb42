use proptest::prelude::*;

use super::*;
use crate::tasks::NewTask;

fn new(title: &str) -> NewTask {
    NewTask {
        title: title.into(),
        ..NewTask::default()
    }
}

fn added(name: &str, text: &str, after: Option<&str>) -> (String, String) {
    let file = TaskFile::parse(name, text.as_bytes()).unwrap();
    let (bytes, id) = file.add(&new("new"), after).unwrap();
    (String::from_utf8(bytes).unwrap(), id)
}

#[test]
fn a_task_goes_behind_the_whole_block_of_another() {
    let text = "\u{feff}## Tasks\r\n\r\n1. [x] a\r\n   - c\r\n\r\n   more\r\n\r\n2. [ ] b\r\n";
    let (after, id) = added("PRD.md", text, Some("T1"));
    assert_eq!(after, text.replace("more\r\n", "more\r\n2. [ ] new\r\n"));
    assert_eq!(id, "T3");
    assert_eq!(added("PRD.md", "- [ ] a", None).0, "- [ ] a\n- [ ] new\n");
}

#[test]
fn a_story_is_laid_out_as_the_one_before_it() {
    let text = "{\n  \"userStories\": [\n    {\n      \"id\": \"US-009\",\n      \"title\": \"a\"\n    }\n  ]\n}\n";
    let (after, id) = added("prd.json", text, None);
    assert_eq!(id, "US-010");
    assert_eq!(
        after,
        text.replace(
            "    }\n  ]",
            "    },\n    {\n      \"id\": \"US-010\",\n      \"title\": \"new\",\n      \"passes\": false\n    }\n  ]"
        )
    );
}

#[test]
fn a_layout_without_a_place_for_it_is_refused() {
    let file = TaskFile::parse("t.yaml", b"tasks: [{id: a, title: b}]\n").unwrap();
    assert!(
        file.add(&new("c"), None)
            .unwrap_err()
            .message
            .contains("by hand")
    );
    assert!(file.add(&new(" "), None).is_err());
    assert!(file.add(&new("a\nb"), None).is_err());
    assert!(file.add(&new("x"), Some("nobody")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_title_is_added_as_it_is_or_refused(title in "\\PC{0,40}", name in prop::sample::select(vec!["a.md", "a.json", "a.yaml"])) {
        let text = match name {
            "a.md" => "- [ ] a\n- [ ] b\n",
            "a.json" => "{\"userStories\":[{\"id\":\"1\",\"title\":\"a\"}]}",
            _ => "tasks:\n- id: 1\n  title: a\n",
        };
        let file = TaskFile::parse(name, text.as_bytes()).unwrap();
        if let Ok((bytes, id)) = file.add(&new(&title), None) {
            let again = TaskFile::parse_known(name, &bytes, file.ids()).unwrap();
            prop_assert!(title.ends_with(&again.get(&id).unwrap().task.title));
            prop_assert_eq!(again.entries().len(), file.entries().len() + 1);
        }
    }
}
