//! The kit of a plugin's author: `ralph plugin new|build|run|test|bench|dev`. Needs no project of
//! ralph's, and starts no program but tool chains.
//!
//! - [`scaffold`], `pack`: a project out of what the binary brings along
//! - [`project`], [`lang`]: what a project is; `plugin.toml`
//! - [`build`](mod@build), `tools`: its component, by its language's tool chain
//! - [`input`], [`stage`], [`ask`]: one call with what it is given, and the host that it sees
//! - [`kept`]: the same from what a run has kept; [`recorded`] of a gate, judge or reviewer, [`streamed`] of
//!   a driver
//! - [`cases`], `differ`: a project's own tests
//! - [`bench`], [`dev`]

mod diff;
mod differ;
mod pack;
mod tools;

pub mod ask;
pub mod bench;
pub mod build;
pub mod cases;
pub mod dev;
pub mod error;
pub mod input;
pub mod kept;
pub mod lang;
pub mod project;
pub mod recorded;
pub mod scaffold;
pub mod stage;
pub mod streamed;

pub use error::Error;
