//! Limits to the last unit: what is at the limit works, one more is refused, by its key.

use std::sync::Arc;
use std::time::Duration;

use ralph_plugins::{Grants, Host, Limits, PluginError};
use rustix::time::{ClockId, clock_gettime};

use crate::common::{Loop, bind, context_of, gate, gate_with, host, iteration, runs_make};
use crate::guests::{fields, logs, resource};

/// Calls it, and gives what the loop noted too.
async fn call(host: &Host, bytes: &[u8], limits: Limits) -> (Result<(), PluginError>, Arc<Loop>) {
    let grants = Grants {
        process: vec!["make".into()],
        ..Grants::default()
    };
    let services = Arc::new(Loop::default());
    let plugin = bind(host, bytes, grants, limits).await.unwrap();
    let answer = plugin
        .check(&context_of(services.clone()), &iteration())
        .await;
    (answer.map(drop), services)
}

/// Works with this limit and not with one less, and then names the key.
async fn exactly(bytes: &[u8], limit: u64, key: &str, set: impl Fn(u64) -> Limits) {
    let host = host();
    let (at, services) = call(&host, bytes, set(limit)).await;
    assert!(at.is_ok(), "{key} = {limit}: {at:?}");
    if key == "memory" {
        assert_eq!(*services.used.lock().unwrap(), limit);
    }
    let (below, _) = call(&host, bytes, set(limit - 1)).await;
    let text = below.unwrap_err().to_string();
    let raise = format!("raise `{key}` in [plugins.g.limits]");
    assert!(
        text.starts_with("gate \"g\": ") && text.contains(&raise),
        "{text}"
    );
}

#[tokio::test]
async fn memory_counts_all_memories_to_the_page() {
    // One page at the start, 9 more, and 6 in another memory.
    let bytes = fields(
        "(memory $second 1)",
        "(if (i32.eq (memory.grow 0 (i32.const 9)) (i32.const -1)) (then unreachable))
         (if (i32.eq (memory.grow $second (i32.const 5)) (i32.const -1)) (then unreachable))
         (i32.const 16)",
    );
    exactly(&bytes, 16 << 16, "memory", |memory| Limits {
        memory,
        ..Limits::default()
    })
    .await;
}

#[tokio::test]
async fn table_elements_count_all_tables_to_the_element() {
    let bytes = fields(
        "(table $a 7 funcref) (table $b 0 funcref)",
        "(if (i32.eq (table.grow $b (ref.null func) (i32.const 30)) (i32.const -1)) (then unreachable))
         (i32.const 16)",
    );
    exactly(&bytes, 37, "table_elements", |table_elements| Limits {
        table_elements,
        ..Limits::default()
    })
    .await;
}

#[tokio::test]
async fn instances_are_counted() {
    // Its allocator, and itself.
    exactly(&gate("(i32.const 16)"), 2, "instances", |instances| {
        Limits {
            instances: u32::try_from(instances).unwrap(),
            ..Limits::default()
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_counted_to_the_byte() {
    let bytes = gate(
        "(drop (memory.grow (i32.const 1))) (i32.store (i32.const 28) (i32.const 70000)) (i32.const 16)",
    );
    exactly(&bytes, 70_000, "output", |output| Limits {
        output,
        ..Limits::default()
    })
    .await;
}

#[tokio::test]
async fn what_goes_to_the_host_at_once_is_counted_to_the_byte() {
    let bytes = logs("(call $log (i32.const 2) (i32.const 4096) (i32.const 3000)) (i32.const 16)");
    exactly(&bytes, 3000, "crossing", |crossing| Limits {
        crossing,
        // What is given back may always cross.
        output: 100,
        ..Limits::default()
    })
    .await;
}

#[tokio::test]
async fn the_log_keeps_its_limit_to_the_byte_and_says_what_it_dropped() {
    let bytes = logs(
        "(memory.fill (i32.const 4096) (i32.const 97) (i32.const 1000))
         (call $log (i32.const 2) (i32.const 4096) (i32.const 1000))
         (call $log (i32.const 2) (i32.const 4096) (i32.const 1)) (i32.const 16)",
    );
    for (log, dropped) in [(1001, 0), (1000, 1), (999, 2)] {
        let limits = Limits {
            log,
            ..Limits::default()
        };
        let (answer, services) = call(&host(), &bytes, limits).await;
        answer.unwrap();
        let lines = services.lines.lock().unwrap().clone();
        let kept: usize = lines
            .iter()
            .filter(|(_, line)| line.starts_with('a'))
            .map(|(_, line)| line.len())
            .sum();
        assert_eq!(kept as u64, 1001 - dropped, "{log}: {lines:?}");
        let said = format!("dropped {dropped} bytes");
        assert_eq!(
            lines.iter().any(|(_, line)| line.starts_with(&said)),
            dropped > 0,
            "{log}: {lines:?}"
        );
    }
}

/// The engine's own limit for what a guest holds of its own and of the host's resources.
#[tokio::test]
async fn resources_of_its_own_come_to_an_end() {
    let limits = Limits {
        time: Duration::from_secs(60),
        ..Limits::default()
    };
    let endless = "(loop (drop (call $new (i32.const 1))) (br 0)) (i32.const 16)";
    let (answer, _) = call(&host(), &resource("", endless), limits).await;
    let text = answer.unwrap_err().to_string();
    assert!(
        text.starts_with("gate \"g\": crashed in `check`: cannot allocate another handle"),
        "{text}"
    );
}

fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap(),
    )
}

/// By the processor's time of the one thread that there is: a busy machine doesn't count.
#[tokio::test]
async fn a_call_computes_as_long_as_its_deadline_and_hardly_longer() {
    let host = host();
    for time in [Duration::from_millis(60), Duration::from_millis(350)] {
        let limits = Limits {
            time,
            ..Limits::default()
        };
        let endless = gate("(loop (br 0)) (i32.const 16)");
        let plugin = bind(&host, &endless, Grants::default(), limits)
            .await
            .unwrap();
        plugin.warm().await;
        let (services, it) = (Arc::new(Loop::default()), iteration());
        let ctx = context_of(services);
        let before = computed();
        let error = plugin.check(&ctx, &it).await.unwrap_err();
        let took = computed() - before;
        assert!(
            matches!(&error, PluginError::TimeOut { limit, .. } if *limit == time),
            "{error}"
        );
        // Long ones are counted roughly.
        let least = time.saturating_sub(Duration::from_millis(10));
        assert!(took >= least, "{time:?}: ended after {took:?}");
        // The ticker may be late; it is never late by a second of computing.
        assert!(took < time + Duration::from_secs(1), "{time:?}: {took:?}");
    }
}

/// Each stretch between two programs is short; together they are too long.
#[tokio::test]
async fn computing_between_waits_adds_up_and_waiting_does_not() {
    let host = host();
    let text = |rounds: u32| {
        let spin = "(local $i i32) (local $n i32)
          (loop $again
            (local.set $i (i32.const 0))
            (loop (local.set $i (i32.add (local.get $i) (i32.const 1)))
              (br_if 0 (i32.lt_u (local.get $i) (i32.const 1000000))))
            (drop (call $wait (i32.const 60000000)))
            (local.set $n (i32.add (local.get $n) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $n) (i32.const ROUNDS))))
          (i32.const 16)";
        spin.replace("ROUNDS", &rounds.to_string())
    };
    let waits = |rounds: u32| {
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
               (core func $subscribe (canon lower (func $subscribe)))
               (core func $drop (canon resource.drop $pollable))"#,
            r#"(with "clock" (instance
                 (export "block" (func $block)) (export "drop" (func $drop))
                 (export "subscribe" (func $subscribe))))"#,
            r#"(import "clock" "block" (func $block (param i32)))
               (import "clock" "drop" (func $drop (param i32)))
               (import "clock" "subscribe" (func $subscribe (param i64) (result i32)))
               (func $wait (param $ns i32) (result i32) (local $p i32)
                 (local.set $p (call $subscribe (i64.extend_i32_u (local.get $ns))))
                 (call $block (local.get $p)) (call $drop (local.get $p)) (i32.const 0))"#,
            &text(rounds),
        )
    };
    let limits = Limits {
        time: Duration::from_millis(50),
        ..Limits::default()
    };
    let grants = || Grants {
        clock: true,
        ..Grants::default()
    };
    let ask = async |rounds: u32| {
        let plugin = bind(&host, &waits(rounds), grants(), limits.clone())
            .await
            .unwrap();
        plugin.warm().await;
        plugin
            .check(&context_of(Arc::new(Loop::default())), &iteration())
            .await
    };
    // Waits for 180 ms, which is more than the limit, and hardly computes.
    ask(3).await.unwrap();
    let error = ask(1_000_000).await.unwrap_err();
    assert!(matches!(error, PluginError::TimeOut { .. }), "{error}");
}

/// A stack of its own for each call: what one leaves there is nothing to the next.
#[tokio::test]
async fn a_stack_is_exhausted_at_the_same_depth_each_time() {
    let host = host();
    let deep = |depth: u64| {
        fields(
            "(func $deep (param i64) (result i64)
               (if (result i64) (i64.eqz (local.get 0)) (then (i64.const 0))
                 (else (i64.add (i64.const 1) (call $deep (i64.sub (local.get 0) (i64.const 1)))))))",
            &format!("(drop (call $deep (i64.const {depth}))) (i32.const 16)"),
        )
    };
    for _ in 0..3 {
        let (fine, _) = call(&host, &deep(1_000), Limits::default()).await;
        fine.unwrap();
        let (error, _) = call(&host, &deep(10_000_000), Limits::default()).await;
        let text = error.unwrap_err().to_string();
        assert!(
            text.contains("crashed in `check`: call stack exhausted"),
            "{text}"
        );
    }
    let (ran, services) = call(&host, &runs_make(), Limits::default()).await;
    ran.unwrap();
    assert_eq!(*services.ran.lock().unwrap(), ["make"]);
}
