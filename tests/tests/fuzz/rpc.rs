//! What comes over a connection: bytes to frames, frames to answers.

use std::sync::Arc;

use async_trait::async_trait;
use ralph_rpc::frame::{Frames, TooLong};
use ralph_rpc::message::{self, Params, RpcError, Service, handle};
use ralph_rpc::server::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::fuzz;

const FRAMES: &[u8] = b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n\n \t\n[1,2]\n{\"a\":\"\xe2\x80\xa8\"}\r\nlast";

/// All frames of a stream that comes in pieces, as a reader hands them on.
fn read(pieces: &[&[u8]], max: usize) -> (Vec<Vec<u8>>, Option<TooLong>) {
    let (mut frames, mut out) = (Frames::new(max), Vec::new());
    for piece in pieces {
        frames.push(piece);
        loop {
            match frames.next() {
                Ok(Some(frame)) => out.push(frame),
                Ok(None) => break,
                Err(e) => return (out, Some(e)),
            }
        }
    }
    match frames.last() {
        Ok(last) => out.extend(last),
        Err(e) => return (out, Some(e)),
    }
    (out, None)
}

/// What the protocol says a frame is, without regard for pieces and limits.
fn told(bytes: &[u8]) -> Vec<Vec<u8>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = bytes.split(|b| *b == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        .filter(|line| line.iter().any(|b| !matches!(b, b' ' | b'\t' | b'\r')))
        .collect()
}

#[test]
fn frames() {
    let words = [
        "\n", "\r\n", "\r", "\u{feff}", " ", "\t", "\u{2028}", "\u{85}",
    ];
    fuzz("frames", &[FRAMES, b"\xef\xbb\xbf\n"], &words, |bytes| {
        let whole = read(&[bytes], usize::MAX);
        assert_eq!(whole, (told(bytes), None));
        let size = 1 + bytes.len() % 7;
        for max in [usize::MAX, 3 + bytes.len() % 50] {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            let (some, once) = (read(&pieces, max), read(&[bytes], max));
            assert_eq!(some, once, "in pieces of {size}, at most {max}");
            assert!(some.0.iter().all(|frame| frame.len() <= max));
        }
    });
}

/// Has a method of each sort.
struct Methods;

#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    count: u8,
    events: Option<Vec<String>>,
}

#[async_trait]
impl Service for Methods {
    async fn call(
        &self,
        _: &Arc<Client>,
        method: &str,
        params: Params<'_>,
    ) -> Result<Value, RpcError> {
        match method {
            "ping" => Ok(json!({})),
            "echo" => params.read(),
            "step" => {
                let Wanted { count, events } = params.read()?;
                Ok(json!({ "count": count, "events": events }))
            }
            _ => Err(RpcError::no_method(method)),
        }
    }

    fn takes_long(&self, method: &str) -> bool {
        method == "step"
    }
}

/// An answer as JSON-RPC 2.0 has it. Its id is the client's, and may be text that no [`String`] holds.
fn is_answer(text: &str) {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Answer<'a> {
        jsonrpc: &'a str,
        #[serde(borrow)]
        id: &'a RawValue,
        result: Option<Value>,
        error: Option<Failure>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Failure {
        code: i64,
        message: String,
        data: Option<Map<String, Value>>,
    }
    assert!(text.starts_with("{\"jsonrpc\":\"2.0\",\"id\":"), "{text}");
    let answer: Answer<'_> = serde_json::from_str(text).unwrap();
    assert_eq!(answer.jsonrpc, "2.0");
    assert!(!answer.id.get().starts_with(['{', '[', 't', 'f']), "{text}");
    match answer.error {
        None => assert!(answer.result.is_some(), "{text}"),
        Some(Failure {
            code,
            message,
            data,
        }) => {
            assert!(answer.result.is_none() && code < 0, "{text}");
            assert!(!message.is_empty() && data.is_none_or(|d| !d.is_empty()));
        }
    }
}

/// What can be told of an answer from the frame alone.
fn fits(frame: &[u8], line: Option<&str>) {
    let Some(line) = line else {
        // Only what has no id goes without an answer.
        let Ok(value) = serde_json::from_slice::<Value>(frame) else {
            // A number beyond what `Value` holds is JSON still.
            return;
        };
        let all = value.as_array().cloned().unwrap_or_else(|| vec![value]);
        assert!(all.iter().all(|one| one.get("id").is_none()), "{all:?}");
        return;
    };
    assert!(!line.contains('\n'), "{line}");
    match serde_json::from_str::<Vec<&RawValue>>(line) {
        Ok(all) => {
            assert!(!all.is_empty() && frame.trim_ascii_start().starts_with(b"["));
            all.iter().for_each(|one| is_answer(one.get()));
        }
        Err(_) => is_answer(line),
    }
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    // A request that was carried out: its id is echoed byte for byte.
    if line.contains("\"result\"") && !frame.trim_ascii_start().starts_with(b"[") {
        let asked: Id<'_> = serde_json::from_slice(frame).unwrap();
        let told: Id<'_> = serde_json::from_str(line).unwrap();
        assert_eq!(asked.id.get(), told.id.get());
    }
}

#[test]
fn requests() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let client = Arc::new(Client::default());
    let corpus: [&[u8]; 5] = [
        br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":"a\u00e9","method":"step","params":{"count":7,"events":["output","*"]}}"#,
        br#"[{"jsonrpc":"2.0","id":1.50,"method":"echo","params":{"a":[1,{"b":null}]}},{"jsonrpc":"2.0","method":"ping"},5,[]]"#,
        br#"{"jsonrpc":"2.0","method":"ping","params":[]}"#,
        br#"{"jsonrpc":"2.0","id":null,"method":"nope","params":{"x":1e999}}"#,
    ];
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "null",
        "true",
        "1",
        "-0",
        "1e999",
        "\\ud800",
        "\\u0000",
        "\"id\":",
        "\"jsonrpc\":\"2.0\"",
        "\"method\":",
        "\"params\":",
        "\"ping\"",
        "\"echo\"",
        "\"step\"",
        "{}",
        "[]",
        "\u{2028}",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    ];
    fuzz("requests", &corpus, &words, |bytes| {
        let frame: Vec<u8> = bytes
            .iter()
            .map(|b| if *b == b'\n' { b' ' } else { *b })
            .collect();
        let _ = message::takes_long(&Methods, &frame);
        let reply = runtime.block_on(handle(&Methods, &client, &frame));
        fits(&frame, reply.line.as_deref());
        assert!(reply.line.is_some() || !reply.close);
    });
}
