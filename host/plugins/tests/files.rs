//! Files: only below granted directories, and only as granted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use common::{Gate, bind, context, host, iteration};
use ralph_engine::types::Status;
use ralph_plugins::{CallContext, Grants, Limits, PluginError};

/// Opens `path` below the first preopened directory, to write anew if `create`. Passes if
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
        open = if create { 9 } else { 0 },
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
    std::os::unix::net::UnixListener::bind(dir.path().join("pipe")).unwrap();
    for (name, reason) in [
        ("src", "symbolic link"),
        ("pipe", "neither a directory nor a file"),
        ("none", "no such directory or file"),
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

fn both(read: &[&str], write: &[&str]) -> Grants {
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    Grants {
        read: list(read),
        write: list(write),
        ..Grants::default()
    }
}

/// A project with a directory `src` of three files, and a link to one of them.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("src/deep")).unwrap();
    for name in ["top", "src/a", "src/b", "src/deep/c"] {
        fs::write(dir.path().join(name), name).unwrap();
    }
    symlink("b", dir.path().join("src/link")).unwrap();
    dir
}

#[tokio::test]
async fn a_granted_file_is_all_that_is_seen_of_its_directory() {
    let dir = project();
    for grants in [both(&["src/a"], &[]), both(&[], &["src/a"])] {
        let writes = !grants.write.is_empty();
        let at = |path: &'static str, create| open(dir.path(), grants.clone(), path, create);
        let seen = (Status::Pass, "/workspace/src".to_string());
        assert_eq!(at("a", false).await.unwrap(), seen);
        assert_eq!(at("./a", false).await.unwrap(), seen);
        let written = at("a", true).await.unwrap().0 == Status::Pass;
        assert_eq!(written, writes);
        for path in [
            "b",
            "link",
            "deep",
            "deep/c",
            ".",
            "..",
            "../top",
            "../src/a",
            "deep/../a",
            "a/",
            "/a",
            "a/.",
            "new",
            "",
            "//a",
            "/workspace/src/a",
            "a/../b",
        ] {
            for create in [false, true] {
                let (status, _) = at(path, create).await.unwrap();
                // The directory itself can be opened; it is an empty one.
                let empty = path == "." && !create;
                assert_eq!(status == Status::Pass, empty, "{path:?} {create}");
            }
        }
    }
    let names = |at: &str| fs::read_dir(dir.path().join(at)).unwrap().count();
    assert_eq!((names("src"), names(".")), (4, 2));
}

#[tokio::test]
async fn files_of_several_directories_stand_beside_granted_ones() {
    let dir = project();
    let grants = both(&["src/deep", "top"], &["src/b"]);
    let (status, place) = open(dir.path(), grants.clone(), "c", false).await.unwrap();
    assert_eq!(
        (status, place.as_str()),
        (Status::Pass, "/workspace/src/deep")
    );
    // Of a directory that may only be read one file may be written, from its root.
    let grants = both(&["."], &["src/b"]);
    for (path, create, ok) in [
        ("src/a", false, true),
        ("src/a", true, false),
        ("src/b", true, true),
        ("src/new", true, false),
        ("src/link", true, false),
        ("src/deep/../b", true, false),
    ] {
        let (status, _) = open(dir.path(), grants.clone(), path, create)
            .await
            .unwrap();
        assert_eq!(status == Status::Pass, ok, "{path} {create}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_in_a_granted_files_place_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    let dir = project();
    let gate = bind(
        &host(),
        &opens("a", true),
        both(&[], &["src/a"]),
        Limits::default(),
    )
    .await
    .unwrap();
    let ctx = CallContext {
        root: Some(dir.path().into()),
        ..context()
    };
    let file = dir.path().join("src/a");
    let target = outside.path().join("secret");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let link = dir.path().join("l");
                let _ = symlink(&target, &link);
                let _ = fs::rename(&link, &file);
                let other = dir.path().join("n");
                let _ = fs::write(&other, "");
                let _ = fs::rename(&other, &file);
            }
        });
        let (mut opened, mut refused) = (0, 0);
        tokio::task::block_in_place(|| {
            let runtime = tokio::runtime::Handle::current();
            while opened < 100 || refused < 100 {
                match runtime.block_on(gate.check(&ctx, &iteration())) {
                    Ok(verdict) if verdict.status == Status::Pass => opened += 1,
                    // A link at the call's start is no file, one in the call isn't followed.
                    Ok(_) | Err(PluginError::Io { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(&target).unwrap(), "s");
}
