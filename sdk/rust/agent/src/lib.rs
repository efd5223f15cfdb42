//! What the author of an agent that works inside ralph's sandbox adds: the world
//! `agent-plugin`. Everything of `ralph-plugin` is here too.
//!
//! ```
//! use ralph_plugin_agent::{Agent, Error, Event, Iteration, Outcome, events};
//!
//! struct Parrot;
//! impl Agent for Parrot {
//!     fn run(it: &Iteration, prompt: &str) -> Result<Outcome, Error> {
//!         // The project: all of it, unless `allow.read` and `allow.write` say less.
//!         let project = std::path::Path::new(&it.workspace);
//!         events::emit(Event::ToolUse("edit prompt.txt".into()));
//!         std::fs::write(project.join("prompt.txt"), prompt)?;
//!         if events::stop_asked() { return Ok(Outcome::Interrupted); }
//!         Ok(Outcome::Finished("Written.".into()))
//!     }
//! }
//! ralph_plugin_agent::agent!(Parrot);
//!
//! use ralph_plugin_agent::testing::{Host, iteration};
//! let mut it = iteration();
//! it.workspace = std::env::temp_dir().to_str().unwrap().into();
//! let (outcome, record) = Host::new().run(|| Parrot::run(&it, "hello"));
//! assert_eq!(outcome, Ok(Outcome::Finished("Written.".into())));
//! assert_eq!(record.events.len(), 1);
//! ```

mod agent;
mod bindings;

pub mod events;

pub use agent::Agent;
pub use ralph_plugin::*;

/// For the macros of this crate; not for plugin authors.
#[doc(hidden)]
pub mod __private {
    pub use crate::agent::agent_adapter;
    pub use crate::bindings::*;
}
