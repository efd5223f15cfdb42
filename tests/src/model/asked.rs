//! What a request asks: the newest prompt, how many tools have answered since, what tools there are.

use std::collections::BTreeMap;

use serde_json::Value;

/// By which API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Anthropic Messages.
    Messages,
}

impl Protocol {
    pub(super) fn of(path: &str) -> Option<Protocol> {
        [
            ("/responses", Protocol::Responses),
            ("/chat/completions", Protocol::Chat),
            ("/messages", Protocol::Messages),
        ]
        .into_iter()
        .find_map(|(end, protocol)| path.ends_with(end).then_some(protocol))
    }
}

/// One request for an answer.
#[derive(Debug, Clone)]
pub struct Asked {
    /// By which API.
    pub protocol: Protocol,
    /// The model's name.
    pub model: String,
    /// As a stream of events?
    pub stream: bool,
    /// The newest prompt of a person.
    pub prompt: String,
    /// So many tools have answered since.
    pub results: usize,
    /// What the last of them answered, as text.
    pub result: String,
    /// Which request to this service it is, from 0.
    pub number: u32,
    /// Tools by name, as the client describes them.
    pub(super) tools: BTreeMap<String, Value>,
    /// Where the agent says it works.
    pub(super) cwd: Option<String>,
}

impl Asked {
    pub(super) fn read(protocol: Protocol, body: Value, number: u32) -> Asked {
        let mut asked = Asked {
            protocol,
            model: body["model"].as_str().unwrap_or("test").to_owned(),
            stream: body["stream"].as_bool().unwrap_or(false),
            prompt: String::new(),
            results: 0,
            result: String::new(),
            number,
            tools: BTreeMap::new(),
            cwd: None,
        };
        let mut words = words(&body["system"]) + &words(&body["instructions"]);
        let turns = match protocol {
            Protocol::Responses => &body["input"],
            _ => &body["messages"],
        };
        for turn in list(turns) {
            asked.turn(turn, &mut words);
        }
        for tool in list(&body["tools"]) {
            // A chat wraps what it calls a function; a namespace holds several.
            let inner = match (tool.get("function"), tool.get("custom")) {
                (Some(inner), _) | (_, Some(inner)) => inner,
                _ => tool,
            };
            for each in std::iter::once(inner).chain(list(&inner["tools"])) {
                if let Some(name) = each["name"].as_str() {
                    asked.tools.insert(name.to_owned(), each.clone());
                }
            }
        }
        asked.cwd = cwd(&words);
        asked
    }

    /// A tool's whole name; the end of it if the client has none that ends so.
    pub(super) fn tool(&self, end: &str) -> String {
        let found = self.tools.keys().find(|name| name.ends_with(end));
        found.map_or(end, String::as_str).to_owned()
    }

    fn turn(&mut self, turn: &Value, all: &mut String) {
        let kind = turn["type"].as_str().unwrap_or("message");
        let role = turn["role"].as_str().unwrap_or_default();
        if kind.ends_with("_call_output") || role == "tool" {
            self.results += 1;
            let said = [&turn["output"], &turn["content"]];
            self.result = said.map(ToString::to_string).concat();
            return;
        }
        let answers = list(&turn["content"]).filter(|block| block["type"] == "tool_result");
        let results = answers.clone().count();
        if let Some(last) = answers.last() {
            self.result = last["content"].to_string();
        }
        self.results += results;
        let said = words(&turn["content"]);
        all.push_str(&said);
        // A reminder of the program itself is no prompt.
        let reminder = said.trim_start().starts_with('<') && said.trim_end().ends_with('>');
        if role == "user" && results == 0 && !said.trim().is_empty() && !reminder {
            self.prompt = said;
            self.results = 0;
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value.as_array().into_iter().flatten()
}

/// A content is a text, or a list of blocks with texts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => format!("{text}\n"),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|b| b["text"].as_str())
            .map(|text| format!("{text}\n"))
            .collect(),
        _ => String::new(),
    }
}

/// Each agent tells its model where it works, in words of its own.
fn cwd(words: &str) -> Option<String> {
    ["<cwd>", "orking directory: ", "orking directory is "]
        .iter()
        .find_map(|mark| {
            let rest = &words[words.find(mark)? + mark.len()..];
            let end = rest.find(|c: char| c == '<' || c.is_whitespace())?;
            rest.starts_with('/').then(|| rest[..end].to_owned())
        })
}
