//! Lines for ralph's log; they appear there with the plugin's name.
//!
//! ```
//! use ralph_plugin::log;
//! let n = 3;
//! log::info(format_args!("looked at {n} files"));
//! log::debug("done");
//! ```

pub use crate::bindings::imports::ralph::plugin::log::Level;
use std::fmt::Display;

/// Writes one line. At most 64 KiB of one plugin call are kept.
pub fn write(level: Level, message: impl Display) {
    send(level, &message.to_string());
}

/// For following the plugin step by step.
pub fn trace(message: impl Display) {
    write(Level::Trace, message);
}

/// For the plugin's author.
pub fn debug(message: impl Display) {
    write(Level::Debug, message);
}

/// Worth knowing.
pub fn info(message: impl Display) {
    write(Level::Info, message);
}

/// Something is odd, the plugin goes on.
pub fn warn(message: impl Display) {
    write(Level::Warn, message);
}

/// Something is wrong.
pub fn error(message: impl Display) {
    write(Level::Error, message);
}

#[cfg(target_family = "wasm")]
fn send(level: Level, message: &str) {
    crate::bindings::imports::ralph::plugin::log::log(level, message);
}

#[cfg(not(target_family = "wasm"))]
fn send(level: Level, message: &str) {
    crate::testing::with(|h| h.record.logs.push((level, message.to_owned())));
}
