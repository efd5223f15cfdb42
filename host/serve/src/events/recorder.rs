//! From a run's bus into the store: a view that queues, and a task that writes what is queued in one go.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_engine::event::Event;
use ralph_runner::View;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::live::Live;
use super::nodes::Nodes;
use crate::app::Shared;
use crate::store::{StoreError, StoredEvent};

/// Events that may wait for the disk; beyond that, what an agent prints is left out and counted.
const WAITING: usize = 4096;
/// What couldn't be written is tried again after this time.
const AGAIN: Duration = Duration::from_secs(2);

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
    /// Of a run that has begun so many iterations before.
    pub fn new(run: &str, iterations: u32) -> Recorder {
        Recorder {
            inner: Mutex::new(Inner {
                nodes: Nodes::new(run, iterations),
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

    /// Writes what comes, until it is closed. What the store refuses is tried again.
    ///
    /// # Errors
    /// The store refuses, and the service ends: events are missing then.
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
                let mut closing = app.closing.subscribe();
                let ends = tokio::time::timeout(AGAIN, closing.wait_for(|c| *c)).await;
                if ends.is_ok() {
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
                self.waiting
                    .push_back(json!({ "type": "left_out", "count": count }));
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
