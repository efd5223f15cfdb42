//! The event stream of `codex exec --json`.

use crate::patterns;
use ralph_plugin::dialect::Dialect;
use ralph_plugin::json_lines::{str_at, tool_line, u64_at};
use ralph_plugin::{Event, Exit, Outcome, Usage, limits, text};
use serde_json::Value;

/// What was seen of the stream so far.
#[derive(Default)]
pub struct Events {
    /// Of the last `agent_message`.
    last_words: String,
    completed: bool,
    /// Was there any word or tool call?
    active: bool,
    /// Of `turn.failed`, which is final.
    failed: Option<String>,
    /// Of `error`, which is also used to tell of a retry.
    last_error: Option<String>,
    /// Ids of items that were started and not completed.
    open: Vec<String>,
}

/// More open items than this are not kept in mind.
const MAX_OPEN: usize = 64;

/// So many error lines of standard error become notices.
const MAX_ERRORS: usize = 10;

impl Dialect for Events {
    fn object(&mut self, object: &Value, out: &mut Vec<Event>) {
        match str_at(object, "/type").unwrap_or_default() {
            "thread.started" => {
                let id = str_at(object, "/thread_id").unwrap_or("?");
                out.push(Event::Notice(format!("codex session {id}")));
            }
            "turn.started" => self.completed = false,
            "item.started" => self.started(object, out),
            "item.completed" => self.item(object, out),
            "turn.completed" => {
                self.completed = true;
                if object.get("usage").is_some() {
                    out.push(Event::Usage(usage(object)));
                }
            }
            "turn.failed" => {
                let message = str_at(object, "/error/message").unwrap_or("no reason given");
                self.failed = Some(message.to_owned());
            }
            "error" => {
                if let Some(message) = str_at(object, "/message") {
                    out.push(Event::Notice(message.to_owned()));
                    self.last_error = Some(message.to_owned());
                }
            }
            _ => {}
        }
    }

    fn end(self, exit: &Exit, out: &mut Vec<Event>) -> Outcome {
        // A write that its sandbox refuses may show nowhere else.
        let stderr = text::plain(&text::decode(&exit.stderr_tail));
        let errors = stderr
            .lines()
            .filter(|l| l.contains(" ERROR "))
            .take(MAX_ERRORS);
        out.extend(errors.map(|l| Event::Notice(text::clip(l, 400))));
        if exit.interrupted() {
            return Outcome::Interrupted;
        }
        if let Some(message) = self.failed {
            return patterns::classify(&message);
        }
        match (self.completed, exit.code) {
            // A refusal by the model shows nowhere else.
            (true, Some(0)) if !self.active => Outcome::Failed(
                "codex completed its turn without a word or a tool call; the model may have refused"
                    .into(),
            ),
            (true, Some(0)) => match limits::limit_message(&self.last_words) {
                Some(limit) => Outcome::Limited(limit),
                None => Outcome::Finished(self.last_words),
            },
            (true, _) => {
                Outcome::Failed(format!("the turn was completed, but: {}", exit.describe()))
            }
            (false, _) => {
                let how = format!(
                    "codex ended without completing its turn: {}",
                    exit.describe()
                );
                match self.last_error.map(|e| (patterns::classify(&e), e)) {
                    Some((Outcome::Failed(_), error)) => Outcome::Failed(format!("{error}\n{how}")),
                    Some((outcome, _)) => outcome,
                    None => Outcome::Failed(how),
                }
            }
        }
    }
}

impl Events {
    fn started(&mut self, object: &Value, out: &mut Vec<Event>) {
        let Some(line) = object.get("item").and_then(tool) else {
            return;
        };
        out.push(Event::ToolUse(line));
        if let Some(id) = str_at(object, "/item/id")
            && self.open.len() < MAX_OPEN
        {
            self.open.push(id.to_owned());
        }
    }

    fn item(&mut self, object: &Value, out: &mut Vec<Event>) {
        let Some(item) = object.get("item") else {
            return;
        };
        let text = || str_at(item, "/text").unwrap_or_default().to_owned();
        match str_at(item, "/type").unwrap_or_default() {
            "agent_message" => {
                self.last_words.clear();
                self.last_words
                    .push_str(str_at(item, "/text").unwrap_or_default());
                self.active = true;
                out.push(Event::Text(text()));
            }
            "reasoning" => out.push(Event::Thinking(text())),
            "error" => {
                out.push(Event::Notice(
                    str_at(item, "/message").unwrap_or_default().to_owned(),
                ));
            }
            _ => {
                if !is_tool(item) {
                    return;
                }
                self.active = true;
                let id = str_at(item, "/id").unwrap_or_default();
                match self.open.iter().position(|open| open == id) {
                    Some(at) => drop(self.open.swap_remove(at)),
                    // Some items are told of only once they are complete.
                    None => out.extend(tool(item).map(Event::ToolUse)),
                }
                out.push(Event::ToolResult(result(item)));
            }
        }
    }
}

/// Is it a tool call?
fn is_tool(item: &Value) -> bool {
    matches!(
        str_at(item, "/type"),
        Some("command_execution" | "file_change" | "mcp_tool_call" | "web_search")
    )
}

/// The line for an item that [is a tool call](is_tool).
fn tool(item: &Value) -> Option<String> {
    match str_at(item, "/type")? {
        "command_execution" => Some(tool_line("shell", &item["command"])),
        "file_change" => {
            let changes = item["changes"].as_array().map_or(&[][..], Vec::as_slice);
            let paths: Vec<String> = changes
                .iter()
                .map(|c| {
                    let of = |pointer| str_at(c, pointer).unwrap_or("?");
                    format!("{} {}", of("/kind"), of("/path"))
                })
                .collect();
            Some(tool_line("edit", &Value::from(paths.join(", "))))
        }
        "mcp_tool_call" => {
            let of = |pointer| str_at(item, pointer).unwrap_or("?");
            Some(tool_line(
                &format!("{}.{}", of("/server"), of("/tool")),
                &item["arguments"],
            ))
        }
        "web_search" => Some(tool_line("web search", &item["query"])),
        _ => None,
    }
}

fn result(item: &Value) -> String {
    let status = str_at(item, "/status").unwrap_or("completed");
    let output = str_at(item, "/aggregated_output")
        .unwrap_or_default()
        .trim_end();
    match item.get("exit_code").and_then(Value::as_i64) {
        Some(0) | None if output.is_empty() => status.to_owned(),
        Some(0) | None => output.to_owned(),
        Some(code) => format!("exit code {code}\n{output}").trim_end().to_owned(),
    }
}

/// `usage` counts over the thread; each call has a thread of its own.
fn usage(object: &Value) -> Usage {
    let of = |pointer| u64_at(object, pointer).unwrap_or(0);
    let cached = of("/usage/cached_input_tokens");
    Usage {
        input_tokens: of("/usage/input_tokens").saturating_sub(cached),
        output_tokens: of("/usage/output_tokens"),
        cached_tokens: cached,
        cost_usd: None,
    }
}
