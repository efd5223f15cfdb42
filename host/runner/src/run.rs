//! The loop: asks the engine what is next, journals it, carries it out, feeds the fact back.

use std::pin::Pin;
use std::sync::Arc;

use ralph_engine::fact::{EndReason, Phase};
use ralph_engine::state::Stop;
use ralph_engine::tasks::Ids;
use ralph_engine::types::Usage;
use ralph_engine::{Effect, Fact, State};
use ralph_workspace::{ProjectLock, Snapshot};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::ahead::Ahead;
use crate::bus::Bus;
use crate::clock;
use crate::control::Stopping;
use crate::error::Error;
use crate::fleet::Fleet;
use crate::journal::{self, Journal, Line};
use crate::leftover;
use crate::names::Places;
use crate::passing;
use crate::records::{self, StateFile};
use crate::services::Looked;
use crate::setup::Setup;
use crate::steer::Desk;
use crate::worker;

/// How a run ended.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The run's id.
    pub run: String,
    /// Why.
    pub end: EndReason,
    /// Iterations of this run.
    pub iterations: u32,
    /// How many of them were accepted.
    pub accepted: u32,
    /// Tasks done and in all.
    pub tasks: (u32, u32),
    /// Tokens and money of this run.
    pub usage: Usage,
}

/// A run in progress. The phases are in [`crate::phases`].
pub(crate) struct Loop {
    pub(crate) s: Setup,
    pub(crate) bus: Bus,
    pub(crate) stopping: Stopping,
    pub(crate) state: State,
    /// Journal lines of the current iteration.
    pub(crate) lines: Vec<Line>,
    /// What the current iteration changed.
    pub(crate) looked: Option<Arc<Looked>>,
    /// The current iteration was begun by a run that died or was stopped.
    pub(crate) taken_up: bool,
    pub(crate) file: StateFile,
    pub(crate) desk: Desk,
    pub(crate) ahead: Ahead,
    accepted: u32,
    usage: Usage,
    /// Given up when the run is over; a preview has none.
    pub(crate) _lock: Option<ProjectLock>,
}

/// Carries a run out to its end. An error means that it could not start, or
/// could not even record its end; any other trouble is an [`EndReason`].
pub async fn run(setup: Setup, bus: Bus, stopping: Stopping) -> Result<Summary, Error> {
    Opened::new(setup, bus, stopping)?
        .start()
        .await?
        .to_its_end()
        .await
}

/// A project that this process has for itself: no other run can be on in it.
pub struct Opened(Loop);

/// A run that has begun.
pub struct Begun(Loop, Option<Fleet>);

impl Opened {
    /// Takes the project's lock and ends what a dead run left running.
    ///
    /// # Errors
    /// Another run is on, or the journal can't be read.
    pub fn new(setup: Setup, bus: Bus, stopping: Stopping) -> Result<Opened, Error> {
        Ok(Opened(Loop::open(setup, bus, stopping)?))
    }

    /// Journals the run's start.
    ///
    /// # Errors
    /// The disk or git refuses.
    pub async fn start(self) -> Result<Begun, Error> {
        let mut l = self.0;
        let fleet = l.s.workers.map(Fleet::new);
        l.switch().await?;
        l.start().await?;
        Ok(Begun(l, fleet))
    }
}

impl Begun {
    /// Where the run is asked and told things.
    pub fn desk(&self) -> Desk {
        self.0.desk.clone()
    }

    /// Carries it out.
    ///
    /// # Errors
    /// Not even its end could be recorded.
    pub async fn to_its_end(self) -> Result<Summary, Error> {
        let Begun(mut l, mut fleet) = self;
        if fleet.is_none() && worker::any(&l.s.project.ws) {
            l.bus.notice(format!(
                "workers of a run that was cut off are in {}: `ralph run --parallel N` goes on with them",
                worker::DIR
            ));
        }
        if let Some(fleet) = &mut fleet
            && let Err(e) = fleet.reconcile(&mut l).await
        {
            l.fault(e)?;
        }
        l.go(&mut fleet).await
    }
}

/// The same for one iteration in a worker's worktree. Boxed, for a run waits for
/// workers and a worker is a run.
pub(crate) fn worker(
    setup: Setup,
    bus: Bus,
    stopping: Stopping,
    told: Vec<Fact>,
    heard: oneshot::Sender<()>,
    ids: Arc<Ids>,
) -> Pin<Box<dyn Future<Output = Result<Summary, Error>> + Send>> {
    Box::pin(async move {
        let mut l = Loop::open(setup, bus, stopping)?;
        for fact in told {
            l.record(fact)?;
        }
        // Nobody may have waited for it.
        let _ = heard.send(());
        // What the project has learned since: an id means the same here as there.
        if l.state.ids != ids {
            let ids = Ids::clone(&ids);
            l.record(Fact::IdsAssigned { ids })?;
        }
        l.start().await?;
        l.go(&mut None).await
    })
}

impl Loop {
    async fn go(mut self, fleet: &mut Option<Fleet>) -> Result<Summary, Error> {
        let run = self.run_id();
        let mut last = (0, (0, 0));
        loop {
            self.fold_noted()?;
            self.note_stop()?;
            if let Some(run) = &self.state.run {
                last = (run.iterations, (run.done, run.total));
            }
            let effect = self.state.next();
            if let Effect::End(end) = effect {
                self.end(&end)?;
                let (iterations, tasks) = last;
                return Ok(Summary {
                    run,
                    end,
                    iterations,
                    accepted: self.accepted,
                    tasks,
                    usage: self.usage,
                });
            }
            let done = match fleet {
                Some(fleet) => fleet.step(&mut self, effect).await,
                None => self.carry_out(effect).await,
            };
            if let Err(e) = done {
                self.fault(e)?;
            }
        }
    }

    fn run_id(&self) -> String {
        self.state
            .run
            .as_ref()
            .map(|r| r.id.clone())
            .unwrap_or_default()
    }

    /// The run ends for this. The disk may be what failed; then recording that
    /// fails as well, and the caller hears of it.
    fn fault(&mut self, e: Error) -> Result<(), Error> {
        if !matches!(e, Error::Stopped) {
            tracing::error!("{e}");
        }
        self.record(Fact::Faulted { end: e.into() })
    }

    /// `[git] branch`
    async fn switch(&self) -> Result<(), Error> {
        match &self.s.project.config.git.branch {
            Some(branch) if self.state.current.is_none() => {
                Ok(self.s.git.switch(branch, None).await?)
            }
            _ => Ok(()),
        }
    }

    /// Takes in what an iteration came to.
    pub(crate) fn count(&mut self, accepted: bool, usage: Usage) {
        self.usage = self.usage.plus(usage);
        self.accepted += u32::from(accepted);
    }

    fn open(mut s: Setup, bus: Bus, stopping: Stopping) -> Result<Loop, Error> {
        let ahead = std::mem::take(&mut s.ahead);
        let ws = &s.project.ws;
        let lock = ProjectLock::acquire(ws)?;
        let mut ahead = ahead.within(&lock);
        if !ws.exists(records::IGNORE.0) {
            ws.write_relaxed(records::IGNORE.0, records::IGNORE.1.as_bytes())?;
        }
        for pid in leftover::end(ws) {
            // It may have written to the last.
            ahead = Ahead::default();
            bus.notice(format!(
                "a dead run had left a program running (pid {pid}); it was ended"
            ));
        }
        let tasks = s.source.file().and_then(|file| file.rsplit_once('/'));
        let branches = format!("{}/{}", worker::DIR, passing::NAME);
        let own = [".", ".ralph", worker::DIR, &branches];
        for dir in own.into_iter().chain(tasks.map(|t| t.0)) {
            leftover::sweep(ws, dir);
        }
        let file = StateFile::read(ws).unwrap_or_default();
        let folded = journal::fold(ws, Some((file.checkpoint.clone(), file.engine.clone())))?;
        if folded.state.run.is_some() {
            // One that was cut off may have to be mended first.
            ahead = Ahead::default();
            let gits = s.git.settle();
            if gits > 0 {
                tracing::debug!("{gits} processes of git of a dead run have ended");
            }
        }
        let desk = Desk::new(Journal::open(ws, &folded)?, &bus, ws, &s.source);
        let taken_up = folded.state.current.is_some();
        Ok(Loop {
            s,
            bus,
            stopping,
            state: folded.state,
            lines: folded.recent,
            looked: None,
            taken_up,
            file,
            desk,
            ahead,
            accepted: 0,
            usage: Usage::default(),
            _lock: Some(lock),
        })
    }

    /// One that only looks: it has no lock and can record nothing.
    pub(crate) fn aside(s: Setup, bus: Bus, stopping: Stopping) -> Result<Loop, Error> {
        let ws = &s.project.ws;
        let file = StateFile::read(ws).unwrap_or_default();
        let folded = journal::fold(ws, Some((file.checkpoint.clone(), file.engine.clone())))?;
        let desk = Desk::new(Journal::closed(folded.at), &bus, ws, &s.source);
        Ok(Loop {
            s,
            bus,
            stopping,
            state: folded.state,
            lines: folded.recent,
            looked: None,
            taken_up: false,
            file,
            desk,
            ahead: Ahead::default(),
            accepted: 0,
            usage: Usage::default(),
            _lock: None,
        })
    }

    async fn start(&mut self) -> Result<(), Error> {
        let taken_up = self.state.run.as_ref().map(|r| r.id.clone());
        if let Some(c) = &self.state.current {
            self.bus.notice(format!(
                "iteration {} was cut off in its {:?} phase; taking it up",
                c.number, c.phase
            ));
        }
        let fresh = taken_up.is_none();
        let run = taken_up.unwrap_or_else(|| {
            format!("run-{}-{:04}", clock::compact(), self.desk.journaled().seq)
        });
        self.record(Fact::RunStarted {
            run,
            agent: self.s.agent.name.clone(),
            rules: self.s.rules.clone(),
            target: self.s.target.clone(),
        })?;
        if !fresh {
            self.mend().await?;
        }
        // Whoever changed the workspace while no run was on: what was said of it before counts no more.
        let seen = self
            .state
            .current
            .as_ref()
            .filter(|c| c.committed.is_none())
            .and_then(|c| c.seen.clone());
        if let Some(seen) = seen {
            let now = self.s.git.snapshot().await?;
            let then: Snapshot = snapshot(&seen.now)?;
            let same = self.s.git.readable(&then).await?
                && self
                    .s
                    .git
                    .changes(&then, &now, &self.ignore())
                    .await?
                    .files
                    .is_empty();
            if !same {
                self.bus.notice(
                    "the workspace has changed since the run was cut off; it is checked again",
                );
                self.record(Fact::WorkspaceMoved)?;
            }
        }
        Ok(())
    }

    /// A run was cut off; if the power or the disk was what failed, git has lost what it had
    /// not yet brought onto it.
    async fn mend(&mut self) -> Result<(), Error> {
        let git = &self.s.git;
        let removed = git.remove_empty_objects()?;
        if removed > 0 {
            self.bus.notice(format!(
                "{removed} objects of git were empty, as after a power cut, and were removed"
            ));
        }
        let current = self.state.current.as_ref();
        let of_current = current
            .filter(|c| c.committed.is_none())
            .and_then(|c| c.prepared.as_ref())
            .map(|p| &p.base);
        let kept = self.state.base.as_ref().map(|b| &b.snapshot);
        for base in of_current.into_iter().chain(kept) {
            let base = snapshot(base)?;
            if git.readable(&base).await? {
                continue;
            }
            let committing = current.is_some_and(|c| c.phase == Phase::Commit);
            if committing && let Some(sha) = git.finished(&base, &self.seed()).await? {
                let sha = Some(sha);
                return self.record(Fact::Committed { sha, note: None });
            }
            self.bus.notice(
                "what the work was measured against is lost, as after a power cut; what is in the workspace now counts as yours",
            );
            let now = git.snapshot().await?;
            let base = serde_json::to_value(&now).map_err(|e| Error::Internal(e.to_string()))?;
            return self.record(Fact::BaseLost {
                base,
                tree: now.tree,
            });
        }
        Ok(())
    }

    /// Journals a wish to stop, once for each degree.
    fn note_stop(&mut self) -> Result<(), Error> {
        let asked = self.stopping.asked();
        let known = self.state.run.as_ref().and_then(|r| r.stop);
        match asked {
            Some(how) if known < Some(how) => self.record(Fact::StopAsked {
                force: how == Stop::Force,
            }),
            _ => Ok(()),
        }
    }

    pub(crate) async fn carry_out(&mut self, effect: Effect) -> Result<(), Error> {
        if let Some(phase) = effect.phase() {
            if !self.begin(Fact::Started { phase })? {
                // Somebody wants something: it may not be what is to be done any more.
                return Ok(());
            }
            // An agent has much to be made ready for it, and waits for the disk only then.
            if matches!(phase, Phase::Judge | Phase::Review | Phase::Commit) {
                self.sync()?;
            }
        }
        match effect {
            Effect::Idle | Effect::Await | Effect::End(_) => {
                Err(Error::Internal("no run is on".into()))
            }
            Effect::Select { target } => {
                self.pause_between().await;
                if self.stopping.asked().is_some() {
                    return Ok(());
                }
                let facts = self.select(target.as_deref()).await?;
                self.record_all(facts)
            }
            Effect::Wait { until, why } => self.wait(until, why).await,
            Effect::Pause => {
                self.record(clock::fact())?;
                self.sync()?;
                tokio::select! {
                    () = self.desk.resumed() => {}
                    () = self.stopping.any() => {}
                }
                Ok(())
            }
            Effect::Prepare => {
                let shown = self.state.injected.len();
                let mut facts = vec![self.prepare().await?];
                if shown > 0 {
                    let injected = u32::try_from(shown).unwrap_or(u32::MAX);
                    facts.push(Fact::Delivered { injected });
                }
                self.record_all(facts)
            }
            Effect::RunAgent => {
                let facts = self.run_agent(self.syncing()?).await?;
                self.record_all(facts)?;
                self.sync()
            }
            Effect::ReadChanges => {
                let fact = self.read_changes().await?;
                self.record(fact)
            }
            Effect::RunGates(names) => self.run_gates(names).await,
            Effect::Ask(role) => {
                let facts = self.ask(role).await?;
                self.record_all(facts)?;
                self.sync()
            }
            Effect::Mark(to) => {
                self.mark(to).await?;
                self.record(Fact::Marked { state: to })
            }
            Effect::Commit => {
                let fact = self.commit().await?;
                self.record(fact)
            }
            Effect::Close(ruling) => {
                self.keep_work(&ruling).await;
                let (facts, accepted) = self.close(&ruling)?;
                let usage = self.state.current.as_ref().map(|c| c.usage);
                self.count(accepted, usage.unwrap_or_default());
                (self.looked, self.taken_up) = (None, false);
                self.record_all(facts)?;
                self.sync()?;
                self.lines.clear();
                self.save()
            }
        }
    }

    async fn pause_between(&self) {
        let sleep = self.s.project.config.run.sleep.get();
        let begun = self.state.run.as_ref().is_some_and(|r| r.iterations > 0);
        if begun && !sleep.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(sleep) => {}
                () = self.stopping.any() => {}
            }
        }
    }

    fn end(&mut self, end: &EndReason) -> Result<(), Error> {
        if let Some(run) = &self.state.run {
            self.file.session_id.clone_from(&run.id);
        }
        self.record(Fact::RunEnded { end: end.clone() })?;
        self.sync()?;
        self.save()
    }

    pub(crate) fn ignore(&self) -> Vec<String> {
        self.s.source.own()
    }

    pub(crate) fn places(&self) -> Result<Places, Error> {
        let c = self
            .state
            .current
            .as_ref()
            .ok_or_else(|| Error::Internal("no iteration is on".into()))?;
        let p = c
            .prepared
            .as_ref()
            .ok_or_else(|| Error::Internal("the iteration has no prompt".into()))?;
        Ok(Places::of(&c.task.id, &p.attempt_id))
    }
}

/// Reads a snapshot back out of a fact.
pub(crate) fn snapshot(value: &Value) -> Result<Snapshot, Error> {
    serde_json::from_value(value.clone())
        .map_err(|e| Error::Internal(format!("a snapshot in the journal can't be read: {e}")))
}
