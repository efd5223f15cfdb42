//! Files: only below granted directories, and only as granted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use common::{Gate, bind, context, host, iteration};
use ralph_engine::types::Status;
use ralph_plugins::{CallContext, Grants, Limits, PluginError};

/// Opens `path` below the first preopened directory, to write if `create`. Passes if
/// that works, skips if there is no such directory, fails if it is refused.
fn opens(path: &str, create: bool) -> Vec<u8> {
    let errors = [
        "access",
        "would-block",
        "already",
        "bad-descriptor",
        "busy",
        "deadlock",
        "quota",
        "exist",
        "file-too-large",
        "illegal-byte-sequence",
        "in-progress",
        "interrupted",
        "invalid",
        "io",
        "is-directory",
        "loop",
        "too-many-links",
        "message-size",
        "name-too-long",
        "no-device",
        "no-entry",
        "no-lock",
        "insufficient-memory",
        "insufficient-space",
        "not-directory",
        "not-empty",
        "not-recoverable",
        "unsupported",
        "no-tty",
        "no-such-device",
        "overflow",
        "not-permitted",
        "pipe",
        "read-only",
        "invalid-seek",
        "text-file-busy",
        "cross-device",
    ];
    let errors = errors.map(|name| format!("{name:?}")).join(" ");
    let imports = format!(
        r#"(import "wasi:filesystem/types@0.2.0" (instance $types-fs
             (export "descriptor" (type $descriptor (sub resource)))
             (type $error-code' (enum {errors}))
             (export "error-code" (type $error-code (eq $error-code')))
             (type $path-flags' (flags "symlink-follow"))
             (export "path-flags" (type $path-flags (eq $path-flags')))
             (type $open-flags' (flags "create" "directory" "exclusive" "truncate"))
             (export "open-flags" (type $open-flags (eq $open-flags')))
             (type $descriptor-flags' (flags "read" "write" "file-integrity-sync"
               "data-integrity-sync" "requested-write-sync" "mutate-directory"))
             (export "descriptor-flags" (type $descriptor-flags (eq $descriptor-flags')))
             (export "[method]descriptor.open-at" (func
               (param "self" (borrow $descriptor)) (param "path-flags" $path-flags)
               (param "path" string) (param "open-flags" $open-flags)
               (param "flags" $descriptor-flags)
               (result (result (own $descriptor) (error $error-code)))))))
           (alias export $types-fs "descriptor" (type $descriptor))
           (import "wasi:filesystem/preopens@0.2.0" (instance $preopens
             (alias outer 1 $descriptor (type $descriptor'))
             (export "descriptor" (type $descriptor (eq $descriptor')))
             (export "get-directories"
               (func (result (list (tuple (own $descriptor) string)))))))
           (alias export $types-fs "[method]descriptor.open-at" (func $open))
           (alias export $preopens "get-directories" (func $dirs))
           (core func $open (canon lower (func $open) (memory $memory)
             (realloc (core func $realloc))))
           (core func $dirs (canon lower (func $dirs) (memory $memory)
             (realloc (core func $realloc))))"#
    );
    let fields = format!(
        r#"(import "fs" "open" (func $open (param i32 i32 i32 i32 i32 i32 i32)))
           (import "fs" "dirs" (func $dirs (param i32)))
           (data (i32.const 256) {path:?})"#
    );
    // The summary is the guest path of the directory.
    let body = format!(
        r"(local $list i32)
          (call $dirs (i32.const 128))
          (if (i32.eqz (i32.load (i32.const 132))) (then
            (i32.store8 (i32.const 20) (i32.const 2))
            (return (i32.const 16))))
          (local.set $list (i32.load (i32.const 128)))
          (i32.store (i32.const 24) (i32.load offset=4 (local.get $list)))
          (i32.store (i32.const 28) (i32.load offset=8 (local.get $list)))
          (call $open (i32.load (local.get $list)) (i32.const 1)
            (i32.const 256) (i32.const {len}) (i32.const {open}) (i32.const {flags})
            (i32.const 144))
          (i32.store8 (i32.const 20) (i32.load8_u (i32.const 144)))
          (i32.const 16)",
        len = path.len(),
        open = u8::from(create),
        flags = if create { 3 } else { 1 },
    );
    Gate {
        imports: &imports,
        with: r#"(with "fs" (instance (export "open" (func $open)) (export "dirs" (func $dirs))))"#,
        fields: &fields,
        body: &body,
        ..Gate::default()
    }
    .bytes()
}

async fn open(
    root: &Path,
    grants: Grants,
    path: &str,
    create: bool,
) -> Result<(Status, String), PluginError> {
    let gate = bind(&host(), &opens(path, create), grants, Limits::default()).await?;
    let ctx = CallContext {
        root: Some(root.into()),
        ..context()
    };
    let verdict = gate.check(&ctx, &iteration()).await?;
    Ok((verdict.status, verdict.summary))
}

fn reads(dir: &str) -> Grants {
    Grants {
        read: vec![dir.into()],
        ..Grants::default()
    }
}

fn writes(dir: &str) -> Grants {
    Grants {
        write: vec![dir.into()],
        ..Grants::default()
    }
}

#[tokio::test]
async fn files_are_seen_only_below_granted_directories() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/a"), "a").unwrap();
    fs::write(root.join("top"), "t").unwrap();
    fs::write(dir.path().join("outside"), "o").unwrap();
    symlink("../../outside", root.join("src/out")).unwrap();
    symlink("/etc/passwd", root.join("src/abs")).unwrap();
    symlink("a", root.join("src/in")).unwrap();

    assert_eq!(
        open(&root, Grants::default(), "a", false).await.unwrap().0,
        Status::Skip
    );
    let seen = (Status::Pass, "/workspace/src".to_string());
    assert_eq!(open(&root, reads("src"), "a", false).await.unwrap(), seen);
    assert_eq!(open(&root, reads("src"), "in", false).await.unwrap(), seen);
    let all = (Status::Pass, "/workspace".to_string());
    assert_eq!(open(&root, reads("."), "src/a", false).await.unwrap(), all);
    for path in [
        "../top",
        "out",
        "abs",
        "/etc/passwd",
        "nope/../../top",
        "../../outside",
    ] {
        for grants in [reads("src"), writes("src")] {
            let (status, _) = open(&root, grants, path, false).await.unwrap();
            assert_eq!(status, Status::Fail, "{path}");
        }
    }
}

#[tokio::test]
async fn reading_is_not_writing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    let new = dir.path().join("out/new");
    let (status, _) = open(dir.path(), reads("out"), "new", true).await.unwrap();
    assert_eq!((status, new.exists()), (Status::Fail, false));
    let (status, _) = open(dir.path(), writes("out"), "new", true).await.unwrap();
    assert_eq!((status, new.exists()), (Status::Pass, true));
}

#[tokio::test]
async fn a_granted_directory_that_is_a_link_or_missing_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    symlink(".git", dir.path().join("src")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    for (name, reason) in [
        ("src", "symbolic link"),
        ("file", "not a directory"),
        ("none", "no such directory"),
    ] {
        let error = open(dir.path(), reads(name), "config", false)
            .await
            .unwrap_err();
        assert!(matches!(error, PluginError::Io { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("/{name} ")) || text.contains(&format!("/{name}:")),
            "{text}"
        );
        assert!(text.contains(reason), "{text}");
    }
}
