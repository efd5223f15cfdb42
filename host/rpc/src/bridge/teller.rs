//! A run's facts, told as the bridge's events: the view of the run. What has to keep its order, or
//! takes a look at the disk, is queued for [`super::telling`].

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ralph_engine::event::Event;
use ralph_engine::fact::EndReason;
use ralph_engine::text::{head, strip_escapes};
use ralph_engine::types::{AgentEvent, GateResult, Role};
use ralph_engine::{Fact, fact::Past};
use ralph_runner::{Desk, View, clock};
use ralph_workspace::{Git, Workspace};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::calls::Step;
use super::telling::{Last, Telling, Told};
use crate::message::notification;
use crate::server::Client;

/// Of a line this many bytes are told.
const LINE_MAX: usize = 4 * 1024;
/// Of a gate's findings this many.
const FINDINGS_MAX: usize = 200;

/// Sends an event.
pub(super) fn tell(client: &Client, name: &str, mut data: Value) {
    let mut params = Map::new();
    params.insert("type".to_owned(), json!(name));
    params.insert("ts".to_owned(), json!(clock::now()));
    if let Value::Object(data) = &mut data {
        params.append(data);
    }
    let line = notification("event", &Value::Object(params));
    client.outbox.event(&line.into());
}

/// The line that tells of lost events.
pub(super) fn missed(count: u64) -> String {
    let params = json!({ "type": "missed", "ts": clock::now(), "count": count });
    notification("event", &params)
}

/// What `step` answers if there was no iteration.
pub(super) fn no_iteration(agent: &str, end: &EndReason) -> Step {
    Step {
        agent: agent.to_owned(),
        exit_signal: *end == EndReason::Complete,
        return_code: end.exit_code().into(),
        repo_clean: true,
        blocked: matches!(end, EndReason::Blocked { .. }),
        end: Some(end.word()),
        ..Step::default()
    }
}

/// The view of a run that queues what is to be told.
pub(super) struct Teller {
    client: Arc<Client>,
    desk: OnceLock<Desk>,
    queue: Mutex<Option<mpsc::UnboundedSender<Told>>>,
}

pub(super) fn new(
    client: Arc<Client>,
    ws: Workspace,
    git: Git,
    last: Last,
) -> (Arc<Teller>, Telling) {
    let (send, queue) = mpsc::unbounded_channel();
    let teller = Teller {
        client: client.clone(),
        desk: OnceLock::new(),
        queue: Mutex::new(Some(send)),
    };
    let telling = Telling::new(client, queue, ws, git, last);
    (Arc::new(teller), telling)
}

impl Teller {
    /// From now on the run's state can be told.
    pub(super) fn attach(&self, desk: Desk) {
        let _ = self.desk.set(desk);
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    fn put(&self, told: Told) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = &*queue {
            let _ = queue.send(told);
        }
    }

    fn run(&self) -> Option<String> {
        self.desk.get().map(|desk| desk.now().run)
    }

    fn wanted(&self, name: &str) -> bool {
        self.client.wants().contains(name)
    }

    fn fact(&self, fact: &Fact) {
        let now = || self.desk.get().map(Desk::now);
        match fact {
            Fact::Selected { task, .. } => self.put(Told::Selected {
                id: task.id.clone(),
                title: task.title.clone(),
            }),
            Fact::Started { .. } | Fact::Prepared { .. } => {
                if let Some(now) = now() {
                    self.put(Told::Phase {
                        iteration: now.iteration,
                        agent: now.agent,
                        task: now.task,
                        attempt: now.attempt,
                    });
                }
            }
            Fact::IterationEnded { progress, .. } => self.put(Told::Ended {
                progress: *progress,
            }),
            Fact::Claimed { task, agent, .. } => {
                if let Some(now) = now() {
                    self.put(Told::Claimed {
                        iteration: now.iteration + now.at_work,
                        task: task.clone(),
                        agent: agent.clone(),
                    });
                }
            }
            Fact::Absorbed { task, facts, .. } => self.put(Told::Absorbed {
                task: task.clone(),
                attempt: attempt(facts),
                progress: progress(facts),
            }),
            Fact::Released { task } => self.put(Told::Released { task: task.clone() }),
            Fact::PauseAsked { .. } => self.put(Told::Paused(true)),
            Fact::ResumeAsked => self.put(Told::Paused(false)),
            Fact::GateAnswered { result, millis, .. } => self.gate(result, *millis, None),
            _ => {}
        }
    }

    fn gate(&self, result: &GateResult, millis: u64, task: Option<&str>) {
        if !self.wanted("gate_finished") {
            return;
        }
        let findings = &result.verdict.findings;
        let data = json!({
            "runId": self.run(), "task_id": task, "name": result.name,
            "status": result.verdict.status, "severity": result.severity, "summary": result.verdict.summary,
            "findings": &findings[..findings.len().min(FINDINGS_MAX)],
            "omittedFindings": findings.len().saturating_sub(FINDINGS_MAX),
            "durationSeconds": millis as f64 / 1e3,
        });
        tell(&self.client, "gate_finished", data);
    }

    fn agent(&self, role: Role, what: &AgentEvent, task: Option<&str>) {
        let line = match what {
            AgentEvent::Text(text) | AgentEvent::Notice(text) => Some(text),
            AgentEvent::ToolUse(text) => Some(text),
            AgentEvent::Thinking(_) | AgentEvent::ToolResult(_) | AgentEvent::Usage(_) => None,
        };
        if let Some(text) = line.filter(|_| self.wanted("output")) {
            let clean = strip_escapes(text);
            let run = self.run();
            for line in clean.lines() {
                let line = head(line, LINE_MAX);
                let data = json!({ "runId": run, "role": role, "task_id": task, "line": line });
                tell(&self.client, "output", data);
            }
        }
        if self.wanted("agent_event") {
            let (kind, data) = match what {
                AgentEvent::Text(t) => ("text", json!(shown(t))),
                AgentEvent::Thinking(t) => ("thinking", json!(shown(t))),
                AgentEvent::ToolUse(t) => ("tool_use", json!(shown(t))),
                AgentEvent::ToolResult(t) => ("tool_result", json!(shown(t))),
                AgentEvent::Notice(t) => ("notice", json!(shown(t))),
                AgentEvent::Usage(usage) => ("usage", json!(usage)),
            };
            let data = json!({
                "runId": self.run(), "role": role, "task_id": task, "kind": kind, "data": data,
            });
            tell(&self.client, "agent_event", data);
        }
    }
}

fn shown(text: &str) -> String {
    head(&strip_escapes(text), 16 * LINE_MAX).to_owned()
}

fn attempt(facts: &[Past]) -> Option<String> {
    facts.iter().rev().find_map(|past| match &past.fact {
        Fact::Prepared { attempt_id, .. } => Some(attempt_id.clone()),
        _ => None,
    })
}

fn progress(facts: &[Past]) -> bool {
    facts
        .iter()
        .any(|past| matches!(past.fact, Fact::IterationEnded { progress: true, .. }))
}

impl View for Teller {
    fn event(&self, event: &Event) {
        match event {
            Event::Fact(fact) => self.fact(fact),
            Event::Agent { role, what } => self.agent(*role, what, None),
            Event::Worker { task, what } => match &**what {
                Event::Agent { role, what } => self.agent(*role, what, Some(task)),
                Event::Fact(Fact::GateAnswered { result, millis, .. }) => {
                    self.gate(result, *millis, Some(task));
                }
                _ => {}
            },
            Event::GateStarted { .. } | Event::Notice { .. } => {}
        }
    }
}
