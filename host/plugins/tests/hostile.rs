//! Guests that misbehave: each ends as a typed error, and the next call works.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::time::{Duration, Instant};

use common::{FINE, Gate, check, context, gate, gate_with, host, iteration};
use ralph_engine::types::Status;
use ralph_plugins::{Grants, Host, Limits, PluginError};

fn short() -> Limits {
    let time = Duration::from_millis(50);
    Limits {
        time,
        start: time,
        ..Limits::default()
    }
}

async fn still_works(host: &Host) {
    let verdict = check(host, &gate(FINE), Limits::default()).await.unwrap();
    assert_eq!(
        (verdict.status, verdict.summary.as_str()),
        (Status::Pass, "fine")
    );
}

async fn fails(bytes: Vec<u8>, limits: Limits) -> PluginError {
    let host = host();
    let error = check(&host, &bytes, limits).await.unwrap_err();
    assert!(error.to_string().starts_with("gate \"g\": "), "{error}");
    still_works(&host).await;
    error
}

#[tokio::test]
async fn a_healthy_gate_answers() {
    still_works(&host()).await;
}

#[tokio::test]
async fn an_endless_loop_in_a_call_is_ended_and_names_the_key() {
    let begin = Instant::now();
    let error = fails(gate("(loop (br 0)) (i32.const 16)"), short()).await;
    assert!(
        matches!(error, PluginError::TimeOut { call: "check", .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("`time` in [plugins.g.limits]"),
        "{error}"
    );
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
}

#[tokio::test]
async fn an_endless_loop_at_the_start_is_ended() {
    let bytes = gate_with("", "", "(func $begin (loop (br 0))) (start $begin)", FINE);
    let error = fails(bytes, short()).await;
    assert!(
        matches!(error, PluginError::TimeOut { call: "start", .. }),
        "{error}"
    );
}

#[tokio::test]
async fn an_endless_loop_leaves_the_thread_to_others() {
    let host = host();
    let limits = Limits {
        time: Duration::from_millis(300),
        ..Limits::default()
    };
    // One thread only: the timer can fire only if the guest yields.
    let mut ticks = 0;
    let bytes = gate("(loop (br 0)) (i32.const 16)");
    let plugin = common::bind(&host, &bytes, Grants::default(), limits)
        .await
        .unwrap();
    let (ctx, it) = (context(), iteration());
    let mut call = Box::pin(plugin.check(&ctx, &it));
    let error = loop {
        tokio::select! {
            result = &mut call => break result.unwrap_err(),
            () = tokio::time::sleep(Duration::from_millis(20)) => ticks += 1,
        }
    };
    assert!(matches!(error, PluginError::TimeOut { .. }), "{error}");
    assert!(ticks >= 3, "{ticks}");
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_nothing_behind() {
    let options = ralph_plugins::HostOptions {
        max_concurrent: 1,
        ..Default::default()
    };
    let host = Host::new(options).unwrap();
    let bytes = gate("(loop (br 0)) (i32.const 16)");
    let limits = Limits {
        time: Duration::from_secs(600),
        ..Limits::default()
    };
    let plugin = common::bind(&host, &bytes, Grants::default(), limits)
        .await
        .unwrap();
    for _ in 0..3 {
        let (ctx, it) = (context(), iteration());
        let call = plugin.check(&ctx, &it);
        tokio::time::timeout(Duration::from_millis(30), call)
            .await
            .unwrap_err();
    }
    // The one slot is free again.
    still_works(&host).await;
}

#[tokio::test]
async fn growing_one_memory_without_end_is_a_memory_limit() {
    let body = r"
        (loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
        unreachable";
    let limits = Limits {
        memory: 4 << 20,
        ..Limits::default()
    };
    let error = fails(gate(body), limits).await;
    assert!(
        matches!(
            error,
            PluginError::MemoryLimit {
                limit: 0x40_0000,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error.to_string().contains("`memory` in [plugins.g.limits]"),
        "{error}"
    );
}

#[tokio::test]
async fn memories_count_together() {
    // Each alone stays below the limit: 3 of 4 MiB.
    let fields = "(memory $second 0)";
    let body = r"
        (drop (memory.grow 0 (i32.const 47)))
        (if (i32.eq (memory.grow $second (i32.const 48)) (i32.const -1)) (then unreachable))
        (i32.const 16)";
    let bytes = gate_with("", "", fields, body);
    let limits = Limits {
        memory: 4 << 20,
        ..Limits::default()
    };
    let error = fails(bytes.clone(), limits).await;
    assert!(matches!(error, PluginError::MemoryLimit { .. }), "{error}");
    let limits = Limits {
        memory: 6 << 20,
        ..Limits::default()
    };
    check(&host(), &bytes, limits).await.unwrap();
}

#[tokio::test]
async fn a_memory_that_starts_too_large_is_a_memory_limit() {
    let bytes = Gate {
        pages: 100,
        ..Gate::default()
    }
    .bytes();
    let limits = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    let error = fails(bytes, limits).await;
    assert!(
        matches!(error, PluginError::MemoryLimit { call: "start", .. }),
        "{error}"
    );
}

#[tokio::test]
async fn a_refused_growth_that_the_guest_copes_with_is_no_error() {
    let body = "(drop (memory.grow (i32.const 1000))) (i32.const 16)";
    let limits = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    assert!(check(&host(), &gate(body), limits).await.is_ok());
}

#[tokio::test]
async fn tables_count_together() {
    let fields = "(table $a 0 funcref) (table $b 0 funcref)";
    let body = r"
        (drop (table.grow $a (ref.null func) (i32.const 60)))
        (if (i32.eq (table.grow $b (ref.null func) (i32.const 60)) (i32.const -1))
          (then unreachable))
        (i32.const 16)";
    let limits = Limits {
        table_elements: 100,
        ..Limits::default()
    };
    let error = fails(gate_with("", "", fields, body), limits).await;
    assert!(
        matches!(
            error,
            PluginError::CountLimit {
                what: "table elements",
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn too_many_instances_are_refused() {
    let limits = Limits {
        instances: 1,
        ..Limits::default()
    };
    let error = fails(gate(FINE), limits).await;
    assert!(
        matches!(
            error,
            PluginError::CountLimit {
                what: "instances",
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn endless_recursion_is_a_crash() {
    let fields = "(func $deep (param i64) (result i64) (i64.add (local.get 0) (call $deep (i64.add (local.get 0) (i64.const 1)))))";
    let body = "(drop (call $deep (i64.const 0))) (i32.const 16)";
    let error = fails(gate_with("", "", fields, body), Limits::default()).await;
    assert!(matches!(error, PluginError::Trap { .. }), "{error}");
    assert!(error.to_string().contains("stack exhausted"), "{error}");
}

#[tokio::test]
async fn unreachable_is_a_crash_and_names_the_function() {
    let error = fails(gate("unreachable"), Limits::default()).await;
    assert!(
        matches!(error, PluginError::Trap { call: "check", .. }),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("unreachable") && text.contains("(in check)"),
        "{text}"
    );
}

/// Gives back a summary of `len` bytes from a memory of 32 MiB.
fn long_summary(len: u32) -> Vec<u8> {
    let body = format!("(i32.store (i32.const 28) (i32.const {len})) (i32.const 16)");
    Gate {
        pages: 512,
        body: &body,
        ..Gate::default()
    }
    .bytes()
}

#[tokio::test]
async fn a_huge_answer_is_refused_and_one_at_the_limit_is_not() {
    let limits = || Limits {
        output: 2 << 20,
        ..Limits::default()
    };
    let verdict = check(&host(), &long_summary(2 << 20), limits())
        .await
        .unwrap();
    assert_eq!(verdict.summary.len(), 2 << 20);
    for len in [(2 << 20) + 1, 20 << 20] {
        let error = fails(long_summary(len), limits()).await;
        assert!(matches!(error, PluginError::OutputLimit { .. }), "{error}");
        assert!(
            error.to_string().contains("`output` in [plugins.g.limits]"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_answer_of_a_billion_findings_is_refused() {
    let body = "(i32.store (i32.const 36) (i32.const 1000000000)) (i32.const 16)";
    let error = fails(gate(body), Limits::default()).await;
    assert!(
        matches!(
            error,
            PluginError::OutputLimit { .. } | PluginError::Malformed { .. }
        ),
        "{error}"
    );
}

#[tokio::test]
async fn answers_that_are_no_values_of_their_type_are_told_apart_from_crashes() {
    let not_utf8 = "(i32.store (i32.const 64) (i32.const 0xfffefdfc)) (i32.const 16)";
    let no_status = "(i32.store8 (i32.const 20) (i32.const 9)) (i32.const 16)";
    let no_case = "(i32.store8 (i32.const 16) (i32.const 2)) (i32.const 16)";
    let outside = "(i32.store (i32.const 24) (i32.const 0x7fffffff)) (i32.const 16)";
    let nowhere = "(i32.const 0x7ffffff0)";
    for body in [not_utf8, no_status, no_case, outside, nowhere] {
        let error = fails(gate(body), Limits::default()).await;
        assert!(
            matches!(error, PluginError::Malformed { call: "check", .. }),
            "{body}: {error}"
        );
    }
}

#[tokio::test]
async fn a_plugin_that_refuses_is_quoted() {
    for (case, kind) in [
        (0, ralph_plugins::RefusalKind::InvalidConfig),
        (1, ralph_plugins::RefusalKind::Denied),
        (2, ralph_plugins::RefusalKind::Failed),
    ] {
        let body = format!(
            "(i32.store8 (i32.const 16) (i32.const 1)) (i32.store8 (i32.const 20) (i32.const {case})) (i32.const 16)"
        );
        let error = fails(gate(&body), Limits::default()).await;
        assert!(
            matches!(&error, PluginError::Refused { kind: k, message, .. } if *k == kind && message == "fine"),
            "{error}"
        );
    }
}
