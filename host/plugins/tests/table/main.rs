//! Hostile components as a table: each with what is said of it. All are contained: the call ends
//! with that error within its time, the host's next call is fine.
//!
//! What is not here: more of starts and answers in `hostile.rs`, files, links and nodes in `files/`, the
//! cache in `cache.rs`, threads in `threads.rs`, what needs a whole project in the suite
//! (`tests/tests/suite/plugins.rs`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
mod exact;
mod guests;
mod rows;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{FINE, Loop, bind, check, context_of, gate, host, iteration};
use guests::logs;
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

#[tokio::test]
async fn every_hostile_component_is_contained() {
    let rows = rows::rows();
    assert!(rows.len() > 50, "{}", rows.len());
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
        // What was counted while it ran, over all of its memories.
        let used = *services.used.lock().unwrap();
        if used > limits().memory {
            odd.push(format!("{name}: had {used} bytes of memory"));
        }
        // Whoever reads it knows which plugin, and what to do about a limit.
        if let Err(error) = &answer {
            let text = error.to_string();
            if !text.starts_with("gate \"g\": ")
                || (text.contains("raise") && !text.contains("in [plugins.g.limits]"))
            {
                odd.push(format!("{name}: {text}"));
            }
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
