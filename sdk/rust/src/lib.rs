//! What the author of a ralph plugin adds to a project.
//!
//! A plugin is a WebAssembly component that exports one of the worlds in
//! `wit/worlds.wit`. With this crate it is a type that implements one trait, and
//! one line that exports it:
//!
//! | world                  | trait             | macro             |
//! |------------------------|-------------------|-------------------|
//! | `gate-plugin`          | [`Gate`]          | [`gate!`]         |
//! | `agent-driver-plugin`  | [`AgentDriver`]   | [`agent_driver!`] |
//! | `agent-plugin`         | [`Agent`]         | [`agent!`]        |
//! | `judge-plugin`         | [`Judge`]         | [`judge!`]        |
//! | `canonicaliser-plugin` | [`Canonicaliser`] | [`canonicaliser!`]|
//! | `tool-plugin`          | [`Tools`]         | [`tools!`]        |
//! | `notifier-plugin`      | [`Notifier`]      | [`notifier!`]     |
//! | `tracker-plugin`       | [`Tracker`]       | [`tracker!`]      |
//!
//! A driver that can also tell whether its program is fit to work implements
//! [`AgentCheck`] beside [`AgentDriver`], and adds [`agent_check!`].
//!
//! # A first gate
//!
//! ```
//! use ralph_plugin::{Error, Finding, Gate, Iteration, Verdict, changes, config};
//!
//! #[derive(serde::Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Config { max_files: usize }
//! impl Default for Config { fn default() -> Self { Config { max_files: 20 } } }
//!
//! struct SmallChange;
//! impl Gate for SmallChange {
//!     fn check(_: &Iteration) -> Result<Verdict, Error> {
//!         let max = config::<Config>()?.max_files;
//!         let files = changes::files();
//!         if files.len() <= max { return Ok(Verdict::pass(format!("{} files", files.len()))); }
//!         let rest = files.iter().skip(max).map(|f| Finding::new("one too many").in_file(&f.path));
//!         Ok(Verdict::fail(format!("{} files, {max} allowed", files.len())).with(rest))
//!     }
//! }
//! ralph_plugin::gate!(SmallChange);
//!
//! // What the host would do; `cargo test` runs this without a component in sight.
//! use ralph_plugin::testing::{Host, iteration};
//! let (verdict, _) = Host::new().config(r#"{"max_files": 1}"#).changed("a.rs").changed("b.rs")
//!     .run(|| SmallChange::check(&iteration()));
//! assert!(!verdict.unwrap().passed());
//! ```
//!
//! `Cargo.toml` needs `[lib] crate-type = ["cdylib", "lib"]`; the component comes
//! from `cargo build --release --target wasm32-wasip2`. It imports only what it
//! uses: a gate that never calls [`process`] has no such import, and the host
//! never asks for that grant.
//!
//! [`manifest!`] says what the plugin is and what it asks for; `ralph plugin inspect`
//! shows it, and more than that it can't be granted.
//!
//! # Testing
//!
//! On any target but wasm the functions which ask the host ([`config()`], [`log`],
//! [`changes`], [`process`], [`events`]) answer from a [`testing::Host`].

mod agent;
mod bindings;
mod canonicaliser;
mod check;
mod config;
mod driver;
mod gate;
mod judge;
mod manifest;
mod notifier;
mod tool;
mod tracker;
mod types;

pub mod call;
pub mod changes;
pub mod dialect;
pub mod events;
pub mod json_lines;
pub mod limits;
pub mod lines;
pub mod log;
pub mod notify;
pub mod process;
pub mod state;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod text;

pub use agent::Agent;
pub use canonicaliser::Canonicaliser;
pub use check::{AgentCheck, Answer, Condition, Login, Probe, first_of};
pub use config::{config, parse_config};
pub use driver::{AgentDriver, Ending, Exit, Launch, PromptBy, Reaction, Sandbox, Session};
pub use gate::Gate;
pub use judge::{Evidence, GateResult, Judge};
pub use notifier::{Notice, Notifier};
pub use tool::{Tool, Tools};
pub use tracker::{NewTask, Tracked, TrackedState, TrackedTask, Tracker};
pub use types::{
    ChangeKind, Error, Event, FileChange, Finding, Iteration, Limit, Outcome, Role, Status, Task,
    Usage, Verdict, message_of,
};

/// For the macros of this crate; not for plugin authors.
#[doc(hidden)]
pub mod __private {
    pub use crate::bindings::{
        agent, agent_check, agent_driver, canonicaliser, gate, imports, judge, notifier, tool,
        tracker,
    };
    pub use crate::driver::SessionCell;
    pub use crate::tool::call as call_tool;
}
