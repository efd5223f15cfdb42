//! A run's events on their way to the clients that want them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ralph_engine::event::Event;
use ralph_engine::fact::EndReason;
use ralph_engine::text::{head, strip_escapes};
use ralph_engine::types::{AgentEvent, Role};
use ralph_runner::steer::Now;
use ralph_runner::{Desk, View, clock};
use serde_json::{Map, Value, json};

use crate::message::notification;
use crate::server::Client;

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
}

/// An event, not yet made into text: most are never asked for.
struct Item {
    number: u64,
    name: &'static str,
    at: Arc<str>,
    data: Data,
}

enum Data {
    Line(String),
    State(Map<String, Value>),
}

impl Item {
    fn line(&self) -> Arc<str> {
        let data = match &self.data {
            Data::Line(line) => json!({ "line": line }),
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
        self.lock().shown = state(&desk.now());
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
        let now = state(&desk.now());
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

    fn output(&self, role: Role, what: &AgentEvent) {
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
        for line in &lines[from..] {
            let line = format!("{who}{mark}{}", head(line, LINE_MAX));
            if inner.recent.len() == RECENT {
                inner.recent.pop_front();
            }
            inner.recent.push_back(line.clone());
            inner.send("output", at.clone(), Data::Line(line));
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
        match event {
            Event::Agent { role, what } => self.output(*role, what),
            Event::Fact(_) => self.state_change(),
            // A worker's agent is heard; how the run stands is told by the run's own facts.
            Event::Worker { what, .. } => {
                if let Event::Agent { role, what } = &**what {
                    self.output(*role, what);
                }
            }
            Event::GateStarted { .. } | Event::Notice { .. } => {}
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

/// The word for how a run stands.
pub fn status_word(now: &Now) -> &'static str {
    match &now.end {
        Some(EndReason::Complete) => "completed",
        Some(EndReason::Error { .. } | EndReason::Unauthenticated { .. }) => "failed",
        Some(_) => "stopped",
        None if now.rests() && now.pause.is_some_and(|p| p.checkpoint) => "checkpointed",
        None if now.rests() => "paused",
        None => "running",
    }
}

/// What a `state_change` tells of, by field.
pub(crate) fn state(now: &Now) -> Map<String, Value> {
    // The document counts iterations within the run.
    let iteration = now.iterations + u32::from(now.phase.is_some());
    let (id, title) = now.task.clone().unwrap_or_default();
    let value = json!({
        "iteration": iteration,
        "max_iterations": now.max_iterations,
        "current_story": id,
        "current_title": title,
        "agent": now.agent,
        "status": status_word(now),
        "phase": now.phase,
        "run_id": now.run,
        "project_iteration": now.iteration,
        "done": now.tasks.0,
        "total": now.tasks.1,
        "pause_requested": now.pause.is_some(),
        "stop_requested": now.stop.is_some(),
        "pending_prompts": now.injected,
        "end_reason": now.end.as_ref().map(EndReason::word),
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
