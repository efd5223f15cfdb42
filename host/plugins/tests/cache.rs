//! The cache on disk: used when sound, replaced when not.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use common::{FINE, check, gate, host_with_cache};
use ralph_plugins::Limits;

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

/// Loads and calls in a new host, as a new process would.
async fn works(dir: &Path, bytes: &[u8], summary: &str) {
    let verdict = check(&host_with_cache(dir), bytes, Limits::default())
        .await
        .unwrap();
    assert_eq!(verdict.summary, summary);
}

fn short_summary() -> Vec<u8> {
    gate("(i32.store (i32.const 28) (i32.const 2)) (i32.const 16)")
}

#[tokio::test]
async fn a_second_start_uses_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    works(dir.path(), &gate(FINE), "fine").await;
    let found = files(dir.path());
    assert_eq!(found.len(), 1, "{found:?}");
    let before = fs::metadata(&found[0]).unwrap();
    assert_eq!(before.mode() & 0o777, 0o600);
    works(dir.path(), &gate(FINE), "fine").await;
    assert_eq!(files(dir.path()), found);
    let after = fs::metadata(&found[0]).unwrap();
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
}

#[tokio::test]
async fn a_damaged_file_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    works(dir.path(), &gate(FINE), "fine").await;
    let file = files(dir.path()).remove(0);
    let sound = fs::read(&file).unwrap();
    let mut middle = sound.clone();
    middle[sound.len() / 2] ^= 1;
    for damaged in [&b""[..], b"garbage", &sound[..sound.len() - 1], &middle] {
        fs::write(&file, damaged).unwrap();
        works(dir.path(), &gate(FINE), "fine").await;
        assert!(fs::read(&file).unwrap() == sound, "was not replaced");
    }
}

#[tokio::test]
async fn a_sound_file_of_another_component_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    works(dir.path(), &gate(FINE), "fine").await;
    let first = files(dir.path()).remove(0);
    works(dir.path(), &short_summary(), "fi").await;
    let second = files(dir.path())
        .into_iter()
        .find(|file| *file != first)
        .unwrap();
    fs::copy(&second, &first).unwrap();
    // Were it taken, the answer would be "fi".
    works(dir.path(), &gate(FINE), "fine").await;
    assert!(fs::read(&first).unwrap() != fs::read(&second).unwrap());
}

#[tokio::test]
async fn a_file_others_can_write_and_a_link_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    works(dir.path(), &gate(FINE), "fine").await;
    let file = files(dir.path()).remove(0);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    works(dir.path(), &gate(FINE), "fine").await;
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);

    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("x");
    fs::rename(&file, &target).unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    works(dir.path(), &gate(FINE), "fine").await;
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
}

#[tokio::test]
async fn a_directory_that_cannot_be_trusted_or_made_is_done_without() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    works(dir.path(), &gate(FINE), "fine").await;
    assert_eq!(files(dir.path()).len(), 0);
    works(Path::new("/dev/null/cache"), &gate(FINE), "fine").await;
}
