//! A run's events on their way to the clients that want them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ralph_engine::event::Event;
use ralph_engine::fact::{Fact, Phase};
use ralph_engine::text::{head, strip_escapes};
use ralph_engine::types::{AgentEvent, Role};
use ralph_runner::{Desk, View, clock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::message::notification;
use crate::server::Client;
use crate::standing::{GateNow, GateStatus, map, state};

/// Lines that a new client is shown.
const RECENT: usize = 200;
/// Of each at most this many bytes.
const LINE_MAX: usize = 4 * 1024;
/// Events that may be asked for again.
const RING: usize = 512;

/// The names that may be subscribed to.
pub const NAMES: [&str; 3] = ["*", "output", "state_change"];

/// A view of the run that passes on what clients subscribed to.
#[derive(Default)]
pub struct Feed {
    desk: OnceLock<Desk>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    clients: Vec<Weak<Client>>,
    recent: VecDeque<String>,
    ring: VecDeque<Item>,
    sequence: u64,
    shown: Map<String, Value>,
    /// The task of a run without workers.
    task: Arc<str>,
    gates: Vec<GateNow>,
}

/// An event, not yet made into text: most are never asked for.
struct Item {
    number: u64,
    name: &'static str,
    at: Arc<str>,
    data: Data,
}

enum Data {
    Line { task: Arc<str>, line: String },
    State(Map<String, Value>),
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

impl Item {
    fn line(&self) -> Arc<str> {
        let data = match &self.data {
            Data::Line { task, line } => json!({ "line": line, "task": &**task }),
            Data::State(changed) => json!(changed),
        };
        let params = json!({
            "type": self.name,
            "timestamp": &*self.at,
            "seq": self.number,
            "data": data,
        });
        notification("event", &params).into()
    }
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

    pub(crate) fn came(&self, client: &Arc<Client>) {
        let mut inner = self.lock();
        inner.clients.retain(|c| c.strong_count() > 0);
        inner.clients.push(Arc::downgrade(client));
    }

    /// The lines that are still there after that event.
    pub(crate) fn log(&self, since: u64) -> Log {
        let inner = self.lock();
        let lines = inner.ring.iter().filter(|i| i.number > since);
        let oldest = inner.ring.front().map_or(inner.sequence + 1, |i| i.number);
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
            event_seq: inner.sequence,
            gone: oldest.saturating_sub(since.saturating_add(1)),
        }
    }

    /// The gates of the iterations that are on, as far as they were started.
    pub(crate) fn gates(&self) -> Vec<GateNow> {
        self.lock().gates.clone()
    }

    /// The newest lines of the agent's, and the number of the last event.
    pub(crate) fn recent(&self) -> (Vec<String>, u64) {
        let inner = self.lock();
        (inner.recent.iter().cloned().collect(), inner.sequence)
    }

    /// Adds to what a client wants; with `since` it gets what is still there after that event.
    pub(crate) fn subscribe(&self, client: &Client, names: &[String], since: Option<u64>) {
        // Nothing can come in between what is sent again and what is new.
        let inner = self.lock();
        client.wants().extend(names.iter().cloned());
        let Some(since) = since else { return };
        for item in &inner.ring {
            if item.number > since && wanted(client, item.name) {
                client.outbox.event(&item.line());
            }
        }
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
            inner.send("state_change", at, Data::State(changed));
        }
    }

    /// What the desk doesn't know: which gates are at work, and how long they took.
    fn gate(&self, worker: Option<&str>, event: &Event) {
        let mut inner = self.lock();
        let task: Arc<str> = worker.map_or_else(|| inner.task.clone(), Arc::from);
        let (name, verdict) = match event {
            Event::GateStarted { name } => (name, None),
            Event::Fact(Fact::GateAnswered { result, millis, .. }) => {
                (&result.name, Some((&result.verdict, *millis)))
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
            status: verdict.map_or(GateStatus::Running, |(v, _)| v.status.into()),
            millis: verdict.map(|(_, millis)| millis),
            summary: verdict.map_or_else(String::new, |(v, _)| head(&v.summary, 400).to_owned()),
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
        let mut inner = self.lock();
        // Of a flood that nobody listens to only the end is ever shown.
        let from = match inner.clients().any(|c| wanted(&c, "output")) {
            true => 0,
            false => lines.len().saturating_sub(RING),
        };
        inner.sequence += from as u64;
        let task: Arc<str> = worker.map_or_else(|| inner.task.clone(), Arc::from);
        for line in &lines[from..] {
            let line = format!("{who}{mark}{}", head(line, LINE_MAX));
            if inner.recent.len() == RECENT {
                inner.recent.pop_front();
            }
            inner.recent.push_back(line.clone());
            inner.send(
                "output",
                at.clone(),
                Data::Line {
                    task: task.clone(),
                    line,
                },
            );
        }
    }
}

impl Inner {
    fn clients(&self) -> impl Iterator<Item = Arc<Client>> {
        self.clients.iter().filter_map(Weak::upgrade)
    }

    fn send(&mut self, name: &'static str, at: Arc<str>, data: Data) {
        self.sequence += 1;
        let item = Item {
            number: self.sequence,
            name,
            at,
            data,
        };
        let mut line = None;
        for client in self.clients().filter(|c| wanted(c, name)) {
            client.outbox.event(line.get_or_insert_with(|| item.line()));
        }
        if self.ring.len() == RING {
            self.ring.pop_front();
        }
        self.ring.push_back(item);
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

fn wanted(client: &Client, name: &str) -> bool {
    let wants = client.wants();
    wants.contains("*") || wants.contains(name)
}
