//! A run's facts, told as the bridge's events.
//!
//! Facts come on the loop's threads and are queued; records and git are looked at here, beside
//! the loop, and what is told keeps the facts' order.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use ralph_engine::event::Event;
use ralph_engine::fact::EndReason;
use ralph_engine::text::{head, strip_escapes};
use ralph_engine::types::{AgentEvent, GateResult, Role};
use ralph_engine::{Fact, fact::Past};
use ralph_runner::names::Places;
use ralph_runner::{Desk, View, clock};
use ralph_workspace::{Git, Workspace};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::message::notification;
use crate::server::Client;

/// Of a line this many bytes are told.
const LINE_MAX: usize = 4 * 1024;
/// Of a gate's findings this many.
const FINDINGS_MAX: usize = 200;
/// An attempt's record is read to this size.
const RECORD_MAX: u64 = 4 << 20;

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
pub(super) fn no_iteration(agent: &str, end: &EndReason) -> Value {
    json!({
        "iteration": 0, "agent": agent, "task_id": null, "story_id": null, "task_title": null,
        "exit_signal": *end == EndReason::Complete, "return_code": end.exit_code(), "log_path": "",
        "progress_made": false, "no_progress_streak": 0, "gates_ok": null, "repo_clean": true,
        "judge_ok": null, "review_ok": null, "blocked": matches!(end, EndReason::Blocked { .. }),
        "attempt_id": null, "receipts_dir": null, "context_dir": null, "end": end.word(),
    })
}

/// The newest iteration that was told.
pub(super) type Last = Arc<Mutex<Option<Value>>>;

enum Told {
    /// An iteration of the run's own begins a phase.
    Phase {
        iteration: u32,
        agent: String,
        task: Option<(String, String)>,
        attempt: Option<String>,
    },
    Selected {
        id: String,
        title: String,
    },
    /// A worker took it up.
    Claimed {
        iteration: u32,
        task: String,
        agent: String,
    },
    /// The run's own iteration.
    Ended {
        progress: bool,
    },
    Absorbed {
        task: String,
        attempt: Option<String>,
        progress: bool,
    },
    Released {
        task: String,
    },
    Paused(bool),
}

/// The view of a run that queues what is to be told.
pub(super) struct Teller {
    client: Arc<Client>,
    desk: OnceLock<Desk>,
    queue: Mutex<Option<mpsc::UnboundedSender<Told>>>,
}

/// The other end of the queue.
pub(super) struct Telling {
    client: Arc<Client>,
    queue: mpsc::UnboundedReceiver<Told>,
    ws: Workspace,
    git: Git,
    last: Last,
    open: Vec<Open>,
    selected: (String, String),
    run: String,
    step: Option<Value>,
}

/// An iteration that was told to have started.
struct Open {
    /// A worker's.
    claimed: bool,
    iteration: u32,
    agent: String,
    task: String,
    title: String,
    attempt: Option<String>,
    begun: Instant,
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
    let telling = Telling {
        client,
        queue,
        ws,
        git,
        last,
        open: Vec::new(),
        selected: Default::default(),
        run: String::new(),
        step: None,
    };
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
            "status": result.verdict.status, "summary": result.verdict.summary,
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

impl Telling {
    /// Tells what comes until nothing more does; the last iteration, as `step` answers it.
    pub(super) async fn go(mut self, desk: Desk) -> Option<Value> {
        let now = desk.now();
        self.run = now.run;
        if now.phase.is_some() {
            // A run that was cut off goes on in the midst of it.
            self.phase(now.iteration, now.agent, now.task, now.attempt);
        }
        while let Some(told) = self.queue.recv().await {
            match told {
                Told::Selected { id, title } => self.selected = (id, title),
                Told::Phase {
                    iteration,
                    agent,
                    task,
                    attempt,
                } => self.phase(iteration, agent, task, attempt),
                Told::Claimed {
                    iteration,
                    task,
                    agent,
                } => {
                    let (id, title) = &self.selected;
                    let title = if *id == task {
                        title.clone()
                    } else {
                        String::new()
                    };
                    self.started(Open {
                        claimed: true,
                        iteration,
                        agent,
                        task,
                        title,
                        attempt: None,
                        begun: Instant::now(),
                    });
                }
                Told::Ended { progress } => {
                    let streak = desk.now().no_progress;
                    if let Some(open) = self.take(|o| !o.claimed) {
                        self.finished(open, Some((progress, streak))).await;
                    }
                }
                Told::Absorbed {
                    task,
                    attempt,
                    progress,
                } => {
                    let streak = desk.now().no_progress;
                    if let Some(open) = self.take(|o| o.claimed && o.task == task) {
                        let open = Open { attempt, ..open };
                        self.finished(open, Some((progress, streak))).await;
                    }
                }
                Told::Released { task } => {
                    if let Some(open) = self.take(|o| o.claimed && o.task == task) {
                        self.finished(open, None).await;
                    }
                }
                Told::Paused(paused) => {
                    let name = if paused { "run_paused" } else { "run_resumed" };
                    tell(&self.client, name, json!({ "runId": self.run }));
                }
            }
        }
        while let Some(open) = self.take(|_| true) {
            self.finished(open, None).await;
        }
        self.step
    }

    fn take(&mut self, which: impl Fn(&Open) -> bool) -> Option<Open> {
        let at = self.open.iter().position(which)?;
        Some(self.open.remove(at))
    }

    fn phase(
        &mut self,
        iteration: u32,
        agent: String,
        task: Option<(String, String)>,
        attempt: Option<String>,
    ) {
        if let Some(open) = self.open.iter_mut().find(|o| !o.claimed) {
            open.attempt = attempt;
            open.agent = agent;
            return;
        }
        let (task, title) = task.unwrap_or_default();
        self.started(Open {
            claimed: false,
            iteration,
            agent,
            task,
            title,
            attempt,
            begun: Instant::now(),
        });
    }

    fn started(&mut self, open: Open) {
        let data = json!({
            "runId": self.run, "iteration": open.iteration, "agent": open.agent,
            "task_id": open.task, "storyId": open.task, "title": open.title,
        });
        tell(&self.client, "iteration_started", data);
        self.open.push(open);
    }

    /// With what its record says; one that was cut off has none.
    async fn finished(&mut self, open: Open, ended: Option<(bool, u32)>) {
        let record = ended.and_then(|_| self.record(&open));
        let clean = self.git.is_clean().await.unwrap_or(false);
        let of = |key: &str| record.as_ref().map_or(Value::Null, |r| r[key].clone());
        let signal = of("exit_signal").as_bool().unwrap_or(false);
        let code = of("return_code").as_i64().unwrap_or(130);
        let blocked = of("blocked").as_bool().unwrap_or(false);
        let seconds = of("duration_seconds");
        let seconds = seconds
            .as_f64()
            .unwrap_or_else(|| open.begun.elapsed().as_secs_f64());
        let iteration = of("iteration").as_u64().unwrap_or(open.iteration.into());
        let agent = match of("agent") {
            Value::Null => json!(open.agent),
            agent => agent,
        };
        let status = match of("status") {
            Value::Null => json!("interrupted"),
            status => status,
        };
        let log = of("log_path").as_str().unwrap_or_default().to_owned();
        let data = json!({
            "runId": self.run, "iteration": iteration, "agent": agent,
            "task_id": open.task, "storyId": open.task, "title": open.title,
            "exitSignal": signal, "returnCode": code, "repoClean": clean,
            "gatesOk": of("gates_ok"), "judgeOk": of("judge_ok"), "reviewOk": of("review_ok"),
            "blocked": blocked, "attemptId": open.attempt, "receiptsDir": of("receipts_dir"),
            "contextDir": of("context_dir"), "durationSeconds": seconds, "logPath": log,
            "status": status, "reason": of("reason"),
        });
        if let Some((progress, streak)) = ended {
            self.step = Some(json!({
                "iteration": iteration, "agent": agent, "task_id": open.task, "story_id": open.task,
                "task_title": open.title, "exit_signal": signal, "return_code": code,
                "log_path": log, "progress_made": progress, "no_progress_streak": streak,
                "gates_ok": of("gates_ok"), "repo_clean": clean, "judge_ok": of("judge_ok"),
                "review_ok": of("review_ok"), "blocked": blocked, "attempt_id": open.attempt,
                "receipts_dir": of("receipts_dir"), "context_dir": of("context_dir"),
                "status": status, "reason": of("reason"), "duration_seconds": seconds,
            }));
        }
        if record.is_some() {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = record;
        }
        tell(&self.client, "iteration_finished", data);
    }

    fn record(&self, open: &Open) -> Option<Value> {
        let path = Places::of(&open.task, open.attempt.as_deref()?).attempt;
        let bytes = self.ws.read(&path, RECORD_MAX).ok()??;
        serde_json::from_slice(&bytes).ok()
    }
}
