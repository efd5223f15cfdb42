//! What is sent and answered. `more` has what this version doesn't know.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
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
    /// A state that this version doesn't know.
    #[serde(untagged)]
    Other(String),
}

impl Status {
    /// The word.
    pub fn word(&self) -> &str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Paused => "paused",
            Status::Completed => "completed",
            Status::Incomplete => "incomplete",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
            Status::Other(word) => word,
        }
    }

    /// Has the run come to its end? Of a state that this version doesn't know nobody can say; the
    /// event `terminal` can.
    pub fn is_terminal(&self) -> bool {
        use Status::{Cancelled, Completed, Failed, Incomplete};
        matches!(self, Completed | Incomplete | Failed | Cancelled)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What a run does otherwise than the workspace's `ralph.toml` says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The agent that works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Only this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// A mode: `speed`, `quality`, `exploration` or one of `[modes]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Tasks at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// Commit nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_commit: bool,
    /// Further fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// A submission.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SubmitRun {
    /// The workspace.
    pub workspace_slug: String,
    /// A prompt of the workspace: `prompts/….yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_path: Option<String>,
    /// Its content as it is known here; refused if the saved one is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts_yaml: Option<String>,
    /// Its fingerprint as it is known here; refused if the saved one's is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_fingerprint: Option<String>,
    /// What the run does otherwise.
    pub config: RunConfig,
    /// The same key is the same run: with one, a submission may be repeated whose answer was lost.
    #[serde(skip)]
    pub idempotency_key: Option<String>,
}

impl SubmitRun {
    /// A run as the workspace's `ralph.toml` says.
    pub fn new(workspace_slug: impl Into<String>) -> SubmitRun {
        SubmitRun {
            workspace_slug: workspace_slug.into(),
            ..SubmitRun::default()
        }
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Run {
    /// Names it.
    pub run_id: String,
    /// The workspace.
    pub workspace: String,
    /// Where it stands.
    pub status: Status,
    /// Who submitted it.
    #[serde(default)]
    pub actor: Option<String>,
    /// The prompt it was given.
    #[serde(default)]
    pub prompt_path: Option<String>,
    /// The prompt's fingerprint when it was submitted.
    #[serde(default)]
    pub prompt_fingerprint: Option<String>,
    /// Is the saved prompt another one by now? Told of one run that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_changed: Option<bool>,
    /// What the submission set.
    #[serde(default)]
    pub config: RunConfig,
    /// When it was submitted, RFC 3339.
    #[serde(default)]
    pub created_at: Option<String>,
    /// When it was first begun.
    #[serde(default)]
    pub started_at: Option<String>,
    /// When it came to its end.
    #[serde(default)]
    pub ended_at: Option<String>,
    /// From its beginning to its end.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// Why it ended: complete, blocked, `max_iterations`, stopped, error, …
    #[serde(default)]
    pub reason: Option<String>,
    /// What failed, for people.
    #[serde(default)]
    pub error: Option<String>,
    /// Iterations so far.
    #[serde(default)]
    pub attempts: u32,
    /// The branch that has its commits.
    #[serde(default)]
    pub branch: Option<String>,
    /// The commit it began at.
    #[serde(default)]
    pub base: Option<String>,
    /// Somebody has asked for its end, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_reason: Option<String>,
    /// Why it ended before its iterations were used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_stop_reason: Option<String>,
    /// How near it came to what was wanted, if anything reckons that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence_score: Option<f64>,
    /// Further fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// Which runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunQuery {
    /// Of this workspace.
    pub workspace: Option<String>,
    /// In this state. A run that is paused is listed as running.
    pub status: Option<Status>,
    /// Submitted at this time (RFC 3339) or later.
    pub since: Option<String>,
    /// Submitted before this time (RFC 3339).
    pub until: Option<String>,
    /// So many in one page: 1 to 500; usually 50.
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// One page of runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunPage {
    /// The runs.
    pub runs: Vec<Run>,
    /// What the next page is asked for with; `None` on the last one.
    #[serde(default)]
    pub next_cursor: Option<String>,
    /// Further fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The last event of a run: [`Event::json`](crate::Event::json) reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Terminal {
    /// How the run ended.
    pub status: Status,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// What failed, for people.
    #[serde(default)]
    pub error: Option<String>,
    /// Iterations.
    #[serde(default)]
    pub attempts: u32,
    /// From its beginning to its end.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// Why it ended before its iterations were used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_stop_reason: Option<String>,
    /// How near it came to what was wanted, if anything reckons that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convergence_score: Option<f64>,
    /// Further fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How a prompt and its fingerprint stand to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PromptStatus {
    /// They agree.
    Verified,
    /// They don't.
    Tampered,
    /// It has none.
    Missing,
    /// Something that this version doesn't know.
    #[serde(untagged)]
    Other(String),
}

/// A prompt as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// Below `prompts/`.
    pub path: String,
    /// What it says.
    pub content: String,
    /// What is written beside it, or in its own field.
    #[serde(default)]
    pub fingerprint_stored: Option<String>,
    /// Of the content; `None` if it can't be read as what it is.
    #[serde(default)]
    pub fingerprint_computed: Option<String>,
    /// How the two stand to each other.
    pub status: PromptStatus,
    /// Why they don't agree, or can't be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Further fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// What is to be saved.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SavePrompt {
    /// What it is to say: a prompt-set.
    pub content: String,
    /// The fingerprint of what is there now; `None`: nothing is.
    pub expected_prior_fingerprint: Option<String>,
    /// The new fingerprint's hash, if it isn't the workspace's usual one: sha256 or blake3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
}

/// Counts of what an edit changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiffSummary {
    /// Lines that are new.
    #[serde(default)]
    pub lines_added: u64,
    /// Lines that are gone.
    #[serde(default)]
    pub lines_removed: u64,
    /// Sections of the prompt-set that are others now.
    #[serde(default)]
    pub sections_changed: u64,
}

/// What an edit changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Edited {
    /// Below `prompts/`.
    pub path: String,
    /// The fingerprint now; `None`: it is deleted.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// The fingerprint before; `None`: there was no prompt.
    #[serde(default)]
    pub old_fp: Option<String>,
    /// How much it was.
    #[serde(default)]
    pub diff_summary: DiffSummary,
    /// Further fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// How the service is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Health {
    /// `ok`
    pub status: String,
    /// The service's version.
    #[serde(default)]
    pub version: Option<String>,
    /// Further fields.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_isn_t_known_is_kept() {
        let said = json!({
            "run_id": "r", "workspace": "site", "status": "resting", "config": {"depth": 3},
            "convergence_score": 0.5, "kiln": {"x": [1, null]},
        });
        let run: Run = serde_json::from_value(said.clone()).unwrap();
        assert_eq!(run.status, Status::Other("resting".into()));
        assert_eq!(run.more["kiln"], said["kiln"]);
        let back = serde_json::to_value(&run).unwrap();
        for key in ["run_id", "status", "config", "convergence_score", "kiln"] {
            assert_eq!(back[key], said[key], "{key}");
        }
    }

    #[test]
    fn a_submission_says_only_what_was_set() {
        let wanted = SubmitRun {
            idempotency_key: Some("k".into()),
            config: RunConfig {
                max_iterations: Some(3),
                ..RunConfig::default()
            },
            ..SubmitRun::new("site")
        };
        let sent = serde_json::to_value(&wanted).unwrap();
        let said = json!({ "workspace_slug": "site", "config": { "max_iterations": 3 } });
        assert_eq!(sent, said);
    }
}
