//! What WASI holds for a plugin: nothing, and what is granted. Files: `files.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Loop, bind, context, context_of, gate_with, host, iteration};
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
