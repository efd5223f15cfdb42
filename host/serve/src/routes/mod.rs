//! The routes. Each stands below `/v1` and without it.

mod artifacts;
mod audit;
mod health;
mod openapi;
pub(crate) mod prompts;
mod runs;
mod stats;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::app::Shared;
use crate::guard::guard;
use crate::problem::Problem;

/// All of them.
pub fn router(app: &Shared) -> Router {
    let versioned = Router::new()
        .route("/runs", get(runs::list).post(runs::submit))
        .route("/runs/{id}", get(runs::one))
        .route("/runs/{id}/events", get(runs::events))
        .route("/runs/{id}/cancel", post(runs::cancel))
        .route("/runs/{id}/pause", post(runs::pause))
        .route("/runs/{id}/resume", post(runs::resume))
        .route("/runs/{id}/inject", post(runs::inject))
        .route("/runs/{id}/artifacts", get(artifacts::list))
        .route("/runs/{id}/artifacts/{*path}", get(artifacts::one))
        .route("/workspaces/{slug}/prompts", get(prompts::list))
        .route(
            "/workspaces/{slug}/prompts/{*path}",
            get(prompts::read)
                .put(prompts::save)
                .delete(prompts::delete),
        )
        .route(
            "/prompts/{*path}",
            get(prompts::read_short)
                .put(prompts::save_short)
                .delete(prompts::delete_short),
        )
        .route("/audit", get(audit::page))
        .route("/stats", get(stats::stats));
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::openapi))
        .merge(versioned.clone())
        .nest("/v1", versioned)
        .fallback(async || Problem::not_found("such address"))
        .method_not_allowed_fallback(async || {
            let status = axum::http::StatusCode::METHOD_NOT_ALLOWED;
            Problem::new(status, "method", "this address doesn't take that method")
        })
        .layer(middleware::from_fn_with_state(app.clone(), whole))
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app.clone())
}

/// What changes something is carried out to its end, also when its client has gone away or its time
/// is over: what was begun in the audit has its outcome there.
async fn whole(State(app): State<Shared>, request: Request, next: Next) -> Response {
    if request.method().is_safe() {
        return next.run(request).await;
    }
    match app.acting.spawn(next.run(request)).await {
        Ok(response) => response,
        Err(e) => Problem::internal(e).into_response(),
    }
}
