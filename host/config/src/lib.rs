//! `ralph.toml`: types, strict parsing, schema, trust listing. Pure: no file is read here.
//!
//! - [`types`], [`prompting`], [`units`]: what can be said, with its defaults
//! - [`load()`]: texts to a [`Config`], or everything that is wrong with them
//! - [`error`]: what is wrong, and where; [`origins`]: where a value was written
//! - [`builtins`]: names that need no table; [`resolve`]: which plugin an agent is driven by
//! - [`schema()`]: JSON Schema of it all
//! - [`needs`]: files that must be there
//! - [`powers()`], [`digest()`]: what a configuration can make run, for people and for `ralph trust`
//! - `reference`, `lockfile`, `user`: where plugins come from, which bytes they are, whose signatures count
//! - [`edit`]: changes of a person's own file
//! - [`templates`]: the `ralph.toml` that `ralph init` writes
//! - `source`, `tree`, `walk`, `checks`, `paths`: the steps of [`load()`]
//! - `legacy`, `legacy_apply`, `legacy_convert`: files written for the Python loop
//! - [`strict()`]: other files of TOML, read as strictly
//! - `show`: outside text made visible

pub mod builtins;
mod checks;
mod checks_gates;
mod checks_git;
mod checks_loop;
mod checks_prompt;
mod checks_sandbox;
mod checks_tasks;
pub mod edit;
pub mod error;
mod hosts;
mod legacy;
mod legacy_apply;
mod legacy_convert;
pub mod load;
mod lockfile;
pub mod needs;
pub mod origins;
mod paths;
pub mod powers;
pub mod prompting;
mod reference;
pub mod resolve;
pub mod schema;
mod shape;
mod show;
mod source;
mod strict;
pub mod templates;
mod tree;
pub mod types;
mod types_fingerprints;
mod types_gates;
mod types_limits;
mod types_sandbox;
mod types_tasks;
pub mod units;
mod user;
mod walk;

pub use checks_git::is_branch_name;
pub use error::ConfigError;
pub use hosts::{HostPattern, split_port};
pub use load::{Loaded, load};
pub use lockfile::{LOCK_FILE, Lock, Locked};
pub use needs::missing_files;
pub use origins::Origins;
pub use powers::{Power, digest, powers};
pub use reference::{OciName, Reference, is_sha256};
pub use schema::schema;
pub use source::Source;
pub use strict::strict;
pub use types::Config;
pub use user::User;
