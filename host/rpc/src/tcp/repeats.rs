//! Calls that are sent again: a client that waited too long asks the same over a new connection, and
//! gets the first call's answer instead of a second call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;

use crate::message::{INTERNAL_ERROR, RpcError};

/// So long an answer is kept.
pub const KEPT: Duration = Duration::from_secs(600);
/// So many are kept.
const MAX: usize = 1024;
/// A bigger answer is not.
const ANSWER_MAX: usize = 256 * 1024;

type Answer = Result<Value, RpcError>;

/// What tells a call from another: process, id and arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) pid: u64,
    pub(super) id: String,
    pub(super) asked: [u8; 32],
}

#[derive(Debug)]
struct Call {
    key: Key,
    at: Instant,
    answer: watch::Receiver<Option<Arc<Answer>>>,
}

/// The calls of the last ten minutes.
#[derive(Debug, Default)]
pub(super) struct Repeats(Mutex<VecDeque<Call>>);

impl Repeats {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer of `call`, or of the one that it repeats. It goes on if who asked goes away.
    pub(super) async fn once(
        &self,
        key: Key,
        call: impl Future<Output = Answer> + Send + 'static,
    ) -> Answer {
        let mut answer = self.begin(key, call);
        let answered = match answer.wait_for(Option::is_some).await {
            Ok(answered) => answered.clone(),
            Err(_) => None,
        };
        match answered {
            Some(answer) => (*answer).clone(),
            None => Err(RpcError::new(INTERNAL_ERROR, "Internal error")),
        }
    }

    fn begin(
        &self,
        key: Key,
        call: impl Future<Output = Answer> + Send + 'static,
    ) -> watch::Receiver<Option<Arc<Answer>>> {
        let mut calls = self.lock();
        let now = Instant::now();
        calls.retain(|c| now.saturating_duration_since(c.at) < KEPT && !too_big(c));
        if let Some(first) = calls.iter().find(|c| c.key == key) {
            return first.answer.clone();
        }
        if calls.len() == MAX {
            calls.pop_front();
        }
        let (say, answer) = watch::channel(None);
        calls.push_back(Call {
            key,
            at: now,
            answer: answer.clone(),
        });
        tokio::spawn(async move {
            let answer = call.await;
            say.send_replace(Some(Arc::new(answer)));
        });
        answer
    }
}

fn too_big(call: &Call) -> bool {
    call.answer
        .borrow()
        .as_ref()
        .and_then(|answer| answer.as_ref().as_ref().ok())
        .is_some_and(|value| value.to_string().len() > ANSWER_MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;

    use super::*;

    fn key(pid: u64, id: &str) -> Key {
        Key {
            pid,
            id: id.into(),
            asked: [0; 32],
        }
    }

    #[tokio::test]
    async fn a_repeat_gets_the_first_answer_and_another_call_its_own() {
        let (repeats, calls) = (Repeats::default(), Arc::new(AtomicU32::new(0)));
        let ask = |key: Key| {
            let calls = calls.clone();
            repeats.once(key, async move {
                tokio::task::yield_now().await;
                Ok(json!(calls.fetch_add(1, Ordering::SeqCst)))
            })
        };
        let (a, b) = tokio::join!(ask(key(1, "1")), ask(key(1, "1")));
        assert_eq!((a.unwrap(), b.unwrap()), (json!(0), json!(0)));
        assert_eq!(ask(key(1, "1")).await.unwrap(), 0);
        assert_eq!(ask(key(2, "1")).await.unwrap(), 1);
        assert_eq!(ask(key(1, "\"1\"")).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn it_keeps_no_more_than_it_may() {
        let repeats = Repeats::default();
        for n in 0..MAX + 10 {
            let answered = repeats.once(key(1, &n.to_string()), async { Ok(Value::Null) });
            answered.await.unwrap();
        }
        assert_eq!(repeats.lock().len(), MAX);
        let big = repeats.once(key(9, "big"), async { Ok(json!("x".repeat(ANSWER_MAX))) });
        big.await.unwrap();
        repeats
            .once(key(9, "next"), async { Ok(Value::Null) })
            .await
            .unwrap();
        assert!(repeats.lock().iter().all(|c| c.key.id != "big"));
    }
}
