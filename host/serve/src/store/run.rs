//! What is known of a run.

use ralph_engine::fact::EndReason;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It waits for its turn.
    Queued,
    /// It is at work.
    Running,
    /// It starts no iteration until somebody lets it.
    Paused,
    /// Every task is done.
    Completed,
    /// It ended without being done: `reason` says why.
    Incomplete,
    /// Something that is nobody's work failed: `reason` and `error` say what.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

impl Status {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Paused => "paused",
            Status::Completed => "completed",
            Status::Incomplete => "incomplete",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }

    /// Has it come to its end?
    pub fn is_terminal(self) -> bool {
        !matches!(self, Status::Queued | Status::Running | Status::Paused)
    }

    /// What a run's end makes of it.
    pub fn of(end: &EndReason) -> Status {
        match end {
            EndReason::Complete => Status::Completed,
            EndReason::Error { .. } | EndReason::Unauthenticated { .. } => Status::Failed,
            _ => Status::Incomplete,
        }
    }
}

/// What a submission may set, instead of what the workspace's `ralph.toml` says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunConfig {
    /// The agent that works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(deserialize_with = "whole")]
    pub max_iterations: Option<u32>,
    /// Only this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// A mode: `speed`, `quality`, `exploration` or one of `[modes]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Tasks at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    #[serde(deserialize_with = "whole")]
    pub parallel: Option<u32>,
    /// Commit nothing.
    pub no_commit: bool,
}

/// A whole number, also one that is written like 50.0: for JSON Schema that is one.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(from)? else {
        return Ok(None);
    };
    let given = number.as_u64().and_then(|n| u32::try_from(n).ok());
    let rounded = || {
        let n = number.as_f64().filter(|n| n.fract() == 0.0)?;
        (0.0..=f64::from(u32::MAX)).contains(&n).then_some(n as u32)
    };
    match given.or_else(rounded) {
        Some(n) => Ok(Some(n)),
        None => Err(serde::de::Error::custom(format!(
            "{number} is no number from 0 to {}",
            u32::MAX
        ))),
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Names it.
    pub run_id: String,
    /// The workspace.
    pub workspace: String,
    /// Where it stands.
    pub status: Status,
    /// Who submitted it.
    pub actor: String,
    /// The prompt it was given, below the workspace's `prompts/`.
    pub prompt_path: Option<String>,
    /// The prompt's fingerprint when it was submitted.
    pub prompt_fingerprint: Option<String>,
    /// What the submission set.
    pub config: RunConfig,
    /// When it was submitted.
    pub created_at: String,
    /// When it was first begun.
    pub started_at: Option<String>,
    /// When it came to its end.
    pub ended_at: Option<String>,
    /// From its beginning to its end.
    pub duration_s: Option<f64>,
    /// Why it ended: complete, blocked, `max_iterations`, stopped, error, …
    pub reason: Option<String>,
    /// What failed, for people.
    pub error: Option<String>,
    /// Why it ended before its iterations were used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_stop_reason: Option<String>,
    /// How near it came to what was wanted, if anything reckons that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence_score: Option<f64>,
    /// Iterations so far.
    pub attempts: u32,
    /// The branch that has its commits.
    pub branch: Option<String>,
    /// The commit it began at.
    pub base: Option<String>,
    /// Somebody has asked for its end, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// Is the saved prompt another one by now? Told of one run that is asked for; kept nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_changed: Option<bool>,
}
