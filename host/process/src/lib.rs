//! Native children: agents and what gates run.
//!
//! A child gets a session of its own, a standard input that is never the
//! host's, and exactly the environment it is given. Its output is read in
//! bounded pieces, its time is limited, and when it ends, or is made to end,
//! every descendant ends with it, those in sessions of their own included.
//!
//! * [`start`] and [`Running`]: a child whose output is followed (an agent).
//! * [`run`](run()): a child that is run to its end (a gate's program).
//! * [`environment`]: what a child may inherit.
//! * [`post_warden`]: another process that ends everything when this one is killed.
//! * [`secrets`]: what this process's environment holds that nobody should read elsewhere.
//! * [`reap_leftover`]: ends what a host that died has left behind.
//! * [`settle`]: waits for what it left at work, git for one.
//!
//! * [`Confinement`]: what a child gives up before it becomes its program.
//!
//! `unsafe` stands in `spawn.rs` and `confine_linux.rs`, the step between fork and exec, and in `warden.rs`, where the
//! process splits.
//!
//! Linux is the home ground. Elsewhere a child's process group is ended as a
//! whole, but a descendant that made a session of its own is not found.

mod confine;
mod env;
mod idle;
mod keeper;
mod output;
mod pty;
mod run;
mod running;
mod secrets;
mod spawn;
mod tail;

#[cfg(target_os = "linux")]
mod leftover;
#[cfg(target_os = "linux")]
mod mark;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(target_os = "linux")]
mod procfs;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(not(target_os = "linux"))]
#[path = "tree_group.rs"]
mod tree;
#[cfg(target_os = "linux")]
mod warden;

pub use confine::{Confinement, Instruction, OwnNetwork, Resource};
pub use env::{NESTING, USUAL, environment, is_withheld, withhold};
pub use keeper::{EndedBy, Stopper};
#[cfg(target_os = "linux")]
pub use leftover::reap_leftover;
#[cfg(target_os = "linux")]
pub use orphans::{settle, signature};
pub use pty::{Terminal, WindowSize};
pub use run::{RunOutput, run, run_noted};
pub use running::{Finished, Running, StdinError};
pub use secrets::{Secrets, Stream, also_secret, secrets};
pub use spawn::{DEFAULT_GRACE, Spawn, SpawnError, Stdin, start};
#[cfg(not(target_os = "linux"))]
pub use tree::{dismiss_warden, post_warden, reap_leftover, settle, signature};
#[cfg(target_os = "linux")]
pub use warden::{dismiss_warden, post_warden};
