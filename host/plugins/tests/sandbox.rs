//! What WASI holds for a plugin: nothing, and what is granted.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Gate, Loop, bind, context, context_of, gate_with, host, iteration};
use ralph_engine::types::Status;
use ralph_plugins::{CallContext, Grants, Level, Limits, PluginError};

/// Gives 16 letters made of a random number.
fn random() -> Vec<u8> {
    gate_with(
        r#"(import "wasi:random/random@0.2.0" (instance $random
             (export "get-random-u64" (func (result u64)))))
           (alias export $random "get-random-u64" (func $get))
           (core func $get (canon lower (func $get)))"#,
        r#"(with "random" (instance (export "get" (func $get))))"#,
        r#"(import "random" "get" (func $get (result i64)))"#,
        r"(local $v i64) (local $i i32)
          (local.set $v (call $get))
          (loop $next
            (i32.store8 (i32.add (i32.const 64) (local.get $i))
              (i32.add (i32.const 97) (i32.and (i32.wrap_i64 (local.get $v)) (i32.const 15))))
            (local.set $v (i64.shr_u (local.get $v) (i64.const 4)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $i) (i32.const 16))))
          (i32.store (i32.const 28) (i32.const 16))
          (i32.const 16)",
    )
}

#[tokio::test]
async fn randomness_is_fixed_by_the_seed_unless_granted() {
    let host = host();
    let call = async |grants: Grants, seed: &str| {
        let gate = bind(&host, &random(), grants, Limits::default())
            .await
            .unwrap();
        let ctx = CallContext {
            seed: seed.into(),
            ..context()
        };
        gate.check(&ctx, &iteration()).await.unwrap().summary
    };
    let none = Grants::default;
    let granted = || Grants {
        random: true,
        ..Grants::default()
    };
    assert_eq!(call(none(), "a").await, call(none(), "a").await);
    assert_ne!(call(none(), "a").await, call(none(), "b").await);
    assert_ne!(call(granted(), "a").await, call(granted(), "a").await);
}

/// Passes if the wall clock says 1,000,000 s.
fn wall_clock() -> Vec<u8> {
    gate_with(
        r#"(import "wasi:clocks/wall-clock@0.2.0" (instance $clock
             (type $datetime' (record (field "seconds" u64) (field "nanoseconds" u32)))
             (export "datetime" (type $datetime (eq $datetime')))
             (export "now" (func (result $datetime)))))
           (alias export $clock "now" (func $now))
           (core func $now (canon lower (func $now) (memory $memory)))"#,
        r#"(with "clock" (instance (export "now" (func $now))))"#,
        r#"(import "clock" "now" (func $now (param i32)))"#,
        r"(call $now (i32.const 128))
          (i32.store8 (i32.const 20)
            (i64.ne (i64.load (i32.const 128)) (i64.const 1000000)))
          (i32.const 16)",
    )
}

/// Sleeps an hour; passes if the clock agrees that it was one.
fn sleeps_an_hour() -> Vec<u8> {
    gate_with(
        r#"(import "wasi:io/poll@0.2.0" (instance $poll
             (export "pollable" (type $pollable (sub resource)))
             (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
           (alias export $poll "pollable" (type $pollable))
           (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
             (alias outer 1 $pollable (type $pollable'))
             (export "pollable" (type $pollable (eq $pollable')))
             (export "now" (func (result u64)))
             (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
           (alias export $poll "[method]pollable.block" (func $block))
           (alias export $clock "now" (func $now))
           (alias export $clock "subscribe-duration" (func $subscribe))
           (core func $block (canon lower (func $block)))
           (core func $now (canon lower (func $now)))
           (core func $subscribe (canon lower (func $subscribe)))"#,
        r#"(with "clock" (instance
             (export "block" (func $block))
             (export "now" (func $now))
             (export "subscribe" (func $subscribe))))"#,
        r#"(import "clock" "block" (func $block (param i32)))
           (import "clock" "now" (func $now (result i64)))
           (import "clock" "subscribe" (func $subscribe (param i64) (result i32)))"#,
        r"(local $begin i64)
          (local.set $begin (call $now))
          (call $block (call $subscribe (i64.const 3600000000000)))
          (i32.store8 (i32.const 20) (i64.lt_u
            (i64.sub (call $now) (local.get $begin)) (i64.const 3600000000000)))
          (i32.const 16)",
    )
}

#[tokio::test]
async fn the_clock_stands_and_sleeping_takes_no_time_unless_granted() {
    let host = host();
    let begin = Instant::now();
    for bytes in [wall_clock(), sleeps_an_hour()] {
        let gate = bind(&host, &bytes, Grants::default(), Limits::default())
            .await
            .unwrap();
        let verdict = gate.check(&context(), &iteration()).await.unwrap();
        assert_eq!(verdict.status, Status::Pass);
    }
    assert!(begin.elapsed() < Duration::from_secs(60));

    let granted = || Grants {
        clock: true,
        ..Grants::default()
    };
    let gate = bind(&host, &wall_clock(), granted(), Limits::default())
        .await
        .unwrap();
    let verdict = gate.check(&context(), &iteration()).await.unwrap();
    assert_eq!(verdict.status, Status::Fail, "the real time is another");
    // A real sleep waits, is not computing, and can be given up.
    let gate = bind(&host, &sleeps_an_hour(), granted(), Limits::default())
        .await
        .unwrap();
    let (ctx, it) = (context(), iteration());
    let call = gate.check(&ctx, &it);
    tokio::time::timeout(Duration::from_millis(50), call)
        .await
        .unwrap_err();
}

/// Prints `out\nbad` to standard error.
fn prints() -> Vec<u8> {
    gate_with(
        r#"(import "wasi:io/error@0.2.0" (instance $error
             (export "error" (type (sub resource)))))
           (alias export $error "error" (type $error))
           (import "wasi:io/streams@0.2.0" (instance $streams
             (alias outer 1 $error (type $error'))
             (export "error" (type $error (eq $error')))
             (type $stream-error' (variant
               (case "last-operation-failed" (own $error)) (case "closed")))
             (export "stream-error" (type $stream-error (eq $stream-error')))
             (export "output-stream" (type $output-stream (sub resource)))
             (export "[method]output-stream.blocking-write-and-flush" (func
               (param "self" (borrow $output-stream)) (param "contents" (list u8))
               (result (result (error $stream-error)))))))
           (alias export $streams "output-stream" (type $output-stream))
           (import "wasi:cli/stderr@0.2.0" (instance $stderr
             (alias outer 1 $output-stream (type $output-stream'))
             (export "output-stream" (type $output-stream (eq $output-stream')))
             (export "get-stderr" (func (result (own $output-stream))))))
           (alias export $streams "[method]output-stream.blocking-write-and-flush" (func $write))
           (alias export $stderr "get-stderr" (func $get))
           (core func $write (canon lower (func $write) (memory $memory)))
           (core func $get (canon lower (func $get)))"#,
        r#"(with "cli" (instance (export "write" (func $write)) (export "get" (func $get))))"#,
        r#"(import "cli" "write" (func $write (param i32 i32 i32 i32)))
           (import "cli" "get" (func $get (result i32)))
           (data (i32.const 80) "out\nbad")"#,
        r"(call $write (call $get) (i32.const 80) (i32.const 7) (i32.const 128)) unreachable",
    )
}

#[tokio::test]
async fn what_a_guest_prints_before_it_crashes_is_in_the_log() {
    let gate = bind(&host(), &prints(), Grants::default(), Limits::default())
        .await
        .unwrap();
    let services = Arc::new(Loop::default());
    let error = gate
        .check(&context_of(services.clone()), &iteration())
        .await
        .unwrap_err();
    assert!(matches!(error, PluginError::Trap { .. }), "{error}");
    let lines = services.lines.lock().unwrap().clone();
    assert_eq!(
        lines,
        [
            (Level::Warn, "out".to_string()),
            (Level::Warn, "bad".to_string())
        ]
    );
}

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
