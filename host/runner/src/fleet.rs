//! A run whose iterations are carried out by workers, each in a worktree of its
//! own (`--parallel`, `[git] isolation`). The engine decides as ever; here an
//! iteration is handed to a worker, and what came of it is absorbed: accepted
//! work is merged first, one worker at a time, and checked again if the branch
//! has moved meanwhile. The project's journal then reads as if the iterations
//! had come one after another, in the order of their merging.

use ralph_engine::decide::{self, Standing};
use ralph_engine::fact::{EndReason, IterationResult, Past};
use ralph_engine::state::Current;
use ralph_engine::types::TaskState;
use ralph_engine::{Effect, Fact};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::audit::files;
use crate::away;
use crate::clock;
use crate::error::Error;
use crate::journal::Line;
use crate::merge::{Merge, merge};
use crate::names::Places;
use crate::records::Finished;
use crate::run::{self, Loop, Summary, snapshot};
use crate::sources::Outcome;
use crate::worker::{self, Progress, Worker};

/// Those at work.
pub(crate) struct Fleet {
    width: usize,
    /// Those of a dead run have been looked at.
    reconciled: bool,
    at_work: JoinSet<(String, Result<Summary, Error>)>,
}

impl Fleet {
    pub(crate) fn new(width: usize) -> Fleet {
        Fleet {
            width,
            reconciled: false,
            at_work: JoinSet::new(),
        }
    }

    /// What dead workers had finished is absorbed; what nobody needs any more is removed.
    pub(crate) async fn reconcile(&mut self, l: &mut Loop) -> Result<(), Error> {
        // An iteration that a run without workers had begun comes to its end first.
        if self.reconciled || l.state.current.is_some() {
            return Ok(());
        }
        for worker in Worker::all(l.s.home()).await? {
            if !done_by_another(l, &worker).await? {
                absorb_all(l, &worker).await?;
            }
            if !l.s.project.ws.exists(&worker.dir) {
                continue;
            }
            let over = |state| matches!(state, TaskState::Done | TaskState::Blocked);
            let over = state_of(l, &worker).await?.is_none_or(over);
            if over || away::accepted_last(&worker)?.is_some() {
                keep(l, &worker).await?;
            }
        }
        self.reconciled = true;
        Ok(())
    }

    pub(crate) async fn step(&mut self, l: &mut Loop, effect: Effect) -> Result<(), Error> {
        match effect {
            Effect::Select { .. } if !self.reconciled => self.reconcile(l).await,
            Effect::Select { .. } if self.at_work.len() >= self.width => self.wait(l).await,
            Effect::Select { target } => {
                let facts = l.select(target.as_deref()).await?;
                let nothing = matches!(facts.last(), Some(Fact::NothingSelectable { .. }));
                if nothing && !self.at_work.is_empty() {
                    return self.wait(l).await;
                }
                l.record_all(facts)
            }
            Effect::Prepare if l.state.current.is_none() => self.claim(l).await,
            Effect::Await => self.wait(l).await,
            // An iteration that a run without workers had begun.
            other => l.carry_out(other).await,
        }
    }

    async fn claim(&mut self, l: &mut Loop) -> Result<(), Error> {
        let selected = l.state.run.as_ref().and_then(|r| r.selected.clone());
        let task = selected.ok_or_else(|| Error::Internal("no task was selected".into()))?;
        let existing = Worker::existing(l.s.home(), &task.id)?;
        let worker = match existing {
            Some(worker) => worker,
            None => Worker::create(l.s.home(), &task).await?,
        };
        // A death may have come before it was told anything.
        let progress = worker.progress()?;
        let fresh = progress == Progress::None;
        // One that a death has cut off has made its marks already.
        if progress != Progress::Within {
            worker.refresh(&l.s)?;
        }
        let free = l.state.free_agent().map(str::to_owned);
        let agent = free.unwrap_or_else(|| l.s.agent.name.clone());
        l.record(Fact::Claimed {
            task: task.id.clone(),
            agent: agent.clone(),
            fresh,
        })?;
        let mut told: Vec<Fact> = Vec::new();
        if fresh {
            told.push(Fact::Recalled {
                task: task.id.clone(),
                record: l.state.tasks.get(&task.id).cloned().unwrap_or_default(),
                iterations: l.state.iterations,
            });
        }
        // What a person said goes to the worker that begins next.
        let injected = l.state.injected.clone();
        told.extend(
            injected
                .iter()
                .map(|text| Fact::Injected { text: text.clone() }),
        );
        let setup = worker.setup(&l.s, &agent);
        let bus = worker::tagged(&l.bus, &task.id);
        let stopping = l.stopping.clone();
        let ids = l.state.ids.clone();
        let (heard, hearing) = oneshot::channel();
        self.at_work.spawn(async move {
            let ran = run::worker(setup, bus, stopping, told, heard, ids).await;
            (task.id, ran)
        });
        // In the worker's journal first: a death in between says it twice, and never not at all.
        if !injected.is_empty() && hearing.await.is_ok() {
            let injected = u32::try_from(injected.len()).unwrap_or(u32::MAX);
            l.record(Fact::Delivered { injected })?;
        }
        Ok(())
    }

    /// Until one of them has ended; what it did is absorbed. While paused also until
    /// that is over, for then further ones may begin.
    async fn wait(&mut self, l: &mut Loop) -> Result<(), Error> {
        let desk = l.desk.clone();
        let paused = l.state.run.as_ref().is_some_and(|r| r.pause.is_some());
        let joined = tokio::select! {
            joined = self.at_work.join_next() => joined,
            () = desk.resumed(), if paused => return Ok(()),
        };
        let Some(joined) = joined else {
            return Err(Error::Internal("nobody is at work".into()));
        };
        let (task, ran) =
            joined.map_err(|e| Error::Internal(format!("a worker ended oddly: {e}")))?;
        let absorbed = match Worker::existing(l.s.home(), &task)? {
            Some(worker) => absorb_all(l, &worker).await,
            None => Err(Error::Internal(format!("the worktree for {task} is gone"))),
        };
        if l.state
            .run
            .as_ref()
            .is_some_and(|r| r.claimed.contains_key(&task))
        {
            l.record(Fact::Released { task: task.clone() })?;
        }
        let summary = ran?;
        match (absorbed?, summary.end) {
            (_, EndReason::Stopped) => Ok(()),
            (0, end @ (EndReason::Complete | EndReason::MaxIterations | EndReason::NoProgress)) => {
                let why = end.word();
                Err(Error::Internal(format!(
                    "the worker for {task} ended without an iteration ({why})"
                )))
            }
            (0, end) => l.record(Fact::Faulted { end }),
            _ => Ok(()),
        }
    }
}

async fn state_of(l: &Loop, worker: &Worker) -> Result<Option<TaskState>, Error> {
    let tasks = l.s.source.load(&l.state.ids).await?.list;
    Ok(tasks.get(&worker.note.task).map(|entry| entry.state))
}

/// Is its task done, and not by its commit?
async fn done_by_another(l: &Loop, worker: &Worker) -> Result<bool, Error> {
    let Some(last) = away::accepted_last(worker)?.filter(|last| last.commit().is_some()) else {
        return Ok(false);
    };
    Ok(state_of(l, worker).await? == Some(TaskState::Done)
        && away::merged(l.s.home(), worker, &last).await?.is_none())
}

/// Absorbs what a worker has finished; how many iterations that were.
async fn absorb_all(l: &mut Loop, worker: &Worker) -> Result<usize, Error> {
    let task = &worker.note.task;
    let upto = l.state.absorbed.get(task).copied().unwrap_or(0);
    let done = worker.done_after(upto)?;
    let count = done.len();
    for one in done {
        let accepted = one.result == IterationResult::Accepted;
        let mut lines = one.lines.clone();
        let refused = if accepted {
            match merge(l, worker, &one).await? {
                Merge::Done(sha) => {
                    replace_commit(&mut lines, sha);
                    false
                }
                Merge::Refused(output) => {
                    l.bus.notice(format!(
                        "{task}: not merged, the work is kept on the branch {}: {output}",
                        worker.note.branch
                    ));
                    refuse(l, &mut lines, output)?;
                    true
                }
            }
        } else {
            false
        };
        let blocked = absorb(l, worker, lines).await?;
        if accepted && !refused {
            let tip = one.commit().unwrap_or(&worker.note.base);
            worker.remove_with_branch(l.s.home(), tip).await?;
        } else if blocked {
            keep(l, worker).await?;
        } else if refused {
            worker.remove(l.s.home()).await?;
        }
    }
    Ok(count)
}

/// One iteration into the project's records and journal. True if its task is blocked now.
async fn absorb(l: &mut Loop, worker: &Worker, lines: Vec<Line>) -> Result<bool, Error> {
    let (c, rules) = replayed(l, &lines)?;
    let Some(Line {
        fact: Fact::IterationEnded { result, reason, .. },
        seq: upto,
        ..
    }) = lines.last()
    else {
        return Err(Error::Internal("a worker's iteration has no end".into()));
    };
    let files = match (&c.prepared, &c.seen) {
        (Some(p), Some(s)) => {
            let (base, now) = (snapshot(&p.base)?, snapshot(&s.now)?);
            l.s.git.changes(&base, &now, &l.ignore()).await?.files
        }
        _ => Vec::new(),
    };
    let run = l.state.run.as_ref().map(|r| r.id.clone());
    let mut written = Finished {
        run: run.as_deref().unwrap_or_default(),
        rules: &rules,
        current: &c,
        lines: &lines,
        files: &files,
        result: *result,
        reason,
        branch: Some(&worker.note.branch),
        pinned: l.s.project.pinned.as_ref(),
    }
    .write(&l.s.project.ws, &l.s.project.config.files.progress)?;
    if let Some(p) = &c.prepared {
        let places = Places::of(&worker.note.task, &p.attempt_id);
        let ws = &l.s.project.ws;
        let logs = worker.copy_records(ws, &places, &p.attempt_id)?;
        files::kept(ws, &places, &logs, &mut written.files)?;
    }
    l.file.remember(&written.entry)?;
    let recorded = Past {
        at: clock::now(),
        seq: None,
        fact: Fact::Recorded {
            files: written.files,
        },
    };
    let blocked = ralph_engine::decide::blocks(&c, &rules);
    let (accepted, upto) = (*result == IterationResult::Accepted, *upto);
    let reason = reason.clone();
    let attempt = c.prepared.as_ref().map(|p| p.attempt_id.clone());
    let past = |line: Line| Past {
        at: line.at,
        seq: Some(line.seq),
        fact: line.fact,
    };
    let mut facts: Vec<Past> = lines.into_iter().map(past).collect();
    facts.insert(facts.len().saturating_sub(1), recorded);
    // Before it is journaled: a death in between says it twice, and never not at all.
    if blocked {
        let outcome = Outcome::Blocked {
            reason: Some(reason),
            attempt,
        };
        let task = &worker.note.task;
        l.s.source.apply(&l.state.ids, task, &outcome).await?;
    }
    l.record(Fact::Absorbed {
        task: worker.note.task.clone(),
        upto,
        facts,
    })?;
    l.count(accepted, c.usage);
    l.sync()?;
    l.lines.clear();
    l.save()?;
    Ok(blocked)
}

/// The iteration as its facts make it, just before its end.
pub(crate) fn replayed(
    l: &Loop,
    lines: &[Line],
) -> Result<(Current, ralph_engine::fact::Rules), Error> {
    let mut state = l.state.clone();
    let before = lines
        .iter()
        .take_while(|l| !matches!(l.fact, Fact::IterationEnded { .. }));
    for line in before {
        state
            .apply(&line.fact)
            .map_err(|e| Error::Internal(format!("a worker's journal: {e}")))?;
    }
    match (state.current, state.run) {
        (Some(c), Some(run)) => Ok((c, run.rules)),
        _ => Err(Error::Internal("a worker's iteration isn't one".into())),
    }
}

fn replace_commit(lines: &mut [Line], merged: Option<String>) {
    for line in lines {
        if let Fact::Committed { sha, .. } = &mut line.fact {
            sha.clone_from(&merged);
        }
    }
}

/// Accepted by its worker, but it can't be merged: that is what it came to.
fn refuse(l: &Loop, lines: &mut Vec<Line>, output: String) -> Result<(), Error> {
    let Some(last) = lines.pop() else {
        return Err(Error::Internal("a worker's iteration is empty".into()));
    };
    lines.retain(|l| !matches!(l.fact, Fact::Marked { .. } | Fact::Committed { .. }));
    let line = |fact| Line {
        fact,
        seq: last.seq,
        at: last.at.clone(),
        prev: String::new(),
    };
    lines.push(line(Fact::MergeRefused { output }));
    let (c, rules) = replayed(l, lines)?;
    let Standing::Settled(ruling) = decide::standing(&c, &rules) else {
        return Err(Error::Internal("a refused merge settles nothing".into()));
    };
    lines.push(line(Fact::IterationEnded {
        result: ruling.result,
        reason: ruling.reason,
        progress: true,
    }));
    Ok(())
}

async fn keep(l: &Loop, worker: &Worker) -> Result<(), Error> {
    if let Some(said) = away::put_away(l.s.home(), worker).await? {
        l.bus.notice(said);
    }
    Ok(())
}
