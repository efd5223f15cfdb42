//! One iteration as clients see it: each of its phases is a node that starts and ends.

use ralph_engine::fact::{Fact, Phase};
use ralph_engine::gates::{Groups, weigh};
use ralph_engine::text::one_line;
use ralph_engine::types::{AgentOutcome, GateResult, Role, Verdict};
use ralph_runner::clock;
use serde_json::{Map, Value, json};

pub(super) const SUMMARY_MAX: usize = 1000;

/// An iteration that is on.
#[derive(Default)]
pub(super) struct Attempt {
    pub(super) iteration: u32,
    pub(super) task: String,
    /// The node that is on, and since when.
    node: Option<(Phase, String)>,
    /// What goes into its end.
    members: Map<String, Value>,
    results: Vec<Value>,
    gates: Vec<GateResult>,
    /// What it was for has failed.
    failed: bool,
}

impl Attempt {
    pub(super) fn of(task: &str) -> Attempt {
        Attempt {
            task: task.to_owned(),
            ..Attempt::default()
        }
    }

    pub(super) fn fact(&mut self, fact: &Fact, groups: &Groups, at: &str, out: &mut Vec<Value>) {
        match fact {
            Fact::Started { phase } => {
                self.end(groups, at, out);
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
                self.failed = !matches!(outcome, AgentOutcome::Finished { .. });
                self.set("outcome", how);
                self.set("usage", json!(usage));
            }
            Fact::ChangesSeen { files, .. } => self.set("files_changed", *files),
            Fact::GateAnswered { result, millis, .. } => {
                self.results.push(gate(result, *millis));
                self.gates.push(result.clone());
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
                self.failed |= !verdict.passed();
                self.results.push(result(name, verdict, *millis));
            }
            Fact::Committed { sha: Some(sha), .. } => self.set("commit", sha.clone()),
            Fact::IterationEnded {
                result,
                reason,
                progress,
            } => {
                self.end(groups, at, out);
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

    /// Ends the node that is on. It has failed if that refuses the work: a warning doesn't, nor does a
    /// gate of a group that holds.
    fn end(&mut self, groups: &Groups, at: &str, out: &mut Vec<Value>) {
        let Some((phase, since)) = self.node.take() else {
            return;
        };
        let results = std::mem::take(&mut self.results);
        let gates = std::mem::take(&mut self.gates);
        let failed = std::mem::take(&mut self.failed) || weigh(groups, &gates).refuses();
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
