//! JSON-RPC 2.0 for those who watch or steer a run.
//!
//! - [`frame`]: bytes to lines, bounded
//! - [`message`]: lines to requests, requests to methods, answers to lines: the one dispatch
//! - [`schema`]: the methods of each transport, as OpenRPC
//! - [`outbox`]: what waits to be written to one client, bounded
//! - [`server`]: clients of a listening socket, each on its own; `apart`: the thread for a run's
//! - [`socket`]: where a run's socket is, who may take it, who may not
//! - [`feed`], `store`, `ring`, `standing`, [`tui`]: the events and methods of the TUI protocol
//! - [`bridge`]: the events and methods of the bridge protocol
//! - [`tcp`]: tools and commands for other programs
//! - [`hosted`]: a run and its socket
//! - [`client`]: the asking side

mod apart;
pub mod bridge;
pub mod client;
pub mod feed;
pub mod frame;
pub mod hosted;
pub mod message;
pub mod outbox;
mod ring;
pub mod schema;
pub mod server;
pub mod socket;
mod standing;
mod store;
pub mod tcp;
pub mod tui;
