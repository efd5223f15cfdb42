//! Is it alive, does it take work, how much has it done.

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::Shared;
use crate::auth::{Action, Scope};
use crate::caller::Caller;
use crate::problem::Problem;

/// How the service is.
#[derive(Serialize, JsonSchema)]
pub struct Health {
    /// `ok`
    status: &'static str,
    /// The binary's version.
    version: &'static str,
}

/// Alive. For everybody.
pub async fn healthz(State(app): State<Shared>) -> Json<Health> {
    let version = app.version;
    Json(Health {
        status: "ok",
        version,
    })
}

/// With less room in its directory a submission might not be taken.
const ROOM: u64 = 1 << 20;

/// Takes work? For everybody.
pub async fn readyz(State(app): State<Shared>) -> Result<Json<Health>, Problem> {
    if app.is_draining() {
        return Err(Problem::unavailable(
            "draining",
            "the service is about to end",
        ));
    }
    // If the store can't be read, that is said by its error.
    app.queue.waiting().await?;
    let data = app.data.clone();
    let disk = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&data)).await;
    let disk = disk.map_err(Problem::internal)?;
    if disk.is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM) {
        let detail = "the disk with the service's directory is full";
        return Err(Problem::unavailable("disk-full", detail));
    }
    Ok(healthz(State(app)).await)
}

/// Prometheus' text format. The numbers are those of all workspaces together.
pub async fn metrics(
    State(app): State<Shared>,
    caller: Caller,
) -> Result<impl IntoResponse, Problem> {
    caller.may(Action::Read)?;
    if *caller.scope() != Scope::All {
        return Err(Problem::forbidden(
            "the numbers are those of all workspaces, and the token is held to some of them; /v1/stats has numbers of those",
        ));
    }
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let gauges = [
        (
            "ralph_runs_active",
            "Runs that are on.",
            app.runs.on() as u64,
        ),
        (
            "ralph_runs_queued",
            "Runs that wait.",
            app.queue.waiting().await?,
        ),
    ];
    Ok((kind, app.metrics.text(&gauges)))
}
