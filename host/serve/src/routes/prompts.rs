//! Prompts of a workspace: read, saved and deleted together with their fingerprints.

mod told;
mod types;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ralph_prompts::{Algorithm, Change, Fingerprint, PromptError, Put, Store};
use ralph_runner::Project;
use ralph_workspace::GuardError;

use super::runs::limit;
use crate::app::Shared;
use crate::audit::CUT_OFF;
use crate::audit::kinds;
use crate::auth::Action;
use crate::caller::{Asked, At, Caller, Input};
use crate::problem::Problem;
use crate::store::Run;
use told::Told;
pub use types::*;

/// `GET /workspaces/{slug}/prompts`
pub async fn list(
    State(app): State<Shared>,
    caller: Caller,
    At(slug): At<String>,
    Asked(query): Asked<PromptQuery>,
) -> Result<Json<Prompts>, Problem> {
    caller.may_in(Action::Read, &slug)?;
    let limit = limit(query.limit)?;
    let store = store(&app, &slug).await?;
    let after = query.cursor.map(|cursor| format!("prompts/{cursor}"));
    let mut files = store.files().await.map_err(problem)?;
    files.retain(|path| after.as_ref().is_none_or(|after| path > after));
    let more = files.len() > limit;
    files.truncate(limit);
    let mut prompts = Vec::new();
    for path in files {
        let look = store.look(&path).await.ok();
        prompts.push(Listed {
            path: path.strip_prefix("prompts/").unwrap_or(&path).to_owned(),
            status: look.as_ref().map(|look| look.status.into()),
            fingerprint_stored: text(look.and_then(|look| look.fingerprint_stored).as_ref()),
        });
    }
    let last = prompts.last().filter(|_| more);
    let next_cursor = last.map(|last| last.path.clone());
    Ok(Json(Prompts {
        prompts,
        next_cursor,
    }))
}

/// `GET /workspaces/{slug}/prompts/{path}`
pub async fn read(
    State(app): State<Shared>,
    caller: Caller,
    At((slug, path)): At<(String, String)>,
    Asked(Plain {}): Asked<Plain>,
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
    Asked(Plain {}): Asked<Plain>,
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
    Asked(at): Asked<DeleteWhere>,
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
    let store = ralph_runner::fingerprints::store(&project, host);
    Ok(store.telling(told::mended(app, slug)))
}

/// Is the prompt that a run was given another one by now, or gone? `None` if it was given none, or if
/// nobody can tell now.
pub async fn changed(app: &Shared, run: &Run) -> Option<bool> {
    let path = run.prompt_path.as_ref()?;
    let pinned = run
        .prompt_fingerprint
        .as_ref()?
        .parse::<Fingerprint>()
        .ok()?;
    let store = store(app, &run.workspace).await.ok()?;
    let now = store.compute(path, Some(pinned.algorithm())).await;
    match now {
        Ok(now) => Some(now != pinned),
        Err(PromptError::Busy(_) | PromptError::Component(_) | PromptError::Untrusted(_)) => None,
        Err(_) => Some(true),
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
        PromptError::Guard(GuardError::Io { ref source, .. })
            if source.kind() == std::io::ErrorKind::InvalidFilename =>
        {
            Problem::unprocessable("path", e.to_string())
        }
        PromptError::Untrusted(_) => Problem::conflict(
            "workspace-untrusted",
            "the workspace's configuration isn't trusted, and it names the canonicaliser of this prompt. The operator looks at it with `ralph trust` there",
        ),
        e @ PromptError::CutOff { .. } => {
            tracing::error!("{e}");
            let detail = "the edit was begun and couldn't be brought to its end; whoever reads or writes the prompt next finishes it";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, CUT_OFF, detail)
        }
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
