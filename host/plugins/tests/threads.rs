//! The only test of its process, so that it can count threads.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::time::Duration;

use common::{FINE, check, context, gate, host, iteration};
use ralph_plugins::{Grants, Limits};

fn threads() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn no_thread_outlives_the_host() {
    // Compiling starts the process's worker threads, once for good; that isn't ours.
    check(&host(), &gate(FINE), Limits::default())
        .await
        .unwrap();
    let before = threads();
    assert!(!before.contains(&"ralph-epoch\n".to_string()));

    let host = host();
    let time = Duration::from_millis(20);
    let limits = Limits {
        time,
        start: time,
        ..Limits::default()
    };
    let endless = gate("(loop (br 0)) (i32.const 16)");
    let plugin = common::bind(&host, &endless, Grants::default(), limits)
        .await
        .unwrap();
    for _ in 0..5 {
        plugin.check(&context(), &iteration()).await.unwrap_err();
    }
    // A plugin keeps the ticker; a call is interrupted also after the host is gone.
    drop(host);
    assert_eq!(
        threads()
            .iter()
            .filter(|name| *name == "ralph-epoch\n")
            .count(),
        1
    );
    plugin.check(&context(), &iteration()).await.unwrap_err();
    drop(plugin);
    assert_eq!(threads(), before);
}
