//! Where a project stands: the fold of all facts. Small enough to be written
//! out whole after every iteration, so that a start never reads the history.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use std::sync::Arc;

use crate::fact::{Claim, EndReason, Phase, Rules};
use crate::pace::Pace;
use crate::tasks::Ids;
use crate::types::{AgentOutcome, GateResult, Role, Task, TaskState, Usage, Verdict};

/// Everything the loop remembers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct State {
    /// The last iteration number used.
    pub iterations: u32,
    /// What earlier attempts at tasks left behind, by task id.
    pub tasks: BTreeMap<String, TaskRecord>,
    /// What gates warned of in the work that was accepted last, for the prompts after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned: Vec<Note>,
    /// Iterations in a row that brought nothing.
    pub no_progress: u32,
    /// Tokens and money over the life of the project.
    pub usage: Usage,
    /// The run that is on, or that died.
    pub run: Option<Run>,
    /// The iteration that is on, or that was cut off.
    pub current: Option<Current>,
    /// The snapshot that the last rejected task's work is measured against.
    pub base: Option<Base>,
    /// How the last run ended.
    pub last_end: Option<EndReason>,
    /// Time, limits, waiting.
    #[serde(default)]
    pub pace: Pace,
    /// By task: how far the journal of its worker was absorbed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absorbed: BTreeMap<String, u64>,
    /// What a person said that no prompt held yet, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injected: Vec<String>,
    /// The ids of tasks that bring none. Shared, for the state is copied with every fact.
    #[serde(default, with = "shared", skip_serializing_if = "shared::nothing")]
    pub ids: Arc<Ids>,
}

/// Written as what is shared.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::tasks::Ids;

    pub fn nothing(ids: &Arc<Ids>) -> bool {
        **ids == Ids::default()
    }

    pub fn serialize<S: Serializer>(ids: &Arc<Ids>, to: S) -> Result<S::Ok, S::Error> {
        ids.as_ref().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Ids>, D::Error> {
        Ids::deserialize(from).map(Arc::new)
    }
}

impl State {
    /// [`crate::Fact::Forgotten`]
    pub(crate) fn forget(&mut self, task: &str) {
        self.tasks.remove(task);
        if self.base.as_ref().is_some_and(|b| b.task == task) {
            self.base = None;
        }
    }

    /// [`crate::Fact::Noted`]
    pub(crate) fn note(&mut self, task: &str, text: &str) {
        const FROM: &str = "a person";
        let notes = &mut self.tasks.entry(task.to_owned()).or_default().notes;
        notes.retain(|n| n.from != FROM);
        notes.push(Note {
            from: FROM.to_owned(),
            text: text.to_owned(),
        });
    }
}

/// What is known of one task from its earlier attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TaskRecord {
    /// Attempts that counted.
    pub attempts: u32,
    /// What spoke against the last attempt.
    #[serde(default)]
    pub notes: Vec<Note>,
    /// One line for each earlier attempt, newest last, at most ten.
    #[serde(default)]
    pub earlier: Vec<String>,
}

/// Something the next attempt has to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Who says it: `gate tests`, `judge`, `review`, `ralph`, `agent`.
    pub from: String,
    /// What.
    pub text: String,
}

/// A snapshot kept over iterations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Base {
    /// Whose work it is measured against.
    pub task: String,
    /// Opaque here.
    pub snapshot: Value,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// `run-…`
    pub id: String,
    /// The agent that works.
    pub agent: String,
    /// What holds for it.
    pub rules: Rules,
    /// Only this task.
    pub target: Option<String>,
    /// Iterations ended in it.
    pub iterations: u32,
    /// The task that was selected and isn't begun.
    pub selected: Option<Task>,
    /// Somebody wants it to end.
    pub stop: Option<Stop>,
    /// Somebody wants no new iteration to start.
    #[serde(default)]
    pub pause: Option<Pause>,
    /// Tasks that it takes up no more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub skipped: BTreeSet<String>,
    /// It has to end for this reason.
    pub end: Option<EndReason>,
    /// Tasks that workers are at, each in a worktree of its own, and who works there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claimed: BTreeMap<String, String>,
    /// The iteration that is being absorbed was this one's work.
    #[serde(skip)]
    pub worked: Option<String>,
    /// Seconds at work.
    #[serde(default)]
    pub elapsed: u64,
    /// Tokens and money of this run.
    #[serde(default)]
    pub usage: Usage,
    /// Tasks done and in all, as last seen.
    pub done: u32,
    /// See `done`.
    pub total: u32,
}

/// A wish that no new iteration starts. It ends with the run's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// It came with a checkpoint.
    pub checkpoint: bool,
}

/// How urgently a run is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After this iteration.
    Graceful,
    /// At once.
    Force,
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Current {
    /// Never reused.
    pub number: u32,
    /// Counts from 1.
    pub attempt: u32,
    /// What it is about.
    pub task: Task,
    /// Who works.
    pub agent: String,
    /// The phase that was begun last.
    pub phase: Phase,
    /// From `Prepared`.
    pub prepared: Option<Prepared>,
    /// From `AgentEnded`.
    pub ended: Option<AgentEnd>,
    /// From `ChangesSeen`.
    pub seen: Option<Seen>,
    /// From `GateAnswered`, in order of arrival.
    pub gates: Vec<GateResult>,
    /// From `Answered`.
    pub judge: Option<Verdict>,
    /// From `Answered`.
    pub review: Option<Verdict>,
    /// What the host last wrote into the task file.
    pub marked: Option<TaskState>,
    /// From `Committed`: there is nothing left to commit.
    pub committed: Option<Option<String>>,
    /// From `CommitRefused`.
    pub refused: Option<String>,
    /// From `MergeRefused`.
    #[serde(default)]
    pub unmerged: Option<String>,
    /// The host died under it: it is only brought to its end, and is none of the next run's iterations.
    #[serde(default)]
    pub cut_off: bool,
    /// Sum over agent, judge and review.
    pub usage: Usage,
}

/// See [`crate::fact::Fact::Prepared`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fact's fields, documented there")]
pub struct Prepared {
    pub attempt_id: String,
    pub fingerprint: String,
    pub algorithm: String,
    pub base: Value,
    pub start_tree: String,
}

/// See [`crate::fact::Fact::AgentEnded`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fact's fields, documented there")]
pub struct AgentEnd {
    pub outcome: AgentOutcome,
    pub claim: Claim,
    pub code: Option<i32>,
    pub plugin: String,
    pub millis: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// See [`crate::fact::Fact::ChangesSeen`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fact's fields, documented there")]
pub struct Seen {
    pub now: Value,
    pub tree: String,
    pub files: u32,
    pub file_state: TaskState,
    pub problems: Vec<String>,
    #[serde(default)]
    pub tampered: Vec<String>,
    #[serde(default)]
    pub rigged: Vec<String>,
}

impl State {
    /// Attempts at a task that counted so far.
    pub fn attempts(&self, task: &str) -> u32 {
        self.tasks.get(task).map_or(0, |t| t.attempts)
    }
}

impl Current {
    /// The verdict of judge or reviewer.
    pub fn answer(&self, role: Role) -> Option<&Verdict> {
        match role {
            Role::Judge => self.judge.as_ref(),
            Role::Review => self.review.as_ref(),
            Role::Work => None,
        }
    }

    /// Is the task claimed, by the task file or by the agent's final words?
    pub fn claimed(&self) -> bool {
        let by_file = self
            .seen
            .as_ref()
            .is_some_and(|s| s.file_state == TaskState::Done);
        match self.ended.as_ref().map(|e| (e.claim, &e.outcome)) {
            Some((Claim::NotDone, _)) => false,
            Some((Claim::Done, AgentOutcome::Finished { .. })) => true,
            _ => by_file,
        }
    }
}
