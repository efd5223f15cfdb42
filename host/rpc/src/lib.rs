//! JSON-RPC 2.0 for those who watch or steer a run.
//!
//! - [`frame`]: bytes to lines, bounded
//! - [`message`]: lines to requests, requests to methods, answers to lines: the one dispatch
//! - [`schema`]: the methods of each transport, as OpenRPC
//! - [`access`]: who came, asked and left, in the log
//! - [`outbox`]: what waits to be written to one client, bounded
//! - [`server`]: clients of a listening socket (`listener`), each on its own; `apart`: the thread that serves them
//! - [`pipes`]: standard input and output
//! - [`socket`]: where a run's socket is, who may take it, who may not
//! - [`feed`], `store`, `ring`, `standing`, [`tui`]: the events and methods of the TUI protocol
//! - [`bridge`]: the events and methods of the bridge protocol
//! - [`tools`]: what other programs can have done; [`tcp`], [`mcp`]: how they ask for it
//! - [`hosted`]: a run and its socket
//! - [`client`]: the asking side

pub mod access;
mod apart;
pub mod bridge;
pub mod client;
pub mod feed;
pub mod frame;
pub mod hosted;
mod listener;
pub mod mcp;
pub mod message;
pub mod outbox;
pub mod pipes;
mod ring;
pub mod schema;
pub mod server;
pub mod socket;
mod standing;
mod store;
pub mod tcp;
pub mod tools;
pub mod tui;
