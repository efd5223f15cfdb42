//! What waits to be written to one client. Answers before events; both bounded.
//!
//! A client that doesn't read loses its events, and is told how many once it
//! reads again. While a request is being carried out its client's events wait,
//! so that the answer is written before any event which the request caused.
//! Where many clients are told the same, events aren't queued here: they are
//! fetched from what all share, when there is room to write them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Events of one client that wait, in number.
pub const EVENTS_MAX: usize = 1024;
/// The same in bytes.
pub const EVENT_BYTES_MAX: usize = 2 << 20;
/// Answers that wait, in bytes, before no further request of the client is read.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// So many bytes are written at once, if there are as many.
const PIECE: usize = 16 * 1024;

/// Makes the line that tells how many events are missing.
pub type Marker = fn(u64) -> String;

/// Adds lines, each with its LF, to what is written next.
pub type Fetch<'a> = &'a (dyn Fn(&mut Vec<u8>, Until) + Sync);

/// At the very end so many of the newest events are written still: how it ended is among them.
pub const LEAST: usize = 8;

/// How long there is something to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Until {
    /// There is no end yet.
    #[default]
    Open,
    /// What comes later isn't wanted.
    Last,
    /// There is no time for all that waits: only for how much of it is left out, and [`LEAST`].
    Cut,
}

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
    /// The same, before those that wait.
    left_out: u64,
    busy: bool,
    until: Until,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an event; never waits.
    pub fn event(&self, line: &Arc<str>) {
        let mut inner = self.lock();
        if inner.until > Until::Open {
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
                if inner.until > Until::Open {
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
        self.end(Until::Last);
    }

    /// The same, and there is no time for all of that: the client is told how many events it loses.
    pub fn cut(&self) {
        self.end(Until::Cut);
    }

    /// Was it cut?
    pub fn is_cut(&self) -> bool {
        self.lock().until == Until::Cut
    }

    fn end(&self, until: Until) {
        let mut inner = self.lock();
        inner.until = inner.until.max(until);
        inner.busy = false;
        if until == Until::Cut {
            inner.cut();
        }
        drop(inner);
        self.wake.notify_one();
        self.room.notify_one();
    }

    /// There may be something to fetch.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// The next lines to write; `None` after the last ones.
    pub async fn next(&self, marker: Marker, fetch: Fetch<'_>) -> Option<Vec<u8>> {
        loop {
            {
                let mut inner = self.lock();
                let mut piece = Vec::new();
                while piece.len() < PIECE
                    && let Some(line) = inner.next(marker)
                {
                    piece.extend_from_slice(line.as_bytes());
                    piece.push(b'\n');
                }
                if !inner.busy && piece.len() < PIECE {
                    fetch(&mut piece, inner.until);
                }
                if !piece.is_empty() {
                    drop(inner);
                    self.room.notify_one();
                    return Some(piece);
                }
                if inner.until > Until::Open {
                    return None;
                }
            }
            self.wake.notified().await;
        }
    }
}

impl Inner {
    fn cut(&mut self) {
        let most = self.events.len().saturating_sub(LEAST);
        self.left_out += most as u64;
        for line in self.events.drain(..most) {
            self.event_bytes -= line.len();
        }
    }

    fn next(&mut self, marker: Marker) -> Option<Arc<str>> {
        if let Some(line) = self.answers.pop_front() {
            self.answer_bytes -= line.len();
            return Some(line.into());
        }
        if self.busy {
            return None;
        }
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            return Some(marker(left_out).into());
        }
        if let Some(line) = self.events.pop_front() {
            self.event_bytes -= line.len();
            return Some(line);
        }
        let missed = std::mem::take(&mut self.missed);
        (missed > 0).then(|| marker(missed).into())
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
        let mut text = String::new();
        while let Some(piece) = outbox.next(marker, &|_, _| {}).await {
            text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        text.lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_loses_its_events_in_one_gap_and_is_told_how_many() {
        let outbox = Outbox::default();
        let line: Arc<str> = "event".into();
        for _ in 0..EVENTS_MAX + 500 {
            outbox.event(&line);
        }
        let first = outbox.next(marker, &|_, _| {}).await.unwrap();
        assert!(first.ends_with(b"event\nmissed 500\n"));
        outbox.event(&line);
        assert_eq!(drain(&outbox).await, ["event"]);
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
    async fn what_is_fetched_waits_for_the_answer_too_and_the_end_is_known_to_it() {
        let outbox = Outbox::default();
        let fetched = std::sync::atomic::AtomicU32::new(0);
        let fetch = |piece: &mut Vec<u8>, until| {
            if fetched.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
                let last = until == Until::Last;
                piece.extend_from_slice(if last { b"last\n" } else { b"more\n" });
            }
        };
        outbox.busy(true);
        outbox.answer("answer".into()).await;
        assert_eq!(outbox.next(marker, &fetch).await.unwrap(), b"answer\n");
        outbox.finish();
        assert_eq!(outbox.next(marker, &fetch).await.unwrap(), b"last\n");
        assert_eq!(outbox.next(marker, &fetch).await, None);
    }

    #[tokio::test]
    async fn who_is_cut_off_is_told_what_is_left_out_where_it_is_left_out() {
        let outbox = Outbox::default();
        for n in 0..EVENTS_MAX + 5 {
            outbox.event(&format!("event {n}").into());
        }
        outbox.finish();
        outbox.cut();
        let said = drain(&outbox).await;
        assert_eq!(said[0], format!("missed {}", EVENTS_MAX - LEAST));
        assert_eq!(said[1], format!("event {}", EVENTS_MAX - LEAST));
        assert_eq!(
            (said.len(), said[LEAST + 1].as_str()),
            (LEAST + 2, "missed 5")
        );
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
