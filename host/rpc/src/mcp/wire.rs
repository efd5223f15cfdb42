//! Between lines and the messages of `rmcp`: framing, limits, ids, errors, and rows of the log are
//! this project's own, as on every other transport.
//!
//! `rmcp` knows a request by a number that is given here; its answer bears the client's own id, as it
//! was written. So each id comes back that JSON-RPC allows, and one that comes twice does no harm.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, NumberOrString, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};

use super::lines::Lines;
use super::typed::value;
use crate::access::Outcome;
use crate::message::{self, RpcError};
use crate::server::Client;

/// Requests whose answers aren't written yet; then no further line is read.
const UNANSWERED_MAX: usize = 64;

/// A request that isn't answered yet.
pub(super) struct Pending {
    pub(super) id: Box<RawValue>,
    pub(super) method: String,
    pub(super) begun: Instant,
}

/// What both directions share.
pub(super) struct Shared {
    pub(super) client: Arc<Client>,
    pending: Mutex<HashMap<i64, Pending>>,
    /// Pending, or answered and not yet taken by the outbox.
    pub(super) open: AtomicUsize,
    room: Notify,
    pub(super) next: AtomicI64,
    /// The client has introduced itself.
    pub(super) begun: AtomicBool,
}

/// The end that `rmcp` holds.
pub(super) struct Wire {
    shared: Arc<Shared>,
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
}

/// Both ends of a connection. Answers go into the client's outbox.
pub(super) fn ends(client: Arc<Client>) -> (Lines, Wire) {
    let (send, messages) = mpsc::channel(1);
    let shared = Arc::new(Shared {
        client,
        pending: Mutex::default(),
        open: AtomicUsize::new(0),
        room: Notify::new(),
        next: AtomicI64::new(1),
        begun: AtomicBool::new(false),
    });
    let lines = Lines {
        shared: shared.clone(),
        messages: send,
    };
    (lines, Wire { shared, messages })
}

impl Shared {
    pub(super) fn pending(&self) -> MutexGuard<'_, HashMap<i64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn has_room(&self) {
        while self.open.load(Ordering::Relaxed) >= UNANSWERED_MAX {
            self.room.notified().await;
        }
    }

    pub(super) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.room.notify_one();
    }

    pub(super) fn told(&self, asked: &Pending, outcome: Outcome) {
        if let Some(access) = self.client.access() {
            access.answered(&asked.method, Some(asked.id.get()), outcome, asked.begun);
        }
    }

    /// The line of a message, and whether it is an answer; none for that to what was cancelled.
    fn line(&self, message: ServerJsonRpcMessage) -> Option<(String, bool)> {
        let (number, answer) = match message {
            ServerJsonRpcMessage::Response(response) => {
                (Some(response.id), value(&response.result))
            }
            ServerJsonRpcMessage::Error(failed) => {
                let e = RpcError {
                    data: failed.error.data,
                    ..RpcError::new(failed.error.code.0, failed.error.message)
                };
                (failed.id, Err(e))
            }
            ServerJsonRpcMessage::Notification(told) => {
                let ServerNotification::ProgressNotification(step) = told.notification else {
                    return None;
                };
                let params = serde_json::to_value(&step.params).ok()?;
                let line = message::notification("notifications/progress", &params);
                return Some((line, false));
            }
            // Nothing is asked from here.
            ServerJsonRpcMessage::Request(_) => return None,
        };
        let Some(NumberOrString::Number(number)) = number else {
            return None;
        };
        let asked = self.pending().remove(&number)?;
        let outcome = match &answer {
            Ok(_) => Outcome::Result,
            Err(e) => Outcome::Error(e.code),
        };
        self.told(&asked, outcome);
        let line = match answer {
            Ok(result) => message::success(&asked.id, result),
            Err(e) => message::failure(Some(&asked.id), &e),
        };
        Some((line, true))
    }
}

impl Transport<RoleServer> for Wire {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let shared = self.shared.clone();
        let line = shared.line(message);
        async move {
            if let Some((line, answers)) = line {
                shared.client.outbox.answer(line).await;
                if answers {
                    shared.closed();
                }
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
