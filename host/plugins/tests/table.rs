//! Hostile components as a table: each with what is said of it. All are contained: the call ends
//! with that error within its time, the host's next call is fine.
//!
//! What is not here: more of starts and answers in `hostile.rs`, files and links in `files.rs`, the
//! cache in `cache.rs`, threads in `threads.rs`, what needs a whole project in the suite
//! (`tests/tests/suite/plugins.rs`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{FINE, Loop, bind, check, context_of, gate, gate_with, host, iteration};
use ralph_plugins::{Grants, Limits, Services};

const TIME: Duration = Duration::from_millis(40);
const WAIT: Duration = Duration::from_millis(60);

/// What is said, as a part of it; `""`: it answers, and did no harm.
type Row = (&'static str, Vec<u8>, &'static str);

fn limits() -> Limits {
    Limits {
        time: TIME,
        start: TIME,
        wait: WAIT,
        memory: 8 << 20,
        table_elements: 1000,
        ..Limits::default()
    }
}

/// The template with something else in place of a part of it.
fn changed(from: &str, to: &str) -> Vec<u8> {
    let text = include_str!("wat/gate.wat");
    assert!(text.contains(from), "{from}");
    let text = text
        .replace(from, to)
        .replace("{PAGES}", "1")
        .replace("{BODY}", FINE);
    let text = ["{IMPORTS}", "{WITH}", "{FIELDS}"]
        .iter()
        .fold(text, |text, hole| text.replace(hole, ""));
    wat::parse_str(text).unwrap()
}

/// What the guest's allocator does.
fn realloc(body: &str) -> Vec<u8> {
    changed("(local $at i32)", &format!("(local $at i32) {body}"))
}

/// What the guest does once its answer was read.
fn post_return(body: &str) -> Vec<u8> {
    let post = format!(
        "(core module $post (func (export \"post\") (param i32) {body}))
         (core instance $post (instantiate $post))
         (func $check"
    );
    let text = include_str!("wat/gate.wat");
    let text = text
        .replacen("(func $check\n", &format!("{post}\n"), 1)
        .replace(
            "(canon lift (core func $gate \"check\")",
            "(canon lift (core func $gate \"check\") (post-return (core func $post \"post\"))",
        );
    let text = text.replace("{PAGES}", "1").replace("{BODY}", FINE);
    let text = ["{IMPORTS}", "{WITH}", "{FIELDS}"]
        .iter()
        .fold(text, |text, hole| text.replace(hole, ""));
    wat::parse_str(text).unwrap()
}

fn fields(fields: &str, body: &str) -> Vec<u8> {
    gate_with("", "", fields, body)
}

/// Calls `log.log` in this way; `$log` takes a level, an address and a length.
fn logs(body: &str) -> Vec<u8> {
    gate_with(
        r#"
          (import "ralph:plugin/log@0.1.0" (instance $log
            (type $level' (enum "trace" "debug" "info" "warn" "error"))
            (export "level" (type $level (eq $level')))
            (export "log" (func (param "level" $level) (param "message" string)))))
          (alias export $log "log" (func $log))
          (core func $log (canon lower (func $log) (memory $memory)))"#,
        r#"(with "log" (instance (export "log" (func $log))))"#,
        r#"(import "log" "log" (func $log (param i32 i32 i32)))"#,
        body,
    )
}

/// Asks for so many random bytes.
fn random(count: u64) -> Vec<u8> {
    let body = format!("(call $get (i64.const {count}) (i32.const 128)) (i32.const 16)");
    gate_with(
        r#"(import "wasi:random/random@0.2.0" (instance $random
             (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
           (alias export $random "get-random-bytes" (func $get))
           (core func $get (canon lower (func $get) (memory $memory) (realloc (core func $realloc))))"#,
        r#"(with "random" (instance (export "get" (func $get))))"#,
        r#"(import "random" "get" (func $get (param i64 i32)))"#,
        &body,
    )
}

/// Subscribes to a real clock, and blocks if `block`; else again and again.
fn sleeps(block: bool) -> Vec<u8> {
    let body = if block {
        "(call $block (call $subscribe (i64.const 3600000000000))) (i32.const 16)"
    } else {
        "(loop (drop (call $subscribe (i64.const 3600000000000))) (br 0)) (i32.const 16)"
    };
    gate_with(
        r#"(import "wasi:io/poll@0.2.0" (instance $poll
             (export "pollable" (type $pollable (sub resource)))
             (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
           (alias export $poll "pollable" (type $pollable))
           (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
             (alias outer 1 $pollable (type $pollable'))
             (export "pollable" (type $pollable (eq $pollable')))
             (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))
           (alias export $poll "[method]pollable.block" (func $block))
           (alias export $clock "subscribe-duration" (func $subscribe))
           (core func $block (canon lower (func $block)))
           (core func $subscribe (canon lower (func $subscribe)))"#,
        r#"(with "clock" (instance
             (export "block" (func $block))
             (export "subscribe" (func $subscribe))))"#,
        r#"(import "clock" "block" (func $block (param i32)))
           (import "clock" "subscribe" (func $subscribe (param i64) (result i32)))"#,
        body,
    )
}

/// Calls `wasi:cli/exit`.
fn exits() -> Vec<u8> {
    gate_with(
        r#"(import "wasi:cli/exit@0.2.0" (instance $cli
             (export "exit" (func (param "status" (result))))))
           (alias export $cli "exit" (func $exit))
           (core func $exit (canon lower (func $exit)))"#,
        r#"(with "cli" (instance (export "exit" (func $exit))))"#,
        r#"(import "cli" "exit" (func $exit (param i32)))"#,
        "(call $exit (i32.const 1)) (i32.const 16)",
    )
}

/// Passes if this list of `wasi:cli/environment` is empty, else `unreachable`.
fn steals(function: &str, of: &str) -> Vec<u8> {
    gate_with(
        &format!(
            r#"(import "wasi:cli/environment@0.2.0" (instance $cli
             (export "{function}" (func (result (list {of}))))))
           (alias export $cli "{function}" (func $get))
           (core func $get (canon lower (func $get) (memory $memory) (realloc (core func $realloc))))"#
        ),
        r#"(with "cli" (instance (export "get" (func $get))))"#,
        r#"(import "cli" "get" (func $get (param i32)))"#,
        "(call $get (i32.const 128)) (if (i32.load (i32.const 132)) (then unreachable)) (i32.const 16)",
    )
}

/// Opens a TCP socket; passes if that is refused.
fn opens_socket() -> Vec<u8> {
    gate_with(
        r#"(import "wasi:sockets/network@0.2.0" (instance $network
             (type $family' (enum "ipv4" "ipv6"))
             (export "ip-address-family" (type (eq $family')))
             (type $code' (enum "unknown" "access-denied" "not-supported" "invalid-argument"
               "out-of-memory" "timeout" "concurrency-conflict" "not-in-progress" "would-block"
               "invalid-state" "new-socket-limit" "address-not-bindable" "address-in-use"
               "remote-unreachable" "connection-refused" "connection-reset" "connection-aborted"
               "datagram-too-large" "name-unresolvable" "temporary-resolver-failure"
               "permanent-resolver-failure"))
             (export "error-code" (type (eq $code')))))
           (alias export $network "ip-address-family" (type $family))
           (alias export $network "error-code" (type $code))
           (import "wasi:sockets/tcp@0.2.0" (instance $tcp
             (export "tcp-socket" (type (sub resource)))))
           (alias export $tcp "tcp-socket" (type $socket))
           (import "wasi:sockets/tcp-create-socket@0.2.0" (instance $create
             (alias outer 1 $family (type $f'))
             (export "ip-address-family" (type $f (eq $f')))
             (alias outer 1 $code (type $c'))
             (export "error-code" (type $c (eq $c')))
             (alias outer 1 $socket (type $s'))
             (export "tcp-socket" (type $s (eq $s')))
             (export "create-tcp-socket" (func (param "address-family" $f)
               (result (result (own $s) (error $c)))))))
           (alias export $create "create-tcp-socket" (func $open))
           (core func $open (canon lower (func $open) (memory $memory)))"#,
        r#"(with "net" (instance (export "open" (func $open))))"#,
        r#"(import "net" "open" (func $open (param i32 i32)))"#,
        r"(call $open (i32.const 0) (i32.const 128))
          (if (i32.eqz (i32.load8_u (i32.const 128))) (then unreachable))
          (i32.const 16)",
    )
}

fn rows() -> Vec<Row> {
    let time = "raise `time` in [plugins.g.limits]";
    let memory = "raise `memory` in [plugins.g.limits]";
    let recursion = "(func $deep (param i64) (result i64) (i64.add (local.get 0) (call $deep (i64.add (local.get 0) (i64.const 1)))))";
    let wide = format!("(func $wide {} (call $wide))", "(local i64)".repeat(5_000));
    let many = |what: &str| fields(&what.repeat(65), FINE);
    let compute: Vec<Row> = vec![
        (
            "a loop in the call",
            gate("(loop (br 0)) (i32.const 16)"),
            time,
        ),
        (
            "a loop at the start",
            fields("(func $b (loop (br 0))) (start $b)", FINE),
            time,
        ),
        ("a loop in realloc", realloc("(loop (br 0))"), time),
        (
            "a loop after the answer",
            post_return("(loop (br 0))"),
            time,
        ),
        (
            "tail calls without end",
            fields(
                "(func $a (return_call $b)) (func $b (return_call $a))",
                "(call $a) (i32.const 16)",
            ),
            time,
        ),
        (
            "filling memory again and again",
            gate(
                "(loop (memory.fill (i32.const 4096) (i32.const 0) (i32.const 61440)) (br 0)) (i32.const 16)",
            ),
            time,
        ),
        (
            "growing by nothing for ever",
            gate("(loop (drop (memory.grow (i32.const 0))) (br 0)) (i32.const 16)"),
            time,
        ),
        (
            "recursion without end",
            fields(
                recursion,
                "(drop (call $deep (i64.const 0))) (i32.const 16)",
            ),
            "stack exhausted",
        ),
        (
            "recursion with wide frames",
            fields(&wide, "(call $wide) (i32.const 16)"),
            "stack exhausted",
        ),
    ];
    let space: Vec<Row> = vec![
        (
            "one memory that grows",
            gate(
                "(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable",
            ),
            memory,
        ),
        (
            "memories that grow together",
            fields(
                "(memory $second 0)",
                "(drop (memory.grow 0 (i32.const 100))) (if (i32.eq (memory.grow $second (i32.const 100)) (i32.const -1)) (then unreachable)) (i32.const 16)",
            ),
            memory,
        ),
        (
            "a memory that is too large at the start",
            fields("(memory 200)", FINE),
            memory,
        ),
        (
            "a memory of 64 bits",
            fields("(memory i64 0x1000000)", FINE),
            "cannot be compiled",
        ),
        (
            "an allocator that takes all it gets",
            realloc(
                "(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable",
            ),
            memory,
        ),
        (
            "a table that grows",
            fields(
                "(table $a 0 funcref)",
                "(loop (br_if 0 (i32.ne (table.grow $a (ref.null func) (i32.const 100)) (i32.const -1)))) unreachable",
            ),
            "raise `table_elements` in [plugins.g.limits]",
        ),
        (
            "a table that is too large at the start",
            fields("(table 1001 funcref)", FINE),
            "table_elements",
        ),
        ("65 memories", many("(memory 0)"), "memor"),
        ("65 tables", many("(table 0 funcref)"), "table"),
    ];
    let answers: Vec<Row> = vec![
        (
            "an answer that is too long",
            fields(
                "",
                "(drop (memory.grow (i32.const 40))) (i32.store (i32.const 28) (i32.const 2000000)) (i32.const 16)",
            ),
            "raise `output` in [plugins.g.limits]",
        ),
        (
            "a string of 2 GiB",
            gate("(i32.store (i32.const 28) (i32.const 0x7fffffff)) (i32.const 16)"),
            "not valid",
        ),
        (
            "a string beyond the memory",
            gate("(i32.store (i32.const 24) (i32.const 0x7fffffff)) (i32.const 16)"),
            "not valid",
        ),
        (
            "a billion findings",
            gate("(i32.store (i32.const 36) (i32.const 1000000000)) (i32.const 16)"),
            "`check` gave back",
        ),
        (
            "an answer beyond the memory",
            gate("(i32.const 0x7ffffff0)"),
            "not valid",
        ),
        (
            "an answer that is not aligned",
            gate("(i32.const 17)"),
            "not valid",
        ),
        (
            "bytes that are no UTF-8",
            gate("(i32.store (i32.const 64) (i32.const 0xfffefdfc)) (i32.const 16)"),
            "not valid",
        ),
        (
            "a status that is none",
            gate("(i32.store8 (i32.const 20) (i32.const 9)) (i32.const 16)"),
            "not valid",
        ),
        (
            "neither an answer nor an error",
            gate("(i32.store8 (i32.const 16) (i32.const 2)) (i32.const 16)"),
            "not valid",
        ),
        (
            "an error that is none",
            gate(
                "(i32.store8 (i32.const 16) (i32.const 1)) (i32.store8 (i32.const 20) (i32.const 7)) (i32.const 16)",
            ),
            "not valid",
        ),
        (
            "an allocator that points outside",
            realloc("(return (i32.const 0x7fffff00))"),
            "realloc",
        ),
        (
            "an allocator that ignores alignment",
            realloc("(return (i32.const 4097))"),
            "realloc",
        ),
    ];
    let crashes: Vec<Row> = vec![
        ("unreachable", gate("unreachable"), "unreachable"),
        ("a crash in realloc", realloc("unreachable"), "unreachable"),
        (
            "a crash after the answer",
            post_return("unreachable"),
            "unreachable",
        ),
        (
            "a crash at the start",
            fields("(func $b unreachable) (start $b)", FINE),
            "unreachable",
        ),
        (
            "division by zero",
            gate("(i32.div_u (i32.const 1) (i32.const 0))"),
            "divide by zero",
        ),
        (
            "the smallest number by -1",
            gate("(i32.div_s (i32.const 0x80000000) (i32.const -1))"),
            "overflow",
        ),
        (
            "a number that is none",
            gate("(i32.trunc_f32_s (f32.const nan))"),
            "invalid conversion",
        ),
        (
            "reading outside",
            gate("(i32.load (i32.const 0x7ffffff0))"),
            "out of bounds",
        ),
        (
            "a call of nothing",
            fields(
                "(table 1 funcref) (type $t (func (result i32)))",
                "(call_indirect (type $t) (i32.const 0))",
            ),
            "uninitialized element",
        ),
        (
            "a call outside the table",
            fields(
                "(table 1 funcref) (type $t (func (result i32)))",
                "(call_indirect (type $t) (i32.const 9))",
            ),
            "out of bounds",
        ),
        (
            "a call with another type",
            fields(
                "(table 1 funcref) (elem (i32.const 0) $f) (func $f) (type $t (func (result i32)))",
                "(call_indirect (type $t) (i32.const 0))",
            ),
            "type mismatch",
        ),
        ("an exit", exits(), "called exit(1)"),
    ];
    let host_calls: Vec<Row> = vec![
        (
            "a flood of log lines",
            logs(
                "(local $i i32) (memory.fill (i32.const 8192) (i32.const 97) (i32.const 1024))
                 (loop (call $log (i32.const 2) (i32.const 8192) (i32.const 1024))
                 (local.set $i (i32.add (local.get $i) (i32.const 1)))
                 (br_if 0 (i32.lt_u (local.get $i) (i32.const 100)))) (i32.const 16)",
            ),
            "",
        ),
        (
            "empty log lines for ever",
            logs(
                "(loop (call $log (i32.const 2) (i32.const 64) (i32.const 0)) (br 0)) (i32.const 16)",
            ),
            time,
        ),
        (
            "log lines for ever",
            logs(
                "(loop (call $log (i32.const 2) (i32.const 64) (i32.const 4)) (br 0)) (i32.const 16)",
            ),
            time,
        ),
        (
            "a log line of 2 GiB",
            logs("(call $log (i32.const 2) (i32.const 64) (i32.const 0x7fffffff)) (i32.const 16)"),
            "crashed in `check`",
        ),
        (
            "a log line that is no UTF-8",
            logs(
                "(i32.store (i32.const 80) (i32.const -1)) (call $log (i32.const 2) (i32.const 80) (i32.const 4)) (i32.const 16)",
            ),
            "crashed in `check`",
        ),
        (
            "a level that is none",
            logs("(call $log (i32.const 77) (i32.const 64) (i32.const 4)) (i32.const 16)"),
            "crashed in `check`",
        ),
        (
            "randomness by the gigabyte",
            random(1 << 30),
            "crashed in `check`",
        ),
        (
            "a sleep of an hour",
            sleeps(true),
            "raise `wait` in [plugins.g.limits]",
        ),
        ("handles without end", sleeps(false), "crashed in `check`"),
        (
            "the environment",
            steals("get-environment", "(tuple string string)"),
            "",
        ),
        ("the arguments", steals("get-arguments", "string"), ""),
        ("a socket", opens_socket(), ""),
    ];
    [compute, space, answers, crashes, host_calls].concat()
}

#[tokio::test]
async fn every_hostile_component_is_contained() {
    let rows = rows();
    assert!(rows.len() >= 45, "{}", rows.len());
    let host = host();
    let grants = Grants {
        clock: true,
        ..Grants::default()
    };
    let mut odd = Vec::new();
    for (name, bytes, says) in rows {
        let services = Arc::new(Loop::default());
        let plugin = match bind(&host, &bytes, grants.clone(), limits()).await {
            Ok(plugin) => plugin,
            Err(error) => {
                if says.is_empty() || !error.to_string().contains(says) {
                    odd.push(format!("{name}: cannot be loaded: {error}"));
                }
                continue;
            }
        };
        // The code is there, so that only the call is measured.
        plugin.warm().await;
        let begun = Instant::now();
        let ctx = context_of(services.clone());
        let answer = plugin.check(&ctx, &iteration()).await;
        let took = begun.elapsed();
        match &answer {
            Ok(_) if says.is_empty() => {}
            Err(error) if !says.is_empty() && error.to_string().contains(says) => {}
            other => odd.push(format!("{name}: {other:?}")),
        }
        // The machine may be busy: the time that is asserted is far above the deadline.
        if took > Duration::from_secs(10) {
            odd.push(format!("{name}: took {took:?}"));
        }
        let (logged, lines) = {
            let lines = services.lines.lock().unwrap();
            let bytes: usize = lines.iter().map(|(_, text)| text.len()).sum();
            (bytes, lines.len())
        };
        if logged > (64 << 10) + 200 || lines > (64 << 10) + 2 {
            odd.push(format!("{name}: logged {logged} bytes in {lines} lines"));
        }
        let verdict = check(&host, &gate(FINE), Limits::default()).await;
        if verdict.as_ref().map(|v| v.summary.as_str()) != Ok("fine") {
            odd.push(format!("after {name}: {verdict:?}"));
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

#[tokio::test]
async fn waiting_for_a_program_is_bounded() {
    let grants = Grants {
        process: vec!["make".into()],
        ..Grants::default()
    };
    let plugin = bind(&host(), &common::runs_make(), grants, limits())
        .await
        .unwrap();
    let services: Arc<dyn Services> = Arc::new(Loop {
        wait: Duration::from_secs(3600),
        ..Loop::default()
    });
    let ctx = ralph_plugins::CallContext {
        services,
        ..common::context()
    };
    let error = plugin.check(&ctx, &iteration()).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("after it had waited for 60ms"), "{text}");
}

#[tokio::test]
async fn what_goes_to_the_host_at_once_is_bounded() {
    let grants = Grants {
        process: vec!["make".into()],
        ..Grants::default()
    };
    let limits = Limits {
        crossing: 1000,
        output: 100,
        ..Limits::default()
    };
    // The program's name is as long as the memory.
    let text = common::runs_make();
    let plugin = bind(&host(), &text, grants.clone(), limits.clone())
        .await
        .unwrap();
    plugin
        .check(&common::context(), &iteration())
        .await
        .unwrap();
    let long = logs("(call $log (i32.const 2) (i32.const 4096) (i32.const 2000)) (i32.const 16)");
    let plugin = bind(&host(), &long, Grants::default(), limits)
        .await
        .unwrap();
    let error = plugin
        .check(&common::context(), &iteration())
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("raise `crossing` in [plugins.g.limits]"),
        "{text}"
    );
}

#[tokio::test]
async fn compiling_is_bounded() {
    let host = host();
    let late = host
        .load_within("g", "./g.wasm", &gate(FINE), Duration::ZERO)
        .await
        .unwrap_err();
    let text = late.to_string();
    assert!(
        text.contains("raise `compile` in [plugins.g.limits]"),
        "{text}"
    );
    // It went on in the background, or begins anew; either way the next one is fine.
    check(&host, &gate(FINE), Limits::default()).await.unwrap();
}
