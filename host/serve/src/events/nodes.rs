//! What a run's events are to clients. Facts are numbered as in the journal that they stand in, the
//! run's or a worker's, so that a service finds out which of them a former one hasn't told.

use std::collections::HashMap;

use ralph_engine::event::Event;
use ralph_engine::fact::Fact;
use ralph_engine::gates::Groups;
use ralph_engine::text::one_line;
use ralph_engine::types::{AgentEvent, Role};
use ralph_runner::clock;
use ralph_runner::journal::Line;
use serde_json::{Value, json};

use super::attempt::{Attempt, SUMMARY_MAX};
use super::told::{CLAIM, Numbers, SEQ, Told};

/// Of one thing that an agent says.
const TEXT_MAX: usize = 8 * 1024;

/// Follows a run. Workers of a parallel run are told apart by their tasks.
pub(super) struct Nodes {
    run: String,
    /// The run's own iteration has no task here.
    open: HashMap<String, Attempt>,
    /// Selected, and maybe a worker's, who tells that itself.
    selected: Option<(Attempt, Value)>,
    iterations: u32,
    /// Those that were told already: workers' iterations have no order but the one in which they were.
    numbers: Numbers,
    /// The journal's number of the fact that was followed last.
    seq: u64,
    claims: HashMap<String, Claim>,
    groups: Groups,
}

/// A worker's worktree, from its making on.
#[derive(Clone, Copy)]
struct Claim {
    /// The number of the fact that it was made for, in the run's journal.
    id: u64,
    /// As [`Nodes::seq`], in its own journal.
    seq: u64,
    /// Its last iteration.
    iteration: u32,
}

impl Nodes {
    pub(super) fn new(run: &str) -> Nodes {
        Nodes {
            run: run.to_owned(),
            open: HashMap::new(),
            selected: None,
            iterations: 0,
            numbers: Numbers::new(),
            seq: 0,
            claims: HashMap::new(),
            groups: Groups::default(),
        }
    }

    /// Before anything is followed: this a former service has told.
    pub(super) fn know(&mut self, told: &Told) {
        self.numbers = told.numbers();
        self.iterations = self.numbers.values().copied().max().unwrap_or(0);
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

    /// Each fact is told once, right after it was journaled.
    pub(super) fn of(&mut self, event: &Event) -> Vec<Value> {
        let now = clock::now();
        match event {
            Event::Fact(fact) => {
                self.seq += 1;
                self.told(fact, &now)
            }
            Event::Worker { task, what } => match &**what {
                Event::Fact(fact) => {
                    let next = self.claims.get(task).map_or(1, |claim| claim.seq + 1);
                    self.of_worker(task, next, fact, &now)
                }
                what => self.other(task, what, &now),
            },
            event => self.other("", event, &now),
        }
    }

    /// The same of what a former service has journaled; what it hasn't told of that.
    pub(super) fn past(&mut self, line: &Line, told: &Told) -> Vec<Value> {
        self.seq = line.seq;
        let mut events = match &line.fact {
            Fact::Absorbed { task, facts, .. } => {
                let mut events = Vec::new();
                for past in facts {
                    match past.seq {
                        Some(seq) => {
                            let more = self.past_of_worker(task, seq, &past.fact, &past.at, told);
                            events.extend(more);
                        }
                        // Journaled before that was written down.
                        None if matches!(past.fact, Fact::Selected { .. }) => self.iterations += 1,
                        None => {}
                    }
                }
                events
            }
            _ => Vec::new(),
        };
        let own = self.told(&line.fact, &line.at);
        if line.seq > told.to() {
            events.extend(own);
        }
        events
    }

    /// The same of a worker's journal.
    pub(super) fn past_of_worker(
        &mut self,
        task: &str,
        seq: u64,
        fact: &Fact,
        at: &str,
        told: &Told,
    ) -> Vec<Value> {
        let Some(claim) = self.claims.get(task).copied() else {
            return Vec::new();
        };
        if seq <= claim.seq {
            return Vec::new();
        }
        let events = self.of_worker(task, seq, fact, at);
        match seq > told.to_in(claim.id) {
            true => events,
            false => Vec::new(),
        }
    }

    fn of_worker(&mut self, task: &str, seq: u64, fact: &Fact, at: &str) -> Vec<Value> {
        let own = self.seq;
        let claim = self.claims.entry(task.to_owned());
        let claim = claim.or_insert(Claim {
            id: own,
            seq: 0,
            iteration: 0,
        });
        claim.seq = seq;
        let id = claim.id;
        let mut events = Vec::new();
        self.fact(task, fact, at, &mut events);
        let with = |mut event: Value| {
            event[CLAIM] = json!([id, seq]);
            self.at(event, at)
        };
        events.into_iter().map(with).collect()
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

    fn other(&self, worker: &str, event: &Event, at: &str) -> Vec<Value> {
        let event = match event {
            Event::Notice { text } => {
                Some(json!({ "type": "notice", "text": one_line(text, SUMMARY_MAX) }))
            }
            Event::Agent { role, what } => self.said(worker, *role, what),
            Event::GateStarted { .. } | Event::Fact(_) | Event::Worker { .. } => None,
        };
        event.map(|event| self.at(event, at)).into_iter().collect()
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
            Fact::RunStarted { rules, .. } => self.groups = rules.groups.clone(),
            Fact::Selected { task, done, total } => {
                let attempt = Attempt::of(&task.id);
                let event = json!({
                    "type": "selected", "task": attempt.task,
                    "title": one_line(&task.title, 200), "done": done, "total": total,
                });
                match worker {
                    "" => self.selected = Some((attempt, event)),
                    worker => self.begun(worker, attempt, event, out),
                }
            }
            Fact::Claimed { task, fresh, .. } => {
                self.selected = None;
                // Also where a death came between the making and this.
                if *fresh || !self.claims.contains_key(task) {
                    let claim = Claim {
                        id: self.seq,
                        seq: 0,
                        iteration: 0,
                    };
                    self.claims.insert(task.clone(), claim);
                }
            }
            Fact::Absorbed { task, facts, .. } => out.extend(self.unmerged(task, facts)),
            Fact::PauseAsked { .. } => out.push(json!({ "type": "state", "status": "paused" })),
            Fact::ResumeAsked => out.push(json!({ "type": "state", "status": "running" })),
            Fact::Injected { .. } => out.push(json!({ "type": "injected" })),
            Fact::Waiting { until, .. } => {
                out.push(json!({ "type": "state", "status": "waiting", "until": until }));
            }
            _ => {
                if worker.is_empty()
                    && matches!(fact, Fact::Started { .. })
                    && let Some((attempt, event)) = self.selected.take()
                {
                    self.begun(worker, attempt, event, out);
                }
                if let Some(attempt) = self.open.get_mut(worker) {
                    attempt.fact(fact, &self.groups, at, out);
                }
                if matches!(fact, Fact::IterationEnded { .. }) {
                    self.open.remove(worker);
                }
            }
        }
    }

    /// It is their iteration.
    fn begun(
        &mut self,
        worker: &str,
        mut attempt: Attempt,
        mut event: Value,
        out: &mut Vec<Value>,
    ) {
        let claim = self.claims.get_mut(worker);
        let begins = claim.as_ref().map_or((0, self.seq), |c| (c.id, c.seq));
        let known = self.numbers.remove(&begins);
        attempt.iteration = known.unwrap_or(self.iterations + 1);
        self.iterations = self.iterations.max(attempt.iteration);
        event["iteration"] = attempt.iteration.into();
        if let Some(claim) = claim {
            claim.iteration = attempt.iteration;
        }
        out.push(event);
        self.open.insert(worker.to_owned(), attempt);
    }

    /// What its worker has told of an iteration isn't what it came to.
    fn unmerged(&self, task: &str, facts: &[ralph_engine::fact::Past]) -> Option<Value> {
        if !facts
            .iter()
            .any(|p| matches!(p.fact, Fact::MergeRefused { .. }))
        {
            return None;
        }
        let claim = self.claims.get(task)?;
        let Fact::IterationEnded {
            result,
            reason,
            progress,
        } = &facts.last()?.fact
        else {
            return None;
        };
        Some(json!({
            "type": "attempt", "iteration": claim.iteration, "task": task,
            "result": result, "reason": one_line(reason, SUMMARY_MAX), "progress": progress,
        }))
    }
}
