use proptest::prelude::*;

use super::*;
use crate::tasks::Ids;

fn known(text: &str, ids: &Ids) -> TaskFile {
    TaskFile::parse_known("PRD.md", text.as_bytes(), ids).unwrap()
}

fn list(titles: &[&str]) -> String {
    titles.iter().map(|t| format!("- [ ] {t}\n")).collect()
}

/// What a run that reads one list after the other makes of the last.
fn after(lists: &[&[&str]]) -> Vec<String> {
    let mut ids = Ids::default();
    let mut last = Vec::new();
    for titles in lists {
        let file = known(&list(titles), &ids);
        ids = file.ids().clone();
        last = tasks(&file);
    }
    last
}

#[test]
fn an_id_survives_a_task_inserted_above() {
    assert_eq!(
        after(&[&["a", "b"], &["new", "a", "b"]]),
        ["T3=new", "T1=a", "T2=b"]
    );
}

#[test]
fn a_number_is_never_given_twice_and_comes_back_with_its_task() {
    assert_eq!(after(&[&["a", "b"], &["a"], &["a", "c"]]), ["T1=a", "T3=c"]);
    assert_eq!(
        after(&[&["a", "b", "c"], &["a", "c"], &["a", "b", "c"]]),
        ["T1=a", "T2=b", "T3=c"]
    );
}

#[test]
fn a_new_title_between_the_same_neighbours_is_the_same_task() {
    assert_eq!(
        after(&[&["a", "b", "c"], &["a", "B, but better", "c"]]),
        ["T1=a", "T2=B, but better", "T3=c"]
    );
    assert_eq!(
        after(&[&["a", "b"], &["a", "B, but better", "added"]]),
        ["T1=a", "T2=B, but better", "T3=added"]
    );
    // Which of the two is the old one can't be told.
    assert_eq!(
        after(&[&["a", "b", "c"], &["a", "x", "y", "c"]]),
        ["T1=a", "T4=x", "T5=y", "T3=c"]
    );
}

#[test]
fn order_case_and_equal_titles_do_not_mix_ids_up() {
    assert_eq!(after(&[&["a", "b"], &["B", "a"]]), ["T2=B", "T1=a"]);
    assert_eq!(
        after(&[&["a", "a"], &["n", "a", "a"]]),
        ["T3=n", "T1=a", "T2=a"]
    );
}

#[test]
fn an_explicit_id_wins_over_a_remembered_one() {
    let ids = known("- [ ] a\n- [ ] b\n", &Ids::default()).ids().clone();
    let file = known("- [ ] T3: own\n- [ ] a\n- [ ] new\n- [ ] b\n", &ids);
    assert_eq!(tasks(&file), ["T3=own", "T1=a", "T4=new", "T2=b"]);
    let e = TaskFile::parse_known("PRD.md", b"- [ ] a\n- [ ] T1: b\n", &ids).unwrap_err();
    assert_eq!(e.line, 2, "{e}");
}

#[test]
fn a_dependency_by_number_follows_its_task() {
    let text = "- [ ] a\n- [ ] b\n  - Depends on: 1\n";
    let ids = known(text, &Ids::default()).ids().clone();
    let file = known(&format!("- [ ] new\n{text}"), &ids);
    assert_eq!(file.get("T2").unwrap().task.depends_on, ["T1"]);
}

#[test]
fn a_hundred_thousand_tasks_are_read_and_the_next_is_chosen() {
    let mut text = String::new();
    for i in 0..100_000 {
        let mark = if i < 99_999 { 'x' } else { ' ' };
        text.push_str(&format!(
            "- [{mark}] task {i}\n  - Depends on: {}\n",
            i.max(1)
        ));
    }
    let text = text.replacen("  - Depends on: 1\n", "", 1);
    let ids = known(&text, &Ids::default()).ids().clone();
    let file = known(&format!("- [-] on top\n{text}"), &ids);
    assert_eq!(next_id(&file).as_deref(), Some("T100000"));
    assert_eq!(file.entries()[0].task.id, "T100001");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_edited_ids_differ_and_a_second_reading_agrees(
        lists in prop::collection::vec(prop::collection::vec("[a-d]{1,2}", 1..7), 1..5)
    ) {
        let mut ids = Ids::default();
        for titles in &lists {
            let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
            // Parsing fails where two ids are the same.
            let file = known(&list(&titles), &ids);
            prop_assert!(file.ids().last >= ids.last);
            let again = known(&list(&titles), file.ids());
            prop_assert_eq!(tasks(&again), tasks(&file));
            prop_assert_eq!(again.ids(), file.ids());
            ids = file.ids().clone();
        }
    }
}
