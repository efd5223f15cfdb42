//! The real codex, claude and copilot, unmodified, each driven by ralph against a model service
//! on loopback (`ralph_tests::model`). `cargo xtask agents` installs them; without them each test
//! says on standard error that it was skipped, and why.
//!
//! With `RALPH_RECORD=DIR` each call's output is written below `DIR`, as the drivers' own tests
//! replay it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod acp;
mod check;
mod cli;
mod mcp;
mod record;
mod review;
mod trouble;
mod work;
