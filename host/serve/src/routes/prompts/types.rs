//! What is sent and answered about prompts.

use ralph_prompts::Status;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is always there, be it null. `problem` is there where there is one.
fn always(schema: &mut Schema) {
    let members = schema.get("properties").and_then(Value::as_object);
    let names = members.into_iter().flat_map(|members| members.keys());
    let names: Vec<Value> = names
        .filter(|name| *name != "problem")
        .map(|name| name.as_str().into())
        .collect();
    schema.insert("required".into(), names.into());
}

/// How a prompt and its fingerprint stand to each other.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptStatus {
    /// They agree.
    Verified,
    /// They don't.
    Tampered,
    /// It has none.
    Missing,
}

impl From<Status> for PromptStatus {
    fn from(status: Status) -> PromptStatus {
        match status {
            Status::Verified => PromptStatus::Verified,
            Status::Tampered => PromptStatus::Tampered,
            Status::Missing => PromptStatus::Missing,
        }
    }
}

/// A prompt as it stands.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = always)]
pub struct Prompt {
    /// Below `prompts/`.
    pub(super) path: String,
    /// What it says.
    pub(super) content: String,
    /// What is written beside it, or in its own field.
    pub(super) fingerprint_stored: Option<String>,
    /// Of the content; null if it can't be read as what it is.
    pub(super) fingerprint_computed: Option<String>,
    /// How the two stand to each other.
    pub(super) status: PromptStatus,
    /// Why they don't agree, or can't be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// A prompt in a list.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = always)]
pub struct Listed {
    /// Below `prompts/`.
    pub(super) path: String,
    /// How it and its fingerprint stand to each other; null if it can't be read.
    pub(super) status: Option<PromptStatus>,
    /// What is written beside it, or in its own field.
    pub(super) fingerprint_stored: Option<String>,
}

/// One page of a workspace's prompts.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = always)]
pub struct Prompts {
    /// By path.
    pub(super) prompts: Vec<Listed>,
    /// What the next page is asked for with; null on the last one.
    pub(super) next_cursor: Option<String>,
}

/// What is to be saved.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SavePrompt {
    /// What it is to say: a prompt-set.
    pub content: String,
    /// The fingerprint of what is there now; null or left out: nothing is.
    #[serde(default)]
    #[schemars(regex(pattern = "^(sha256|blake3):[0-9a-f]{64}$"))]
    pub expected_prior_fingerprint: Option<String>,
    /// The new fingerprint's hash, if it isn't the workspace's usual one: sha256 or blake3.
    #[serde(default)]
    #[schemars(extend("enum" = ["sha256", "blake3", null]))]
    pub algorithm: Option<String>,
}

/// Counts of what an edit changed.
#[derive(Serialize, JsonSchema)]
pub struct DiffSummary {
    pub(super) lines_added: usize,
    pub(super) lines_removed: usize,
    pub(super) sections_changed: usize,
}

/// What an edit changed.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = always)]
pub struct Edited {
    /// Below `prompts/`.
    pub(super) path: String,
    /// The fingerprint now; null: it is deleted.
    pub(super) fingerprint: Option<String>,
    /// The fingerprint before; null: there was no prompt.
    pub(super) old_fp: Option<String>,
    pub(super) diff_summary: DiffSummary,
}

/// Nothing can be asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plain {}

/// In which workspace, where the address doesn't say it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    pub(super) workspace: String,
}

/// The same of a deletion.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteWhere {
    pub(super) workspace: String,
    #[serde(default)]
    pub(super) expected_prior_fingerprint: Option<String>,
}

/// Which prompts are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptQuery {
    /// So many.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// What a deletion expects.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeleteQuery {
    /// The fingerprint of what is there; left out: whatever is there goes.
    #[schemars(regex(pattern = "^(sha256|blake3):[0-9a-f]{64}$"))]
    pub expected_prior_fingerprint: Option<String>,
}
