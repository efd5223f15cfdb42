//! JSON-RPC 2.0: what a frame asks for, and what is answered.
//!
//! Batches, notifications and ids are the standard's to the letter; an id is
//! echoed as it was written.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::access::Outcome;
use crate::frame::{DEPTH_MAX, too_deep};
use crate::server::Client;

/// What is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// What is JSON and no request.
pub const INVALID_REQUEST: i32 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// Parameters that are missing or wrong.
pub const INVALID_PARAMS: i32 = -32602;
/// A fault of ours.
pub const INTERNAL_ERROR: i32 = -32603;
/// It can't be done now.
pub const NOT_NOW: i32 = -32000;

/// Too many requests (the bridge's word).
pub const RATE_LIMITED: i32 = -32001;
/// No or a wrong token (the TCP protocol's word).
pub const AUTH_FAILED: i32 = -32001;
/// A path outside of what may be touched.
pub const PATH_DENIED: i32 = -32002;

/// A batch may have this many requests: its answers are kept until the last is there.
pub const BATCH_MAX: usize = 100;
/// Once its answers have this many bytes, the rest of a batch is refused.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// Of what a request gets wrong an error quotes this many bytes.
const QUOTED_MAX: usize = 300;

/// An answer that is no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// One of the constants here.
    pub code: i32,
    /// For people.
    pub message: String,
    /// An object with more.
    pub data: Option<Value>,
    /// The connection ends with it.
    pub closes: bool,
}

impl RpcError {
    /// Without data.
    pub fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
            closes: false,
        }
    }

    /// With an object that says more.
    pub fn with(self, data: Value) -> RpcError {
        RpcError {
            data: Some(data),
            ..self
        }
    }

    /// The last thing that is said.
    pub fn and_close(self) -> RpcError {
        RpcError {
            closes: true,
            ..self
        }
    }

    /// Parameters that can't be read.
    pub fn bad_params(e: &dyn std::fmt::Display) -> RpcError {
        let shown = ralph_engine::text::one_line(&e.to_string(), QUOTED_MAX);
        RpcError::new(INVALID_PARAMS, format!("Invalid params: {shown}"))
    }

    /// There is no such method.
    pub fn no_method(method: &str) -> RpcError {
        let shown = ralph_engine::text::one_line(method, 100);
        RpcError::new(METHOD_NOT_FOUND, format!("Method not found: {shown}"))
    }
}

/// A method's parameters, not yet looked at, and the request's id.
#[derive(Debug, Clone, Copy)]
pub struct Params<'a> {
    params: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// Of a call that no request made.
    pub fn of(params: &'a RawValue) -> Params<'a> {
        Params {
            params: Some(params),
            id: None,
        }
    }

    /// The id as it was written; none for a notification.
    pub fn id(&self) -> Option<&str> {
        self.id.map(RawValue::get)
    }

    /// Reads them by name. None at all are an empty object.
    ///
    /// # Errors
    /// [`INVALID_PARAMS`].
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let text = match self.params.map(RawValue::get) {
            None | Some("null") => "{}",
            // An empty array holds nothing by name or position.
            Some(text)
                if text
                    .strip_prefix('[')
                    .is_some_and(|t| t.trim_start() == "]") =>
            {
                "{}"
            }
            Some(text) => text,
        };
        if !text.starts_with('{') {
            return Err(RpcError::new(
                INVALID_PARAMS,
                "Invalid params: an object with names is wanted",
            ));
        }
        serde_json::from_str(text).map_err(|e| RpcError::bad_params(&e))
    }
}

/// A set of methods.
#[async_trait]
pub trait Service: Send + Sync + 'static {
    /// Carries one out.
    async fn call(
        &self,
        client: &Arc<Client>,
        method: &str,
        params: Params<'_>,
    ) -> Result<Value, RpcError>;

    /// Other requests of the same connection are carried out meanwhile.
    fn takes_long(&self, method: &str) -> bool {
        let _ = method;
        false
    }

    /// Does what is no JSON end the connection?
    fn only_speakers(&self) -> bool {
        false
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(default)]
    jsonrpc: Value,
    #[serde(default)]
    method: Value,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    /// `null` is an id too.
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
}

pub(crate) fn present<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// What is said to a frame, and whether the connection goes on.
pub struct Reply {
    /// One line without its LF; nothing for notifications.
    pub line: Option<String>,
    /// The frame broke a limit: the connection closes after the answer.
    pub close: bool,
}

/// Carries out what one frame asks for.
pub async fn handle(service: &dyn Service, client: &Arc<Client>, frame: &[u8]) -> Reply {
    // A peer that doesn't speak JSON at all, a web page's form for one, is not listened to further.
    let strange = service.only_speakers();
    let refused = |code, text: &str, close| {
        if let Some(access) = client.access() {
            access.refused(None, code);
        }
        Reply {
            line: Some(failure(None, &RpcError::new(code, text))),
            close: close || code == PARSE_ERROR && strange,
        }
    };
    let Ok(text) = std::str::from_utf8(frame) else {
        return refused(PARSE_ERROR, "Parse error: not UTF-8", false);
    };
    if too_deep(frame) {
        let text = format!("Invalid request: nested deeper than {DEPTH_MAX} levels");
        return refused(INVALID_REQUEST, &text, true);
    }
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
        return refused(PARSE_ERROR, "Parse error: not JSON", false);
    };
    if !raw.get().starts_with('[') {
        return one(service, client, raw, false).await;
    }
    let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
        return refused(PARSE_ERROR, "Parse error: not JSON", false);
    };
    if batch.is_empty() {
        return refused(INVALID_REQUEST, "Invalid request: an empty batch", false);
    }
    if batch.len() > BATCH_MAX {
        let text = format!("Invalid request: a batch has {BATCH_MAX} requests at most");
        return refused(INVALID_REQUEST, &text, false);
    }
    let mut answers: Vec<String> = Vec::new();
    let mut bytes = 0;
    let mut close = false;
    for raw in batch {
        let reply = one(service, client, raw, bytes > BATCH_BYTES_MAX).await;
        bytes += reply.line.as_ref().map_or(0, String::len);
        answers.extend(reply.line);
        close |= reply.close;
        if close {
            break;
        }
    }
    Reply {
        line: (!answers.is_empty()).then(|| format!("[{}]", answers.join(","))),
        close,
    }
}

/// Does the frame ask for something that others shouldn't wait for?
pub fn takes_long(service: &dyn Service, frame: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        method: Value,
    }
    let long = |text: &[u8]| {
        let named = serde_json::from_slice(text);
        named.is_ok_and(|n: Named| n.method.as_str().is_some_and(|m| service.takes_long(m)))
    };
    // What can't be read is refused, which is quick.
    if too_deep(frame) {
        return false;
    }
    if !frame.trim_ascii_start().starts_with(b"[") {
        return long(frame);
    }
    let batch: Result<Vec<&RawValue>, _> = serde_json::from_slice(frame);
    batch
        .is_ok_and(|all| all.len() <= BATCH_MAX && all.iter().any(|raw| long(raw.get().as_bytes())))
}

/// `full`: there is no room for a result any more.
async fn one(service: &dyn Service, client: &Arc<Client>, raw: &RawValue, full: bool) -> Reply {
    let invalid = |id: Option<&RawValue>, what: &str| {
        if let Some(access) = client.access() {
            access.refused(id.map(RawValue::get), INVALID_REQUEST);
        }
        let shown = ralph_engine::text::one_line(what, QUOTED_MAX);
        let text = format!("Invalid request: {shown}");
        Reply {
            line: Some(failure(id, &RpcError::new(INVALID_REQUEST, text))),
            close: false,
        }
    };
    if !raw.get().starts_with('{') {
        return invalid(None, "an object is wanted");
    }
    let request: Request<'_> = match serde_json::from_str(raw.get()) {
        Ok(request) => request,
        Err(e) => return invalid(None, &e.to_string()),
    };
    let id = request.id;
    if id.is_some_and(|id| id.get().starts_with(['{', '[', 't', 'f'])) {
        return invalid(None, "`id` must be a string, a number or null");
    }
    if request.jsonrpc != "2.0" {
        return invalid(id, "`jsonrpc` must be \"2.0\"");
    }
    let Some(method) = request.method.as_str() else {
        return invalid(id, "`method` must be a string");
    };
    if full && id.is_some() {
        if let Some(access) = client.access() {
            access.refused(id.map(RawValue::get), NOT_NOW);
        }
        let text = format!("the batch's answers have {BATCH_BYTES_MAX} bytes already");
        return Reply {
            line: Some(failure(id, &RpcError::new(NOT_NOW, text))),
            close: false,
        };
    }
    let told = client.access().map(|access| (access, Instant::now()));
    let params = Params {
        params: request.params,
        id,
    };
    let answer = service.call(client, method, params).await;
    if let Some((access, begun)) = told {
        let outcome = match &answer {
            Ok(_) => Outcome::Result,
            Err(e) => Outcome::Error(e.code),
        };
        access.answered(method, id.map(RawValue::get), outcome, begun);
    }
    let close = answer.as_ref().is_err_and(|e| e.closes);
    // A notification is carried out and never answered.
    let line = id.map(|id| match answer {
        Ok(result) => success(id, result),
        Err(e) => failure(Some(id), &e),
    });
    Reply { line, close }
}

/// A result's line.
pub(crate) fn success(id: &RawValue, result: Value) -> String {
    line(&Answer {
        jsonrpc: "2.0",
        id: Some(id),
        result: Some(result),
        error: None,
    })
}

/// An error's line.
pub fn failure(id: Option<&RawValue>, e: &RpcError) -> String {
    let mut error = json!({ "code": e.code, "message": e.message });
    if let Some(data) = &e.data {
        error["data"] = data.clone();
    }
    line(&Answer {
        jsonrpc: "2.0",
        id,
        result: None,
        error: Some(error),
    })
}

fn line(answer: &Answer<'_>) -> String {
    serde_json::to_string(answer).unwrap_or_else(|_| {
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}"#.into()
    })
}

/// A notification's line.
pub fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::Mutex;

    use super::*;

    /// Says what it was called with.
    #[derive(Default)]
    struct Echo(Mutex<Vec<String>>);

    #[async_trait]
    impl Service for Echo {
        async fn call(
            &self,
            _: &Arc<Client>,
            method: &str,
            params: Params<'_>,
        ) -> Result<Value, RpcError> {
            self.0.lock().unwrap().push(method.to_owned());
            match method {
                "echo" => params.read(),
                _ => Err(RpcError::no_method(method)),
            }
        }
    }

    async fn say(frame: &str) -> Value {
        let client = Arc::new(Client::default());
        let reply = handle(&Echo::default(), &client, frame.as_bytes()).await;
        serde_json::from_str(&reply.line.unwrap()).unwrap()
    }

    /// E08
    #[tokio::test]
    async fn each_bad_frame_gets_its_code() {
        for (frame, code) in [
            ("{", PARSE_ERROR),
            ("[1,", PARSE_ERROR),
            ("1", INVALID_REQUEST),
            ("[]", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"method":"echo","id":1}"#, INVALID_REQUEST),
            (
                r#"{"jsonrpc":"1.0","method":"echo","id":1}"#,
                INVALID_REQUEST,
            ),
            (r#"{"jsonrpc":"2.0","method":5,"id":1}"#, INVALID_REQUEST),
            (
                r#"{"jsonrpc":"2.0","method":"echo","id":[]}"#,
                INVALID_REQUEST,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"nope","id":1}"#,
                METHOD_NOT_FOUND,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"echo","params":3,"id":1}"#,
                INVALID_PARAMS,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#,
                INVALID_PARAMS,
            ),
        ] {
            assert_eq!(say(frame).await["error"]["code"], code, "{frame}");
        }
    }

    #[tokio::test]
    async fn an_id_is_echoed_as_it_was_written() {
        let client = Arc::new(Client::default());
        for id in [
            "1",
            "null",
            "\"a\\u00e9\"",
            "1.50",
            "123456789012345678901234567890",
            "-0",
            "1e3",
        ] {
            let frame = format!(r#"{{"jsonrpc":"2.0","method":"echo","id":{id}}}"#);
            let reply = handle(&Echo::default(), &client, frame.as_bytes()).await;
            let line = reply.line.unwrap();
            assert!(line.contains(&format!("\"id\":{id},")), "{line}");
        }
    }

    #[tokio::test]
    async fn a_notification_is_carried_out_and_never_answered_in_batches_neither() {
        let client = Arc::new(Client::default());
        let echo = Echo::default();
        let frame = br#"[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]"#;
        assert!(handle(&echo, &client, frame).await.line.is_none());
        assert_eq!(*echo.0.lock().unwrap(), ["a", "b"]);
        let mixed = say(
            r#"[{"jsonrpc":"2.0","method":"echo"},{"jsonrpc":"2.0","method":"echo","id":7},5]"#,
        )
        .await;
        assert_eq!(mixed.as_array().unwrap().len(), 2);
        assert_eq!(mixed[0]["id"], 7);
        assert_eq!(mixed[1]["error"]["code"], INVALID_REQUEST);
    }

    #[tokio::test]
    async fn a_batchs_answers_are_bounded_in_number_and_bytes() {
        let ask = |n: usize, of: &str| format!("[{}]", vec![of; n].join(","));
        let said = say(&ask(BATCH_MAX + 1, "1")).await;
        assert_eq!(said["error"]["code"], INVALID_REQUEST);
        let long = "x".repeat(BATCH_BYTES_MAX / 10);
        let one =
            format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{{"a":"{long}"}},"id":1}}"#);
        let said = say(&ask(20, &one)).await;
        let said = said.as_array().unwrap();
        let served = said.iter().filter(|a| a["result"].is_object()).count();
        assert!((9..12).contains(&served), "{served}");
        assert_eq!(said.len(), 20);
        assert_eq!(said[19]["error"]["code"], NOT_NOW);
    }

    #[test]
    fn a_long_request_is_found_in_a_batch_whatever_else_is_in_it() {
        struct Long;
        #[async_trait]
        impl Service for Long {
            async fn call(
                &self,
                _: &Arc<Client>,
                _: &str,
                _: Params<'_>,
            ) -> Result<Value, RpcError> {
                Ok(Value::Null)
            }
            fn takes_long(&self, method: &str) -> bool {
                method == "step"
            }
        }
        for (frame, want) in [
            (r#"{"method":"step"}"#, true),
            (r#" {"id":1,"method":"st\u0065p"}"#, true),
            (r#"{"method":"ping","params":{"method":"step"}}"#, false),
            (r#"[1,{"method":"step"}]"#, true),
            (r#" [{"method":5},[{"method":"step"}]]"#, false),
            ("step", false),
        ] {
            assert_eq!(takes_long(&Long, frame.as_bytes()), want, "{frame}");
        }
    }

    #[tokio::test]
    async fn what_is_nested_too_deep_is_refused_and_ends_the_connection() {
        let client = Arc::new(Client::default());
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let reply = handle(&Echo::default(), &client, deep.as_bytes()).await;
        assert!(reply.close);
        let reply = handle(&Echo::default(), &client, b"\xff\xfe").await;
        assert!(!reply.close && reply.line.unwrap().contains("-32700"));
    }
}
