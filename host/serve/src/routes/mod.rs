//! The routes. Each stands below `/v1` and without it.

mod health;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;

use crate::app::Shared;
use crate::guard::guard;
use crate::problem::Problem;

/// All of them.
pub fn router(app: &Shared) -> Router {
    let versioned = Router::new();
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .merge(versioned.clone())
        .nest("/v1", versioned)
        .fallback(async || Problem::not_found("such address"))
        .method_not_allowed_fallback(async || {
            let status = axum::http::StatusCode::METHOD_NOT_ALLOWED;
            Problem::new(status, "method", "this address doesn't take that method")
        })
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .with_state(app.clone())
}
