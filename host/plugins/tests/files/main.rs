//! What a guest sees of files, and what no file can do to the host.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;
mod granted;
mod guest;
mod links;
mod nodes;
mod single;
