//! The rows.

use crate::Row;
use crate::common::{FINE, gate};
use crate::guests::{
    exits, fields, logs, logs_after_the_answer, logs_in_realloc, opens_socket, post_return, random,
    realloc, resolves, resource, sleeps, steals,
};

pub fn rows() -> Vec<Row> {
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
            "a loop in a destructor",
            resource(
                "(loop (br 0))",
                "(call $drop (call $new (i32.const 1))) (i32.const 16)",
            ),
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
            "a crash in a destructor",
            resource(
                "unreachable",
                "(call $drop (call $new (i32.const 1))) (i32.const 16)",
            ),
            "unreachable",
        ),
        (
            "a resource that is dropped twice",
            resource(
                "",
                "(local $r i32) (local.set $r (call $new (i32.const 1))) (call $drop (local.get $r)) (call $drop (local.get $r)) (i32.const 16)",
            ),
            "handle index",
        ),
        (
            "a call of the host out of realloc",
            logs_in_realloc(),
            "cannot leave component instance",
        ),
        (
            "a call of the host after the answer",
            logs_after_the_answer(),
            "cannot leave component instance",
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
        ("a name to be resolved", resolves(), ""),
    ];
    [compute, space, answers, crashes, host_calls].concat()
}
