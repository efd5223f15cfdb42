//! What the black-box tests share: a project in a temporary directory, fake
//! agents, a bounded way to run the built binary, and readers of what it leaves
//! on disk. Everything here panics when something isn't as a test needs it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests"
)]

mod binary;
mod bridge;
mod door;
mod mcp;
pub mod model;
mod moments;
mod npm;
mod processes;
mod project;
mod pypi;
mod ran;
mod records;
mod sarif;
mod schema;
mod service;
mod socket;
mod tcp;
mod tree;
pub mod web;

pub use binary::{components, examples, target};
pub use bridge::{Bridge, Ended};
pub use door::Door;
pub use mcp::{MCP_VERSION, Mcp};
pub use moments::Moments;
pub use npm::Npm;
pub use processes::{Process, below};
pub use project::{Builder, GOOD_AGENT, Project, TWO_TASKS};
pub use pypi::Pypi;
pub use ran::{LIMIT, Live, Ran};
pub use records::{Fact, chain_is_whole};
pub use sarif::sarif;
pub use schema::{check, valid};
pub use service::{Answer, Event, Events, KEY, Service, TOKENS};
pub use socket::{Client, go, ready, socket, waiting};
pub use tcp::{Listening, Peer};
pub use tree::{Tree, tree};
