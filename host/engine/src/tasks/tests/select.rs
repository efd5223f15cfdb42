use super::*;

#[test]
fn lowest_priority_first_then_file_order_those_without_last() {
    let file = json(
        r#"{"userStories":[{"id":"n","title":"t"},{"id":"b","title":"t","priority":2},{"id":"a","title":"t","priority":-1},{"id":"c","title":"t","priority":-1}]}"#,
    );
    assert_eq!(next_id(&file).unwrap(), "a");
    let order = |skipped: &[&str]| match file.next(&|id| skipped.contains(&id)) {
        Selection::Task(e) => e.task.id.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(order(&["a"]), "c");
    assert_eq!(order(&["a", "c"]), "b");
    assert_eq!(order(&["a", "c", "b"]), "n");
}

/// F14; a blocked task does not satisfy a dependency.
#[test]
fn a_dependency_must_be_done_not_merely_out_of_the_way() {
    let file =
        md("- [-] a\n- [ ] b\n  - Depends on: T1\n- [~] c\n- [ ] d\n  - Depends on: T3\n- [ ] e\n");
    let want = [
        ("T1", "blocked"),
        ("T2", "waits for T1, which is blocked"),
        ("T3", "marked as in progress"),
        ("T4", "waits for T3, which is marked as in progress"),
        ("T5", "skipped in this run"),
    ];
    let open = want
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
        .collect();
    assert_eq!(file.next(&|id| id == "T5"), Selection::Nothing { open });
    assert_eq!(next_id(&file).unwrap(), "T5");
    let done = TaskFile::parse("x.md", &file.set_state("T1", TaskState::Done).unwrap()).unwrap();
    assert_eq!(next_id(&done).unwrap(), "T2");
}

#[test]
fn all_done_means_every_single_one() {
    assert_eq!(md("- [x] a\n- [X] b").next(&|_| true), Selection::AllDone);
    assert_eq!(md("- [x] a\n- [X] b").counts(), (2, 2));
    let file = md("- [x] a\n- [-] b");
    assert_eq!(file.counts(), (1, 2));
    assert!(matches!(file.next(&|_| false), Selection::Nothing { .. }));
}
