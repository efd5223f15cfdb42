//! Anthropic Messages.

use std::io;

use serde_json::{Value, json};

use super::http::Connection;
use super::tools::calls;
use super::{Asked, CACHED, INPUT, OUTPUT, Step};

pub(super) fn answer(to: &mut Connection, asked: &Asked, step: &Step) -> io::Result<()> {
    let id = format!("msg_{}", asked.number);
    let mut stop = "end_turn";
    let text = |text: &str| json!({"type": "text", "text": text});
    let mut content = Vec::new();
    match step {
        Step::Say(words) => content.push(text(words)),
        Step::Refuse(words) => {
            content.push(text(words));
            stop = "refusal";
        }
        Step::Call { think, say, tools } => {
            content.extend(
                think
                    .as_ref()
                    .map(|t| json!({"type": "thinking", "thinking": t, "signature": "bW9kZWw="})),
            );
            content.extend(say.as_deref().map(text));
            for call in calls(asked, tools) {
                content.push(
                    json!({"type": "tool_use", "id": format!("toolu_{}", call.id),
                                    "name": call.name, "input": call.input}),
                );
            }
            stop = "tool_use";
        }
        _ => content.push(text("part of an answer")),
    }
    let usage = |output: u64| {
        json!({"input_tokens": INPUT, "output_tokens": output,
               "cache_read_input_tokens": CACHED, "cache_creation_input_tokens": 0})
    };
    if !asked.stream {
        return to.json(
            200,
            &[],
            &json!({"id": id, "type": "message", "role": "assistant", "model": asked.model,
                    "content": content, "stop_reason": stop, "stop_sequence": null,
                    "usage": usage(OUTPUT)}),
        );
    }
    let mut stream = to.stream()?;
    let mut send = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        stream.event(kind, &data)
    };
    send(
        "message_start",
        json!({"message": {"id": id, "type": "message", "role": "assistant",
               "model": asked.model, "content": [], "stop_reason": null, "stop_sequence": null,
               "usage": usage(1)}}),
    )?;
    for (index, block) in content.iter().enumerate() {
        let (empty, deltas) = pieces(block);
        send(
            "content_block_start",
            json!({"index": index, "content_block": empty}),
        )?;
        for delta in deltas {
            send(
                "content_block_delta",
                json!({"index": index, "delta": delta}),
            )?;
        }
        if matches!(step, Step::Cut) {
            return Ok(());
        }
        send("content_block_stop", json!({"index": index}))?;
    }
    send(
        "message_delta",
        json!({"delta": {"stop_reason": stop, "stop_sequence": null},
               "usage": {"output_tokens": OUTPUT}}),
    )?;
    send("message_stop", json!({}))?;
    stream.end()
}

/// A block as it begins, and what is added to it.
fn pieces(block: &Value) -> (Value, Vec<Value>) {
    let mut empty = block.clone();
    let text_of = |key: &str| block[key].as_str().unwrap_or_default();
    let deltas = match block["type"].as_str() {
        Some("thinking") => {
            empty["thinking"] = "".into();
            empty["signature"] = "".into();
            vec![
                json!({"type": "thinking_delta", "thinking": text_of("thinking")}),
                json!({"type": "signature_delta", "signature": text_of("signature")}),
            ]
        }
        Some("tool_use") => {
            empty["input"] = json!({});
            let input = block["input"].to_string();
            vec![json!({"type": "input_json_delta", "partial_json": input})]
        }
        _ => {
            empty["text"] = "".into();
            text_of("text")
                .split_inclusive(' ')
                .map(|word| json!({"type": "text_delta", "text": word}))
                .collect()
        }
    };
    (empty, deltas)
}
