//! The event stream of `claude -p --output-format stream-json`.

use ralph_plugin::dialect::{Dialect, MAX_FINAL};
use ralph_plugin::json_lines::{str_at, tool_line, u64_at};
use ralph_plugin::{Event, Exit, Limit, Outcome, Usage, limits};
use serde_json::Value;

/// What was seen of the stream so far.
#[derive(Default)]
pub struct Events {
    /// Text of the last assistant message that had any.
    last_words: String,
    /// Id of the message that `last_words` came in.
    last_message: String,
    /// Text that came in deltas and not yet as a whole message.
    deltas: String,
    /// The error of an assistant message which the CLI itself wrote, e.g. `rate_limit`.
    error: Option<String>,
    interrupted: bool,
    result: Option<Ended>,
}

/// The `result` object.
struct Ended {
    ok: bool,
    /// `result`, or what else says how it ended.
    words: String,
    status: Option<u64>,
    error_type: Option<String>,
    aborted: bool,
}

/// Values of `api_error_type` and of an assistant message's `error`.
const LIMIT_TYPES: &[&str] = &["rate_limit_error", "overloaded_error", "billing_error"];
const LIMIT_ERRORS: &[&str] = &["rate_limit", "overloaded", "billing_error"];
const LOGIN_TYPES: &[&str] = &["authentication_error", "permission_error"];
const LOGIN_ERRORS: &[&str] = &["authentication_failed", "oauth_org_not_allowed"];
/// What a `result` without any code begins with, if there's no login; lower case.
const LOGIN_WORDINGS: &[&str] = &[
    "not logged in",
    "invalid api key",
    "please run /login",
    "oauth token",
    "failed to authenticate",
];
/// HTTP: payment required, too many requests. What is the provider's own fault counts as well.
const LIMIT_STATUS: &[u64] = &[402, 429];
const LOGIN_STATUS: &[u64] = &[401, 403];

impl Dialect for Events {
    fn object(&mut self, object: &Value, out: &mut Vec<Event>) {
        match str_at(object, "/type").unwrap_or_default() {
            "system" => out.extend(system(object)),
            "assistant" => self.assistant(object, out),
            "user" => self.user(object, out),
            "stream_event" => self.delta(object, out),
            "result" => {
                self.flush_deltas(out);
                result_events(object, out);
                self.result = Some(Ended::read(object));
            }
            _ => {}
        }
    }

    fn end(mut self, exit: &Exit, out: &mut Vec<Event>) -> Outcome {
        self.flush_deltas(out);
        let Some(result) = self.result else {
            return match () {
                () if exit.interrupted() || self.interrupted => Outcome::Interrupted,
                () if self.error.is_some() => {
                    verdict(&self.last_words, None, None, self.error.as_deref())
                }
                () => Outcome::Failed(format!(
                    "claude ended without a result: {}",
                    exit.describe()
                )),
            };
        };
        if exit.interrupted() || result.aborted || (self.interrupted && !result.ok) {
            return Outcome::Interrupted;
        }
        if !result.ok {
            return verdict(
                &result.words,
                result.status,
                result.error_type.as_deref(),
                self.error.as_deref(),
            );
        }
        // The result repeats the last message's text; empty if that had only tool calls.
        let words = if result.words.is_empty() {
            self.last_words
        } else {
            result.words
        };
        match (limits::limit_message(&words), exit.code) {
            (Some(limit), _) => Outcome::Limited(limit),
            (None, Some(0)) => Outcome::Finished(words),
            (None, _) => {
                Outcome::Failed(format!("claude reported success, but: {}", exit.describe()))
            }
        }
    }
}

/// What an error comes to.
fn verdict(words: &str, status: Option<u64>, kind: Option<&str>, error: Option<&str>) -> Outcome {
    let status_in = |list: &[u64]| status.is_some_and(|s| list.contains(&s));
    let kind_in = |list: &[&str]| kind.is_some_and(|k| list.contains(&k));
    let error_in = |list: &[&str]| error.is_some_and(|e| list.contains(&e));
    if let Some(limit) = limits::limit_message(words) {
        return Outcome::Limited(limit);
    }
    let lower = words.to_lowercase();
    if status_in(LIMIT_STATUS)
        || status.is_some_and(limits::provider_fault)
        || kind_in(LIMIT_TYPES)
        || error_in(LIMIT_ERRORS)
    {
        return Outcome::Limited(Limit {
            message: words.to_owned(),
            resets_at: None,
        });
    }
    if status_in(LOGIN_STATUS)
        || kind_in(LOGIN_TYPES)
        || error_in(LOGIN_ERRORS)
        || LOGIN_WORDINGS.iter().any(|w| lower.starts_with(w))
    {
        return Outcome::Unauthenticated(words.to_owned());
    }
    // An answer with a status came from the provider.
    if let Some(limit) = limits::unreachable(words).filter(|_| status.is_none()) {
        return Outcome::Limited(limit);
    }
    Outcome::Failed(words.to_owned())
}

impl Ended {
    fn read(object: &Value) -> Self {
        let subtype = str_at(object, "/subtype").unwrap_or("success");
        let is_error = object
            .get("is_error")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let terminal = str_at(object, "/terminal_reason").unwrap_or_default();
        let ok = subtype == "success" && !is_error;
        let mut words = str_at(object, "/result").unwrap_or_default().to_owned();
        if !ok && words.is_empty() {
            words = format!("claude ended with {subtype}");
            if !terminal.is_empty() {
                words.push_str(&format!(" ({terminal})"));
            }
            let errors = object.get("errors").and_then(Value::as_array);
            for error in errors.into_iter().flatten().filter_map(Value::as_str) {
                words.push_str(&format!("\n{error}"));
            }
        }
        Ended {
            ok,
            words,
            status: u64_at(object, "/api_error_status"),
            error_type: str_at(object, "/api_error_type").map(str::to_owned),
            aborted: terminal.starts_with("aborted"),
        }
    }
}

impl Events {
    fn assistant(&mut self, object: &Value, out: &mut Vec<Event>) {
        let Some(message) = object.get("message") else {
            return;
        };
        // What a sub-agent says isn't this agent's word.
        let own = object.get("parent_tool_use_id").is_none_or(Value::is_null);
        if own && let Some(error) = str_at(object, "/error") {
            self.error = Some(error.to_owned());
        }
        for block in blocks(message) {
            match str_at(block, "/type").unwrap_or_default() {
                "text" => {
                    let text = str_at(block, "/text").unwrap_or_default();
                    if own {
                        self.deltas.clear();
                        self.words(str_at(message, "/id").unwrap_or_default(), text);
                        out.push(Event::Text(text.to_owned()));
                    } else {
                        out.push(Event::Thinking(text.to_owned()));
                    }
                }
                "thinking" => {
                    let text = str_at(block, "/thinking").unwrap_or_default();
                    out.push(Event::Thinking(text.to_owned()));
                }
                "tool_use" => {
                    let name = str_at(block, "/name").unwrap_or("tool");
                    out.push(Event::ToolUse(tool_line(name, &block["input"])));
                }
                _ => {}
            }
        }
        if let Some(text) = message
            .get("content")
            .and_then(Value::as_str)
            .filter(|_| own)
        {
            self.deltas.clear();
            self.words(str_at(message, "/id").unwrap_or_default(), text);
            out.push(Event::Text(text.to_owned()));
        }
    }

    /// Each block of a message comes in an object of its own, with the message's id.
    fn words(&mut self, message: &str, text: &str) {
        if message.is_empty() || message != self.last_message || self.last_words.len() > MAX_FINAL {
            self.last_words.clear();
            self.last_message = message.to_owned();
        } else {
            self.last_words.push('\n');
        }
        self.last_words.push_str(text);
    }

    fn user(&mut self, object: &Value, out: &mut Vec<Event>) {
        let Some(message) = object.get("message") else {
            return;
        };
        for block in blocks(message) {
            match str_at(block, "/type").unwrap_or_default() {
                "tool_result" => {
                    let mut text = content_text(&block["content"]);
                    if block.get("is_error").and_then(Value::as_bool) == Some(true) {
                        text.insert_str(0, "error: ");
                    }
                    out.push(Event::ToolResult(text));
                }
                "text" if is_interruption(str_at(block, "/text")) => self.interrupted = true,
                _ => {}
            }
        }
        if is_interruption(message.get("content").and_then(Value::as_str)) {
            self.interrupted = true;
        }
    }

    fn delta(&mut self, object: &Value, out: &mut Vec<Event>) {
        match str_at(object, "/event/type").unwrap_or_default() {
            "message_start" => self.flush_deltas(out),
            "content_block_delta" if self.deltas.len() < MAX_FINAL => {
                self.deltas
                    .push_str(str_at(object, "/event/delta/text").unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Deltas that no whole message followed are the message.
    fn flush_deltas(&mut self, out: &mut Vec<Event>) {
        if !self.deltas.is_empty() {
            let text = std::mem::take(&mut self.deltas);
            self.words("", &text);
            out.push(Event::Text(text));
        }
    }
}

fn is_interruption(text: Option<&str>) -> bool {
    text.is_some_and(|t| t.starts_with("[Request interrupted by user"))
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// A tool's result is a string or a list of blocks.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(s) => s.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|p| str_at(p, "/text")).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn system(object: &Value) -> Option<Event> {
    let of = |pointer| str_at(object, pointer).unwrap_or("?");
    let notice = match str_at(object, "/subtype")? {
        "init" => {
            format!(
                "claude session {}, model {}, {}",
                of("/session_id"),
                of("/model"),
                of("/permissionMode")
            )
        }
        "api_retry" => {
            let number = |pointer| u64_at(object, pointer).unwrap_or(0);
            let status =
                u64_at(object, "/error_status").map_or(String::new(), |s| format!(" ({s})"));
            format!(
                "retry {} of {} in {} ms: {}{status}",
                number("/attempt"),
                number("/max_retries"),
                number("/retry_delay_ms"),
                of("/error")
            )
        }
        "permission_denied" => format!("refused: {}: {}", of("/tool_name"), of("/message")),
        _ => return None,
    };
    Some(Event::Notice(notice))
}

fn result_events(object: &Value, out: &mut Vec<Event>) {
    let denials = object.get("permission_denials").and_then(Value::as_array);
    let tools: Vec<&str> = denials
        .into_iter()
        .flatten()
        .map(|d| str_at(d, "/tool_name").unwrap_or("?"))
        .collect();
    if !tools.is_empty() {
        out.push(Event::Notice(format!(
            "tool calls that were refused: {}",
            tools.join(", ")
        )));
    }
    if object.get("usage").is_some_and(Value::is_object) {
        let of = |pointer| u64_at(object, pointer).unwrap_or(0);
        out.push(Event::Usage(Usage {
            // What is written to the cache wasn't read from it.
            input_tokens: of("/usage/input_tokens")
                .saturating_add(of("/usage/cache_creation_input_tokens")),
            output_tokens: of("/usage/output_tokens"),
            cached_tokens: of("/usage/cache_read_input_tokens"),
            cost_usd: object.get("total_cost_usd").and_then(Value::as_f64),
        }));
    }
}
