//! Carries out what the engine decides, and feeds back what came of it.
//!
//! - [`project`], [`trust`], [`setup`], [`registry`]: from a directory to a run that is ready to go
//! - [`run`](mod@run) and `phases`: the loop; `fleet`, `worker`, `merge`: the same with iterations in worktrees; `agent`, `program`, `ask`, `services`, `choice`: its parts
//! - [`holding`]: what holds native programs
//! - [`sources`]: where tasks come from
//! - [`journal`], [`records`], [`names`], [`rawlog`]: what is on disk
//! - [`bus`], [`control`], [`steer`]: views, wishes to stop, and the desk where a run is asked and told things
//! - [`console`], `screen`: agents on a terminal, and a person's way to it; `redact`: nothing of it holds a secret
//! - [`audit`]: what was, read from the journal and checked: log, show, explain, stats, verify, replay, clean
//! - [`preview`], [`agent_check`]: what a run would do, and whether an agent is fit for it
//! - `acting`, [`tools`], [`notify`]: plugins that are no part of an iteration
//! - [`fingerprints`]: files and their fingerprints, with the project's canonicalisers
//! - [`tasks`]: what a person does with tasks beside a run

mod acting;
mod agent;
pub mod agent_check;
mod ahead;
mod ask;
pub mod audit;
mod away;
mod branch;
pub mod bus;
mod checks;
mod choice;
pub mod clock;
mod collect;
pub mod console;
pub mod control;
mod deciding;
pub mod error;
pub mod fingerprints;
mod fleet;
mod history;
pub mod holding;
pub mod journal;
mod ledger;
mod leftover;
mod merge;
pub mod names;
pub mod notify;
mod passing;
mod phases;
pub mod plugins;
pub mod preview;
mod program;
pub mod project;
pub mod rawlog;
pub mod records;
mod redact;
pub mod registry;
pub mod replay;
pub mod report;
mod resets;
pub mod run;
mod screen;
mod services;
pub mod setup;
pub mod sources;
pub mod sourcing;
pub mod status;
pub mod steer;
pub mod supervise;
pub mod tasks;
pub mod tools;
pub mod trust;
mod waiting;
pub mod watch;
mod words;
mod worker;

pub use acting::{host, host_soon};
pub use away::put_workers_away;
pub use bus::{Bus, View};
pub use control::{Control, Stopping};
pub use error::Error;
pub use project::{Pinned, Project};
pub use run::{Begun, Opened, Summary, run};
pub use setup::{RunOptions, Setup};
pub use steer::Desk;
pub use trust::Trust;
pub use worker::each_of_workers;
