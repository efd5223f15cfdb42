//! What a run's events are to clients: each phase of an iteration is a node that starts and ends.

use std::collections::HashMap;

use ralph_engine::event::Event;
use ralph_engine::fact::{Fact, Phase};
use ralph_engine::text::one_line;
use ralph_engine::types::{AgentEvent, AgentOutcome, GateResult, Role, Verdict};
use ralph_runner::clock;
use ralph_runner::journal::Line;
use serde_json::{Map, Value, json};

/// Of one thing that an agent says.
const TEXT_MAX: usize = 8 * 1024;
const SUMMARY_MAX: usize = 1000;
/// In each event that a fact was made into: the fact's number in the journal.
pub(super) const SEQ: &str = "journal_seq";

/// Follows a run. Workers of a parallel run are told apart by their tasks.
pub(super) struct Nodes {
    run: String,
    open: HashMap<String, Open>,
    iterations: u32,
    /// The journal's number of the fact that was followed last.
    seq: u64,
}

/// An iteration that is on.
#[derive(Default)]
struct Open {
    iteration: u32,
    task: String,
    title: String,
    /// The node that is on, and since when.
    node: Option<(Phase, String)>,
    /// What goes into its end.
    members: Map<String, Value>,
    results: Vec<Value>,
}

impl Nodes {
    pub(super) fn new(run: &str) -> Nodes {
        Nodes {
            run: run.to_owned(),
            open: HashMap::new(),
            iterations: 0,
            seq: 0,
        }
    }

    /// An event with what all have.
    pub(super) fn finished(&self, event: Value) -> Value {
        self.at(event, &clock::now())
    }

    fn at(&self, mut event: Value, at: &str) -> Value {
        event["run_id"] = self.run.clone().into();
        event["at"] = at.into();
        event
    }

    pub(super) fn of(&mut self, event: &Event) -> Vec<Value> {
        let now = clock::now();
        let Event::Fact(fact) = event else {
            let mut events = Vec::new();
            self.take("", event, &now, &mut events);
            return events.into_iter().map(|e| self.at(e, &now)).collect();
        };
        // Each fact is told once, right after it was journaled.
        self.seq += 1;
        self.told(fact, &now)
    }

    /// The same of a fact that a former service has journaled.
    pub(super) fn past(&mut self, line: &Line) -> Vec<Value> {
        self.seq = line.seq;
        if let Fact::Claimed { .. } = line.fact {
            // The worker told of it itself, and nobody knows how much.
            self.open.remove("");
            return Vec::new();
        }
        self.told(&line.fact, &line.at)
    }

    fn told(&mut self, fact: &Fact, at: &str) -> Vec<Value> {
        let mut events = Vec::new();
        self.fact("", fact, at, &mut events);
        let with = |mut event: Value| {
            event[SEQ] = self.seq.into();
            self.at(event, at)
        };
        events.into_iter().map(with).collect()
    }

    fn take(&mut self, worker: &str, event: &Event, at: &str, out: &mut Vec<Value>) {
        match event {
            Event::Worker { task, what } => self.take(task, what, at, out),
            Event::Notice { text } => {
                out.push(json!({ "type": "notice", "text": one_line(text, SUMMARY_MAX) }));
            }
            Event::Agent { role, what } => out.extend(self.said(worker, *role, what)),
            Event::GateStarted { .. } => {}
            Event::Fact(fact) => self.fact(worker, fact, at, out),
        }
    }

    fn said(&self, worker: &str, role: Role, what: &AgentEvent) -> Option<Value> {
        let (kind, text) = match what {
            AgentEvent::Text(text) => ("text", text),
            AgentEvent::Thinking(text) => ("thinking", text),
            AgentEvent::ToolUse(text) => ("tool_use", text),
            AgentEvent::ToolResult(text) => ("tool_result", text),
            AgentEvent::Notice(text) => ("notice", text),
            AgentEvent::Usage(_) => return None,
        };
        let mut end = text.len().min(TEXT_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut value = json!({
            "type": "output", "role": role, "kind": kind, "text": &text[..end],
            "task": self.open.get(worker).map(|o| &o.task),
        });
        if end < text.len() {
            value["omitted_bytes"] = (text.len() - end).into();
        }
        Some(value)
    }

    fn fact(&mut self, worker: &str, fact: &Fact, at: &str, out: &mut Vec<Value>) {
        match fact {
            Fact::Selected { task, done, total } => {
                self.iterations += 1;
                let open = Open {
                    iteration: self.iterations,
                    task: task.id.clone(),
                    title: one_line(&task.title, 200),
                    ..Open::default()
                };
                out.push(json!({
                    "type": "selected", "iteration": open.iteration, "task": open.task,
                    "title": open.title, "done": done, "total": total,
                }));
                self.open.insert(worker.to_owned(), open);
            }
            // A worker takes it up, and tells of it itself.
            Fact::Claimed { .. } if self.open.remove(worker).is_some() => self.iterations -= 1,
            Fact::PauseAsked { .. } => out.push(json!({ "type": "state", "status": "paused" })),
            Fact::ResumeAsked => out.push(json!({ "type": "state", "status": "running" })),
            Fact::Injected { .. } => out.push(json!({ "type": "injected" })),
            Fact::Waiting { until, .. } => {
                out.push(json!({ "type": "state", "status": "waiting", "until": until }));
            }
            _ => {
                // A worker that is taken up stands in the middle of an iteration.
                let iterations = self.iterations.max(1);
                let open = self.open.entry(worker.to_owned()).or_insert_with(|| Open {
                    iteration: iterations,
                    task: worker.to_owned(),
                    ..Open::default()
                });
                open.fact(fact, at, out);
                if matches!(fact, Fact::IterationEnded { .. }) {
                    self.open.remove(worker);
                }
            }
        }
    }
}

impl Open {
    fn fact(&mut self, fact: &Fact, at: &str, out: &mut Vec<Value>) {
        match fact {
            Fact::Started { phase } => {
                self.end(at, out);
                out.push(self.node(*phase, "started"));
                self.node = Some((*phase, at.to_owned()));
            }
            Fact::Prepared {
                attempt_id,
                fingerprint,
                ..
            } => {
                self.set("attempt_id", attempt_id.clone());
                self.set("prompt_sha", fingerprint.clone());
            }
            Fact::AgentEnded { outcome, usage, .. } => {
                let how = match outcome {
                    AgentOutcome::Finished { .. } => "finished",
                    AgentOutcome::Limited { .. } => "limited",
                    AgentOutcome::Unauthenticated { .. } => "unauthenticated",
                    AgentOutcome::Failed { .. } => "failed",
                    AgentOutcome::TimedOut { .. } => "timed_out",
                    AgentOutcome::Interrupted => "interrupted",
                };
                self.set("outcome", how);
                self.set("usage", json!(usage));
            }
            Fact::ChangesSeen { files, .. } => self.set("files_changed", *files),
            Fact::GateAnswered { result, millis, .. } => {
                let result = gate(result, *millis);
                self.results.push(result);
            }
            Fact::Answered {
                role,
                verdict,
                millis,
                ..
            } => {
                let name = match role {
                    Role::Review => "review",
                    _ => "judge",
                };
                self.results.push(result(name, verdict, *millis));
            }
            Fact::Committed { sha: Some(sha), .. } => self.set("commit", sha.clone()),
            Fact::IterationEnded {
                result,
                reason,
                progress,
            } => {
                self.end(at, out);
                out.push(json!({
                    "type": "attempt", "iteration": self.iteration, "task": self.task,
                    "result": result, "reason": one_line(reason, SUMMARY_MAX), "progress": progress,
                }));
            }
            _ => {}
        }
    }

    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.members.insert(name.to_owned(), value.into());
    }

    fn node(&self, phase: Phase, status: &str) -> Value {
        json!({
            "type": "node", "node": phase, "status": status,
            "iteration": self.iteration, "task": self.task,
        })
    }

    /// Ends the node that is on.
    fn end(&mut self, at: &str, out: &mut Vec<Value>) {
        let Some((phase, since)) = self.node.take() else {
            return;
        };
        let results = std::mem::take(&mut self.results);
        let failed = results.iter().any(|r| r["passed"] == false);
        let mut node = self.node(phase, if failed { "failed" } else { "completed" });
        node["duration_s"] = clock::seconds(&since, at).into();
        if !results.is_empty() {
            node["done_when_results"] = results.into();
        }
        for (name, value) in std::mem::take(&mut self.members) {
            node[name] = value;
        }
        out.push(node);
    }
}

fn gate(gate: &GateResult, millis: u64) -> Value {
    let mut value = result(&gate.name, &gate.verdict, millis);
    value["severity"] = json!(gate.severity);
    value
}

fn result(name: &str, verdict: &Verdict, millis: u64) -> Value {
    json!({
        "name": name, "passed": verdict.passed(), "status": verdict.status,
        "summary": one_line(&verdict.summary, SUMMARY_MAX),
        "findings": verdict.findings.len(), "duration_s": millis as f64 / 1e3,
    })
}
