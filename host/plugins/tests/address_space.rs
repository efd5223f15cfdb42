//! The only test of its process, since it takes address space away from it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use common::{FINE, check, gate, host};
use ralph_plugins::{Limits, PluginError};
use rustix::process::{Resource, Rlimit, setrlimit};

#[tokio::test]
async fn without_address_space_for_a_pool_plugins_run_all_the_same() {
    let limit = Some(3 << 30);
    setrlimit(
        Resource::As,
        Rlimit {
            current: limit,
            maximum: limit,
        },
    )
    .unwrap();
    let host = host();
    assert!(!host.pooled());
    assert_eq!(
        check(&host, &gate(FINE), Limits::default())
            .await
            .unwrap()
            .summary,
        "fine"
    );
    let limits = Limits {
        memory: 1 << 20,
        ..Limits::default()
    };
    let bomb = "(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable";
    let error = check(&host, &gate(bomb), limits).await.unwrap_err();
    assert!(matches!(error, PluginError::MemoryLimit { .. }), "{error}");
    let outside = "(i32.load (i32.const 0x7ffffff0))";
    let error = check(&host, &gate(outside), Limits::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("out of bounds"), "{error}");
}
