//! OpenAI Responses.

use std::io;

use serde_json::{Value, json};

use super::http::{Connection, Stream};
use super::tools::calls;
use super::{Asked, CACHED, INPUT, OUTPUT, Step};

pub(super) fn answer(to: &mut Connection, asked: &Asked, step: &Step) -> io::Result<()> {
    let items = items(asked, step);
    let mut whole = json!({"id": format!("resp_{}", asked.number), "object": "response",
        "created_at": 0, "model": asked.model, "status": "in_progress", "output": [],
        "parallel_tool_calls": false, "tool_choice": "auto", "tools": [], "error": null});
    let started = whole.clone();
    whole["status"] = "completed".into();
    whole["output"] = items.clone().into();
    whole["usage"] = json!({"input_tokens": INPUT, "output_tokens": OUTPUT,
        "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens_details": {"reasoning_tokens": 10}, "total_tokens": INPUT + OUTPUT});
    if !asked.stream {
        return to.json(200, &[], &whole);
    }
    let mut events = Events {
        stream: to.stream()?,
        number: 0,
    };
    events.send("response.created", json!({"response": started}))?;
    for (index, item) in items.iter().enumerate() {
        events.item(index, item)?;
        if matches!(step, Step::Cut) {
            return Ok(());
        }
        events.send(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        )?;
    }
    events.send("response.completed", json!({"response": whole}))?;
    events.stream.end()
}

fn items(asked: &Asked, step: &Step) -> Vec<Value> {
    let n = asked.number;
    let message = |part: Value| {
        json!({"type": "message", "id": format!("msg_{n}"), "role": "assistant",
               "status": "completed", "content": [part]})
    };
    let words = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    match step {
        Step::Say(text) => vec![message(words(text))],
        Step::Refuse(text) => vec![message(json!({"type": "refusal", "refusal": text}))],
        Step::Call { think, say, tools } => {
            let think = think.as_ref().map(|t| {
                json!({"type": "reasoning", "id": format!("rs_{n}"),
                       "encrypted_content": "bW9kZWw=",
                       "summary": [{"type": "summary_text", "text": t}]})
            });
            let say = say.as_ref().map(|t| message(words(t)));
            let called = calls(asked, tools).into_iter().map(|call| {
                let mut item =
                    json!({"call_id": call.id, "name": call.name, "status": "completed"});
                if call.free {
                    item["type"] = "custom_tool_call".into();
                    item["id"] = format!("ctc_{}", call.id).into();
                    item["input"] = call.input;
                } else {
                    item["type"] = "function_call".into();
                    item["id"] = format!("fc_{}", call.id).into();
                    item["arguments"] = call.input.to_string().into();
                    // A tool of an MCP server is called in its namespace.
                    let name = item["name"].as_str().unwrap_or_default().to_owned();
                    let within = name.strip_prefix("mcp__").and_then(|n| n.split_once("__"));
                    if let Some((server, tool)) = within {
                        item["namespace"] = format!("mcp__{server}").into();
                        item["name"] = tool.into();
                    }
                }
                item
            });
            think.into_iter().chain(say).chain(called).collect()
        }
        _ => vec![message(words("part of an answer"))],
    }
}

struct Events<'a> {
    stream: Stream<'a>,
    number: u64,
}

impl Events<'_> {
    fn send(&mut self, kind: &str, mut data: Value) -> io::Result<()> {
        data["type"] = kind.into();
        data["sequence_number"] = self.number.into();
        self.number += 1;
        self.stream.event(kind, &data)
    }

    /// An item as it begins, and what is added to it.
    fn item(&mut self, index: usize, item: &Value) -> io::Result<()> {
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        for key in ["content", "summary"] {
            if empty.get(key).is_some() {
                empty[key] = json!([]);
            }
        }
        for key in ["arguments", "input"] {
            if empty.get(key).is_some() {
                empty[key] = "".into();
            }
        }
        self.send(
            "response.output_item.added",
            json!({"output_index": index, "item": empty}),
        )?;
        let place = |data: Value| {
            let mut data = data;
            data["item_id"] = item["id"].clone();
            data["output_index"] = index.into();
            data
        };
        if let Some(part) = item["content"].get(0) {
            let mut none = part.clone();
            let kind = match part["type"].as_str() {
                Some("refusal") => "refusal",
                _ => "text",
            };
            none[kind] = "".into();
            let text = part[kind].as_str().unwrap_or_default();
            self.send(
                "response.content_part.added",
                place(json!({"content_index": 0, "part": none})),
            )?;
            let (delta, done) = match kind {
                "refusal" => ("response.refusal.delta", "response.refusal.done"),
                _ => ("response.output_text.delta", "response.output_text.done"),
            };
            for word in text.split_inclusive(' ') {
                self.send(delta, place(json!({"content_index": 0, "delta": word})))?;
            }
            let mut data = json!({"content_index": 0});
            data[kind] = text.into();
            self.send(done, place(data))?;
        }
        if let Some(part) = item["summary"].get(0) {
            let text = &part["text"];
            self.send(
                "response.reasoning_summary_part.added",
                place(json!({"summary_index": 0, "part": {"type": "summary_text", "text": ""}})),
            )?;
            self.send(
                "response.reasoning_summary_text.delta",
                place(json!({"summary_index": 0, "delta": text})),
            )?;
        }
        for (key, kind) in [
            ("arguments", "response.function_call_arguments.delta"),
            ("input", "response.custom_tool_call_input.delta"),
        ] {
            if let Some(text) = item.get(key) {
                self.send(kind, place(json!({"delta": text})))?;
            }
        }
        Ok(())
    }
}
