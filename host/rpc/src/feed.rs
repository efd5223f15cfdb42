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
    ring: VecDeque<(u64, &'static str, Arc<str>)>,
    sequence: u64,
    shown: Map<String, Value>,
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
        for (number, name, line) in &inner.ring {
            if *number > since && wanted(client, name) {
                client.outbox.event(line);
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
            inner.send("state_change", Value::Object(changed));
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
        let mut inner = self.lock();
        for line in clean.lines() {
            let line = head(&format!("{who}{mark}{line}"), LINE_MAX);
            if inner.recent.len() == RECENT {
                inner.recent.pop_front();
            }
            inner.recent.push_back(line.clone());
            inner.send("output", json!({ "line": line }));
        }
    }
}

impl Inner {
    fn send(&mut self, name: &'static str, data: Value) {
        self.sequence += 1;
        let params = json!({
            "type": name,
            "timestamp": clock::now(),
            "seq": self.sequence,
            "data": data,
        });
        let line: Arc<str> = notification("event", &params).into();
        for client in self.clients.iter().filter_map(Weak::upgrade) {
            if wanted(&client, name) {
                client.outbox.event(&line);
            }
        }
        if self.ring.len() == RING {
            self.ring.pop_front();
        }
        self.ring.push_back((self.sequence, name, line));
    }
}

impl View for Feed {
    fn event(&self, event: &Event) {
        match event {
            Event::Agent { role, what } => self.output(*role, what),
            Event::Fact(_) => self.state_change(),
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
