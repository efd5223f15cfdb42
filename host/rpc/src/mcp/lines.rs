//! From lines to messages: what is no request, or none that is served here, is refused at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest,
    Implementation, NumberOrString,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use super::typed::typed;
use super::wire::{Pending, Shared};
use crate::access::Outcome;
use crate::frame::{DEPTH_MAX, FRAME_MAX, Frames, too_deep};
use crate::message::{self, INVALID_REQUEST, PARSE_ERROR, RpcError, present};

/// The end that reads.
pub(super) struct Lines {
    pub(super) shared: Arc<Shared>,
    pub(super) messages: mpsc::Sender<ClientJsonRpcMessage>,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(default)]
    jsonrpc: Value,
    #[serde(default)]
    method: Option<Value>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default)]
    result: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

/// What a line is.
enum Read {
    /// For `rmcp`.
    Message(Box<ClientJsonRpcMessage>),
    /// Nothing that anybody waits for.
    Nothing,
    /// Refused here.
    Refused(Refused),
}

/// What isn't carried out, and why.
struct Refused {
    id: Option<Box<RawValue>>,
    /// If it is known.
    method: Option<String>,
    e: RpcError,
}

impl Lines {
    /// Reads until the client's end or a broken limit, or until nobody takes its messages.
    pub(super) async fn read(self, mut from: impl AsyncRead + Unpin) {
        let mut frames = Frames::new(FRAME_MAX);
        let mut piece = vec![0; 16 * 1024];
        loop {
            let Ok(len) = from.read(&mut piece).await else {
                return;
            };
            frames.push(&piece[..len]);
            loop {
                let frame = match frames.next() {
                    Ok(None) if len == 0 => frames.last(),
                    other => other,
                };
                match frame {
                    Ok(Some(frame)) => {
                        if !self.frame(&frame).await {
                            return;
                        }
                    }
                    Ok(None) => break,
                    Err(e) => {
                        let text = format!("Invalid request: {e}");
                        let e = RpcError::new(INVALID_REQUEST, text);
                        let (id, method) = (None, None);
                        self.refuse(&Refused { id, method, e }).await;
                        return;
                    }
                }
            }
            if len == 0 {
                return;
            }
        }
    }

    /// False if nothing more is to be read.
    async fn frame(&self, frame: &[u8]) -> bool {
        self.shared.has_room().await;
        match self.shared.message(frame) {
            Read::Message(message) => self.messages.send(*message).await.is_ok(),
            Read::Nothing => true,
            Read::Refused(refused) => {
                self.refuse(&refused).await;
                !refused.e.closes
            }
        }
    }

    async fn refuse(&self, Refused { id, method, e }: &Refused) {
        let shown = id.as_deref().map(RawValue::get);
        match (self.shared.client.access(), method) {
            (Some(access), Some(method)) => {
                access.answered(method, shown, Outcome::Error(e.code), Instant::now());
            }
            (Some(access), None) => access.refused(shown, e.code),
            (None, _) => {}
        }
        let outbox = &self.shared.client.outbox;
        outbox.answer(message::failure(id.as_deref(), e)).await;
    }
}

fn refused(id: Option<&RawValue>, code: i32, text: impl Into<String>) -> Read {
    Read::Refused(Refused {
        id: id.map(RawValue::to_owned),
        method: None,
        e: RpcError::new(code, text),
    })
}

impl Shared {
    fn message(&self, frame: &[u8]) -> Read {
        let Ok(text) = std::str::from_utf8(frame) else {
            return refused(None, PARSE_ERROR, "Parse error: not UTF-8");
        };
        if too_deep(frame) {
            let text = format!("Invalid request: nested deeper than {DEPTH_MAX} levels");
            let e = RpcError::new(INVALID_REQUEST, text).and_close();
            let (id, method) = (None, None);
            return Read::Refused(Refused { id, method, e });
        }
        let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
            return refused(None, PARSE_ERROR, "Parse error: not JSON");
        };
        if !raw.get().starts_with('{') {
            let text = "Invalid request: an object is wanted, and no batch";
            return refused(None, INVALID_REQUEST, text);
        }
        let frame: Frame<'_> = match serde_json::from_str(raw.get()) {
            Ok(frame) => frame,
            Err(e) => {
                let shown = ralph_engine::text::one_line(&e.to_string(), 300);
                return refused(None, INVALID_REQUEST, format!("Invalid request: {shown}"));
            }
        };
        let id = frame.id;
        let fits = |id: &RawValue| {
            let number = |c: char| c == '-' || c.is_ascii_digit();
            id.get().starts_with(|c| c == '"' || number(c))
        };
        if !id.is_none_or(fits) {
            let text = "Invalid request: `id` must be a string or a number";
            return refused(None, INVALID_REQUEST, text);
        }
        if frame.jsonrpc != "2.0" {
            let text = "Invalid request: `jsonrpc` must be \"2.0\"";
            return refused(id, INVALID_REQUEST, text);
        }
        let method = match &frame.method {
            Some(Value::String(method)) => method,
            // The answer to something: nothing is asked from here.
            None if frame.result.is_some() || frame.error.is_some() => return Read::Nothing,
            _ => {
                return refused(
                    id,
                    INVALID_REQUEST,
                    "Invalid request: `method` must be a string",
                );
            }
        };
        let params = frame
            .params
            .map(RawValue::get)
            .filter(|text| *text != "null");
        match id {
            None => self.notification(method, params),
            Some(id) => self.request(id, method, params),
        }
    }

    fn notification(&self, method: &str, params: Option<&str>) -> Read {
        match method {
            "notifications/cancelled" => self.cancelled(params),
            // Nothing else that a client tells concerns a server with tools alone.
            _ => Read::Nothing,
        }
    }

    /// It names the request by the client's id.
    fn cancelled(&self, params: Option<&str>) -> Read {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        let named: Option<Params<'_>> = params.and_then(|text| serde_json::from_str(text).ok());
        let Some(Params { request_id }) = named else {
            return Read::Nothing;
        };
        let mut pending = self.pending();
        let found = pending
            .iter()
            .find(|(_, p)| p.id.get() == request_id.get() && p.method != "initialize");
        let Some(number) = found.map(|(number, _)| *number) else {
            return Read::Nothing;
        };
        if let Some(asked) = pending.remove(&number) {
            self.told(&asked, Outcome::Cancelled);
            self.closed();
        }
        let number = Some(NumberOrString::Number(number));
        let told = CancelledNotification::new(CancelledNotificationParam::new(number, None));
        Read::Message(Box::new(ClientJsonRpcMessage::notification(told.into())))
    }

    fn request(&self, id: &RawValue, method: &str, params: Option<&str>) -> Read {
        let wrong = |e: RpcError| {
            Read::Refused(Refused {
                id: Some(id.to_owned()),
                method: Some(method.to_owned()),
                e,
            })
        };
        let (request, modern) = match typed(method, params.unwrap_or("{}")) {
            Ok(typed) => typed,
            Err(e) => return wrong(e),
        };
        let begun = self.begun.load(Ordering::Relaxed);
        let order = match &request {
            ClientRequest::PingRequest(_) => None,
            ClientRequest::InitializeRequest(_) if begun => Some("once"),
            ClientRequest::InitializeRequest(asked) => {
                self.begun.store(true, Ordering::Relaxed);
                self.named(&asked.params.client_info);
                None
            }
            // From 2026 on each request may bring along what `initialize` told.
            _ if begun || modern => None,
            _ => Some("first"),
        };
        if let Some(order) = order {
            let text = format!("Invalid request: `initialize` comes {order}");
            return wrong(RpcError::new(INVALID_REQUEST, text));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let asked = Pending {
            id: id.to_owned(),
            method: method.to_owned(),
            begun: Instant::now(),
        };
        self.open.fetch_add(1, Ordering::Relaxed);
        self.pending().insert(number, asked);
        let number = NumberOrString::Number(number);
        Read::Message(Box::new(ClientJsonRpcMessage::request(request, number)))
    }

    fn named(&self, who: &Implementation) {
        if let Some(access) = self.client.access() {
            access.named([Some(&who.name), Some(&who.version), None], None);
        }
    }
}
