//! The state machine: facts in, the next effect out.
//!
//! `apply` folds one fact into the state and refuses what can't follow;
//! `next` says what is to be done now. Both are pure, so a run that died is
//! taken up by folding its journal and asking `next`.

use crate::decide::{self, Need, Ruling, Standing};
use crate::fact::{EndReason, Fact, IterationResult, Phase};
use crate::pace::Waiting;
use crate::state::{AgentEnd, Base, Current, Pause, Run, State, Stop};
use crate::text;
use crate::types::{AgentOutcome, Role, Status, TaskState, Verdict};

/// What the runner is to carry out now. It journals `Started` first (where the
/// effect has a phase) and feeds the answer back as a fact.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// No run is on.
    Idle,
    /// Choose a task: `Selected` or `NothingSelectable`.
    Select {
        /// Only this one.
        target: Option<String>,
    },
    /// Wait until `ResumeAsked` or a wish to stop.
    Pause,
    /// Take a snapshot, write the prompt: `Prepared`.
    Prepare,
    /// Have the agent work: `AgentEnded`.
    RunAgent,
    /// Look at workspace and task file: `ChangesSeen`.
    ReadChanges,
    /// Ask these gates, side by side: one `GateAnswered` each.
    RunGates(Vec<String>),
    /// Ask judge or reviewer: `Answered`.
    Ask(Role),
    /// Make the task file say so: `Marked`.
    Mark(TaskState),
    /// Commit the iteration's work: `Committed` or `CommitRefused`.
    Commit,
    /// Write the records: `IterationEnded`.
    Close(Ruling),
    /// Wait, then say what time it is.
    Wait {
        /// Seconds since 1970.
        until: u64,
        /// What for.
        why: Waiting,
    },
    /// Nothing more may begin; wait for a worker: `Absorbed` or `Released`.
    Await,
    /// The run is over: `RunEnded`.
    End(EndReason),
}

impl Effect {
    /// The phase that is journaled before the effect is carried out.
    pub fn phase(&self) -> Option<Phase> {
        Some(match self {
            Effect::Prepare => Phase::Prepare,
            Effect::RunAgent => Phase::Agent,
            Effect::ReadChanges => Phase::Changes,
            Effect::RunGates(_) => Phase::Gates,
            Effect::Ask(Role::Review) => Phase::Review,
            Effect::Ask(_) => Phase::Judge,
            Effect::Mark(_) => Phase::Mark,
            Effect::Commit => Phase::Commit,
            Effect::Close(_) => Phase::Close,
            Effect::Idle
            | Effect::Select { .. }
            | Effect::Pause
            | Effect::Wait { .. }
            | Effect::Await
            | Effect::End(_) => return None,
        })
    }
}

/// A fact that can't follow what happened before: a damaged or forged journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fact} can't follow here: {why}")]
pub struct OutOfOrder {
    fact: String,
    why: &'static str,
}

impl OutOfOrder {
    pub(crate) fn new(fact: &Fact, why: &'static str) -> OutOfOrder {
        OutOfOrder {
            fact: name(fact),
            why,
        }
    }
}

impl State {
    /// What is to be done now.
    pub fn next(&self) -> Effect {
        let Some(run) = &self.run else {
            return Effect::Idle;
        };
        if let Some(end) = &run.end {
            return over(run, end.clone());
        }
        let Some(c) = &self.current else {
            return self.between(run);
        };
        let effect = within(c, run);
        let costly = matches!(
            effect,
            Effect::Prepare | Effect::RunAgent | Effect::RunGates(_) | Effect::Ask(_)
        );
        if run.stop == Some(Stop::Force) && costly {
            return Effect::End(EndReason::Stopped);
        }
        if let Effect::Ask(_) = effect
            && let Some(held) = self.held_asking(run)
        {
            return match run.stop {
                Some(_) => Effect::End(EndReason::Stopped),
                None => held,
            };
        }
        effect
    }

    fn between(&self, run: &Run) -> Effect {
        if run.stop.is_some() {
            return over(run, EndReason::Stopped);
        }
        // The task file is asked before any limit: a run whose last task was just done is complete.
        if run.selected.is_none() {
            return Effect::Select {
                target: run.target.clone(),
            };
        }
        let at_work = u32::try_from(run.claimed.len()).unwrap_or(u32::MAX);
        if run.iterations.saturating_add(at_work) >= run.rules.max_iterations {
            return over(run, EndReason::MaxIterations);
        }
        if run.iterations > 0 && self.no_progress >= run.rules.no_progress_limit {
            return over(run, EndReason::NoProgress);
        }
        let held = self.held(run);
        if let Some(Effect::End(end)) = held {
            return over(run, end);
        }
        let held = held.or_else(|| run.pause.map(|_| Effect::Pause));
        match held {
            Some(_) if at_work > 0 => Effect::Await,
            Some(held) => held,
            None => Effect::Prepare,
        }
    }

    /// Folds one fact into the state.
    pub fn apply(&mut self, fact: &Fact) -> Result<(), OutOfOrder> {
        let bad = |why| Err(OutOfOrder::new(fact, why));
        match fact {
            Fact::RunStarted {
                run,
                agent,
                rules,
                target,
            } => {
                let taken_up = self.run.take().filter(|r| r.id == *run);
                self.run = Some(Run {
                    skipped: (taken_up.as_ref())
                        .map(|r| r.skipped.clone())
                        .unwrap_or_default(),
                    id: run.clone(),
                    agent: agent.clone(),
                    rules: rules.clone(),
                    target: target.clone(),
                    iterations: taken_up.as_ref().map_or(0, |r| r.iterations),
                    selected: None,
                    claimed: Default::default(),
                    worked: None,
                    elapsed: taken_up.as_ref().map_or(0, |r| r.elapsed),
                    usage: taken_up.as_ref().map(|r| r.usage).unwrap_or_default(),
                    stop: None,
                    pause: None,
                    end: None,
                    done: taken_up.as_ref().map_or(0, |r| r.done),
                    total: taken_up.as_ref().map_or(0, |r| r.total),
                });
                self.pace.ticking = false;
                if taken_up.is_none() {
                    (self.no_progress, self.pace.failure) = (0, None);
                    self.pace.limited = 0;
                }
                self.take_up();
            }
            Fact::RunEnded { end } => {
                if self.run.take().is_none() {
                    return bad("no run is on");
                }
                self.last_end = Some(end.clone());
            }
            Fact::IdsAssigned { ids } => self.ids = std::sync::Arc::new(ids.clone()),
            Fact::Forgotten { task } => self.forget(task),
            Fact::Noted { task, text } => self.note(task, text),
            Fact::Recalled { .. }
            | Fact::Absorbed { .. }
            | Fact::TakenUp
            | Fact::Released { .. } => return self.of_workers(fact),
            Fact::BaseLost { base, tree } => {
                if self.run.is_none() {
                    return bad("no run is on");
                }
                self.base = None;
                if let Some(c) = &mut self.current
                    && let Err(why) = c.rebase(base, tree)
                {
                    return bad(why);
                }
            }
            // Both may be noted while no run is on.
            Fact::Injected { text } => self.injected.push(text.clone()),
            Fact::Cleaned { .. } => {}
            Fact::Clock { .. } | Fact::LimitMet { .. } | Fact::Waiting { .. } => {
                self.of_pace(fact);
            }
            _ => {
                let Some(run) = &mut self.run else {
                    return bad("no run is on");
                };
                match fact {
                    Fact::Claimed { task, agent, fresh } => {
                        if run.selected.take().is_none_or(|t| t.id != *task) {
                            return bad("this task was not selected");
                        }
                        run.claimed.insert(task.clone(), agent.clone());
                        if *fresh {
                            self.absorbed.remove(task);
                        }
                    }
                    Fact::Selected { task, done, total } => {
                        if self.current.is_some() {
                            return bad("an iteration is on");
                        }
                        (run.done, run.total) = (*done, *total);
                        run.selected = Some(task.clone());
                        // Blocked once, and opened again by a person: it starts afresh.
                        let record = self.tasks.entry(task.id.clone()).or_default();
                        if record.attempts >= run.rules.max_attempts {
                            record.attempts = 0;
                        }
                    }
                    Fact::NothingSelectable { done, total, open } => {
                        (run.done, run.total) = (*done, *total);
                        let all = done == total || run.target.is_some();
                        run.end = Some(if open.is_empty() && all && *total > 0 {
                            EndReason::Complete
                        } else {
                            EndReason::Blocked { open: open.clone() }
                        });
                    }
                    Fact::StopAsked { force } => {
                        run.stop =
                            run.stop
                                .max(Some(if *force { Stop::Force } else { Stop::Graceful }));
                    }
                    Fact::PauseAsked { checkpoint } => {
                        run.pause = Some(Pause {
                            checkpoint: *checkpoint,
                        });
                    }
                    Fact::SkipAsked { task } => {
                        if run.selected.as_ref().is_some_and(|t| t.id == *task) {
                            run.selected = None;
                        }
                        run.skipped.insert(task.clone());
                    }
                    Fact::UnskipAsked { task } => {
                        run.skipped.remove(task);
                    }
                    Fact::ResumeAsked => {
                        run.pause = None;
                        self.pace.ticking = false;
                        // The task file may have changed meanwhile: it is asked again.
                        run.selected = None;
                    }
                    Fact::Faulted { end } => run.end = Some(end.clone()),
                    Fact::Started {
                        phase: Phase::Prepare,
                    } => {
                        if self.current.is_none() {
                            let Some(task) = run.selected.take() else {
                                return bad("no task was selected");
                            };
                            let (worked, first) = (run.worked.clone(), run.agent.clone());
                            let free = self.free_agent().map(str::to_owned);
                            let agent = worked.or(free).unwrap_or(first);
                            self.begins();
                            self.iterations += 1;
                            self.current =
                                Some(Current::new(self.iterations, &self.tasks, task, &agent));
                        }
                    }
                    Fact::Started { phase } => {
                        let Some(c) = &mut self.current else {
                            return bad("no iteration is on");
                        };
                        c.phase = *phase;
                    }
                    Fact::Delivered { injected } => {
                        let count = self.injected.len().min(*injected as usize);
                        self.injected.drain(..count);
                    }
                    Fact::Recorded { .. } => {
                        if self.current.is_none() {
                            return bad("no iteration is on");
                        }
                    }
                    Fact::IterationEnded {
                        result, progress, ..
                    } => return self.close(*result, *progress, fact),
                    _ => {
                        let Some(c) = &mut self.current else {
                            return bad("no iteration is on");
                        };
                        if let Err(why) = c.take(fact, run.rules.mark_last) {
                            return bad(why);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// What a dead run left half done: an agent whose end nobody saw was interrupted.
    pub(crate) fn take_up(&mut self) {
        let Some(c) = &mut self.current else { return };
        if c.phase == Phase::Agent && c.ended.is_none() {
            c.cut_off = true;
            c.ended = Some(AgentEnd {
                outcome: AgentOutcome::Interrupted,
                claim: Default::default(),
                code: None,
                plugin: String::new(),
                millis: 0,
                session: None,
            });
        }
    }

    fn close(
        &mut self,
        result: IterationResult,
        progress: bool,
        fact: &Fact,
    ) -> Result<(), OutOfOrder> {
        let bad = |why| Err(OutOfOrder::new(fact, why));
        let (Some(run), Some(c)) = (&mut self.run, self.current.take()) else {
            return bad("no iteration is on");
        };
        let Standing::Settled(ruling) = decide::standing(&c, &run.rules) else {
            self.current = Some(c);
            return bad("the iteration isn't settled");
        };
        if ruling.result != result {
            self.current = Some(c);
            return bad("the records settle it otherwise");
        }
        self.usage = self.usage.plus(c.usage);
        run.usage = run.usage.plus(c.usage);
        let max_attempts = run.rules.max_attempts;
        let record = self.tasks.entry(c.task.id.clone()).or_default();
        match result {
            IterationResult::Accepted => {
                self.tasks.remove(&c.task.id);
                self.warned = ruling.notes;
                self.base = None;
                self.no_progress = 0;
                self.attempted(None);
            }
            IterationResult::Rejected => {
                let blocked = ruling.leaves(c.attempt >= max_attempts) == TaskState::Blocked;
                // When a person opens it again, it starts afresh.
                record.attempts = if blocked { max_attempts } else { c.attempt };
                let same = !ruling.notes.is_empty() && record.notes == ruling.notes;
                record.earlier.push(format!(
                    "attempt {}: {}{}",
                    c.attempt,
                    text::one_line(&ruling.reason, 200),
                    if same {
                        ", with the same words as before"
                    } else {
                        ""
                    }
                ));
                if record.earlier.len() > 10 {
                    record.earlier.remove(0);
                }
                record.notes.clone_from(&ruling.notes);
                self.no_progress = if progress { 0 } else { self.no_progress + 1 };
                self.attempted(Some((&ruling.reason, &ruling.notes)));
                self.keep_base(&c, !blocked);
            }
            IterationResult::Environment | IterationResult::Interrupted => self.keep_base(&c, true),
        }
        let end = self.end_after(&c);
        let Some(run) = &mut self.run else {
            return bad("no run is on");
        };
        // A limit's tries are none of the run's iterations, and neither is what a dead host had begun.
        let limited = matches!(
            c.ended.as_ref().map(|e| &e.outcome),
            Some(AgentOutcome::Limited { .. })
        );
        run.iterations += u32::from(!c.cut_off && !limited);
        if limited {
            self.pace.starts.pop();
        }
        run.end = end;
        Ok(())
    }

    /// Why the run ends with this iteration, if it does.
    fn end_after(&self, c: &Current) -> Option<EndReason> {
        let tampered = c.seen.as_ref().map(|s| s.tampered.join(", "));
        if let Some(paths) = tampered.filter(|t| !t.is_empty()) {
            return Some(EndReason::Error {
                message: format!(
                    "{paths} changed while the agent was at work, and could make something run that nobody looked at; \
                     nothing was committed. Put it back, or, if it is as you want it, run again"
                ),
            });
        }
        match c.ended.as_ref().map(|e| &e.outcome) {
            Some(AgentOutcome::Limited { message, resets_at }) => {
                let known = self.pace.limits.contains_key(&c.agent);
                let wait = self.run.as_ref().is_some_and(|r| r.rules.limits.wait);
                (!known || !wait && self.free_agent().is_none()).then(|| EndReason::Limited {
                    message: message.clone(),
                    resets_at: resets_at.clone(),
                })
            }
            Some(AgentOutcome::Unauthenticated { message }) => Some(EndReason::Unauthenticated {
                message: message.clone(),
            }),
            _ => None,
        }
    }

    fn keep_base(&mut self, c: &Current, keep: bool) {
        self.base = match (&c.prepared, keep) {
            (Some(p), true) => Some(Base {
                task: c.task.id.clone(),
                snapshot: p.base.clone(),
            }),
            _ => None,
        };
    }
}

/// A run ends when its last worker has.
fn over(run: &Run, end: EndReason) -> Effect {
    if run.claimed.is_empty() {
        Effect::End(end)
    } else {
        Effect::Await
    }
}

/// What is to be done within an iteration.
fn within(c: &Current, run: &Run) -> Effect {
    if c.prepared.is_none() {
        return Effect::Prepare;
    }
    if c.ended.is_none() {
        return Effect::RunAgent;
    }
    let Some(seen) = &c.seen else {
        return Effect::ReadChanges;
    };
    let ruling = match decide::standing(c, &run.rules) {
        Standing::Open(Need::Gates(names)) => return Effect::RunGates(names),
        Standing::Open(Need::Answer(role)) => return Effect::Ask(role),
        Standing::Settled(ruling) => ruling,
    };
    let wanted = ruling.leaves(c.attempt >= run.rules.max_attempts);
    let uncommitted =
        ruling.result == IterationResult::Accepted && run.rules.commit && c.committed.is_none();
    if uncommitted && run.rules.mark_last {
        return Effect::Commit;
    }
    // Even if the file says so already: the host's own word is what is recorded.
    if c.marked != Some(wanted)
        && (c.marked.is_some() || seen.file_state != wanted || wanted == TaskState::Done)
    {
        return Effect::Mark(wanted);
    }
    if uncommitted {
        return Effect::Commit;
    }
    Effect::Close(ruling)
}

impl Verdict {
    /// The verdict of one who could not rule: fail closed.
    pub fn could_not(summary: impl Into<String>) -> Verdict {
        Verdict {
            status: Status::Fail,
            summary: summary.into(),
            findings: Vec::new(),
        }
    }
}

fn name(fact: &Fact) -> String {
    serde_json::to_value(fact)
        .ok()
        .and_then(|v| v.get("fact").and_then(|f| f.as_str().map(str::to_owned)))
        .unwrap_or_else(|| "a fact".into())
}
