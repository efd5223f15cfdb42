//! A run's events on their way to the clients that want them.
//!
//! All share one [`Ring`] of the newest events; each client has a [`Place`] in it and fetches from there
//! when it has room. So a run does the same for each event however many watch it, and what is kept
//! for all of them is bounded. The run never waits for who fetches. Who comes too late for an event is told how many it missed.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::Duration;

use ralph_engine::event::Event;
use ralph_engine::fact::{Fact, Phase};
use ralph_engine::text::{head, strip_escapes};
use ralph_engine::types::{AgentEvent, Role};
use ralph_runner::{Desk, View, clock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::message::notification;
use crate::outbox::{LEAST, Until};
use crate::ring::{Data, Kind, Ring};
use crate::server::Client;
use crate::standing::{GateNow, GateStatus, map, state};
use crate::store::{New, Store};

pub(crate) use crate::ring::Place;

/// Of each at most this many bytes.
const LINE_MAX: usize = 4 * 1024;
/// So long clients aren't woken again: under a flood each then writes many lines at once.
const ROUND: Duration = Duration::from_millis(1);

/// So many lines are written at the end, to all clients together.
const LAST_LINES: usize = 20_000;
/// So many of the newest events are looked through for lines that are asked for.
const LOG: usize = 1024;

/// The names that may be subscribed to.
pub const NAMES: [&str; 3] = ["*", "output", "state_change"];

/// A view of the run that passes on what clients subscribed to.
#[derive(Default)]
pub struct Feed {
    desk: OnceLock<Desk>,
    inner: Mutex<Inner>,
    /// What came and isn't in the store yet.
    new: Mutex<Vec<New>>,
    store: Mutex<Store>,
    clients: Mutex<Clients>,
    /// Something new is in the ring.
    news: Notify,
}

#[derive(Default)]
struct Inner {
    shown: Map<String, Value>,
    /// The task of a run without workers.
    task: Arc<str>,
    gates: Vec<GateNow>,
}

/// Who is to be woken.
#[derive(Default)]
struct Clients {
    all: Vec<Weak<Client>>,
    /// A task wakes them.
    woken: bool,
}

/// One line of an agent's, kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogLine {
    /// The number of its event.
    seq: u64,
    /// When, RFC 3339.
    timestamp: String,
    /// The task that the agent is at; empty if there is none.
    task: String,
    line: String,
}

/// What is still there of what agents said.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Log {
    lines: Vec<LogLine>,
    /// The number of the newest event: what to ask with the next time.
    event_seq: u64,
    /// Events after `since` that aren't kept any more, lines and others.
    gone: u64,
}

impl Feed {
    /// From now on the run's state can be told.
    pub fn attach(&self, desk: Desk) {
        self.lock().shown = map(&state(&desk.now(), Vec::new()));
        let _ = self.desk.set(desk);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arriving(&self) -> MutexGuard<'_, Vec<New>> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With all in it that came.
    fn store(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let new = std::mem::take(&mut *self.arriving());
        store.take(new);
        store
    }

    /// Puts events into the store, or leaves that to whoever holds it: the clients' thread may be kept
    /// from its work just then, by others with more priority, and isn't waited for.
    fn put(&self, events: impl IntoIterator<Item = New>) {
        let waiting = {
            let mut new = self.arriving();
            new.extend(events);
            new.len()
        };
        match self.store.try_lock() {
            Ok(mut store) => {
                let new = std::mem::take(&mut *self.arriving());
                store.take(new);
            }
            Err(TryLockError::WouldBlock) if waiting <= Ring::MOST => {}
            Err(_) => drop(self.store()),
        }
        self.news.notify_one();
    }

    pub(crate) fn came(self: &Arc<Feed>, client: &Arc<Client>) {
        let mut clients = self.clients();
        clients.all.push(Arc::downgrade(client));
        if !clients.woken {
            clients.woken = true;
            tokio::spawn(self.clone().wake());
        }
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the clients when there is something new, for as long as there are any. Not the run's
    /// own thread does that: it only says that there is something.
    async fn wake(self: Arc<Feed>) {
        loop {
            self.news.notified().await;
            {
                let mut clients = self.clients();
                clients.all.retain(|c| match c.upgrade() {
                    Some(client) => {
                        client.outbox.wake();
                        true
                    }
                    None => false,
                });
                if clients.all.is_empty() {
                    clients.woken = false;
                    return;
                }
            }
            tokio::time::sleep(ROUND).await;
        }
    }

    /// Adds the events that a client wants and hasn't had to what is written to it next.
    pub(crate) fn fetch(&self, client: &Client, piece: &mut Vec<u8>, until: Until) {
        let wants = wanted(client);
        let last = match until {
            Until::Open => None,
            // At the end all of them have half a second together.
            Until::Last => Some(LAST_LINES / self.clients().all.len().max(1)),
            Until::Cut => Some(LEAST),
        };
        let mut place = client.place();
        let (items, missed) = self.store().ring.fetch(&mut place, wants, last);
        drop(place);
        let mut add = |line: &str| {
            piece.extend_from_slice(line.as_bytes());
            piece.push(b'\n');
        };
        if missed > 0 {
            add(&marker(missed));
        }
        // Made into text outside of the lock, and once for all clients.
        items.iter().for_each(|item| add(item.text()));
    }

    /// The lines that are still there after that event.
    pub(crate) fn log(&self, since: u64) -> Log {
        let store = self.store();
        let gone = store
            .ring
            .gone()
            .max(store.ring.newest().saturating_sub(LOG as u64));
        let lines = store.ring.items().filter(|i| i.number > since.max(gone));
        Log {
            lines: lines
                .filter_map(|item| match &item.data {
                    Data::Line { task, line } => Some(LogLine {
                        seq: item.number,
                        timestamp: item.at.to_string(),
                        task: task.to_string(),
                        line: line.clone(),
                    }),
                    Data::State(_) => None,
                })
                .collect(),
            event_seq: store.ring.newest(),
            gone: gone.saturating_sub(since),
        }
    }

    /// The gates of the iterations that are on, as far as they were started.
    pub(crate) fn gates(&self) -> Vec<GateNow> {
        self.lock().gates.clone()
    }

    /// The newest lines of the agent's, and the number of the last event.
    pub(crate) fn recent(&self) -> (Vec<String>, u64) {
        let store = self.store();
        let lines = store.recent().filter_map(|item| match &item.data {
            Data::Line { line, .. } => Some(line.clone()),
            Data::State(_) => None,
        });
        (lines.collect(), store.ring.newest())
    }

    /// Adds to what a client wants; with `since` it gets what is still there after that event.
    pub(crate) fn subscribe(&self, client: &Client, names: &[String], since: Option<u64>) {
        let before = wanted(client);
        client.wants().extend(names.iter().cloned());
        let wants = wanted(client);
        let mut place = client.place();
        // Nothing can come in between what is sent again and what is new.
        let store = self.store();
        match since {
            Some(since) => store.ring.go_back(&mut place, since),
            None => store.ring.begin(&mut place, before, wants),
        }
        drop(store);
        client.outbox.wake();
    }

    fn state_change(&self) {
        let Some(desk) = self.desk.get() else { return };
        let mut inner = self.lock();
        // Asked under the feed's own lock: what is told last is also what was last.
        let now = map(&state(&desk.now(), inner.gates.clone()));
        let changed: Map<String, Value> = now
            .iter()
            .filter(|(key, value)| inner.shown.get(*key) != Some(*value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !changed.is_empty() {
            inner.shown = now;
            let at = clock::now().into();
            self.put([New::Event(at, Data::State(changed))]);
        }
    }

    /// What the desk doesn't know: which gates are at work, and how long they took.
    fn gate(&self, worker: Option<&str>, event: &Event) {
        let mut inner = self.lock();
        let task: Arc<str> = worker.map_or_else(|| inner.task.clone(), Arc::from);
        let (name, answer) = match event {
            Event::GateStarted { name } => (name, None),
            Event::Fact(Fact::GateAnswered { result, millis, .. }) => {
                (&result.name, Some((result, *millis)))
            }
            Event::Fact(Fact::Started {
                phase: Phase::Prepare | Phase::Agent,
            }) => return inner.gates.retain(|g| *g.task != *task),
            Event::Fact(Fact::Selected { task, .. }) if worker.is_none() => {
                inner.task = task.id.as_str().into();
                return;
            }
            _ => return,
        };
        let now = GateNow {
            name: name.clone(),
            task: task.to_string(),
            status: answer.map_or(GateStatus::Running, |(r, _)| r.verdict.status.into()),
            severity: answer.map(|(r, _)| r.severity),
            millis: answer.map(|(_, millis)| millis),
            summary: answer.map_or_else(String::new, |(r, _)| {
                head(&r.verdict.summary, 400).to_owned()
            }),
        };
        let known = inner.gates.iter_mut();
        match known
            .into_iter()
            .find(|g| g.name == now.name && g.task == now.task)
        {
            Some(known) => *known = now,
            None => inner.gates.push(now),
        }
    }

    fn output(&self, worker: Option<&str>, role: Role, what: &AgentEvent) {
        let who = match role {
            Role::Work => "",
            Role::Judge => "judge: ",
            Role::Review => "review: ",
        };
        let (mark, text) = match what {
            AgentEvent::Text(text) => ("", text),
            AgentEvent::Thinking(text) => ("~ ", text),
            AgentEvent::ToolUse(text) => ("> ", text),
            AgentEvent::Notice(text) => ("! ", text),
            AgentEvent::ToolResult(_) | AgentEvent::Usage(_) => return,
        };
        let clean = strip_escapes(text);
        let lines: Vec<&str> = clean.lines().collect();
        let at: Arc<str> = clock::now().into();
        let task: Arc<str> = worker.map_or_else(|| self.lock().task.clone(), Arc::from);
        // Of a flood at once only the end can be kept.
        let from = lines.len().saturating_sub(Ring::MOST);
        let skipped = (from > 0).then_some(New::Skipped(from as u64));
        let kept = lines[from..].iter().map(|line| {
            let line = format!("{who}{mark}{}", head(line, LINE_MAX));
            let task = task.clone();
            New::Event(at.clone(), Data::Line { task, line })
        });
        let events: Vec<New> = skipped.into_iter().chain(kept).collect();
        self.put(events);
    }
}

impl View for Feed {
    fn event(&self, event: &Event) {
        let (worker, event) = match event {
            Event::Worker { task, what } => (Some(task.as_str()), &**what),
            event => (None, event),
        };
        match event {
            Event::Agent { role, what } => self.output(worker, *role, what),
            Event::Fact(_) | Event::GateStarted { .. } => {
                self.gate(worker, event);
                self.state_change();
            }
            Event::Worker { .. } | Event::Notice { .. } => {}
        }
    }
}

/// Tells a client that events of its are missing.
pub(crate) fn marker(missed: u64) -> String {
    let params = json!({
        "type": "missed",
        "timestamp": clock::now(),
        "data": { "count": missed },
    });
    notification("event", &params)
}

/// Which kinds of events it subscribed to.
fn wanted(client: &Client) -> [bool; Kind::ALL.len()] {
    let wants = client.wants();
    let all = wants.contains("*");
    Kind::ALL.map(|kind| all || wants.contains(kind.name()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn said(feed: &Feed, text: &str) {
        feed.event(&Event::Agent {
            role: Role::Work,
            what: AgentEvent::Text(text.into()),
        });
    }

    /// The clients' thread may be kept from working while it holds the store.
    #[test]
    fn a_run_does_not_wait_for_who_fetches_and_nothing_is_lost_by_that() {
        let feed = Feed::default();
        let held = feed.store.lock().unwrap();
        for n in 0..100 {
            said(&feed, &format!("line {n}"));
        }
        drop(held);
        let (lines, newest) = feed.recent();
        assert_eq!((lines.len(), newest), (100, 100));
        said(&feed, &"x\n".repeat(3 * Ring::MOST));
        assert_eq!(feed.log(0).gone, 100 + 3 * Ring::MOST as u64 - LOG as u64);
        assert_eq!(feed.log(0).lines.len(), LOG);
    }
}
