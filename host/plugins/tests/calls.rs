//! What gates may ask of the loop, and whose time that is.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{FINE, Loop, bind, context, context_of, gate, host, iteration, runs_make, shows_diff};
use ralph_engine::types::Status;
use ralph_plugins::{Grants, HostOptions, Level, Limits, PluginError};

fn may_run(program: &str) -> Grants {
    Grants {
        process: vec![program.into()],
        ..Grants::default()
    }
}

#[tokio::test]
async fn a_granted_program_runs_and_another_is_denied_with_the_key() {
    let host = host();
    for (program, runs) in [
        ("make", true),
        ("*", true),
        ("cmake", false),
        ("./make", false),
        ("make **", true),
        ("make all", false),
        ("make *", false),
    ] {
        let gate = bind(&host, &runs_make(), may_run(program), Limits::default())
            .await
            .unwrap();
        let services = Arc::new(Loop::default());
        let verdict = gate
            .check(&context_of(services.clone()), &iteration())
            .await
            .unwrap();
        if runs {
            assert_eq!(verdict.status, Status::Pass, "{}", verdict.summary);
            assert_eq!(*services.ran.lock().unwrap(), ["make"]);
        } else {
            assert_eq!(verdict.status, Status::Fail);
            let text = verdict.summary;
            assert!(text.contains("may not run `make`"), "{text}");
            assert!(text.contains("`process` in [plugins.g.allow]"), "{text}");
            assert!(services.ran.lock().unwrap().is_empty());
            let lines = services.lines.lock().unwrap();
            assert!(
                matches!(&lines[..], [(Level::Warn, said)] if *said == text),
                "{lines:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_diff_is_asked_for_within_what_the_guest_can_hold() {
    let grants = Grants {
        changes: true,
        ..Grants::default()
    };
    let limits = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    let gate = bind(&host(), &shows_diff(), grants, limits).await.unwrap();
    let verdict = gate.check(&context(), &iteration()).await.unwrap();
    assert_eq!(verdict.summary, "at most 1048576");
}

#[tokio::test]
async fn time_in_the_host_is_not_the_guests() {
    let limits = Limits {
        time: Duration::from_millis(100),
        ..Limits::default()
    };
    let gate = bind(&host(), &runs_make(), may_run("make"), limits)
        .await
        .unwrap();
    let (wait, compute) = (Duration::from_millis(300), Duration::from_millis(300));
    for services in [
        Loop {
            wait,
            ..Loop::default()
        },
        Loop {
            compute,
            ..Loop::default()
        },
    ] {
        let verdict = gate
            .check(&context_of(Arc::new(services)), &iteration())
            .await
            .unwrap();
        assert_eq!(verdict.status, Status::Pass);
    }
}

#[tokio::test]
async fn a_call_in_the_host_that_is_given_up_frees_its_slot() {
    let options = HostOptions {
        max_concurrent: 1,
        ..HostOptions::default()
    };
    let host = ralph_plugins::Host::new(options).unwrap();
    let gate = bind(&host, &runs_make(), may_run("make"), Limits::default())
        .await
        .unwrap();
    let services = Arc::new(Loop {
        wait: Duration::from_secs(600),
        ..Loop::default()
    });
    for _ in 0..3 {
        let (ctx, it) = (context_of(services.clone()), iteration());
        let call = gate.check(&ctx, &it);
        tokio::time::timeout(Duration::from_millis(50), call)
            .await
            .unwrap_err();
    }
    assert_eq!(services.ran.lock().unwrap().len(), 3);
    gate.check(&context(), &iteration()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_calls_at_once_all_answer() {
    let host = host();
    let fine = bind(&host, &gate(FINE), Grants::default(), Limits::default())
        .await
        .unwrap();
    let time = Duration::from_millis(20);
    let limits = Limits {
        time,
        start: time,
        ..Limits::default()
    };
    let body = "(loop (br 0)) (i32.const 16)";
    let endless = bind(&host, &gate(body), Grants::default(), limits)
        .await
        .unwrap();
    let calls: Vec<_> = (0..200)
        .map(|i| {
            let plugin = if i % 10 == 0 {
                endless.clone()
            } else {
                fine.clone()
            };
            tokio::spawn(async move { (i, plugin.check(&context(), &iteration()).await) })
        })
        .collect();
    for call in calls {
        let (i, result) = call.await.unwrap();
        if i % 10 == 0 {
            assert!(
                matches!(result, Err(PluginError::TimeOut { .. })),
                "{i}: {result:?}"
            );
        } else {
            assert_eq!(result.unwrap().summary, "fine", "{i}");
        }
    }
}

#[tokio::test]
async fn it_works_without_a_pool_too() {
    let options = HostOptions {
        pooling: false,
        ..HostOptions::default()
    };
    let host = ralph_plugins::Host::new(options).unwrap();
    assert!(!host.pooled());
    assert_eq!(
        common::check(&host, &gate(FINE), Limits::default())
            .await
            .unwrap()
            .summary,
        "fine"
    );
}

#[tokio::test]
async fn a_gate_cannot_be_asked_what_a_judge_is() {
    let gate = bind(&host(), &gate(FINE), Grants::default(), Limits::default())
        .await
        .unwrap();
    let error = gate.judge_decide(&context(), "x").await.unwrap_err();
    assert!(matches!(error, PluginError::WrongWorld { .. }), "{error}");
}
