//! Trackers, as the host calls them.

use ralph_engine::types::{Task, TaskState};

use crate::bindings::exports::ralph::plugin::tracker as wit;
use crate::bindings::ralph::plugin::types;
use crate::error::PluginError;
use crate::kind::Kind;
use crate::plugin::{Answer, Plugin};
use crate::services::CallContext;
use crate::weight::{self, Weight};
use crate::world::f;

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tracked {
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

/// A task to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// One line.
    pub title: String,
    /// Criteria, one line each.
    pub acceptance: Vec<String>,
    /// Ids of tasks.
    pub depends_on: Vec<String>,
}

/// A task and how it stands. Nothing in it was checked.
pub type TrackedTask = (Task, TaskState);

impl Plugin {
    /// Has a tracker tell all tasks.
    pub async fn tracked(&self, ctx: &CallContext) -> Result<Vec<TrackedTask>, PluginError> {
        let mut live = self.start(ctx, Kind::Tracker).await?;
        let answer: Answer<Vec<wit::Entry>> = live.call(f::LOAD, ()).await?;
        Ok(self.accept(answer)?.into_iter().map(entry).collect())
    }

    /// Tells a tracker that an agent is about to work on a task.
    pub async fn track_begin(&self, ctx: &CallContext, task: &str) -> Result<(), PluginError> {
        let mut live = self.start(ctx, Kind::Tracker).await?;
        let answer: Answer<()> = live.call(f::BEGIN, (task,)).await?;
        self.accept(answer)
    }

    /// Tells a tracker what became of a task. False if it has no such task any more.
    pub async fn track(
        &self,
        ctx: &CallContext,
        task: &str,
        became: &Tracked,
    ) -> Result<bool, PluginError> {
        let mut live = self.start(ctx, Kind::Tracker).await?;
        let outcome = match became.clone() {
            Tracked::Open => wit::Outcome::Open,
            Tracked::Done { commit, attempt } => wit::Outcome::Done(wit::Done { commit, attempt }),
            Tracked::Blocked { reason, attempt } => {
                wit::Outcome::Blocked(wit::Blocked { reason, attempt })
            }
        };
        let answer: Answer<bool> = live.call(f::APPLY, (task, &outcome)).await?;
        self.accept(answer)
    }

    /// Has a tracker take in a further task; its id.
    pub async fn track_new(&self, ctx: &CallContext, new: &NewTask) -> Result<String, PluginError> {
        let mut live = self.start(ctx, Kind::Tracker).await?;
        let new = wit::NewTask {
            title: new.title.clone(),
            acceptance: new.acceptance.clone(),
            depends_on: new.depends_on.clone(),
        };
        let answer: Answer<String> = live.call(f::ADD, (&new,)).await?;
        self.accept(answer)
    }
}

fn entry(entry: wit::Entry) -> TrackedTask {
    let task = entry.task;
    let state = match entry.state {
        wit::State::Open => TaskState::Open,
        wit::State::InProgress => TaskState::InProgress,
        wit::State::Blocked => TaskState::Blocked,
        wit::State::Done => TaskState::Done,
    };
    let task = Task {
        id: task.id,
        title: task.title,
        description: task.description,
        acceptance: task.acceptance,
        priority: task.priority,
        depends_on: task.depends_on,
    };
    (task, state)
}

impl Weight for types::Task {
    fn weight(&self) -> u64 {
        self.id.weight()
            + self.title.weight()
            + self.description.weight()
            + weight::list(&self.acceptance)
            + weight::list(&self.depends_on)
    }
}

impl Weight for wit::Entry {
    fn weight(&self) -> u64 {
        self.task.weight()
    }
}

impl Weight for Vec<wit::Entry> {
    fn weight(&self) -> u64 {
        weight::list(self)
    }
}
