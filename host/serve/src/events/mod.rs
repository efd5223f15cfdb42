//! A run's events: from what the engine tells, over the store, to whoever follows.

mod attempt;
pub mod live;
mod nodes;
pub mod recorder;
pub mod stream;
pub mod told;
