//! The guests of the rows, by what they import and do.

use crate::common::{FINE, gate_with};

/// The template with something else in place of a part of it.
pub fn changed(from: &str, to: &str) -> Vec<u8> {
    let text = include_str!("../wat/gate.wat");
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
pub fn realloc(body: &str) -> Vec<u8> {
    changed("(local $at i32)", &format!("(local $at i32) {body}"))
}

/// What the guest does once its answer was read.
pub fn post_return(body: &str) -> Vec<u8> {
    let post = format!(
        "(core module $post (func (export \"post\") (param i32) {body}))
         (core instance $post (instantiate $post))
         (func $check"
    );
    let text = include_str!("../wat/gate.wat");
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

pub fn fields(fields: &str, body: &str) -> Vec<u8> {
    gate_with("", "", fields, body)
}

/// What a guest needs for `log.log`.
const LOG: (&str, &str, &str) = (
    r#"
          (import "ralph:plugin/log@0.1.0" (instance $log
            (type $level' (enum "trace" "debug" "info" "warn" "error"))
            (export "level" (type $level (eq $level')))
            (export "log" (func (param "level" $level) (param "message" string)))))
          (alias export $log "log" (func $log))
          (core func $log (canon lower (func $log) (memory $memory)))"#,
    r#"(with "log" (instance (export "log" (func $log))))"#,
    r#"(import "log" "log" (func $log (param i32 i32 i32)))"#,
);

/// Calls `log.log` in this way; `$log` takes a level, an address and a length.
pub fn logs(body: &str) -> Vec<u8> {
    gate_with(LOG.0, LOG.1, LOG.2, body)
}

/// Asks for so many random bytes.
pub fn random(count: u64) -> Vec<u8> {
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
pub fn sleeps(block: bool) -> Vec<u8> {
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
pub fn exits() -> Vec<u8> {
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
pub fn steals(function: &str, of: &str) -> Vec<u8> {
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

const NETWORK: &str = r#"(import "wasi:sockets/network@0.2.0" (instance $network
             (type $family' (enum "ipv4" "ipv6"))
             (export "network" (type (sub resource)))
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
           (alias export $network "network" (type $network))"#;

/// Opens a TCP socket; passes if that is refused.
pub fn opens_socket() -> Vec<u8> {
    gate_with(
        &format!(
            r#"{NETWORK}
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
           (core func $open (canon lower (func $open) (memory $memory)))"#
        ),
        r#"(with "net" (instance (export "open" (func $open))))"#,
        r#"(import "net" "open" (func $open (param i32 i32)))"#,
        r"(call $open (i32.const 0) (i32.const 128))
          (if (i32.eqz (i32.load8_u (i32.const 128))) (then unreachable))
          (i32.const 16)",
    )
}

/// Has a resource of its own, whose destructor does this; `check` does that with `$new` and `$drop`.
pub fn resource(destructor: &str, body: &str) -> Vec<u8> {
    gate_with(
        &format!(
            r#"(core module $end (func (export "end") (param i32) {destructor}))
               (core instance $end (instantiate $end))
               (type $own (resource (rep i32) (dtor (core func $end "end"))))
               (core func $new (canon resource.new $own))
               (core func $drop (canon resource.drop $own))"#
        ),
        r#"(with "own" (instance (export "new" (func $new)) (export "drop" (func $drop))))"#,
        r#"(import "own" "new" (func $new (param i32) (result i32)))
           (import "own" "drop" (func $drop (param i32)))"#,
        body,
    )
}

/// Logs from within its allocator, that is while the host hands something over.
pub fn logs_in_realloc() -> Vec<u8> {
    let text = include_str!("../wat/gate.wat")
        .replace(
            "(global $next",
            r#"(table (export "table") 1 funcref) (type $log (func (param i32 i32 i32)))
               (global $next"#,
        )
        .replace(
            "(local $at i32)",
            "(local $at i32)
             (call_indirect (type $log) (i32.const 2) (i32.const 64) (i32.const 4) (i32.const 0))",
        );
    filled(
        &text,
        r#"(import "libc" "table" (table 1 funcref)) (elem (i32.const 0) $log)"#,
    )
}

/// Logs once its answer was read.
pub fn logs_after_the_answer() -> Vec<u8> {
    let text = include_str!("../wat/gate.wat")
        .replacen(
            "(func $check\n",
            r#"(core module $post
                 (import "log" "log" (func $log (param i32 i32 i32)))
                 (func (export "post") (param i32)
                   (call $log (i32.const 2) (i32.const 64) (i32.const 4))))
               (core instance $post (instantiate $post
                 (with "log" (instance (export "log" (func $log))))))
               (func $check
            "#,
            1,
        )
        .replace(
            "(canon lift (core func $gate \"check\")",
            "(canon lift (core func $gate \"check\") (post-return (core func $post \"post\"))",
        );
    filled(&text, "")
}

/// A changed template, filled with what logs need.
fn filled(text: &str, fields: &str) -> Vec<u8> {
    let text = text
        .replace("{IMPORTS}", LOG.0)
        .replace("{WITH}", LOG.1)
        .replace("{FIELDS}", &format!("{} {fields}", LOG.2))
        .replace("{PAGES}", "1")
        .replace("{BODY}", FINE);
    wat::parse_str(text).unwrap()
}

/// Resolves a name; passes if that is refused.
pub fn resolves() -> Vec<u8> {
    gate_with(
        &format!(
            r#"{NETWORK}
           (import "wasi:sockets/instance-network@0.2.0" (instance $instance
             (alias outer 1 $network (type $n'))
             (export "network" (type $n (eq $n')))
             (export "instance-network" (func (result (own $n))))))
           (import "wasi:sockets/ip-name-lookup@0.2.0" (instance $lookup
             (alias outer 1 $network (type $n'))
             (export "network" (type $n (eq $n')))
             (alias outer 1 $code (type $c'))
             (export "error-code" (type $c (eq $c')))
             (export "resolve-address-stream" (type $stream (sub resource)))
             (export "resolve-addresses" (func (param "network" (borrow $n)) (param "name" string)
               (result (result (own $stream) (error $c)))))))
           (alias export $instance "instance-network" (func $network))
           (alias export $lookup "resolve-addresses" (func $resolve))
           (core func $network (canon lower (func $network)))
           (core func $resolve (canon lower (func $resolve) (memory $memory)))"#
        ),
        r#"(with "net" (instance (export "network" (func $network)) (export "resolve" (func $resolve))))"#,
        r#"(import "net" "network" (func $network (result i32)))
           (import "net" "resolve" (func $resolve (param i32 i32 i32 i32)))
           (data (i32.const 80) "localhost")"#,
        r"(call $resolve (call $network) (i32.const 80) (i32.const 9) (i32.const 128))
          (if (i32.eqz (i32.load8_u (i32.const 128))) (then unreachable))
          (i32.const 16)",
    )
}
