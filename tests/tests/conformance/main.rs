//! The three JSON-RPC transports of the built binary, driven as black boxes: what is common to all is
//! written once and runs over each. One file per subject.
//!
//! - [`wire`]: a connection, whichever transport it is of
//! - [`framing`], [`limits`], [`spec`]: bytes, bounds, and JSON-RPC 2.0
//! - [`meanwhile`]: what is answered while something takes long
//! - [`rows`]: methods, results and events as the documents list them
//! - [`phases`]: a client that goes away and signals, in each phase of a run
//! - [`sockets`]: where a run's socket is, and what else may lie there
//! - [`clients`]: the documents' example clients
//! - [`crowds`]: nonsense, slow clients, wrong tokens, too many
//! - [`load`]: many clients and a flood of output. `RALPH_LOAD=full` has long versions of all of these
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod clients;
mod crowds;
mod framing;
mod limits;
mod load;
mod meanwhile;
mod phases;
mod rows;
mod sockets;
mod spec;
mod wire;
