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
            None | Some("null" | "[]") => "{}",
            Some(text) => text,
        };
        if !text.starts_with('{') {
            return Err(RpcError::new(
                INVALID_PARAMS,
                "Invalid params: an object with names is wanted",
            ));
        }
        serde_json::from_str(text)
            .map_err(|e| RpcError::new(INVALID_PARAMS, format!("Invalid params: {e}")))
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

fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
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
    let refused = |code, text: &str, close| Reply {
        line: Some(failure(None, &RpcError::new(code, text))),
        close: close || code == PARSE_ERROR && strange,
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
        return one(service, client, raw).await;
    }
    let Ok(batch) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
        return refused(PARSE_ERROR, "Parse error: not JSON", false);
    };
    if batch.is_empty() {
        return refused(INVALID_REQUEST, "Invalid request: an empty batch", false);
    }
    let mut answers = Vec::new();
    let mut close = false;
    for raw in batch {
        let reply = one(service, client, raw).await;
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
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Frame {
        One(Named),
        Batch(Vec<Named>),
    }
    // What can't be read is refused, which is quick.
    if too_deep(frame) {
        return false;
    }
    let long = |named: &Named| named.method.as_str().is_some_and(|m| service.takes_long(m));
    match serde_json::from_slice(frame) {
        Ok(Frame::One(named)) => long(&named),
        Ok(Frame::Batch(batch)) => batch.iter().any(long),
        Err(_) => false,
    }
}

async fn one(service: &dyn Service, client: &Arc<Client>, raw: &RawValue) -> Reply {
    let invalid = |id: Option<&RawValue>, what: &str| {
        let text = format!("Invalid request: {what}");
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
    let begun = Instant::now();
    let params = Params {
        params: request.params,
        id,
    };
    let answer = service.call(client, method, params).await;
    let code = answer.as_ref().err().map_or(0, |e| e.code);
    let shown = ralph_engine::text::one_line(method, 60);
    let asked = id.map(|id| ralph_engine::text::one_line(id.get(), 60));
    let millis = begun.elapsed().as_millis() as u64;
    tracing::debug!(method = shown, id = asked, code, millis, "answered");
    let close = answer.as_ref().is_err_and(|e| e.closes);
    // A notification is carried out and never answered.
    let line = id.map(|id| match answer {
        Ok(result) => line(&Answer {
            jsonrpc: "2.0",
            id: Some(id),
            result: Some(result),
            error: None,
        }),
        Err(e) => failure(Some(id), &e),
    });
    Reply { line, close }
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
    async fn what_is_nested_too_deep_is_refused_and_ends_the_connection() {
        let client = Arc::new(Client::default());
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let reply = handle(&Echo::default(), &client, deep.as_bytes()).await;
        assert!(reply.close);
        let reply = handle(&Echo::default(), &client, b"\xff\xfe").await;
        assert!(!reply.close && reply.line.unwrap().contains("-32700"));
    }
}
