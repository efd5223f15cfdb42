//! A run's desk: where it can be asked how it stands, and told what somebody
//! wants of it, from any thread while it works.
//!
//! What is told is journaled at once, in the journal's order; the loop folds it
//! into its own state before its next fact. So a wish is never lost, and an
//! answer never waits for an agent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_engine::event::Event;
use ralph_engine::fact::{EndReason, Phase};
use ralph_engine::state::{Pause, Stop};
use ralph_engine::tasks::{Ids, TaskList};
use ralph_engine::types::Usage;
use ralph_engine::{Fact, State};
use ralph_workspace::Workspace;
use tokio::sync::watch;

use crate::bus::Bus;
use crate::clock;
use crate::control::Control;
use crate::error::Error;
use crate::journal::{Checkpoint, Journal, Line};
use crate::records;
use crate::redact;
use crate::sources::Source;

/// One injected text may have this many bytes.
pub const INJECT_MAX: usize = 16 * 1024;
/// This many may wait for a prompt.
pub const INJECT_WAITING: usize = 16;

/// How a run stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Now {
    /// The run's id; empty until it has begun.
    pub run: String,
    /// Who works.
    pub agent: String,
    /// The iteration that is on, or the last one.
    pub iteration: u32,
    /// Iterations ended in this run.
    pub iterations: u32,
    /// Iterations this run may take.
    pub max_iterations: u32,
    /// The task at hand: id and title.
    pub task: Option<(String, String)>,
    /// What names the attempt at hand, once it has a prompt.
    pub attempt: Option<String>,
    /// Iterations in a row without progress.
    pub no_progress: u32,
    /// The phase at hand; `None` between two iterations.
    pub phase: Option<Phase>,
    /// Somebody wants no new iteration to start.
    pub pause: Option<Pause>,
    /// Somebody wants it to end.
    pub stop: Option<Stop>,
    /// Workers that are at a task each.
    pub at_work: u32,
    /// Texts that wait for the next prompt.
    pub injected: usize,
    /// Tasks that this run takes up no more.
    pub skipped: Arc<BTreeSet<String>>,
    /// Tasks with attempts that counted, and how many.
    pub attempts: Arc<BTreeMap<String, u32>>,
    /// Tasks that are worked on.
    pub working: Vec<String>,
    /// Tokens and money of this run so far.
    pub usage: Usage,
    /// Seconds this run was at work.
    pub seconds: u64,
    ids: Arc<Ids>,
    /// Tasks done and in all, as last seen.
    pub tasks: (u32, u32),
    /// How it ended.
    pub end: Option<EndReason>,
    /// When this process took the run up, RFC 3339.
    pub started_at: String,
    /// When something last happened.
    pub updated_at: String,
}

impl Now {
    /// Paused, with no iteration on?
    pub fn rests(&self) -> bool {
        self.pause.is_some() && self.phase.is_none() && self.at_work == 0 && self.end.is_none()
    }

    fn take(&mut self, state: &State) {
        if let Some(run) = &state.run {
            self.run.clone_from(&run.id);
            self.agent.clone_from(&run.agent);
            self.iterations = run.iterations;
            self.max_iterations = run.rules.max_iterations;
            self.pause = run.pause;
            self.stop = self.stop.max(run.stop);
            self.tasks = (run.done, run.total);
            self.at_work = u32::try_from(run.claimed.len()).unwrap_or(u32::MAX);
            if *self.skipped != run.skipped {
                self.skipped = Arc::new(run.skipped.clone());
            }
            self.working = run.claimed.keys().cloned().collect();
            self.usage = run.usage;
            self.seconds = run.elapsed;
        }
        self.iteration = state.iterations;
        self.injected = state.injected.len();
        self.ids.clone_from(&state.ids);
        let counted = || (state.tasks.iter()).filter(|(_, t)| t.attempts > 0);
        let known = self.attempts.iter().map(|(id, n)| (id, *n));
        if !counted().map(|(id, t)| (id, t.attempts)).eq(known) {
            let all = counted().map(|(id, t)| (id.clone(), t.attempts));
            self.attempts = Arc::new(all.collect());
        }
        self.phase = state.current.as_ref().map(|c| c.phase);
        if let Some(c) = &state.current {
            self.task = Some((c.task.id.clone(), c.task.title.clone()));
            self.agent.clone_from(&c.agent);
            self.attempt = c.prepared.as_ref().map(|p| p.attempt_id.clone());
            self.working.push(c.task.id.clone());
            self.usage = self.usage.plus(c.usage);
        }
        self.no_progress = state.no_progress;
        self.updated_at = clock::now();
    }

    fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::PauseAsked { checkpoint } => {
                let checkpoint = *checkpoint;
                self.pause = Some(Pause { checkpoint });
            }
            Fact::ResumeAsked => self.pause = None,
            Fact::Injected { .. } => self.injected += 1,
            Fact::SkipAsked { task } => {
                Arc::make_mut(&mut self.skipped).insert(task.clone());
            }
            Fact::UnskipAsked { task } => {
                Arc::make_mut(&mut self.skipped).remove(task);
            }
            Fact::RunEnded { end } => self.end = Some(end.clone()),
            _ => {}
        }
        self.updated_at = clock::now();
    }
}

/// The journal, and what stands in it that the loop hasn't folded yet.
pub(crate) struct Book {
    pub(crate) journal: Journal,
    pub(crate) noted: Vec<Line>,
    now: Now,
}

impl Book {
    /// What was noted by others since the loop last looked.
    pub(crate) fn take_noted(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.noted)
    }

    /// After the loop journaled facts of its own.
    pub(crate) fn show(&mut self, state: &State, facts: &[Fact]) {
        self.now.take(state);
        for fact in facts {
            if matches!(fact, Fact::RunEnded { .. }) {
                self.now.fact(fact);
            }
        }
    }
}

/// The desk itself. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    book: Arc<Mutex<Book>>,
    paused: watch::Sender<bool>,
    bus: Bus,
    ws: Workspace,
    source: Arc<dyn Source>,
}

/// Why a wish was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The run has ended, or is only about to begin.
    #[error("no run is on here")]
    NoRun,
    /// What was said can't be taken.
    #[error("{0}")]
    Bad(String),
    /// The disk refuses.
    #[error("{0}")]
    Failed(String),
}

impl From<Error> for Refused {
    fn from(e: Error) -> Refused {
        Refused::Failed(e.to_string())
    }
}

impl Desk {
    pub(crate) fn new(
        journal: Journal,
        bus: &Bus,
        ws: &Workspace,
        source: &Arc<dyn Source>,
    ) -> Desk {
        let now = Now {
            started_at: clock::now(),
            updated_at: clock::now(),
            ..Now::default()
        };
        Desk {
            book: Arc::new(Mutex::new(Book {
                journal,
                noted: Vec::new(),
                now,
            })),
            paused: watch::channel(false).0,
            bus: bus.clone(),
            ws: ws.clone(),
            source: source.clone(),
        }
    }

    /// What is in there is complete at any time, whoever panicked.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the run stands.
    pub fn now(&self) -> Now {
        self.book().now.clone()
    }

    /// No new iteration starts any more. False if that was so already.
    ///
    /// # Errors
    /// No run is on, or the journal can't be written.
    pub fn pause(&self) -> Result<bool, Refused> {
        let known = self
            .note(|now| (now.pause.is_none()).then_some(Fact::PauseAsked { checkpoint: false }))?;
        Ok(known.is_some())
    }

    /// New iterations may start again. False if nothing was paused.
    ///
    /// # Errors
    /// As [`Desk::pause`].
    pub fn resume(&self) -> Result<bool, Refused> {
        let known = self.note(|now| now.pause.is_some().then_some(Fact::ResumeAsked))?;
        Ok(known.is_some())
    }

    /// Brings the journal and `state.json` safely onto the disk; with `pause` no new
    /// iteration starts after that. The sequence number of the journal's last line.
    ///
    /// # Errors
    /// As [`Desk::pause`].
    pub fn checkpoint(&self, pause: bool) -> Result<u64, Refused> {
        if pause {
            self.note(|now| {
                let known = now.pause.is_some_and(|p| p.checkpoint);
                (!known).then_some(Fact::PauseAsked { checkpoint: true })
            })?;
        }
        let book = self.book();
        if book.now.run.is_empty() {
            return Err(Refused::NoRun);
        }
        book.journal.sync()?;
        // Between two iterations it stands as the loop wrote it, which is what a start needs.
        records::sync_state(&self.ws)?;
        Ok(book.journal.checkpoint().seq)
    }

    /// Gives the next attempt's prompt a text of a person's.
    ///
    /// # Errors
    /// As [`Desk::pause`], and when the text is blank, too long, or too many wait.
    pub fn inject(&self, text: &str) -> Result<String, Refused> {
        let text = redact::text(text.trim().to_owned());
        if text.is_empty() {
            return Err(Refused::Bad("the prompt is blank".into()));
        }
        if text.len() > INJECT_MAX {
            return Err(Refused::Bad(format!(
                "the prompt has {} bytes; {INJECT_MAX} are the most",
                text.len()
            )));
        }
        let full = self.book().now.injected >= INJECT_WAITING;
        if full {
            return Err(Refused::Bad(format!(
                "{INJECT_WAITING} texts wait for the next prompt already"
            )));
        }
        self.note(|_| Some(Fact::Injected { text: text.clone() }))?;
        Ok(text)
    }

    /// The tasks, read anew from where they come from.
    ///
    /// # Errors
    /// They can't be read.
    pub async fn tasks(&self) -> Result<Arc<TaskList>, Refused> {
        let ids = self.book().now.ids.clone();
        Ok(self.source.load(&ids).await?.list)
    }

    /// Has the run take a task up no more. False if that was so already.
    ///
    /// # Errors
    /// As [`Desk::pause`].
    pub fn skip(&self, task: &str) -> Result<bool, Refused> {
        let known = self.note(|now| {
            let task = task.to_owned();
            (!now.skipped.contains(&task)).then_some(Fact::SkipAsked { task })
        })?;
        Ok(known.is_some())
    }

    /// Has the run take a task up again that it was to skip. False if it wasn't.
    ///
    /// # Errors
    /// As [`Desk::pause`].
    pub fn unskip(&self, task: &str) -> Result<bool, Refused> {
        let known = self.note(|now| {
            let task = task.to_owned();
            (now.skipped.contains(&task)).then_some(Fact::UnskipAsked { task })
        })?;
        Ok(known.is_some())
    }

    /// Asks the run to end: after this iteration, or at once. How urgent the wish is now.
    pub fn stop(&self, control: &Control, force: bool) -> Stop {
        let how = if force { Stop::Force } else { Stop::Graceful };
        control.stop(how);
        let mut book = self.book();
        book.now.stop = book.now.stop.max(Some(how));
        book.now.stop.unwrap_or(how)
    }

    /// Where the journal ends.
    pub fn journaled(&self) -> Checkpoint {
        self.book().journal.checkpoint().clone()
    }

    /// Journals what `fact` gives, if it gives anything, and shows it to every view.
    fn note(&self, fact: impl FnOnce(&Now) -> Option<Fact>) -> Result<Option<()>, Refused> {
        let noted = {
            let mut book = self.book();
            if book.now.run.is_empty() || book.now.end.is_some() {
                return Err(Refused::NoRun);
            }
            let Some(fact) = fact(&book.now) else {
                return Ok(None);
            };
            let lines = book.journal.append(std::slice::from_ref(&fact))?;
            book.journal.sync()?;
            book.noted.extend(lines);
            book.now.fact(&fact);
            self.paused.send_replace(book.now.pause.is_some());
            fact
        };
        self.bus.send(&Event::Fact(noted));
        Ok(Some(()))
    }

    /// Waits until nothing is paused.
    pub(crate) async fn resumed(&self) {
        let mut rx = self.paused.subscribe();
        if rx.wait_for(|paused| !paused).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
