//! One iteration, as its facts make it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::fact::{Fact, Phase};
use crate::state::{AgentEnd, Current, Prepared, Seen, TaskRecord};
use crate::types::{AgentOutcome, Role, Task, TaskState, Usage};

impl Current {
    pub(crate) fn new(
        number: u32,
        tasks: &BTreeMap<String, TaskRecord>,
        task: Task,
        agent: &str,
    ) -> Self {
        Current {
            number,
            attempt: tasks.get(&task.id).map_or(0, |t| t.attempts) + 1,
            task,
            agent: agent.to_owned(),
            phase: Phase::Prepare,
            prepared: None,
            ended: None,
            seen: None,
            gates: Vec::new(),
            judge: None,
            review: None,
            marked: None,
            committed: None,
            refused: None,
            unmerged: None,
            cut_off: false,
            usage: Usage::default(),
        }
    }

    /// What it was measured against is lost: nothing it did can be told from what was there.
    pub(crate) fn rebase(&mut self, base: &Value, tree: &str) -> Result<(), &'static str> {
        if self.committed.is_some() {
            return Err("the work is committed");
        }
        let Some(prepared) = &mut self.prepared else {
            return Ok(());
        };
        prepared.base = base.clone();
        tree.clone_into(&mut prepared.start_tree);
        self.unsee();
        self.cut_off = true;
        self.ended = Some(AgentEnd {
            outcome: AgentOutcome::Interrupted,
            claim: Default::default(),
            code: None,
            plugin: String::new(),
            millis: 0,
            session: None,
        });
        Ok(())
    }

    /// What was said of the workspace counts no more.
    fn unsee(&mut self) {
        (
            self.seen,
            self.judge,
            self.review,
            self.marked,
            self.refused,
        ) = (None, None, None, None, None);
        self.gates.clear();
    }

    /// Folds a fact that belongs to an iteration; the error says why it can't follow.
    pub(crate) fn take(&mut self, fact: &Fact, mark_last: bool) -> Result<(), &'static str> {
        match fact {
            Fact::Prepared {
                attempt_id,
                fingerprint,
                algorithm,
                base,
                start_tree,
            } => {
                if self.prepared.is_some() {
                    return Err("the prompt was written already");
                }
                self.prepared = Some(Prepared {
                    attempt_id: attempt_id.clone(),
                    fingerprint: fingerprint.clone(),
                    algorithm: algorithm.clone(),
                    base: base.clone(),
                    start_tree: start_tree.clone(),
                });
            }
            Fact::AgentEnded {
                outcome,
                usage,
                claim,
                code,
                plugin,
                millis,
                session,
                ..
            } => {
                if self.prepared.is_none() || self.ended.is_some() {
                    return Err("no agent is at work");
                }
                self.usage = self.usage.plus(*usage);
                self.ended = Some(AgentEnd {
                    outcome: outcome.clone(),
                    claim: *claim,
                    code: *code,
                    plugin: plugin.clone(),
                    millis: *millis,
                    session: session.clone(),
                });
            }
            Fact::ChangesSeen {
                now,
                tree,
                files,
                file_state,
                problems,
                tampered,
                rigged,
            } => {
                if self.ended.is_none() || self.seen.is_some() {
                    return Err("the agent is not at its end, or its changes were seen");
                }
                self.seen = Some(Seen {
                    now: now.clone(),
                    tree: tree.clone(),
                    files: *files,
                    file_state: *file_state,
                    problems: problems.clone(),
                    tampered: tampered.clone(),
                    rigged: rigged.clone(),
                });
            }
            Fact::GateAnswered { result, .. } => {
                if self.seen.is_none() || self.gates.iter().any(|g| g.name == result.name) {
                    return Err("the gate was not asked, or has answered");
                }
                self.gates.push(result.clone());
            }
            Fact::Answered {
                role,
                verdict,
                usage,
                ..
            } => {
                let slot = match role {
                    Role::Judge => &mut self.judge,
                    Role::Review => &mut self.review,
                    Role::Work => return Err("a worker doesn't rule"),
                };
                if slot.is_some() || self.seen.is_none() {
                    return Err("nobody asked, or the answer is there");
                }
                *slot = Some(verdict.clone());
                self.usage = self.usage.plus(*usage);
            }
            Fact::Asked { usage } => self.usage = self.usage.plus(*usage),
            Fact::WorkspaceMoved => {
                if self.committed.is_some() {
                    return Err("the work is committed");
                }
                self.unsee();
            }
            Fact::Marked { state } => self.marked = Some(*state),
            Fact::Committed { sha, .. } => {
                let marked = self.marked == Some(TaskState::Done);
                if !(marked || mark_last) || self.committed.is_some() {
                    return Err("the work wasn't accepted, or is committed");
                }
                self.committed = Some(sha.clone());
            }
            Fact::CommitRefused { output } => self.refused = Some(output.clone()),
            Fact::MergeRefused { output } => self.unmerged = Some(output.clone()),
            _ => return Err("it belongs to a run, not to an iteration"),
        }
        Ok(())
    }
}
