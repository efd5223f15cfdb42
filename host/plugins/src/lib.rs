//! The component host: loads WebAssembly components, finds out what they are,
//! gives them what `ralph.toml` grants and nothing else, and calls them within
//! limits. The only crate that names wasmtime.
//!
//! ```text
//! bytes ── Host::load ──▶ Component ── Plugin::bind ──▶ Plugin ── check, run, … ──▶ domain types
//!          compile/cache     what it is   grants, limits             one fresh store per call
//! ```
//!
//! A call never outlives its future: drop the future (or let a timeout drop it)
//! and the instance with all its memory is gone.

mod bindings;
mod builtin;
mod cache;
mod call;
mod check;
mod clock;
mod component;
mod convert;
mod driver;
mod engine;
mod error;
mod facts;
mod files;
mod grants;
mod guests;
mod host;
mod http;
mod kept;
mod kind;
mod limiter;
mod link;
mod log;
mod manifest;
mod meter;
mod notes;
mod notifier;
mod plugin;
mod preopen;
mod programs;
mod services;
mod shelf;
mod single;
mod state;
mod ticker;
mod tool;
mod tracker;
mod wasi;
mod weight;
mod world;

pub use builtin::{BuiltIn, builtin, builtins};
pub use check::{Answer, Condition, Login, Probe};
pub use component::Component;
pub use driver::{Exit, Launch, Reaction, Session};
pub use error::{PluginError, RefusalKind, Who};
pub use grants::{Grants, Limits};
pub use host::{Host, HostOptions};
pub use kind::Kind;
pub use manifest::{Manifest, SECTION};
pub use notifier::Notice;
pub use plugin::Plugin;
pub use services::{
    CallContext, Command, HttpFault, HttpRequest, HttpResponse, Level, Notification, Output,
    ProcessError, Services, StateAsk, StateError, StateTold,
};
pub use tool::Definition;
pub use tracker::{NewTask, Tracked, TrackedTask};
pub use world::{CONTRACT_VERSION, SERVED};
