//! Is it alive, does it take work, how much has it done.

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::Shared;
use crate::auth::Action;
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

/// Takes work? For everybody.
pub async fn readyz(State(app): State<Shared>) -> Result<Json<Health>, Problem> {
    if app.is_draining() {
        return Err(Problem::unavailable("draining", "the service is about to end"));
    }
    Ok(healthz(State(app)).await)
}

/// Prometheus' text format.
pub async fn metrics(
    State(app): State<Shared>,
    caller: Caller,
) -> Result<impl IntoResponse, Problem> {
    caller.may(Action::Read)?;
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    let gauges = [
        ("ralph_runs_active", "Runs that are on.", app.runs.on() as u64),
        ("ralph_runs_queued", "Runs that wait.", app.queue.waiting().await?),
    ];
    Ok((kind, app.metrics.text(&gauges)))
}
