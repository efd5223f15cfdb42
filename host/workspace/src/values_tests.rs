#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Stdio};

use super::*;

fn values(dir: &std::path::Path) -> Values {
    Values::of(&Workspace::open(dir).unwrap(), "p").unwrap()
}

#[test]
fn what_is_set_is_there_for_the_next_one_and_for_no_other_plugin() {
    let dir = tempfile::tempdir().unwrap();
    let values = values(dir.path());
    assert_eq!(values.get("a"), Ok(None));
    for value in [
        &b"text"[..],
        b"",
        b"\xff\x00",
        b"line\nbreak",
        "\u{e9}\"".as_bytes(),
    ] {
        values.set("a", value).unwrap();
        assert_eq!(values.get("a").unwrap().as_deref(), Some(value));
    }
    values.set("b/1", b"1").unwrap();
    values.set("b/2", b"2").unwrap();
    assert_eq!(values.keys("b/").unwrap(), ["b/1", "b/2"]);
    assert_eq!(values.keys("").unwrap().len(), 3);
    values.delete("b/1").unwrap();
    values.delete("b/1").unwrap();
    assert_eq!(values.keys("b/").unwrap(), ["b/2"]);
    let ws = Workspace::open(dir.path()).unwrap();
    for other in ["P", "../p", "p.", "", &"p".repeat(100)] {
        let other = Values::of(&ws, other).unwrap();
        assert_eq!(other.keys("").unwrap(), Vec::<String>::new());
        other.set("x", b"y").unwrap();
    }
    assert_eq!(values.keys("").unwrap(), ["a", "b/2"]);
}

#[test]
fn too_much_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let values = values(dir.path());
    for key in ["", "a\nb", &"k".repeat(KEY_MAX + 1)] {
        assert!(matches!(values.set(key, b""), Err(ValueError::Invalid(_))));
    }
    let big = vec![0; VALUE_MAX];
    let more = vec![0; VALUE_MAX + 1];
    assert!(matches!(
        values.set("k", &more),
        Err(ValueError::Invalid(_))
    ));
    let fits = TOTAL_MAX / (VALUE_MAX + 2);
    for at in 0..fits {
        values.set(&format!("{at:02}"), &big).unwrap();
    }
    assert!(matches!(values.set("99", &big), Err(ValueError::Full(_))));
    assert_eq!(values.keys("").unwrap().len(), fits);
    values.delete("00").unwrap();
    values.set("99", &big).unwrap();
    assert_eq!(values.get("99").unwrap(), Some(big));
}

#[test]
fn a_damaged_file_is_said_and_not_taken_for_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let values = values(dir.path());
    values.set("a", b"b").unwrap();
    let file = dir.path().join(DIR).join("p.json");
    for text in [
        "",
        "{}",
        "[1]",
        r#"{"_schema":"ralph.plugin-state.v2","values":{}}"#,
    ] {
        std::fs::write(&file, text).unwrap();
        assert!(
            matches!(values.get("a"), Err(ValueError::Failed(_))),
            "{text}"
        );
        assert!(matches!(values.set("a", b""), Err(ValueError::Failed(_))));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn two_at_once_lose_nothing_of_each_other() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for who in 0..4 {
            let values = values(dir.path());
            scope.spawn(move || {
                for at in 0..10 {
                    values.set(&format!("{who}/{at}"), b"x").unwrap();
                }
            });
        }
    });
    assert_eq!(values(dir.path()).keys("").unwrap().len(), 40);
}

#[test]
fn a_worktree_has_its_projects_values() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join(".ralph/worktrees/T1");
    std::fs::create_dir_all(tree.join(".ralph")).unwrap();
    std::fs::write(tree.join(".ralph/worker.json"), "{}").unwrap();
    values(&tree).set("a", b"b").unwrap();
    assert_eq!(values(dir.path()).get("a"), Ok(Some(b"b".to_vec())));
}

/// Sets values without end, for the test below.
#[test]
#[ignore = "started by another test"]
fn sets_without_end() {
    let Some(dir) = std::env::var_os("RALPH_TEST_VALUES") else {
        return;
    };
    let values = values(std::path::Path::new(&dir));
    for round in 0u64.. {
        let value = [b'a' + u8::try_from(round % 26).unwrap()].repeat(VALUE_MAX);
        values.set("k", &value).unwrap();
    }
}

#[test]
fn a_kill_leaves_a_whole_value_and_no_lock() {
    let dir = tempfile::tempdir().unwrap();
    let values = values(dir.path());
    for _ in 0..10 {
        values.set("k", b"before").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "values::tests::sets_without_end", "--ignored"])
            .env("RALPH_TEST_VALUES", dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while values.get("k").unwrap().unwrap() == b"before" {
            assert!(
                child.try_wait().unwrap().is_none(),
                "it should set without end"
            );
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let value = values.get("k").unwrap().unwrap();
        assert_eq!(value.len(), VALUE_MAX);
        assert!(value.iter().all(|byte| *byte == value[0]));
    }
}
