//! `GET /audit`

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::runs::{cursor, limit, moment};
use crate::app::Shared;
use crate::audit;
use crate::auth::Action;
use crate::caller::{Asked, Caller};
use crate::problem::Problem;

/// One page of the audit, oldest first.
#[derive(Serialize, JsonSchema)]
pub struct AuditPage {
    /// Its lines as they are in the file.
    events: Vec<Value>,
    /// What the next page is asked for with; null on the last one.
    next_cursor: Option<String>,
}

/// Which lines.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AuditQuery {
    /// Of this type.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Written at this time (RFC 3339) or later.
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<String>,
    /// Written before this time (RFC 3339).
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<String>,
    /// So many.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<usize>,
    /// `next_cursor` of the page before, or the last `seq` that is known.
    #[schemars(regex(pattern = "^[0-9]{1,19}$"))]
    pub cursor: Option<String>,
}

/// `GET /audit`
pub async fn page(
    State(app): State<Shared>,
    caller: Caller,
    Asked(query): Asked<AuditQuery>,
) -> Result<Json<AuditPage>, Problem> {
    caller.may(Action::ReadAudit)?;
    let asked = audit::Asked {
        after: query
            .cursor
            .as_deref()
            .map(cursor)
            .transpose()?
            .unwrap_or(0),
        limit: limit(query.limit)?,
        scope: caller.scope().clone(),
        kind: query.kind,
        since: query.since.map(|s| moment("since", &s)).transpose()?,
        until: query.until.map(|s| moment("until", &s)).transpose()?,
    };
    let dir = app.data.clone();
    let read = tokio::task::spawn_blocking(move || audit::page(&dir, &asked)).await;
    let (events, next) = read.map_err(Problem::internal)??;
    Ok(Json(AuditPage {
        events,
        next_cursor: next.map(|seq| seq.to_string()),
    }))
}
