//! What a native child may touch, and how the kernel is told so.
//!
//! A [`Policy`] says what an agent or a gate's program may do; a [`Place`] says
//! where that is. [`Plan::new`] looks at what this machine can enforce of it and
//! says so ([`Enforced`]); [`Plan::confine`] makes one child ready. Rulesets and
//! filters are built here, in the parent; the child only hands them to the kernel
//! (`ralph_process::Confinement`).
//!
//! # Two layers
//! * **Landlock** with seccomp, no helper, no privileges. It allows hierarchies
//!   and can't take anything out of one, so files inside the writable tree that
//!   nobody may change are compared by hash afterwards. It doesn't see `stat`,
//!   `chmod`, `chown`, times and extended attributes of files outside, nor
//!   connections to Unix sockets that have a path.
//! * **bubblewrap**, a program of its own, where somebody asks for it: a view of
//!   the file system in which the rest is read-only or isn't there, and process
//!   ids of its own. No file-system ruleset is laid around it, because that would
//!   forbid the mounts it makes.
//!
//! Network is held in the same way under both: a network namespace with nothing
//! but loopback and, where hosts are allowed, this crate's own proxy, which
//! listens inside and connects outside. Where no namespace can be had, Landlock's
//! TCP rules and a seccomp filter over socket families take its place.
//!
//! Elsewhere than on Linux nothing is enforced, and that is said.

mod enforced;
mod policy;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod grants;
#[cfg(all(test, target_os = "linux"))]
mod hostile;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(not(target_os = "linux"))]
#[path = "plan_other.rs"]
mod plan;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod secrets;

#[cfg(target_os = "linux")]
pub use confined::Confined;
pub use enforced::{Enforced, Level};
#[cfg(not(target_os = "linux"))]
pub use plan::Confined;
pub use plan::{Foreseen, Plan, SandboxError};
pub use policy::{Layer, Limits, Network, Place, Policy, Profile};
