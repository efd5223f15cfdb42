//! The conversation: initialize, a session, one prompt, the end. One JSON-RPC message per line.

use crate::{Config, policy};
use ralph_plugin::dialect::{MAX_EVENT, MAX_FINAL};
use ralph_plugin::json_lines::{Item, JsonLines, str_at, tool_line, u64_at};
use ralph_plugin::text::{self, Tail};
use ralph_plugin::{
    Ending, Event, Exit, Iteration, Outcome, Reaction, Sandbox, Session, Usage, call, config,
    limits,
};
use serde_json::{Value, json};

const PROTOCOL: u64 = 1;

/// Ids of our three requests, in their order.
const INITIALIZE: u64 = 0;
const NEW_SESSION: u64 = 1;
const PROMPT: u64 = 2;

/// JSON-RPC: there is no such method. ACP: a login is needed.
const NO_METHOD: i64 = -32601;
const AUTH_REQUIRED: i64 = -32000;

/// What the agent reads first.
pub fn initialize() -> Vec<u8> {
    let params = json!({
        "protocolVersion": PROTOCOL,
        "clientInfo": {"name": "ralph", "version": env!("CARGO_PKG_VERSION")},
        "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
        },
    });
    line(&request(INITIALIZE, "initialize", params))
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

/// One agent call.
pub struct Conversation {
    reader: JsonLines,
    workspace: String,
    sandbox: Sandbox,
    /// What it says and thinks comes in pieces; those not shown yet.
    said: String,
    thought: String,
    /// What it said since it last used a tool.
    last_words: Tail,
    /// How the prompt's turn ended, or what went wrong before.
    ended: Option<Outcome>,
    out: Vec<Event>,
    stdin: Vec<u8>,
    close: bool,
}

impl Session for Conversation {
    fn start(it: &Iteration) -> Self {
        // A wrong configuration was refused by `prepare`.
        let sandbox = config::<Config>().map_or(Sandbox::ReadOnly, |c| c.sandbox);
        Conversation {
            reader: JsonLines::new(),
            workspace: it.workspace.clone(),
            sandbox: sandbox.for_role(it.role),
            said: String::new(),
            thought: String::new(),
            last_words: Tail::new(MAX_FINAL),
            ended: None,
            out: Vec::new(),
            stdin: Vec::new(),
            close: false,
        }
    }

    fn feed(&mut self, chunk: &[u8]) -> Reaction {
        let mut reader = std::mem::take(&mut self.reader);
        reader.feed(chunk, |item| self.item(item));
        self.reader = reader;
        Reaction {
            events: std::mem::take(&mut self.out),
            stdin: std::mem::take(&mut self.stdin),
            close_stdin: std::mem::take(&mut self.close),
        }
    }

    fn finish(mut self, exit: &Exit) -> Ending {
        let mut reader = std::mem::take(&mut self.reader);
        reader.finish(|item| self.item(item));
        self.show_pieces();
        let outcome = match self.ended.take() {
            // The turn was over; what then becomes of the program is no matter of it.
            Some(Outcome::Finished(_)) => match exit.code {
                Some(0) | None => finished(self.last_words.into_text()),
                Some(_) => Outcome::Failed(format!(
                    "the agent ended its turn, but: {}",
                    exit.describe()
                )),
            },
            Some(other) => other,
            None if exit.interrupted() => Outcome::Interrupted,
            None => Outcome::Failed(format!(
                "the agent ended without answering: {}",
                exit.describe()
            )),
        };
        Ending {
            events: self.out,
            outcome,
        }
    }
}

fn finished(words: String) -> Outcome {
    let words = words.trim_end().to_owned();
    match limits::limit_message(&words) {
        Some(limit) => Outcome::Limited(limit),
        None => Outcome::Finished(words),
    }
}

impl Conversation {
    fn item(&mut self, item: Item) {
        match item {
            Item::Notice(notice) => self.out.push(Event::Notice(notice)),
            Item::Object(message) => self.message(&message),
        }
    }

    fn message(&mut self, message: &Value) {
        match (str_at(message, "/method"), message.get("id")) {
            (Some("session/update"), None) => self.update(&message["params"]["update"]),
            (Some(_), None) => {}
            (Some(method), Some(id)) => self.asked(method, id, &message["params"]),
            (None, Some(id)) => self.answered(id.as_u64(), message),
            (None, None) => {}
        }
    }

    /// The agent wants something.
    fn asked(&mut self, method: &str, id: &Value, params: &Value) {
        let answer = match method {
            "session/request_permission" => {
                let (result, allowed) = policy::answer(self.sandbox, &self.workspace, params);
                if !allowed {
                    let title = str_at(params, "/toolCall/title").unwrap_or("a tool call");
                    self.notice(format!("refused: {title}"));
                }
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            }
            other => json!({"jsonrpc": "2.0", "id": id, "error":
                {"code": NO_METHOD, "message": format!("{other} is not offered")}}),
        };
        self.stdin.extend(line(&answer));
    }

    /// An answer to one of our requests.
    fn answered(&mut self, id: Option<u64>, message: &Value) {
        if let Some(error) = message.get("error").filter(|e| !e.is_null()) {
            return self.end(trouble(error));
        }
        let result = &message["result"];
        match id {
            Some(INITIALIZE) => {
                let version = u64_at(result, "/protocolVersion");
                if version != Some(PROTOCOL) {
                    let theirs = version.map_or("none".to_owned(), |v| v.to_string());
                    return self.end(Outcome::Failed(format!(
                        "the agent speaks version {theirs} of the Agent Client Protocol; this driver speaks {PROTOCOL}"
                    )));
                }
                let params = json!({"cwd": self.workspace, "mcpServers": []});
                self.stdin
                    .extend(line(&request(NEW_SESSION, "session/new", params)));
            }
            Some(NEW_SESSION) => {
                let Some(session) = str_at(result, "/sessionId") else {
                    return self.end(Outcome::Failed("the agent's session has no id".into()));
                };
                self.notice(format!("session {session}"));
                let text = json!([{"type": "text", "text": call::prompt()}]);
                let params = json!({"sessionId": session, "prompt": text});
                self.stdin
                    .extend(line(&request(PROMPT, "session/prompt", params)));
            }
            Some(PROMPT) => {
                self.show_pieces();
                self.usage(result);
                let outcome = match str_at(result, "/stopReason") {
                    Some("end_turn") => Outcome::Finished(String::new()),
                    Some("cancelled") => Outcome::Interrupted,
                    Some("refusal") => Outcome::Failed("the model refused to go on".into()),
                    Some(other) => {
                        Outcome::Failed(format!("the agent stopped before its end: {other}"))
                    }
                    None => Outcome::Failed("the agent's turn ended without a reason".into()),
                };
                self.end(outcome);
            }
            _ => {}
        }
    }

    /// What it takes is told by some, in the answer to the prompt.
    fn usage(&mut self, result: &Value) {
        if result.get("usage").is_some_and(Value::is_object) {
            let of = |pointer| u64_at(result, pointer).unwrap_or(0);
            self.out.push(Event::Usage(Usage {
                input_tokens: of("/usage/inputTokens")
                    .saturating_add(of("/usage/cachedWriteTokens")),
                output_tokens: of("/usage/outputTokens"),
                cached_tokens: of("/usage/cachedReadTokens"),
                cost_usd: None,
            }));
        }
    }

    /// Nothing more is wanted of it: with its standard input closed it ends.
    fn end(&mut self, outcome: Outcome) {
        self.show_pieces();
        self.ended.get_or_insert(outcome);
        self.close = true;
    }

    fn update(&mut self, update: &Value) {
        let words = || str_at(update, "/content/text").unwrap_or_default();
        match str_at(update, "/sessionUpdate").unwrap_or_default() {
            "agent_message_chunk" => {
                self.show_thoughts();
                self.said.push_str(words());
                self.last_words.push(words());
                if self.said.len() > MAX_EVENT / 2 {
                    self.show_words();
                }
            }
            "agent_thought_chunk" => {
                self.show_words();
                self.thought.push_str(words());
                if self.thought.len() > MAX_EVENT / 2 {
                    self.show_thoughts();
                }
            }
            "tool_call" => {
                self.show_pieces();
                self.last_words = Tail::new(MAX_FINAL);
                let title = str_at(update, "/title").unwrap_or("tool");
                let shown = tool_line(title, &Value::Null);
                self.out
                    .push(Event::ToolUse(text::clip(&text::plain(&shown), MAX_EVENT)));
                self.result(update);
            }
            "tool_call_update" => self.result(update),
            _ => {}
        }
    }

    /// What a tool gave, once it is over.
    fn result(&mut self, update: &Value) {
        let failed = match str_at(update, "/status") {
            Some("completed") => false,
            Some("failed") => true,
            _ => return,
        };
        let parts = update["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = parts
            .filter_map(|part| str_at(part, "/content/text").or_else(|| str_at(part, "/path")))
            .collect();
        let mut shown = texts.join("\n");
        if failed {
            shown.insert_str(0, "error: ");
        }
        let shown = text::clip(&text::plain(shown.trim_end()), MAX_EVENT);
        self.out.push(Event::ToolResult(shown));
    }

    fn notice(&mut self, what: String) {
        self.out
            .push(Event::Notice(text::clip(&text::plain(&what), MAX_EVENT)));
    }

    fn show_pieces(&mut self) {
        self.show_thoughts();
        self.show_words();
    }

    fn show_words(&mut self) {
        if !self.said.is_empty() {
            let said = std::mem::take(&mut self.said);
            self.out
                .push(Event::Text(text::clip(&text::plain(&said), MAX_EVENT)));
        }
    }

    fn show_thoughts(&mut self) {
        if !self.thought.is_empty() {
            let thought = std::mem::take(&mut self.thought);
            self.out.push(Event::Thinking(text::clip(
                &text::plain(&thought),
                MAX_EVENT,
            )));
        }
    }
}

/// What an error answer comes to.
fn trouble(error: &Value) -> Outcome {
    let mut words = str_at(error, "/message")
        .unwrap_or("no reason given")
        .to_owned();
    for more in ["/data/details", "/data/message", "/data"] {
        if let Some(details) = str_at(error, more) {
            words.push_str(&format!(": {details}"));
            break;
        }
    }
    let words = text::clip(&text::plain(&words), MAX_EVENT);
    if error.get("code").and_then(Value::as_i64) == Some(AUTH_REQUIRED) {
        return Outcome::Unauthenticated(words);
    }
    match limits::limit_message(&words).or_else(|| limits::unreachable(&words)) {
        Some(limit) => Outcome::Limited(limit),
        None => Outcome::Failed(words),
    }
}
