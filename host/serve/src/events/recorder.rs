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
use super::nodes::Nodes;
use super::told::Told;
use crate::app::Shared;
use crate::runs::again;
use crate::store::{StoreError, StoredEvent};

/// Events that may wait for the disk; beyond that, what an agent prints is left out and counted.
const WAITING: usize = 4096;

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

    /// Before it follows anything: this a former service has told.
    pub fn know(&self, told: &Told) {
        self.inner().nodes.know(told);
    }

    /// Follows what a former service has journaled, and tells what it hasn't told.
    pub fn past(&self, line: &Line, told: &Told) {
        self.put(|nodes| nodes.past(line, told));
    }

    /// The same of what a worker of it has journaled.
    pub fn past_of_worker(&self, task: &str, line: &Line, told: &Told) {
        self.put(|nodes| nodes.past_of_worker(task, line.seq, &line.fact, &line.at, told));
    }

    fn put(&self, events: impl FnOnce(&mut Nodes) -> Vec<Value>) {
        let mut inner = self.inner();
        let events = events(&mut inner.nodes);
        if events.is_empty() {
            return;
        }
        inner.put(events);
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
        self.put(|nodes| nodes.of(event));
    }
}
