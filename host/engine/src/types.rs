//! The domain types. They mirror the records of `wit/types.wit`, so that the
//! loop can be reasoned about and tested without a component in sight.

use serde::{Deserialize, Serialize};

/// One entry of the task file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Task {
    /// Stable within the task file.
    pub id: String,
    /// One line.
    pub title: String,
    /// Free text below the title; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// One acceptance criterion per entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance: Vec<String>,
    /// Lower runs first; `None` comes after every task that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Ids of tasks that must be done before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

/// What the task file says of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// `[ ]`, or `passes: false`.
    Open,
    /// `[~]`: somebody else is at it; not selectable.
    InProgress,
    /// `[-]`, or `blocked: true`; not selectable.
    Blocked,
    /// `[x]`, or `passes: true`.
    Done,
}

/// On whose behalf an agent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Changes the workspace to finish the task.
    Work,
    /// Rules whether the task was met.
    Judge,
    /// Reviews the change.
    Review,
}

/// Where in the loop a plugin call happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// Id of the run; stays the same over a resume.
    pub run_id: String,
    /// Counts from 1 over the life of the project, never reused.
    pub number: u32,
    /// Attempt at this task; counts from 1.
    pub attempt: u32,
    /// Name of the agent, as in `[agents.<name>]`.
    pub agent: String,
    /// What the call is for.
    pub role: Role,
    /// Absolute host path of the project's root.
    pub workspace: String,
    /// Absolute host path of this agent call's scratch directory.
    pub scratch: String,
    /// The task at hand.
    pub task: Option<Task>,
}

/// How a path changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// New.
    Added,
    /// Content, mode or type differs.
    Modified,
    /// Gone.
    Deleted,
    /// Moved here from elsewhere.
    Renamed,
}

/// One path that differs from what it was when the iteration began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the project's root, `/` as separator.
    pub path: String,
    /// How it changed.
    pub kind: ChangeKind,
    /// 0 for a binary file.
    pub added_lines: u32,
    /// 0 for a binary file.
    pub deleted_lines: u32,
}

/// A bounded unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct DiffText {
    /// The diff, whole files left out at the end if it got too long.
    pub text: String,
    /// Bytes of the whole diff that are missing from `text`.
    pub omitted_bytes: u64,
}

/// What a gate, a judge or a reviewer rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Fine.
    Pass,
    /// Not fine.
    Fail,
    /// Nothing to check; counts as passed.
    Skip,
}

/// One remark of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// For people.
    pub message: String,
    /// Relative to the project's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Counts from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Stable name of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The ruling.
    pub status: Status,
    /// One line for people; on `Fail` it goes into the next prompt.
    pub summary: String,
    /// The details.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// `Fail` is the only status that stops an acceptance.
    pub fn passed(&self) -> bool {
        self.status != Status::Fail
    }
}

/// What a gate's failure does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It refuses the work.
    #[default]
    Block,
    /// It is told, and refuses nothing.
    Warn,
}

impl Severity {
    /// Is it the usual one?
    pub fn blocks(&self) -> bool {
        *self == Severity::Block
    }
}

/// What a gate said, under its configured name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// `[[gates]] name`.
    pub name: String,
    /// What its failure does.
    #[serde(default, skip_serializing_if = "Severity::blocks")]
    pub severity: Severity,
    /// What it ruled. A gate that could not rule is a `Fail` with the error as its summary.
    pub verdict: Verdict,
}

/// What a judge or reviewer is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Evidence {
    /// The iteration's diff.
    pub diff: DiffText,
    /// The changed paths.
    pub files: Vec<FileChange>,
    /// All gates' results.
    pub gates: Vec<GateResult>,
    /// What the agent said at its end.
    pub final_text: String,
    /// Why the last answer could not be read, when asking again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complaint: Option<String>,
}

/// Tokens and money of one agent call.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
pub struct Usage {
    /// Without those that came from a cache.
    pub input_tokens: u64,
    /// What the agent wrote.
    pub output_tokens: u64,
    /// Read from the provider's cache.
    pub cached_tokens: u64,
    /// US dollars, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// Sums two calls' usage; saturates.
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
            },
        }
    }
}

/// What an agent lets one see while it works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum AgentEvent {
    /// What the assistant says.
    Text(String),
    /// What it thinks.
    Thinking(String),
    /// A tool it calls.
    ToolUse(String),
    /// What the tool answered.
    ToolResult(String),
    /// Usage of the whole call so far; the last one counts.
    Usage(Usage),
    /// A retry, the session's id, a refusal.
    Notice(String),
}

/// How an agent call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentOutcome {
    /// The agent came to its own end with these final words.
    Finished {
        /// The final assistant text.
        text: String,
    },
    /// The provider wants a pause; costs no attempt.
    Limited {
        /// In the provider's words.
        message: String,
        /// RFC 3339, if known.
        resets_at: Option<String>,
    },
    /// No valid login; costs no attempt.
    Unauthenticated {
        /// In the agent's words.
        message: String,
    },
    /// Anything else that is no success.
    Failed {
        /// Why.
        message: String,
    },
    /// Ran out of its time.
    TimedOut {
        /// Which limit, and how long it was.
        message: String,
    },
    /// Ended by a signal or by the host.
    Interrupted,
}
