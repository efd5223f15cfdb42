//! Errors as clients get them: `application/problem+json`, RFC 9457.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What went wrong with one request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// `urn:ralph:problem:<kind>`; stable, for programs.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What went wrong here, and what to do about it.
    pub detail: String,
    /// What a program needs beside that, e.g. both fingerprints of a conflict.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// Seconds after which it may be tried again.
    #[serde(skip)]
    retry_after: Option<u64>,
}

impl Problem {
    /// One of this kind.
    pub fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Problem {
        Problem {
            kind: format!("urn:ralph:problem:{kind}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            more: Map::new(),
            retry_after: None,
        }
    }

    /// With a member more.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// To be tried again after so many seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Problem {
        self.retry_after = Some(seconds);
        self
    }

    /// 400: it can't be understood.
    pub fn bad(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad-request", detail)
    }

    /// 401: nobody knows who asks.
    pub fn unauthenticated(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail)
    }

    /// 403: whoever asks may not.
    pub fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// 404: it isn't there, or not for whoever asks.
    pub fn not_found(what: impl AsRef<str>) -> Problem {
        let detail = format!("there is no {}", what.as_ref());
        Problem::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    /// 409: not as things stand.
    pub fn conflict(kind: &str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::CONFLICT, kind, detail)
    }

    /// 422: understood, and can't be done.
    pub fn unprocessable(kind: &str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, kind, detail)
    }

    /// 503: not now.
    pub fn unavailable(kind: &str, detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail).retry_after(5)
    }

    /// 500, or 507 where the disk is full; the log has it too.
    pub fn internal(error: impl std::fmt::Display) -> Problem {
        let text = error.to_string();
        tracing::error!("{text}");
        let full = ["No space left on device", "quota exceeded", "disk is full"];
        if full.iter().any(|word| text.contains(word)) {
            let detail = "the disk or the quota is full; nothing was changed";
            return Problem::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", detail);
        }
        let detail = "the service's log says what it was";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
