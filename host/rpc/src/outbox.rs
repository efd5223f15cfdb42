//! What waits to be written to one client. Answers before events; both bounded.
//!
//! A client that doesn't read loses its events, and is told how many once it
//! reads again. While a request is being carried out its client's events wait,
//! so that the answer is written before any event which the request caused.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Events of one client that wait, in number.
pub const EVENTS_MAX: usize = 1024;
/// The same in bytes.
pub const EVENT_BYTES_MAX: usize = 2 << 20;
/// Answers that wait, in bytes, before no further request of the client is read.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Makes the line that tells how many events are missing.
pub type Marker = fn(u64) -> String;

/// The queue of one client.
#[derive(Debug, Default)]
pub struct Outbox {
    inner: Mutex<Inner>,
    wake: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    answers: VecDeque<String>,
    answer_bytes: usize,
    events: VecDeque<Arc<str>>,
    event_bytes: usize,
    missed: u64,
    busy: bool,
    finishing: bool,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an event; never waits.
    pub fn event(&self, line: &Arc<str>) {
        let mut inner = self.lock();
        if inner.finishing {
            return;
        }
        // Once one is lost the rest are too, until the client was told: the gap is in one place.
        let full = inner.events.len() >= EVENTS_MAX
            || inner.event_bytes.saturating_add(line.len()) > EVENT_BYTES_MAX;
        if full || inner.missed > 0 {
            inner.missed += 1;
        } else {
            inner.event_bytes += line.len();
            inner.events.push_back(line.clone());
        }
        drop(inner);
        self.wake.notify_one();
    }

    /// Queues an answer; waits while the client leaves too many unread.
    pub async fn answer(&self, line: String) {
        loop {
            {
                let mut inner = self.lock();
                if inner.finishing {
                    return;
                }
                let fits = inner.answer_bytes.saturating_add(line.len()) <= ANSWER_BYTES_MAX;
                if fits || inner.answers.is_empty() {
                    inner.answer_bytes += line.len();
                    inner.answers.push_back(line);
                    break;
                }
            }
            self.room.notified().await;
        }
        self.wake.notify_one();
    }

    /// A request is being carried out, or no longer.
    pub fn busy(&self, busy: bool) {
        self.lock().busy = busy;
        if !busy {
            self.wake.notify_one();
        }
    }

    /// Nothing more is queued; what is there is still to be written.
    pub fn finish(&self) {
        let mut inner = self.lock();
        inner.finishing = true;
        inner.busy = false;
        drop(inner);
        self.wake.notify_one();
        self.room.notify_one();
    }

    /// The next line to write; `None` after the last one.
    pub async fn next(&self, marker: Marker) -> Option<Arc<str>> {
        loop {
            {
                let mut inner = self.lock();
                if let Some(line) = inner.answers.pop_front() {
                    inner.answer_bytes -= line.len();
                    drop(inner);
                    self.room.notify_one();
                    return Some(line.into());
                }
                if !inner.busy {
                    if let Some(line) = inner.events.pop_front() {
                        inner.event_bytes -= line.len();
                        return Some(line);
                    }
                    let missed = std::mem::take(&mut inner.missed);
                    if missed > 0 {
                        return Some(marker(missed).into());
                    }
                }
                if inner.finishing {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn marker(n: u64) -> String {
        format!("missed {n}")
    }

    async fn drain(outbox: &Outbox) -> Vec<String> {
        outbox.finish();
        let mut lines = Vec::new();
        while let Some(line) = outbox.next(marker).await {
            lines.push(line.to_string());
        }
        lines
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_loses_its_events_in_one_gap_and_is_told_how_many() {
        let outbox = Outbox::default();
        let line: Arc<str> = "event".into();
        for _ in 0..EVENTS_MAX + 500 {
            outbox.event(&line);
        }
        assert_eq!(outbox.next(marker).await.as_deref(), Some("event"));
        outbox.event(&line);
        let lines = drain(&outbox).await;
        assert_eq!(lines.len(), EVENTS_MAX);
        assert_eq!(lines.last().unwrap(), "missed 501");
    }

    #[tokio::test]
    async fn big_events_are_bounded_by_their_bytes() {
        let outbox = Outbox::default();
        let big: Arc<str> = "x".repeat(EVENT_BYTES_MAX / 4).into();
        for _ in 0..100 {
            outbox.event(&big);
        }
        assert_eq!(drain(&outbox).await.len(), 5);
    }

    #[tokio::test]
    async fn the_answer_comes_before_what_its_request_caused() {
        let outbox = Outbox::default();
        outbox.busy(true);
        outbox.event(&"caused".into());
        outbox.answer("answer".into()).await;
        outbox.busy(false);
        assert_eq!(drain(&outbox).await, ["answer", "caused"]);
    }
}
