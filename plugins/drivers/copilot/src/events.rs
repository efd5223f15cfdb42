//! The event stream of `copilot --output-format json`.

use crate::usage;
use ralph_plugin::dialect::Dialect;
use ralph_plugin::json_lines::{str_at, tool_line, u64_at};
use ralph_plugin::{Event, Exit, Limit, Outcome, limits, text};
use serde_json::Value;

/// What was seen of the stream so far.
#[derive(Default)]
pub struct Events {
    /// Its id, until it was told.
    session: String,
    /// Content of the last `assistant.message` that had any.
    last_words: String,
    aborted: bool,
    error: Option<SessionError>,
    /// `exitCode` of the `result`.
    result: Option<i64>,
}

/// `session.error`: the end of the session.
struct SessionError {
    kind: String,
    status: Option<u64>,
    message: String,
}

/// Values of `errorType`.
const LIMIT_TYPES: &[&str] = &["rate_limit", "quota", "quota_exceeded"];
const LOGIN_TYPES: &[&str] = &["authentication", "authorization"];
/// HTTP: payment required, too many requests. What is the provider's own fault counts as well.
const LIMIT_STATUS: &[u64] = &[402, 429];
const LOGIN_STATUS: &[u64] = &[401, 403];
/// What standard error begins with, if there's no login and so no event at all; lower case.
const LOGIN_WORDINGS: &[&str] = &[
    "no authentication information found",
    "error: no authentication information found",
];

impl Dialect for Events {
    fn object(&mut self, object: &Value, out: &mut Vec<Event>) {
        let of = |pointer| str_at(object, pointer).unwrap_or_default();
        if !self.session.is_empty() {
            let id = std::mem::take(&mut self.session);
            out.push(Event::Notice(format!("copilot session {id}")));
        }
        match of("/type") {
            "assistant.message" => self.message(object, out),
            "assistant.reasoning" => out.push(Event::Thinking(of("/data/content").to_owned())),
            "tool.execution_start" => {
                out.push(Event::ToolUse(tool_line(
                    of("/data/toolName"),
                    &object["data"]["arguments"],
                )));
            }
            "tool.execution_complete" => complete(object, out),
            "model.call_failure" => {
                let status =
                    u64_at(object, "/data/statusCode").map_or("?".into(), |s| s.to_string());
                out.push(Event::Notice(format!(
                    "a model call failed ({status}): {}",
                    of("/data/errorMessage")
                )));
            }
            "assistant.turn_retry" => {
                out.push(Event::Notice(format!("retry: {}", of("/data/reason"))));
            }
            "session.info" | "session.warning" => {
                out.push(Event::Notice(of("/data/message").to_owned()));
            }
            "session.error" => {
                self.error = Some(SessionError {
                    kind: of("/data/errorType").to_owned(),
                    status: u64_at(object, "/data/statusCode"),
                    message: of("/data/message").to_owned(),
                });
            }
            "abort" | "agent.interrupted" => self.aborted = true,
            "assistant.idle" if object.pointer("/data/aborted") == Some(&Value::Bool(true)) => {
                self.aborted = true;
            }
            "result" => {
                self.result = object.get("exitCode").and_then(Value::as_i64);
            }
            _ => {}
        }
    }

    fn end(self, exit: &Exit, out: &mut Vec<Event>) -> Outcome {
        out.extend(
            exit.collected(usage::FILE)
                .and_then(usage::read)
                .map(Event::Usage),
        );
        // It reports 0 when it was interrupted.
        if exit.interrupted() || self.aborted {
            return Outcome::Interrupted;
        }
        if let Some(error) = self.error {
            return error.outcome();
        }
        match (self.result, exit.code) {
            (Some(0), Some(0)) => match limits::limit_message(&self.last_words) {
                Some(limit) => Outcome::Limited(limit),
                None => Outcome::Finished(self.last_words),
            },
            (Some(0), _) => Outcome::Failed(format!(
                "copilot reported success, but: {}",
                exit.describe()
            )),
            (Some(code), _) => Outcome::Failed(format!(
                "copilot's result has exit code {code}: {}",
                exit.describe()
            )),
            (None, _) => {
                let stderr = text::plain(&text::decode(&exit.stderr_tail));
                let lower = stderr.trim_start().to_lowercase();
                if LOGIN_WORDINGS.iter().any(|w| lower.starts_with(w)) {
                    return Outcome::Unauthenticated(text::last_lines(&exit.stderr_tail, 8));
                }
                Outcome::Failed(format!(
                    "copilot ended without a result: {}",
                    exit.describe()
                ))
            }
        }
    }
}

impl SessionError {
    fn outcome(self) -> Outcome {
        let status_in = |list: &[u64]| self.status.is_some_and(|s| list.contains(&s));
        if LIMIT_TYPES.contains(&self.kind.as_str())
            || status_in(LIMIT_STATUS)
            || self.status.is_some_and(limits::provider_fault)
        {
            return Outcome::Limited(Limit {
                message: self.message,
                resets_at: None,
            });
        }
        if LOGIN_TYPES.contains(&self.kind.as_str()) || status_in(LOGIN_STATUS) {
            return Outcome::Unauthenticated(self.message);
        }
        let limit = limits::limit_message(&self.message);
        // An answer with a status came from the provider.
        let unreachable = || limits::unreachable(&self.message).filter(|_| self.status.is_none());
        match limit.or_else(unreachable) {
            Some(limit) => Outcome::Limited(limit),
            None => Outcome::Failed(self.message),
        }
    }
}

impl Events {
    /// Of the session with this id.
    pub fn of(session: String) -> Self {
        Events {
            session,
            ..Events::default()
        }
    }

    fn message(&mut self, object: &Value, out: &mut Vec<Event>) {
        let content = str_at(object, "/data/content").unwrap_or_default();
        if content.is_empty() {
            return;
        }
        // What a sub-agent says isn't this agent's word.
        if str_at(object, "/data/parentToolCallId").is_some() {
            out.push(Event::Thinking(content.to_owned()));
            return;
        }
        self.last_words = content.to_owned();
        out.push(Event::Text(content.to_owned()));
    }
}

fn complete(object: &Value, out: &mut Vec<Event>) {
    let message = str_at(object, "/data/error/message").unwrap_or_default();
    match str_at(object, "/data/error/code") {
        Some("denied") => out.push(Event::Notice(format!("refused: {message}"))),
        Some(_) => out.push(Event::ToolResult(format!("error: {message}"))),
        None => {
            let content = str_at(object, "/data/result/content").unwrap_or(message);
            out.push(Event::ToolResult(content.to_owned()));
        }
    }
}
