//! Prompts of a workspace: read, saved and deleted together with their fingerprints.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ralph_prompts::{Algorithm, Audit, Change, Fingerprint, PromptError, Put, Status, Store};
use ralph_runner::Project;
use ralph_workspace::GuardError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Shared;
use crate::audit::{Event, Intent, kinds};
use crate::auth::Action;
use crate::caller::{Asked, At, Caller, Input};
use crate::problem::Problem;
use crate::store::Run;

/// More are not listed.
const LIST_MAX: usize = 1000;

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
pub struct Prompt {
    /// Below `prompts/`.
    path: String,
    /// What it says.
    content: String,
    /// What is written beside it, or in its own field.
    fingerprint_stored: Option<String>,
    /// Of the content; null if it can't be read as what it is.
    fingerprint_computed: Option<String>,
    /// How the two stand to each other.
    status: PromptStatus,
    /// Why they don't agree, or can't be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// A prompt in a list.
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    /// Below `prompts/`.
    path: String,
    /// How it and its fingerprint stand to each other; null if it can't be read.
    status: Option<PromptStatus>,
    /// What is written beside it, or in its own field.
    fingerprint_stored: Option<String>,
}

/// The prompts of a workspace.
#[derive(Serialize, JsonSchema)]
pub struct Prompts {
    /// By path.
    prompts: Vec<Listed>,
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
    lines_added: usize,
    lines_removed: usize,
    sections_changed: usize,
}

/// What an edit changed.
#[derive(Serialize, JsonSchema)]
pub struct Edited {
    /// Below `prompts/`.
    path: String,
    /// The fingerprint now; null: it is deleted.
    fingerprint: Option<String>,
    /// The fingerprint before; null: there was no prompt.
    old_fp: Option<String>,
    diff_summary: DiffSummary,
}

/// In which workspace, where the address doesn't say it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Where {
    workspace: String,
    #[serde(default)]
    expected_prior_fingerprint: Option<String>,
}

/// What a deletion expects.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeleteQuery {
    /// The fingerprint of what is there; left out: whatever is there goes.
    #[schemars(regex(pattern = "^(sha256|blake3):[0-9a-f]{64}$"))]
    pub expected_prior_fingerprint: Option<String>,
}

/// `GET /workspaces/{slug}/prompts`
pub async fn list(
    State(app): State<Shared>,
    caller: Caller,
    At(slug): At<String>,
) -> Result<Json<Prompts>, Problem> {
    caller.may_in(Action::Read, &slug)?;
    let store = store(&app, &slug).await?;
    let mut prompts = Vec::new();
    for path in store.files().map_err(problem)?.into_iter().take(LIST_MAX) {
        let look = store.look(&path).await.ok();
        prompts.push(Listed {
            path: path.trim_start_matches("prompts/").to_owned(),
            status: look.as_ref().map(|look| look.status.into()),
            fingerprint_stored: text(look.and_then(|look| look.fingerprint_stored).as_ref()),
        });
    }
    Ok(Json(Prompts { prompts }))
}

/// `GET /workspaces/{slug}/prompts/{path}`
pub async fn read(
    State(app): State<Shared>,
    caller: Caller,
    At((slug, path)): At<(String, String)>,
) -> Result<Json<Prompt>, Problem> {
    reading(app, caller, slug, path).await
}

/// `GET /prompts/{path}?workspace=`
pub async fn read_short(
    State(app): State<Shared>,
    caller: Caller,
    At(path): At<String>,
    Asked(at): Asked<Where>,
) -> Result<Json<Prompt>, Problem> {
    reading(app, caller, at.workspace, path).await
}

async fn reading(
    app: Shared,
    caller: Caller,
    slug: String,
    path: String,
) -> Result<Json<Prompt>, Problem> {
    caller.may_in(Action::Read, &slug)?;
    let store = store(&app, &slug).await?;
    let read = store.read_prompt(&path).await.map_err(problem)?;
    Ok(Json(Prompt {
        path,
        content: read.content,
        fingerprint_stored: text(read.fingerprint_stored.as_ref()),
        fingerprint_computed: text(read.fingerprint_computed.as_ref()),
        status: read.status.into(),
        problem: read.problem,
    }))
}

/// `PUT /workspaces/{slug}/prompts/{path}`
pub async fn save(
    State(app): State<Shared>,
    caller: Caller,
    At((slug, path)): At<(String, String)>,
    Input(wanted): Input<SavePrompt>,
) -> Result<Response, Problem> {
    saving(app, caller, slug, path, wanted).await
}

/// `PUT /prompts/{path}?workspace=`
pub async fn save_short(
    State(app): State<Shared>,
    caller: Caller,
    At(path): At<String>,
    Asked(at): Asked<Where>,
    Input(wanted): Input<SavePrompt>,
) -> Result<Response, Problem> {
    saving(app, caller, at.workspace, path, wanted).await
}

async fn saving(
    app: Shared,
    caller: Caller,
    slug: String,
    path: String,
    wanted: SavePrompt,
) -> Result<Response, Problem> {
    caller.may_in(Action::EditPrompt, &slug)?;
    let store = store(&app, &slug).await?;
    let invalid = |e: String| Problem::unprocessable("invalid", e);
    let algorithm = wanted.algorithm.map(|name| name.parse::<Algorithm>());
    let put = Put {
        path: path.clone(),
        content: wanted.content,
        expected: fingerprint(wanted.expected_prior_fingerprint)?,
        algorithm: algorithm
            .transpose()
            .map_err(|e| invalid(format!("algorithm: {e}")))?,
    };
    let told = Told::new(&app, &caller, &slug, kinds::EDITED);
    let saved = store.put_prompt(put, told.audit()).await;
    let change = told.ended(saved.map(|saved| saved.change)).await?;
    let status = match change.old_fp {
        Some(_) => StatusCode::OK,
        None => StatusCode::CREATED,
    };
    Ok((status, Json(edited(path, change))).into_response())
}

/// `DELETE /workspaces/{slug}/prompts/{path}`
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller,
    At((slug, path)): At<(String, String)>,
    Asked(query): Asked<DeleteQuery>,
) -> Result<Json<Edited>, Problem> {
    deleting(app, caller, slug, path, query.expected_prior_fingerprint).await
}

/// `DELETE /prompts/{path}?workspace=`
pub async fn delete_short(
    State(app): State<Shared>,
    caller: Caller,
    At(path): At<String>,
    Asked(at): Asked<Where>,
) -> Result<Json<Edited>, Problem> {
    deleting(
        app,
        caller,
        at.workspace,
        path,
        at.expected_prior_fingerprint,
    )
    .await
}

async fn deleting(
    app: Shared,
    caller: Caller,
    slug: String,
    path: String,
    expected: Option<String>,
) -> Result<Json<Edited>, Problem> {
    caller.may_in(Action::DeletePrompt, &slug)?;
    let store = store(&app, &slug).await?;
    let expected = fingerprint(expected)?;
    let told = Told::new(&app, &caller, &slug, kinds::DELETED);
    let deleted = store.delete_prompt(&path, expected, told.audit()).await;
    let change = told.ended(deleted.map(|deleted| deleted.change)).await?;
    Ok(Json(edited(path, change)))
}

/// A workspace's prompts, by the workspace's own configuration.
pub async fn store(app: &Shared, slug: &str) -> Result<Store, Problem> {
    let path = app.workspace(slug)?.path.clone();
    let opened = tokio::task::spawn_blocking(move || Project::open(&path)).await;
    let project = opened
        .map_err(Problem::internal)?
        .map_err(|e| match e.exit_code() {
            3 => Problem::unprocessable("workspace", e.to_string()),
            _ => Problem::internal(e),
        })?;
    let host = ralph_runner::host().map_err(Problem::internal)?;
    Ok(ralph_runner::fingerprints::store(&project, host))
}

/// Is the prompt that a run was given another one by now, or gone? `None` if it was given none.
pub async fn changed(app: &Shared, run: &Run) -> Option<bool> {
    let path = run.prompt_path.as_ref()?;
    let pinned = run
        .prompt_fingerprint
        .as_ref()?
        .parse::<Fingerprint>()
        .ok()?;
    let store = store(app, &run.workspace).await.ok()?;
    let now = store.compute(path, Some(pinned.algorithm())).await;
    Some(now.ok() != Some(pinned))
}

/// What an edit is about to do goes into the audit before it is done, and what came of it after.
struct Told {
    app: Shared,
    event: Event,
    deleted: bool,
    said: Arc<Mutex<Option<Result<Intent, Problem>>>>,
}

impl Told {
    fn new(app: &Shared, caller: &Caller, slug: &str, kind: &'static str) -> Told {
        Told {
            app: app.clone(),
            event: Event::new(kind, slug).by(&caller.actor),
            deleted: kind == kinds::DELETED,
            said: Arc::default(),
        }
    }

    /// Called on a thread that may wait, with the prompt's lock held.
    fn audit(&self) -> Audit {
        let (app, event, said) = (self.app.clone(), self.event.clone(), self.said.clone());
        let deleted = self.deleted;
        let runtime = tokio::runtime::Handle::current();
        Box::new(move |change: &Change| {
            let event = event
                .clone()
                .with("prompt_path", change.prompt_path.clone());
            let old = text(change.old_fp.as_ref());
            let event = match deleted {
                true => event.with("last_fp", old),
                false => {
                    let summary = serde_json::to_value(change.diff_summary);
                    event
                        .with("old_fp", old)
                        .with("new_fp", text(change.new_fp.as_ref()))
                        .with("diff_summary", summary.map_err(|e| e.to_string())?)
                }
            };
            let intent = runtime.block_on(app.audit.intend(event));
            let failed = intent.as_ref().err().map(|p| p.detail.clone());
            *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(intent);
            failed.map_or(Ok(()), Err)
        })
    }

    async fn ended(self, done: Result<Change, PromptError>) -> Result<Change, Problem> {
        let said = self
            .said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match said {
            Some(Err(unwritten)) => Err(unwritten),
            Some(Ok(intent)) => {
                let done = done.map_err(problem);
                self.app.audit.outcome(intent, done.as_ref().err()).await;
                done
            }
            // A gate before it refused.
            None => done.map_err(problem),
        }
    }
}

fn edited(path: String, change: Change) -> Edited {
    let diff = change.diff_summary;
    Edited {
        path,
        fingerprint: text(change.new_fp.as_ref()),
        old_fp: text(change.old_fp.as_ref()),
        diff_summary: DiffSummary {
            lines_added: diff.lines_added,
            lines_removed: diff.lines_removed,
            sections_changed: diff.sections_changed,
        },
    }
}

fn text(fingerprint: Option<&Fingerprint>) -> Option<String> {
    fingerprint.map(ToString::to_string)
}

/// A fingerprint as a client says it.
fn fingerprint(text: Option<String>) -> Result<Option<Fingerprint>, Problem> {
    let read = text.map(|text| text.parse::<Fingerprint>());
    read.transpose()
        .map_err(|e| Problem::unprocessable("invalid", format!("expected_prior_fingerprint: {e}")))
}

/// As a client gets it.
pub fn problem(e: PromptError) -> Problem {
    match e {
        PromptError::Path { .. }
        | PromptError::Guard(GuardError::Escapes { .. } | GuardError::NotAFile { .. }) => {
            Problem::unprocessable("path", e.to_string())
        }
        PromptError::Absent(_) => Problem::not_found("such prompt"),
        PromptError::Invalid(why) => Problem::unprocessable("prompt", why),
        PromptError::Conflict {
            ref stored,
            ref computed,
            ref expected,
            ..
        } => Problem::conflict("prompt-changed", e.to_string())
            .with("fingerprint_stored", text(stored.as_ref()))
            .with("fingerprint_computed", text(computed.as_ref()))
            .with("fingerprint_expected", text(expected.as_ref())),
        PromptError::Busy(why) => Problem::unavailable("busy", why),
        PromptError::Guard(GuardError::TooLarge { .. }) => {
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", e.to_string())
        }
        PromptError::Guard(GuardError::DiskFull { .. }) => {
            let detail = "the disk or the quota is full; nothing was changed";
            Problem::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", detail)
        }
        e => Problem::internal(e),
    }
}
