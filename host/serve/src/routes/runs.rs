//! Runs: submitted, listed, followed, steered.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::Shared;
use crate::auth::Action;
use crate::caller::{Asked, At, Caller, Input};
use crate::events::stream::{self, After};
use crate::problem::Problem;
use crate::runs::steer::{self, CancelRun, Inject, Nothing, Wish};
use crate::runs::submit::{self, SubmitRun};
use crate::store::{Run, Status, Wanted};

const PAGE: usize = 50;
const PAGE_MAX: usize = 500;

/// One page of runs, newest first.
#[derive(Serialize, JsonSchema)]
pub struct RunPage {
    /// The runs.
    runs: Vec<Run>,
    /// What the next page is asked for with; null on the last one.
    next_cursor: Option<String>,
}

/// Which runs.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunQuery {
    /// Of this workspace.
    pub workspace: Option<String>,
    /// In this state.
    pub status: Option<Status>,
    /// Submitted at this time (RFC 3339) or later.
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
    /// Submitted before this time (RFC 3339).
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<String>,
    /// So many.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before.
    #[schemars(regex(pattern = "^[0-9]{1,19}$"))]
    pub cursor: Option<String>,
}

/// `GET /runs`
pub async fn list(
    State(app): State<Shared>,
    caller: Caller,
    Asked(query): Asked<RunQuery>,
) -> Result<Json<RunPage>, Problem> {
    caller.may(Action::Read)?;
    let since = query.since.map(|s| moment("since", &s)).transpose()?;
    let until = query.until.map(|s| moment("until", &s)).transpose()?;
    if let Some(slug) = &query.workspace {
        workspace(&app, &caller, slug).await?;
    }
    // That one is paused only the run at work knows; for the store it is running.
    let kept = query.status.map(|status| match status {
        Status::Paused => Status::Running,
        status => status,
    });
    let limit = limit(query.limit)?;
    let mut wanted = Wanted {
        scope: caller.scope().clone(),
        workspace: query.workspace,
        status: kept,
        since,
        until,
        before: query.cursor.as_deref().map(cursor).transpose()?,
        limit,
    };
    let mut runs = Vec::new();
    let next = loop {
        wanted.limit = limit - runs.len();
        let (mut page, next) = app.store.runs(&wanted).await?;
        for run in &mut page {
            app.look(run);
        }
        page.retain(|run| query.status.is_none_or(|status| run.status == status));
        runs.append(&mut page);
        if runs.len() == limit || next.is_none() {
            break next;
        }
        wanted.before = next;
    };
    Ok(Json(RunPage {
        runs,
        next_cursor: next.map(|seq| seq.to_string()),
    }))
}

/// One that the caller may read of: it is configured, or there are runs of it from when it was.
///
/// # Errors
/// 404
pub async fn workspace(app: &Shared, caller: &Caller, slug: &str) -> Result<(), Problem> {
    caller.may_in(Action::Read, slug)?;
    let Err(gone) = app.workspace(slug) else {
        return Ok(());
    };
    let any = Wanted {
        scope: caller.scope().clone(),
        workspace: Some(slug.to_owned()),
        status: None,
        since: None,
        until: None,
        before: None,
        limit: 1,
    };
    let (runs, _) = app.store.runs(&any).await?;
    if runs.is_empty() { Err(gone) } else { Ok(()) }
}

/// A page's length.
pub fn limit(asked: Option<usize>) -> Result<usize, Problem> {
    match asked.unwrap_or(PAGE) {
        limit @ 1..=PAGE_MAX => Ok(limit),
        _ => Err(Problem::bad(format!("limit is from 1 to {PAGE_MAX}"))),
    }
}

/// A cursor that a page gave.
pub fn cursor(text: &str) -> Result<u64, Problem> {
    let plain = text.bytes().all(|b| b.is_ascii_digit());
    let parsed = text.parse().ok().filter(|_| plain && text.len() < 20);
    parsed.ok_or_else(|| Problem::bad("the cursor is none that a page gave"))
}

/// A time as store and audit compare it.
pub fn moment(name: &str, text: &str) -> Result<String, Problem> {
    match text.parse::<jiff::Timestamp>() {
        Ok(at) => Ok(format!("{at:.6}")),
        Err(_) => Err(Problem::bad(format!(
            "{name} is a time like 2026-01-31T12:00:00Z"
        ))),
    }
}

/// `POST /runs`
pub async fn submit(
    State(app): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Input(wanted): Input<SubmitRun>,
) -> Result<Response, Problem> {
    caller.may_in(Action::Submit, &wanted.workspace_slug)?;
    let key = match headers.get("idempotency-key").map(|k| k.to_str()) {
        None => None,
        Some(Ok(key)) if (1..=255).contains(&key.len()) => Some(key.to_owned()),
        Some(_) => {
            return Err(Problem::bad(
                "idempotency-key has 1 to 255 visible characters",
            ));
        }
    };
    let (run, new) = submit::submit(&app, &caller, wanted, key).await?;
    let status = if new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let place = format!("/v1/runs/{}", run.run_id);
    Ok((status, [("location", place)], Json(run)).into_response())
}

/// A run that the caller may do this to.
async fn found(app: &Shared, caller: &Caller, id: &str, action: Action) -> Result<Run, Problem> {
    caller.may(action)?;
    let run = app.run(id).await?;
    match caller.scope().has(&run.workspace) {
        true => Ok(run),
        false => Err(Problem::not_found("such run")),
    }
}

/// The same to read of it.
pub async fn readable(app: &Shared, caller: &Caller, id: &str) -> Result<Run, Problem> {
    found(app, caller, id, Action::Read).await
}

/// `GET /runs/{id}`
pub async fn one(
    State(app): State<Shared>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Json<Run>, Problem> {
    let mut run = readable(&app, &caller, &id).await?;
    run.prompt_changed = super::prompts::changed(&app, &run).await;
    Ok(Json(run))
}

/// `GET /runs/{id}/events`
pub async fn events(
    State(app): State<Shared>,
    caller: Caller,
    At(id): At<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    // Before the run: should it end in between, all is in the store.
    let live = app.runs.live(&id);
    let run = readable(&app, &caller, &id).await?;
    let after = match headers.get("last-event-id") {
        None => After::Event(0),
        Some(id) => match id.to_str().ok().and_then(|id| id.trim().parse().ok()) {
            Some(id) => After::Event(id),
            None => After::Garbage,
        },
    };
    // Nothing comes any more. An empty stream would be asked for again and again; this is how a
    // browser's `EventSource` is told that it has all.
    if let After::Event(had) = after
        && run.status.is_terminal()
        && app.store.bounds(&id).await?.1 == had
    {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(stream::respond(app, id, after, live, caller.time_left()))
}

/// `POST /runs/{id}/cancel`
pub async fn cancel(
    State(app): State<Shared>,
    caller: Caller,
    At(id): At<String>,
    Input(why): Input<CancelRun>,
) -> Result<(StatusCode, Json<Run>), Problem> {
    found(&app, &caller, &id, Action::Cancel).await?;
    let run = steer::cancel(&app, &caller, &id, why).await?;
    Ok((StatusCode::ACCEPTED, Json(run)))
}

async fn steered(
    app: Shared,
    caller: Caller,
    id: String,
    wish: Wish,
) -> Result<Json<Run>, Problem> {
    found(&app, &caller, &id, Action::Steer).await?;
    Ok(Json(steer::steer(&app, &caller, &id, wish).await?))
}

/// `POST /runs/{id}/pause`
pub async fn pause(
    State(app): State<Shared>,
    caller: Caller,
    At(id): At<String>,
    Input(Nothing {}): Input<Nothing>,
) -> Result<Json<Run>, Problem> {
    steered(app, caller, id, Wish::Pause).await
}

/// `POST /runs/{id}/resume`
pub async fn resume(
    State(app): State<Shared>,
    caller: Caller,
    At(id): At<String>,
    Input(Nothing {}): Input<Nothing>,
) -> Result<Json<Run>, Problem> {
    steered(app, caller, id, Wish::Resume).await
}

/// `POST /runs/{id}/inject`
pub async fn inject(
    State(app): State<Shared>,
    caller: Caller,
    At(id): At<String>,
    Input(text): Input<Inject>,
) -> Result<Json<Run>, Problem> {
    steered(app, caller, id, Wish::Inject(text.text)).await
}
