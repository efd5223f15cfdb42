//! One module per command.

pub mod agent;
pub mod attach;
pub mod audit;
pub mod bridge;
pub mod check;
pub mod doctor;
pub mod explain;
pub mod fingerprint;
pub mod init;
pub mod interactive;
pub mod kit;
pub mod listen;
pub mod log;
pub mod mcp;
pub mod plugin;
pub mod preview;
pub mod run;
pub mod schema;
pub mod serve;
pub mod status;
pub mod steer;
pub mod supervise;
pub mod tail;
pub mod task;
pub mod trust;

pub use ralph_runner::host;

/// The beginning of a digest or a commit, for people.
fn short(digest: &str) -> &str {
    digest.get(..10).unwrap_or(digest)
}

/// Seconds as people read them.
fn seconds(seconds: f64) -> String {
    crate::view::time((seconds.max(0.0) * 1e3) as u64)
}
