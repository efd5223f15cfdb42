//! What can go wrong.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client was made wrong: an address, a variable, a certificate.
    #[error("{0}")]
    Settings(String),
    /// A workspace, a run or a prompt can't be called so; nothing was asked.
    #[error("{0}")]
    Name(String),
    /// The token can't be had, or is none.
    #[error("{0}")]
    Token(String),
    /// The service isn't there, or the connection broke off.
    #[error("{url}: {source}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Why.
        source: std::io::Error,
    },
    /// The service took too long.
    #[error("{url}: no answer in time ({what})")]
    TimedOut {
        /// What was asked.
        url: String,
        /// What took too long.
        what: String,
    },
    /// The service isn't who it should be, or doesn't take this client for who it should be.
    #[error("{url}: TLS: {why}")]
    Tls {
        /// What was asked.
        url: String,
        /// Why.
        why: String,
    },
    /// The service refused.
    #[error("{0}")]
    Refused(Box<Problem>),
    /// What was answered isn't what a service answers.
    #[error("{url}: {why}")]
    Garbled {
        /// What was asked.
        url: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Error {
    /// What the service said, if it refused.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Error::Refused(problem) => Some(problem),
            _ => None,
        }
    }

    /// The status by which the service refused.
    pub fn status(&self) -> Option<u16> {
        self.problem().map(|problem| problem.status)
    }

    /// Might it go well later?
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Unreachable { .. } | Error::TimedOut { .. } => true,
            Error::Refused(problem) => matches!(problem.status, 408 | 429 | 500..),
            _ => false,
        }
    }
}

/// A refusal, RFC 9457.
#[derive(Debug, Clone, PartialEq, Deserialize, thiserror::Error)]
#[error("{}", .detail.as_deref().map_or_else(|| format!("the service answers {status}"), str::to_owned))]
#[non_exhaustive]
pub struct Problem {
    /// The status of the answer.
    #[serde(skip)]
    pub status: u16,
    /// `urn:ralph:problem:…`; stable, for programs.
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    /// The status in words.
    #[serde(default)]
    pub title: Option<String>,
    /// What went wrong, and what to do about it.
    #[serde(default)]
    pub detail: Option<String>,
    /// Of a conflict (409): the fingerprint that is written beside the prompt or in it.
    #[serde(default)]
    pub fingerprint_stored: Option<String>,
    /// Of a conflict: the fingerprint of what the prompt says.
    #[serde(default)]
    pub fingerprint_computed: Option<String>,
    /// Of a conflict: the fingerprint that the request named.
    #[serde(default)]
    pub fingerprint_expected: Option<String>,
    /// When it may be tried again.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
    /// What else it says.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Problem {
    /// Of an answer with this status. A body that is no problem (some proxy's page) says nothing.
    pub(crate) fn new(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Problem {
        let read = serde_json::from_slice(body).or_else(|_| serde_json::from_str("{}"));
        let mut problem = read.unwrap_or_else(|_| Problem {
            status,
            kind: None,
            title: None,
            detail: None,
            fingerprint_stored: None,
            fingerprint_computed: None,
            fingerprint_expected: None,
            retry_after: None,
            more: Map::new(),
        });
        problem.more.remove("status");
        problem.status = status;
        problem.retry_after = retry_after;
        problem
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_read_with_what_it_has_more() {
        let body = br#"{"type":"urn:ralph:problem:prompt-changed","title":"Conflict","status":409,
            "detail":"another","fingerprint_stored":"sha256:1","fingerprint_computed":null,"hint":[1]}"#;
        let problem = Problem::new(409, None, body);
        assert_eq!(problem.to_string(), "another");
        assert_eq!(problem.fingerprint_stored.as_deref(), Some("sha256:1"));
        assert_eq!(problem.fingerprint_computed, None);
        let hint = Map::from_iter([("hint".to_owned(), serde_json::json!([1]))]);
        assert_eq!((problem.status, &problem.more), (409, &hint));
        assert!(!Error::Refused(Box::new(problem)).is_retryable());
    }

    #[test]
    fn what_is_no_problem_is_its_status() {
        for body in ["", "<html>", "[]", "\"x\"", "null", "{\"detail\": 7}"] {
            let problem = Problem::new(502, Some(Duration::from_secs(7)), body.as_bytes());
            assert_eq!(problem.to_string(), "the service answers 502", "{body}");
            let error = Error::Refused(Box::new(problem));
            assert!(error.is_retryable() && error.status() == Some(502));
        }
    }
}
