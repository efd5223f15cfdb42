//! The loop as pure logic: domain types, task files, prompt, phases, decision.
//! Facts in, effects out; no I/O.
//!
//! - [`types`]: the records of the plugin contract
//! - [`tasks`]: task files, read and edited in place
//! - [`fact`], [`state`], [`engine`]: what happened, where that leaves us, what is next
//! - [`decide`]: whether work is accepted; [`claim`]: what an agent's last words claim
//! - [`prompt`]: what the agent is told
//! - [`text`]: outside text made fit for people

pub mod claim;
mod current;
pub mod decide;
pub mod engine;
pub mod event;
pub mod fact;
pub mod pace;
pub mod prompt;
pub mod state;
pub mod tasks;
pub mod template;
pub mod text;
pub mod types;
mod workers;

pub use engine::Effect;
pub use fact::Fact;
pub use state::State;
