//! From a run's bus into the store: a view that queues, and a task that writes what is queued in one go.
//!
//! What was queued when a service died is made again from the run's journal, which was written before:
//! all but what agents print.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_engine::event::Event;
use ralph_runner::View;
use ralph_runner::journal::Line;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::live::Live;
use super::nodes::{Nodes, SEQ};
use crate::app::Shared;
use crate::runs::again;
use crate::store::{Store, StoreError, StoredEvent};

/// Events that may wait for the disk; beyond that, what an agent prints is left out and counted.
const WAITING: usize = 4096;

/// Events that are looked through at a time.
const PAGE: u64 = 256;

/// How far a run's events follow its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// There are none.
    Nothing,
    /// To the fact of this number.
    To(u64),
    /// Those that say it aren't kept any more.
    Unknown,
}

impl Told {
    /// The number of the fact that was told last.
    pub fn to(self) -> u64 {
        match self {
            Told::Nothing => 0,
            Told::To(seq) => seq,
            Told::Unknown => u64::MAX,
        }
    }
}

/// Asks the events that are kept.
///
/// # Errors
/// The store can't be read.
pub async fn told(store: &dyn Store, run: &str) -> Result<Told, StoreError> {
    let (first, last) = store.bounds(run).await?;
    if last == 0 {
        return Ok(Told::Nothing);
    }
    let mut to = last;
    while to >= first {
        let after = to.saturating_sub(PAGE).max(first - 1);
        let page = store.events(run, after, PAGE as usize, usize::MAX).await?;
        let seq = |e: &StoredEvent| serde_json::from_str::<Value>(&e.data).ok()?[SEQ].as_u64();
        if let Some(seq) = page.iter().rev().find_map(seq) {
            return Ok(Told::To(seq));
        }
        to = after;
    }
    Ok(match first {
        1 => Told::To(0),
        _ => Told::Unknown,
    })
}

/// Takes a run's events.
pub struct Recorder {
    inner: Mutex<Inner>,
    some: Notify,
}

struct Inner {
    nodes: Nodes,
    waiting: VecDeque<Value>,
    left_out: u64,
    closed: bool,
}

impl Recorder {
    /// Of a run.
    pub fn new(run: &str) -> Recorder {
        Recorder {
            inner: Mutex::new(Inner {
                nodes: Nodes::new(run),
                waiting: VecDeque::new(),
                left_out: 0,
                closed: false,
            }),
            some: Notify::new(),
        }
    }

    /// Tells something of its own.
    pub fn tell(&self, event: Value) {
        let mut inner = self.inner();
        let event = inner.nodes.finished(event);
        inner.put([event]);
        drop(inner);
        self.some.notify_one();
    }

    /// Follows what a former service has journaled, and tells what comes after the fact that was
    /// told last.
    pub fn past(&self, line: &Line, told: u64) {
        let mut inner = self.inner();
        let events = inner.nodes.past(line);
        if line.seq > told {
            inner.put(events);
            drop(inner);
            self.some.notify_one();
        }
    }

    /// Nothing more comes.
    pub fn close(&self) {
        self.inner().closed = true;
        self.some.notify_one();
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> (Vec<Value>, bool) {
        let mut inner = self.inner();
        (inner.waiting.drain(..).collect(), inner.closed)
    }

    /// Writes what comes, until it is closed. A disk that refuses is asked again.
    ///
    /// # Errors
    /// The store refuses, and the service ends: the next one tells them.
    pub async fn write(
        self: Arc<Self>,
        app: Shared,
        run: String,
        live: Arc<Live>,
    ) -> Result<(), StoreError> {
        let kept = u64::from(app.settings.serve.events_kept);
        loop {
            let (values, closed) = self.take();
            if values.is_empty() {
                if closed {
                    return Ok(());
                }
                self.some.notified().await;
                continue;
            }
            let last = live.last();
            let events: Vec<StoredEvent> = (last + 1..)
                .zip(values)
                .map(|(id, value)| StoredEvent {
                    id,
                    kind: value["type"].as_str().unwrap_or("event").to_owned(),
                    data: value.to_string(),
                })
                .collect();
            while let Err(e) = app.store.append(&run, &events, kept).await {
                tracing::error!("events of {run} can't be kept: {e}");
                if !again(&app).await {
                    return Err(e);
                }
            }
            app.metrics.events.fetch_add(events.len() as u64, Relaxed);
            live.push(events);
        }
    }
}

impl Inner {
    fn put(&mut self, events: impl IntoIterator<Item = Value>) {
        for event in events {
            if self.waiting.len() >= WAITING && event["type"] == "output" {
                self.left_out += 1;
                continue;
            }
            if self.left_out > 0 {
                let count = std::mem::take(&mut self.left_out);
                let told = json!({ "type": "left_out", "count": count });
                self.waiting.push_back(self.nodes.finished(told));
            }
            self.waiting.push_back(event);
        }
    }
}

impl View for Recorder {
    fn event(&self, event: &Event) {
        let mut inner = self.inner();
        let events = inner.nodes.of(event);
        if events.is_empty() {
            return;
        }
        inner.put(events);
        drop(inner);
        self.some.notify_one();
    }
}
