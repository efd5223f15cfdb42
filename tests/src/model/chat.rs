//! OpenAI Chat Completions.

use std::io;

use serde_json::{Value, json};

use super::http::Connection;
use super::tools::calls;
use super::{Asked, CACHED, INPUT, OUTPUT, Step};

pub(super) fn answer(to: &mut Connection, asked: &Asked, step: &Step) -> io::Result<()> {
    let id = format!("chatcmpl-{}", asked.number);
    let usage = json!({"prompt_tokens": INPUT, "completion_tokens": OUTPUT,
        "total_tokens": INPUT + OUTPUT, "prompt_tokens_details": {"cached_tokens": CACHED},
        "completion_tokens_details": {"reasoning_tokens": 0}});
    let (mut text, mut refusal, mut think, mut called) = (None, None, None, Vec::new());
    match step {
        Step::Say(words) => text = Some(words.as_str()),
        Step::Refuse(words) => refusal = Some(words.as_str()),
        Step::Call {
            think: t,
            say,
            tools,
        } => {
            think = t.as_deref();
            text = say.as_deref();
            for call in calls(asked, tools) {
                let input = if call.free {
                    json!({"input": call.input})
                } else {
                    call.input
                };
                called.push(json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": input.to_string()}}));
            }
        }
        _ => text = Some("part of an answer"),
    }
    let finish = if called.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    if !asked.stream {
        let mut message = json!({"role": "assistant", "content": text, "refusal": refusal});
        if !called.is_empty() {
            message["tool_calls"] = called.into();
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        return to.json(
            200,
            &[],
            &json!({"id": id, "object": "chat.completion", "created": 0, "model": asked.model,
                    "usage": usage, "choices": [choice]}),
        );
    }
    let mut stream = to.stream()?;
    let chunk = |choices: Value| {
        json!({"id": id, "object": "chat.completion.chunk", "created": 0, "model": asked.model,
               "choices": choices})
    };
    let mut send = |delta: Value, finish: Option<&str>| {
        let choice = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        stream.data(&chunk(choice).to_string())
    };
    send(json!({"role": "assistant", "content": ""}), None)?;
    if let Some(think) = think {
        send(json!({"reasoning_content": think}), None)?;
    }
    for word in text.unwrap_or_default().split_inclusive(' ') {
        send(json!({"content": word}), None)?;
    }
    if matches!(step, Step::Cut) {
        return Ok(());
    }
    if let Some(refusal) = refusal {
        send(json!({"refusal": refusal}), None)?;
    }
    for (index, mut call) in called.into_iter().enumerate() {
        let arguments = std::mem::take(&mut call["function"]["arguments"]);
        call["function"]["arguments"] = "".into();
        call["index"] = index.into();
        send(json!({"tool_calls": [call]}), None)?;
        let rest = json!({"index": index, "function": {"arguments": arguments}});
        send(json!({"tool_calls": [rest]}), None)?;
    }
    send(json!({}), Some(finish))?;
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    stream.data(&last.to_string())?;
    stream.data("[DONE]")?;
    stream.end()
}
