#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::tests::{put, silent, store, unit};
use super::*;
use ralph_workspace::{Folder, Workspace};

#[tokio::test]
async fn content_that_cannot_be_read_is_overwritten_by_nobody_and_goes_by_a_deletion() {
    let (dir, store) = store();
    let made = store
        .put_prompt(put("a.yaml", unit("one"), None), silent())
        .await
        .unwrap()
        .fingerprint;
    std::fs::write(dir.path().join("prompts/a.yaml"), "{ broken").unwrap();
    let read = store.read_prompt("a.yaml").await.unwrap();
    assert_eq!(
        (read.status, read.content.as_str()),
        (Status::Tampered, "{ broken")
    );
    assert!(read.problem.is_some() && read.fingerprint_computed.is_none());
    assert!(matches!(read.fit(), Err(PromptError::Invalid(_))));
    let raw = Algorithm::Sha256.of(b"{ broken");
    let broken = |text: &[u8]| std::fs::write(dir.path().join("prompts/a.yaml"), text).unwrap();
    for text in [&b"{ broken"[..], b"\xff\xfe", b""] {
        broken(text);
        for expected in [None, Some(made.clone()), Some(raw.clone())] {
            let refused = store
                .put_prompt(put("a.yaml", unit("two"), expected.clone()), silent())
                .await
                .unwrap_err();
            assert!(refused.to_string().contains("delete it first"), "{refused}");
            let PromptError::Conflict {
                stored, computed, ..
            } = refused
            else {
                panic!("{refused}");
            };
            assert_eq!((stored.as_ref(), computed), (Some(&made), None));
            if expected.is_some() {
                let refused = store.delete_prompt("a.yaml", expected, silent()).await;
                assert!(matches!(refused, Err(PromptError::Conflict { .. })));
            }
        }
        assert_eq!(
            std::fs::read(dir.path().join("prompts/a.yaml")).unwrap(),
            text
        );
    }
    // Without its sidecar it isn't nothing, either.
    std::fs::remove_file(dir.path().join("prompts/a.yaml.fp")).unwrap();
    let refused = store
        .put_prompt(put("a.yaml", unit("two"), None), silent())
        .await;
    assert!(matches!(
        refused,
        Err(PromptError::Conflict {
            stored: None,
            computed: None,
            ..
        })
    ));
    store.delete_prompt("a.yaml", None, silent()).await.unwrap();
    store
        .put_prompt(put("a.yaml", unit("two"), None), silent())
        .await
        .unwrap();
    assert_eq!(
        store.read_prompt("a.yaml").await.unwrap().status,
        Status::Verified
    );
}

#[tokio::test]
async fn what_is_expected_may_be_by_either_hash() {
    let (_dir, store) = store();
    let blake3 = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(&unit(text)).unwrap();
        Algorithm::Blake3.of(value.to_string().as_bytes())
    };
    store
        .put_prompt(put("a.yaml", unit("one"), None), silent())
        .await
        .unwrap();
    let read = store.read_prompt("a.yaml").await.unwrap();
    assert!(read.is(&blake3("one")) && read.is(read.fingerprint_stored.as_ref().unwrap()));
    assert!(!read.is(&blake3("two")));
    let refused = store
        .put_prompt(put("a.yaml", unit("x"), Some(blake3("two"))), silent())
        .await;
    assert!(matches!(refused, Err(PromptError::Conflict { .. })));
    store
        .put_prompt(put("a.yaml", unit("two"), Some(blake3("one"))), silent())
        .await
        .unwrap();
    store
        .delete_prompt("a.yaml", Some(blake3("two")), silent())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_a_run_may_be_given_is_a_prompt_set_if_its_name_says_so() {
    let (dir, store) = store();
    std::fs::create_dir_all(dir.path().join("prompts")).unwrap();
    for (name, text, fit) in [
        ("a.yaml", unit("x"), true),
        ("b.yml", r#"{"kind":"note"}"#.to_owned(), false),
        ("c.JSON", r#"{"kind":"note"}"#.to_owned(), false),
        ("d.md", "# Words\n".to_owned(), true),
    ] {
        std::fs::write(dir.path().join("prompts").join(name), text).unwrap();
        let read = store.read_prompt(name).await.unwrap();
        assert_eq!(read.fit().is_ok(), fit, "{name}: {:?}", read.fit());
    }
}

#[tokio::test]
async fn who_holds_the_lock_stops_nobody_but_the_prompts() {
    let (dir, store) = store();
    let ws = Workspace::open(dir.path()).unwrap();
    let edits = Folder::make(&ws, pair::EDITS).unwrap();
    let held = edits.lock(pair::LOCK, true).unwrap();
    // On one thread: whoever waited on it would be alone for ever.
    let (reading, mut writing) = (store.clone(), store.clone());
    let reading = tokio::spawn(async move { reading.read_prompt("a.yaml").await });
    writing.told = None;
    let writing = tokio::spawn(async move {
        writing
            .put_prompt(put("a.yaml", unit("x"), None), silent())
            .await
    });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!reading.is_finished() && !writing.is_finished());
    drop(held);
    writing.await.unwrap().unwrap();
    let read = reading.await.unwrap();
    assert!(
        matches!(read, Ok(_) | Err(PromptError::Absent(_))),
        "{read:?}"
    );
}

#[tokio::test]
async fn an_edit_that_is_refused_leaves_no_directory_behind() {
    let (dir, store) = store();
    std::fs::create_dir_all(dir.path().join("prompts/there")).unwrap();
    let full = || -> Audit { Box::new(|_| Err("full".into())) };
    for path in ["new/er/a.yaml", "there/new/a.yaml", "a.yaml"] {
        let refused = store.put_prompt(put(path, unit("x"), None), full()).await;
        assert!(matches!(refused, Err(PromptError::Audit(_))), "{refused:?}");
    }
    let left = |of: &str| -> Vec<_> {
        let all = std::fs::read_dir(dir.path().join(of)).unwrap();
        all.map(|e| e.unwrap().file_name()).collect()
    };
    assert_eq!(left("prompts"), ["there"]);
    assert_eq!(left("prompts/there"), Vec::<std::ffi::OsString>::new());
    store
        .put_prompt(put("new/er/a.yaml", unit("x"), None), silent())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_lies_too_deep_is_refused_and_not_passed_over() {
    let (dir, store) = store();
    let deep = |levels: usize| format!("{}a.yaml", "d/".repeat(levels));
    let save = |levels| store.put_prompt(put(&deep(levels), unit("x"), None), silent());
    save(16).await.unwrap();
    let refused = save(17).await;
    assert!(
        matches!(refused, Err(PromptError::Path { .. })),
        "{refused:?}"
    );
    assert_eq!(
        store.files().await.unwrap(),
        [format!("prompts/{}", deep(16))]
    );
    let path = dir.path().join("prompts").join(deep(17));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, unit("x")).unwrap();
    let files = store.files().await.unwrap();
    assert_eq!(files.len(), 2);
    for path in [&files[1], &format!("prompts/{}", deep(17))] {
        let refused = store.look(path).await.unwrap_err().to_string();
        assert!(refused.contains("deeper than 16"), "{refused}");
    }
    store.look(&files[0]).await.unwrap();
}
