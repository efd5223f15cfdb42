//! The loop as pure logic: domain types, task files, prompt, phases, decision.
//! Facts in, effects out; no I/O.
//!
//! - [`types`]: the records of the plugin contract
//! - [`tasks`]: task files, read and edited in place
//! - [`fact`], [`state`], [`engine`]: what happened, where that leaves us, what is next
//! - [`gates`]: what all gates come to, with groups ([`expr`]) and warnings
//! - [`decide`]: whether work is accepted; [`claim`]: what an agent's last words claim
//! - [`arguments`]: tools' arguments against their JSON Schemas
//! - [`programs`]: which programs a plugin may have run, and with which arguments
//! - [`prompt`]: what the agent is told
//! - [`text`]: outside text made fit for people

pub mod arguments;
pub mod claim;
mod current;
pub mod decide;
pub mod engine;
pub mod event;
pub mod expr;
pub mod fact;
pub mod gates;
pub mod hosts;
pub mod pace;
pub mod programs;
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
