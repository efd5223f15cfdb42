//! The verbs.

use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use ureq::http::Method;
use ureq::http::header::HeaderName;

use crate::backoff::backoff;
use crate::connection::{Asked, Connection};
use crate::error::Error;
use crate::events::{Events, Limits};
use crate::settings::Builder;
use crate::types::{Edited, Health, Prompt, Run, RunPage, RunQuery, SavePrompt, SubmitRun};

/// What may stand in a segment of a path as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A service, and who asks it.
#[derive(Debug, Clone)]
pub struct Client {
    connection: Connection,
    limits: Limits,
}

impl Client {
    pub(crate) fn new(connection: Connection, settings: &Builder) -> Client {
        Client {
            connection,
            limits: Limits {
                patience: settings.patience,
                event_max: settings.event_max,
            },
        }
    }

    /// Of the service at this address: `http://…` or `https://…`.
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url)
    }

    /// The service that the environment names. `RALPH_TRANSPORT` is `remote` with `RALPH_URL`, or
    /// `sidecar` (usual): one on 127.0.0.1 at `RALPH_SIDECAR_PORT` (8765), which somebody else
    /// keeps up. `RALPH_SERVE_TOKEN` is the token. With `RALPH_MTLS=1` the certificate in
    /// `RALPH_MTLS_CERT` with its key in `RALPH_MTLS_KEY` is shown; `RALPH_MTLS_CA` has the
    /// certificates that count instead of Mozilla's.
    ///
    /// # Errors
    /// A variable is missing or says nothing that can be used.
    pub fn from_env() -> Result<Client, Error> {
        Builder::from_env()?.build()
    }

    /// The same on behalf of somebody, whom the service's audit then names.
    #[must_use]
    pub fn acting_for(&self, actor: &str) -> Client {
        Client {
            connection: self.connection.acting_for(actor),
            limits: self.limits,
        }
    }

    /// Where the service is.
    pub fn url(&self) -> &str {
        self.connection.base()
    }

    /// Is it there?
    ///
    /// # Errors
    /// It isn't.
    pub fn ping(&self) -> Result<Health, Error> {
        self.connection.ask(Asked::get("/healthz"))
    }

    /// Waits until it is there.
    ///
    /// # Errors
    /// It isn't after this time; or the client was made wrong.
    pub fn wait_healthy(&self, limit: Duration) -> Result<Health, Error> {
        let began = Instant::now();
        for n in 0.. {
            match self.ping() {
                Err(e) if e.is_retryable() && began.elapsed() < limit => {}
                answer => return answer,
            }
            let wait = backoff(n.min(4), Duration::from_millis(20));
            std::thread::sleep(wait.min(limit.saturating_sub(began.elapsed())));
        }
        self.ping()
    }

    /// Submits a run.
    ///
    /// # Errors
    /// It is refused; nothing was changed.
    pub fn submit_run(&self, wanted: &SubmitRun) -> Result<Run, Error> {
        let mut asked = Asked::new(Method::POST, "/v1/runs").json(wanted)?;
        if let Some(key) = &wanted.idempotency_key {
            asked.header(HeaderName::from_static("idempotency-key"), key)?;
        }
        self.connection.ask(asked)
    }

    /// How a run stands.
    ///
    /// # Errors
    /// There is none, or not for this token.
    pub fn get_run(&self, id: &str) -> Result<Run, Error> {
        self.connection.ask(Asked::get(&run(id, "")))
    }

    /// One page of runs, newest first.
    ///
    /// # Errors
    /// It is refused.
    pub fn list_runs(&self, query: &RunQuery) -> Result<RunPage, Error> {
        let mut path = "/v1/runs".to_owned();
        let limit = query.limit.map(|limit| limit.to_string());
        for (name, value) in [
            ("workspace", query.workspace.as_deref()),
            ("status", query.status.as_ref().map(|s| s.word())),
            ("since", query.since.as_deref()),
            ("until", query.until.as_deref()),
            ("limit", limit.as_deref()),
            ("cursor", query.cursor.as_deref()),
        ] {
            if let Some(value) = value {
                path.push(if path.contains('?') { '&' } else { '?' });
                path.push_str(&format!("{name}={}", segment(value)));
            }
        }
        self.connection.ask(Asked::get(&path))
    }

    /// All runs from `query.cursor` on, page by page.
    pub fn runs(&self, query: RunQuery) -> Runs {
        Runs {
            client: self.clone(),
            query: Some(query),
            page: Vec::new().into_iter(),
        }
    }

    /// Ends a run, whether it waits or is on.
    ///
    /// # Errors
    /// It is over (409), or refused.
    pub fn cancel_run(&self, id: &str, reason: Option<&str>) -> Result<Run, Error> {
        let body = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
        self.steer(id, "/cancel", &body)
    }

    /// Lets a run start no iteration until it is resumed.
    ///
    /// # Errors
    /// It isn't on (409), or refused.
    pub fn pause_run(&self, id: &str) -> Result<Run, Error> {
        self.steer(id, "/pause", &json!({}))
    }

    /// Lets it start iterations again.
    ///
    /// # Errors
    /// It isn't on (409), or refused.
    pub fn resume_run(&self, id: &str) -> Result<Run, Error> {
        self.steer(id, "/resume", &json!({}))
    }

    /// Opens the run's next prompt with this text.
    ///
    /// # Errors
    /// It isn't on (409), or refused.
    pub fn inject_run(&self, id: &str, text: &str) -> Result<Run, Error> {
        self.steer(id, "/inject", &json!({ "text": text }))
    }

    fn steer(&self, id: &str, what: &str, body: &serde_json::Value) -> Result<Run, Error> {
        let path = run(id, what);
        self.connection
            .ask(Asked::new(Method::POST, &path).json(body)?)
    }

    /// A run's events, from the first one to `terminal`, over broken connections and a service that
    /// is started anew.
    pub fn stream_events(&self, id: &str) -> Events {
        let path = run(id, "/events");
        Events::new(self.connection.clone(), path, self.limits)
    }

    /// A prompt; its path is below `prompts/`.
    ///
    /// # Errors
    /// There is none, or not for this token.
    pub fn get_prompt(&self, workspace: &str, path: &str) -> Result<Prompt, Error> {
        self.connection.ask(Asked::get(&prompt(workspace, path)))
    }

    /// Saves a prompt together with its fingerprint.
    ///
    /// # Errors
    /// Another one is there than is expected (409, with both fingerprints), or it is refused;
    /// nothing was changed.
    pub fn save_prompt(
        &self,
        workspace: &str,
        path: &str,
        wanted: &SavePrompt,
    ) -> Result<Edited, Error> {
        let path = prompt(workspace, path);
        self.connection
            .ask(Asked::new(Method::PUT, &path).json(wanted)?)
    }

    /// Deletes a prompt and its fingerprint, whatever it is unless a fingerprint is expected.
    ///
    /// # Errors
    /// Another one is there than is expected (409, with both fingerprints), or it is refused;
    /// nothing was changed.
    pub fn delete_prompt(
        &self,
        workspace: &str,
        path: &str,
        expected_prior_fingerprint: Option<&str>,
    ) -> Result<Edited, Error> {
        let mut path = prompt(workspace, path);
        if let Some(expected) = expected_prior_fingerprint {
            path.push_str("?expected_prior_fingerprint=");
            path.push_str(&segment(expected));
        }
        self.connection.ask(Asked::new(Method::DELETE, &path))
    }
}

fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

fn run(id: &str, what: &str) -> String {
    format!("/v1/runs/{}{what}", segment(id))
}

fn prompt(workspace: &str, path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(segment).collect();
    let (workspace, path) = (segment(workspace), parts.join("/"));
    format!("/v1/workspaces/{workspace}/prompts/{path}")
}

/// Runs, page by page. Ends with the last one, or after an error.
#[derive(Debug)]
pub struct Runs {
    client: Client,
    /// What the next page is asked for with.
    query: Option<RunQuery>,
    page: std::vec::IntoIter<Run>,
}

impl Iterator for Runs {
    type Item = Result<Run, Error>;

    fn next(&mut self) -> Option<Result<Run, Error>> {
        loop {
            if let Some(run) = self.page.next() {
                return Some(Ok(run));
            }
            let mut query = self.query.take()?;
            match self.client.list_runs(&query) {
                Err(e) => return Some(Err(e)),
                Ok(page) => {
                    self.page = page.runs.into_iter();
                    // The same cursor again would go round for ever.
                    if page.next_cursor.is_some() && page.next_cursor != query.cursor {
                        query.cursor = page.next_cursor;
                        self.query = Some(query);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_segment_each() {
        assert_eq!(run("r/1?x#y", "/cancel"), "/v1/runs/r%2F1%3Fx%23y/cancel");
        assert_eq!(
            prompt("a/b", "deep/a b\u{e9}.yaml"),
            "/v1/workspaces/a%2Fb/prompts/deep/a%20b%C3%A9.yaml"
        );
    }
}
