#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::forms::{CanonicalError, Canonicaliser, Forms};
use async_trait::async_trait;
use ralph_workspace::Workspace;
use std::os::unix::fs::symlink;
use std::sync::Mutex;

/// JSON without white space; anything else as it is.
struct Plain;

#[async_trait]
impl Canonicaliser for Plain {
    async fn canonical(
        &self,
        name: &str,
        path: &str,
        content: &[u8],
    ) -> Result<Vec<u8>, CanonicalError> {
        if name != "json" && name != "yaml-prompt" {
            return Ok(content.to_vec());
        }
        let value: Result<serde_json::Value, _> = serde_json::from_slice(content);
        value
            .map(|v| v.to_string().into_bytes())
            .map_err(|e| CanonicalError::Refused(format!("{path}: {e}")))
    }
}

pub(super) fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let ws = Workspace::open(dir.path()).unwrap();
    let store = Store::new(ws, Forms::default(), Algorithm::Sha256, Arc::new(Plain));
    (dir, store)
}

pub(super) fn unit(text: &str) -> String {
    format!(
        r#"{{"id":"a","type":"prompt-set","version":"1","prompts":[{{"id":"p","text":"{text}"}}]}}"#
    )
}

pub(super) fn put(path: &str, content: String, expected: Option<Fingerprint>) -> Put {
    Put {
        path: path.into(),
        content,
        expected,
        algorithm: None,
    }
}

pub(super) fn silent() -> Audit {
    Box::new(|_| Ok(()))
}

#[tokio::test]
async fn a_prompt_is_made_read_changed_and_deleted() {
    let (dir, store) = store();
    let saved = store
        .put_prompt(put("x/a.yaml", unit("one"), None), silent())
        .await
        .unwrap();
    assert_eq!(saved.change.old_fp, None);
    let read = store.read_prompt("x/a.yaml").await.unwrap();
    assert_eq!(
        (read.status, &read.content),
        (Status::Verified, &unit("one"))
    );
    assert_eq!(read.fingerprint_stored.as_ref(), Some(&saved.fingerprint));
    let sidecar = std::fs::read_to_string(dir.path().join("prompts/x/a.yaml.fp")).unwrap();
    assert_eq!(sidecar, format!("{}\n", saved.fingerprint));

    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let audit: Audit = Box::new(move |change| {
        heard.lock().unwrap().push(change.clone());
        Ok(())
    });
    let first = saved.fingerprint;
    let second = store
        .put_prompt(put("x/a.yaml", unit("two"), Some(first.clone())), audit)
        .await
        .unwrap();
    let change = told.lock().unwrap().pop().unwrap();
    assert_eq!(change.prompt_path, "prompts/x/a.yaml");
    assert_eq!(
        (change.old_fp, change.new_fp),
        (Some(first), Some(second.fingerprint.clone()))
    );
    assert_eq!(
        change.diff_summary,
        Summary {
            lines_added: 1,
            lines_removed: 1,
            sections_changed: 1
        }
    );

    store
        .delete_prompt("x/a.yaml", Some(second.fingerprint), silent())
        .await
        .unwrap();
    assert!(matches!(
        store.read_prompt("x/a.yaml").await,
        Err(PromptError::Absent(_))
    ));
    assert_eq!(store.files().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_conflict_carries_both_fingerprints_and_changes_nothing() {
    let (dir, store) = store();
    let made = store
        .put_prompt(put("a.yaml", unit("one"), None), silent())
        .await
        .unwrap()
        .fingerprint;
    let other = Algorithm::Sha256.of(b"other");
    for expected in [None, Some(other.clone())] {
        match store
            .put_prompt(put("a.yaml", unit("two"), expected.clone()), silent())
            .await
        {
            Err(PromptError::Conflict {
                stored,
                computed,
                expected: said,
                ..
            }) => {
                assert_eq!(
                    (stored.as_ref(), computed.as_ref()),
                    (Some(&made), Some(&made))
                );
                assert_eq!(said, expected);
            }
            other => panic!("{other:?}"),
        }
    }
    // Changed beside its sidecar: what the sidecar says isn't what is there.
    std::fs::write(dir.path().join("prompts/a.yaml"), unit("by hand")).unwrap();
    let read = store.read_prompt("a.yaml").await.unwrap();
    assert_eq!(read.status, Status::Tampered);
    let refused = store
        .put_prompt(put("a.yaml", unit("two"), Some(made.clone())), silent())
        .await;
    assert!(
        matches!(refused, Err(PromptError::Conflict { .. })),
        "{refused:?}"
    );
    let refused = store.delete_prompt("a.yaml", Some(made), silent()).await;
    assert!(
        matches!(refused, Err(PromptError::Conflict { .. })),
        "{refused:?}"
    );
    assert_eq!(
        store.read_prompt("a.yaml").await.unwrap().content,
        unit("by hand")
    );
    // Who has seen it may save over it.
    store
        .put_prompt(
            put("a.yaml", unit("two"), read.fingerprint_computed),
            silent(),
        )
        .await
        .unwrap();
    assert_eq!(
        store.read_prompt("a.yaml").await.unwrap().status,
        Status::Verified
    );
    let expected = Some(other);
    let refused = store
        .put_prompt(put("new.yaml", unit("x"), expected), silent())
        .await;
    assert!(matches!(
        refused,
        Err(PromptError::Conflict {
            stored: None,
            computed: None,
            ..
        })
    ));
}

#[tokio::test]
async fn each_gate_comes_before_the_next_and_before_any_change() {
    let (dir, store) = store();
    let audit = || -> Audit { Box::new(|_| Err("full".into())) };
    let wrong = Some(Algorithm::Sha256.of(b"x"));
    // All four are wrong, then one less each time.
    let e = store
        .put_prompt(put("../a.yaml", "{".into(), wrong.clone()), audit())
        .await;
    assert!(matches!(e, Err(PromptError::Path { .. })), "{e:?}");
    let e = store
        .put_prompt(put("a.yaml", "{}".into(), wrong.clone()), audit())
        .await;
    assert!(matches!(e, Err(PromptError::Invalid(_))), "{e:?}");
    let e = store
        .put_prompt(put("a.yaml", unit("x"), wrong), audit())
        .await;
    assert!(matches!(e, Err(PromptError::Conflict { .. })), "{e:?}");
    let e = store
        .put_prompt(put("a.yaml", unit("x"), None), audit())
        .await;
    assert!(matches!(e, Err(PromptError::Audit(_))), "{e:?}");
    assert!(!dir.path().join("prompts/a.yaml").exists());
    assert_eq!(store.files().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn paths_that_lead_elsewhere_are_refused_for_reading_writing_and_deleting() {
    let (dir, store) = store();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.yaml"), unit("secret")).unwrap();
    std::fs::create_dir_all(dir.path().join("prompts/real")).unwrap();
    std::fs::write(dir.path().join("prompts/real/r.yaml"), unit("real")).unwrap();
    let at = |name: &str| dir.path().join("prompts").join(name);
    symlink(outside.path(), at("out")).unwrap();
    symlink(outside.path().join("secret.yaml"), at("out.yaml")).unwrap();
    symlink("real", at("in")).unwrap();
    symlink("real/r.yaml", at("in.yaml")).unwrap();
    symlink("nowhere", at("dangling.yaml")).unwrap();
    std::fs::create_dir(at("dir.yaml")).unwrap();
    for path in [
        "",
        ".",
        "..",
        "/",
        "/etc/passwd",
        "../a.yaml",
        "a/../b.yaml",
        "a/../../b.yaml",
        "./a.yaml",
        "a//b.yaml",
        "a/",
        "a/./b.yaml",
        "..\\a.yaml",
        "a\\b.yaml",
        "a\0.yaml",
        "a\n.yaml",
        "%2e%2e/a.yaml",
        "%2e%2e%2fa.yaml",
        "a%00.yaml",
        "..%2fa.yaml",
        ".hidden.yaml",
        ".git/config",
        "a/.git/x.yaml",
        ".ralph-tmp-1-1",
        "a.yaml.fp",
        "a.fp/b.yaml",
        " a.yaml",
        "a.yaml ",
        "a/ b.yaml",
        "...",
        "..../a.yaml",
        "\u{7f}a.yaml",
        "C:\\a.yaml",
        "//a.yaml",
        "a/..",
        "~/../a.yaml",
        "a\u{202e}lmay.yaml",
        "a\u{2028}.yaml",
        "\u{feff}a.yaml",
        "a\u{e0041}.yaml",
        "a\u{200b}.yaml",
        "out/secret.yaml",
        "out.yaml",
        "in/r.yaml",
        "in.yaml",
        "dangling.yaml",
        "dir.yaml",
    ] {
        let read = store.read_prompt(path).await;
        assert!(
            matches!(read, Err(PromptError::Path { .. } | PromptError::Guard(_))),
            "{path:?}: {read:?}"
        );
        let saved = store
            .put_prompt(put(path, unit("evil"), None), silent())
            .await;
        assert!(
            matches!(saved, Err(PromptError::Path { .. } | PromptError::Guard(_))),
            "{path:?}: {saved:?}"
        );
        let gone = store.delete_prompt(path, None, silent()).await;
        assert!(
            matches!(gone, Err(PromptError::Path { .. } | PromptError::Guard(_))),
            "{path:?}: {gone:?}"
        );
    }
    for long in [
        format!("{}.yaml", "a/".repeat(300)),
        format!("{}.yaml", "a".repeat(248)),
        format!("{}/a.yaml", "a".repeat(300)),
    ] {
        let read = store.read_prompt(&long).await;
        assert!(matches!(read, Err(PromptError::Path { .. })), "{read:?}");
        let saved = store
            .put_prompt(put(&long, unit("x"), None), silent())
            .await;
        assert!(matches!(saved, Err(PromptError::Path { .. })), "{saved:?}");
    }
    let longest = format!("{}.yaml", "a".repeat(247));
    store
        .put_prompt(put(&longest, unit("x"), None), silent())
        .await
        .unwrap();
    let text = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(text(&outside.path().join("secret.yaml")), unit("secret"));
    assert_eq!(text(&at("real/r.yaml")), unit("real"));
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    assert!(!dir.path().join("a.yaml").exists());
}

#[tokio::test]
async fn prompts_that_are_a_link_themselves_are_refused() {
    let (dir, store) = store();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), dir.path().join("prompts")).unwrap();
    let saved = store
        .put_prompt(put("a.yaml", unit("x"), None), silent())
        .await;
    assert!(matches!(saved, Err(PromptError::Guard(_))), "{saved:?}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn two_who_save_at_once_lose_nothing_of_each_other() {
    let (_dir, store) = store();
    let base = store
        .put_prompt(put("a.yaml", unit("0"), None), silent())
        .await
        .unwrap()
        .fingerprint;
    let save = |text: &'static str| {
        let (store, base) = (store.clone(), base.clone());
        tokio::spawn(async move {
            store
                .put_prompt(put("a.yaml", unit(text), Some(base)), silent())
                .await
        })
    };
    let (a, b) = (save("a"), save("b"));
    let (a, b) = (a.await.unwrap(), b.await.unwrap());
    assert_eq!(
        usize::from(a.is_ok()) + usize::from(b.is_ok()),
        1,
        "{a:?} {b:?}"
    );
    let lost = if a.is_ok() { b } else { a };
    assert!(
        matches!(lost, Err(PromptError::Conflict { .. })),
        "{lost:?}"
    );
    assert_eq!(
        store.read_prompt("a.yaml").await.unwrap().status,
        Status::Verified
    );
}

#[tokio::test]
async fn the_fingerprint_in_a_field_is_verified_and_written_where_it_stands() {
    let (dir, store) = store();
    let at = dir.path().join("a.txt");
    std::fs::write(&at, "words\n").unwrap();
    assert_eq!(store.look("a.txt").await.unwrap().status, Status::Missing);
    let look = store.write("a.txt", Some(Algorithm::Blake3)).await.unwrap();
    assert_eq!(
        (look.status, look.place),
        (Status::Verified, Some(crate::Place::Sidecar))
    );
    assert!(
        look.fingerprint_stored
            .unwrap()
            .to_string()
            .starts_with("blake3:")
    );
    std::fs::write(&at, "other words\n").unwrap();
    assert_eq!(store.look("a.txt").await.unwrap().status, Status::Tampered);
    std::fs::remove_file(&at).unwrap();
    let look = store.look("a.txt").await.unwrap();
    assert_eq!(look.status, Status::Tampered);
    assert!(look.problem.unwrap().contains("gone"));
    std::fs::write(dir.path().join("a.txt.fp"), "nonsense\n").unwrap();
    assert_eq!(store.look("a.txt").await.unwrap().status, Status::Tampered);
}

#[tokio::test]
async fn records_sidecars_and_gits_files_are_not_fingerprinted() {
    let (_dir, store) = store();
    for path in [
        "",
        ".",
        "a.fp",
        ".git/config",
        "x/.git/y",
        ".ralph/state.json",
        "../x",
        "/etc/passwd",
    ] {
        assert!(
            matches!(store.look(path).await, Err(PromptError::Path { .. })),
            "{path}"
        );
    }
    assert!(matches!(
        store.look("nothing").await,
        Err(PromptError::Absent(_))
    ));
}
