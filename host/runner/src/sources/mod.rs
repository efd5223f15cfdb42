//! Where tasks come from, and where it is written down what became of them.
//!
//! - [`file`]: a task file; `guard`: what an agent may not do to it
//! - [`github`], [`beads`]: trackers, through their own programs; `gh`: its calls; `program`: how those are run
//! - [`plugin`]: a tracker component
//! - [`held`]: a tracker as a worker in a worktree sees it

use std::sync::Arc;

use async_trait::async_trait;
use ralph_engine::tasks::{Ids, NewTask, TaskList};
use ralph_engine::text;
use ralph_engine::types::TaskState;
use ralph_workspace::Workspace;

use crate::error::Error;
use crate::names::Places;

pub mod beads;
pub mod file;
mod gh;
pub mod github;
mod guard;
pub mod held;
pub mod plugin;
mod program;

/// The tasks as they were just read.
#[derive(Debug, Clone)]
pub struct Tasks {
    /// In their order.
    pub list: Arc<TaskList>,
    /// What is to be remembered of ids that the host has given.
    pub ids: Ids,
}

/// What becomes of a task. To say it twice is to say it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is to be done (again).
    Open,
    /// It is done.
    Done {
        /// Where the work is.
        commit: Option<String>,
        /// The attempt that did it; none: a person says so.
        attempt: Option<String>,
    },
    /// It is not to be taken up.
    Blocked {
        /// Why.
        reason: Option<String>,
        /// The attempt that came to this; none: a person says so.
        attempt: Option<String>,
    },
}

impl Outcome {
    /// Done, because a person says so.
    pub const BY_HAND: Outcome = Outcome::Done {
        commit: None,
        attempt: None,
    };

    /// The state it leads to.
    pub fn state(&self) -> TaskState {
        match self {
            Outcome::Open => TaskState::Open,
            Outcome::Done { .. } => TaskState::Done,
            Outcome::Blocked { .. } => TaskState::Blocked,
        }
    }
}

/// What is said of the task at hand after the agent.
pub struct Claimed {
    /// Of the task at hand.
    pub state: TaskState,
    /// What was undone, for the next attempt's prompt.
    pub problems: Vec<String>,
}

/// Where tasks are kept. Each call asks anew: what somebody else has changed meanwhile counts.
#[async_trait]
pub trait Source: Send + Sync {
    /// For people: a path, or `GitHub issues of o/r`.
    fn describe(&self) -> String;

    /// The task file's path, if it is one: part of each commit.
    fn file(&self) -> Option<&str>;

    /// Paths below the root in which it keeps what it knows: nobody's work.
    fn own(&self) -> Vec<String>;

    /// All tasks. `ids` are those that a run has given ([`ralph_engine::State::ids`]).
    async fn load(&self, ids: &Ids) -> Result<Tasks, Error>;

    /// Writes down what became of a task. False if there is no such task any more.
    async fn apply(&self, ids: &Ids, id: &str, outcome: &Outcome) -> Result<bool, Error>;

    /// A further task, behind `after` or at the end; its id.
    async fn add(&self, ids: &Ids, new: &NewTask, after: Option<&str>) -> Result<String, Error>;

    /// Before an agent is let at a task.
    async fn begin(&self, id: &str, places: &Places) -> Result<(), Error>;

    /// After it: what it says of the task, and what it did that it may not do.
    async fn claimed(&self, ids: &Ids, id: &str, places: &Places) -> Result<Claimed, Error>;

    /// The same for a worker whose worktree is `ws`: what it says holds there only, until its work is
    /// merged.
    fn beside(self: Arc<Self>, ws: &Workspace) -> Arc<dyn Source>;
}

/// What a tracker can take: lines of plain text, and no place among the others.
fn plain(new: &NewTask, after: Option<&str>) -> Result<(), Error> {
    if after.is_some() {
        return Err(Error::Usage(
            "a tracker's issues have no order that could be chosen; leave `--after` out".into(),
        ));
    }
    for line in std::iter::once(&new.title).chain(&new.acceptance) {
        if line.trim().is_empty() || text::one_line(line, usize::MAX) != *line {
            let shown = text::one_line(line, 80);
            let what = format!("`{shown}` should be one line of plain text");
            return Err(Error::Usage(what));
        }
    }
    Ok(())
}
