//! What was asked for and what came of it: append-only, each line hashed over the one before.
//!
//! An event is on the disk before its effect (`stage` is `intent`), and what came of it after
//! (`outcome`, whose `of` is the intent's `seq`). An intent without an outcome: the service died
//! in between. One whose outcome has the error `cut-off` has another once the edit is finished or given up.
//! Contents of prompts never stand there.

pub mod chain;
mod page;
pub mod relay;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::watch;

use ralph_runner::clock;

use crate::problem::Problem;
use chain::Chain;

/// The kind of an edit's problem that was begun and isn't at its end: it has another outcome to come.
pub const CUT_OFF: &str = "cut-off";
/// Outcomes that wait for a disk that takes them.
const LATE_MAX: usize = 10_000;

/// The types of events, as the console's document names them.
pub mod kinds {
    /// Somebody wants a run.
    pub const SUBMITTED: &str = "ralph.run.submitted";
    /// Somebody wants a run ended.
    pub const CANCELLED: &str = "ralph.run.cancelled";
    /// A run came to its end.
    pub const TERMINAL: &str = "ralph.run.terminal";
    /// Somebody pauses a run, lets it go on, or gives its next prompt a text.
    pub const STEERED: &str = "ralph.run.steered";
    /// Somebody writes a prompt.
    pub const EDITED: &str = "prompt.edited";
    /// Somebody deletes a prompt.
    pub const DELETED: &str = "prompt.deleted";
}

/// One event: its type and its members.
#[derive(Debug, Clone)]
pub struct Event {
    kind: &'static str,
    members: Map<String, Value>,
}

impl Event {
    /// Of this type ([`kinds`]), in a workspace.
    pub fn new(kind: &'static str, workspace: &str) -> Event {
        let event = Event {
            kind,
            members: Map::new(),
        };
        event.with("workspace", workspace)
    }

    /// By somebody.
    #[must_use]
    pub fn by(self, actor: &str) -> Event {
        self.with("actor", actor)
    }

    /// With a member more. Never a prompt's content.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Event {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    fn members(&self, stage: &'static str, more: Map<String, Value>) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("type".into(), self.kind.into());
        members.insert("stage".into(), stage.into());
        members.extend(self.members.clone());
        members.extend(more);
        members
    }

    /// With a member more, if there is one.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<impl Into<Value>>) -> Event {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

/// An event that is on the disk, and whose effect may be made now.
#[must_use = "an intent has an outcome"]
pub struct Intent {
    seq: u64,
    event: Event,
}

/// The chain, and what couldn't be written to it.
struct Writing {
    chain: Chain,
    /// What has happened and isn't recorded yet, the oldest first.
    late: VecDeque<Map<String, Value>>,
}

impl Writing {
    /// Writes a line behind all that is late. What has happened (`happened`) is kept if it can't be.
    fn append(&mut self, members: Map<String, Value>, happened: bool) -> io::Result<u64> {
        let written = self.catch_up().and_then(|()| self.chain.append(&members));
        if let Err(e) = &written
            && happened
            && e.kind() != io::ErrorKind::InvalidInput
        {
            if self.late.len() < LATE_MAX {
                self.late.push_back(members);
            } else {
                tracing::error!("too much waits for the audit; an outcome is lost");
            }
        }
        written
    }

    fn catch_up(&mut self) -> io::Result<()> {
        while let Some(members) = self.late.front() {
            self.chain.append(members)?;
            self.late.pop_front();
        }
        Ok(())
    }
}

/// The audit. Cheap to clone.
#[derive(Clone)]
pub struct Audit {
    dir: Arc<Path>,
    writing: Arc<Mutex<Writing>>,
    newest: watch::Sender<u64>,
}

impl Audit {
    /// Opens the one of a service's data directory, and checks its end. Only for who has the directory's lock.
    ///
    /// # Errors
    /// The disk refuses, or its last line isn't what the chain's head says.
    pub fn open(dir: &Path) -> Result<Audit, String> {
        let chain = Chain::open(dir)?;
        let newest = watch::channel(chain.seq()).0;
        Ok(Audit {
            dir: dir.into(),
            writing: Arc::new(Mutex::new(Writing {
                chain,
                late: VecDeque::new(),
            })),
            newest,
        })
    }

    /// Brings an event onto the disk, before its effect.
    ///
    /// # Errors
    /// It can't be brought there: the effect must not be made.
    pub async fn intend(&self, event: Event) -> Result<Intent, Problem> {
        let members = event.members("intent", Map::new());
        let seq = self.append(members, false).await?;
        Ok(Intent { seq, event })
    }

    /// What came of it: nothing more to say, or why it failed.
    pub async fn outcome(&self, intent: Intent, failed: Option<&Problem>) {
        self.outcome_with(intent, failed, Map::new()).await;
    }

    /// The same, with what is only known now.
    pub async fn outcome_with(
        &self,
        intent: Intent,
        failed: Option<&Problem>,
        mut more: Map<String, Value>,
    ) {
        more.insert("of".into(), intent.seq.into());
        more.insert("ok".into(), failed.is_none().into());
        if let Some(problem) = failed {
            more.insert("error".into(), problem.kind.clone().into());
        }
        self.late(intent.event.members("outcome", more)).await;
    }

    /// An edit that was cut off was finished, or given up. Whoever asked for it is gone; where they
    /// were told what came of it, nothing is added.
    pub async fn mended(&self, workspace: &str, prompt_path: &str, finished: bool) {
        let (dir, workspace) = (self.dir.clone(), workspace.to_owned());
        let path = prompt_path.to_owned();
        let found = tokio::task::spawn_blocking(move || page::open_edit(&dir, &workspace, &path));
        let found = found.await.unwrap_or_else(|e| Err(io::Error::other(e)));
        let mut members = match found {
            Ok(Some(Value::Object(intent))) => intent,
            Ok(_) => return,
            Err(e) => {
                return tracing::error!("the outcome of an edit isn't recorded: {e}");
            }
        };
        for name in ["prev", "hash", "at"] {
            members.remove(name);
        }
        let of = members.remove("seq").unwrap_or_default();
        members.insert("stage".into(), "outcome".into());
        members.insert("of".into(), of);
        members.insert("ok".into(), finished.into());
        if !finished {
            members.insert("error".into(), "urn:ralph:problem:given-up".into());
        }
        self.late(members).await;
    }

    /// What has happened: recorded now, or as soon as the disk takes it.
    async fn late(&self, mut members: Map<String, Value>) {
        members.insert("at".into(), clock::now().into());
        // The log says why it can't be written now.
        let _ = self.append(members, true).await;
    }

    /// Writes what the disk didn't take before, if it does now.
    pub async fn catch_up(&self) {
        let writing = self.writing.clone();
        let done = tokio::task::spawn_blocking(move || {
            let mut writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
            (writing.catch_up(), writing.late.len())
        });
        if let Ok((Err(e), lost)) = done.await {
            tracing::error!("{lost} outcomes are missing in the audit: {e}");
        }
    }

    /// Something that has happened, and that nobody asked for.
    ///
    /// # Errors
    /// It can't be brought onto the disk.
    pub async fn happened(&self, event: Event) -> Result<u64, Problem> {
        let members = event.members("outcome", Map::new());
        self.append(members, false).await
    }

    /// The number of the newest line; changes with each.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    async fn append(&self, members: Map<String, Value>, happened: bool) -> Result<u64, Problem> {
        let writing = self.writing.clone();
        let appended = tokio::task::spawn_blocking(move || {
            let mut writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
            writing.append(members, happened)
        });
        let seq = appended
            .await
            .unwrap_or_else(|e| Err(std::io::Error::other(e)))
            .map_err(|e| Problem::internal(format!("the audit can't be written: {e}")))?;
        self.newest.send_if_modified(|now| {
            let newer = seq > *now;
            *now = seq.max(*now);
            newer
        });
        Ok(seq)
    }
}

pub use page::{Asked, ends, page};

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn event(path: &str) -> Event {
        Event::new(kinds::EDITED, "site").with("prompt_path", path)
    }

    fn told(dir: &Path) -> Vec<(u64, String, Value, Value)> {
        let mut all = Vec::new();
        let verified = chain::each(dir, |_, line| {
            let stage = line.value["stage"].as_str().unwrap().to_owned();
            let (of, ok) = (line.value["of"].clone(), line.value["ok"].clone());
            all.push((line.seq, stage, of, ok));
        });
        assert_eq!(verified.unwrap().problem, None);
        all
    }

    #[tokio::test]
    async fn an_outcome_that_the_disk_does_not_take_is_written_before_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let audit = Audit::open(dir.path()).unwrap();
        let swap = |file: std::fs::File| audit.writing.lock().unwrap().chain.swap(file);
        let one = audit.intend(event("a")).await.unwrap();
        let two = audit.intend(event("b")).await.unwrap();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let file = swap(full.unwrap());
        audit.outcome(one, None).await;
        let refused = Problem::bad("no");
        audit.outcome(two, Some(&refused)).await;
        // Nothing is done that can't be recorded, and that leaves nothing behind.
        assert!(audit.intend(event("c")).await.is_err());
        assert_eq!(told(dir.path()).len(), 2);
        drop(swap(file));
        let three = audit.intend(event("d")).await.unwrap();
        audit.outcome(three, None).await;
        let (yes, no, none) = (Value::from(true), Value::from(false), Value::Null);
        let outcome =
            |seq: u64, of: u64, ok: &Value| (seq, "outcome".into(), of.into(), ok.clone());
        let intent = |seq: u64| (seq, "intent".into(), none.clone(), none.clone());
        assert_eq!(
            told(dir.path()),
            [
                intent(1),
                intent(2),
                outcome(3, 1, &yes),
                outcome(4, 2, &no),
                intent(5),
                outcome(6, 5, &yes),
            ]
        );
    }

    #[tokio::test]
    async fn an_edit_that_is_mended_has_its_outcome_once() {
        let dir = tempfile::tempdir().unwrap();
        let audit = Audit::open(dir.path()).unwrap();
        let event = |path: &str, workspace: &str| {
            Event::new(kinds::EDITED, workspace)
                .by("tess")
                .with("prompt_path", path)
        };
        let done = audit.intend(event("prompts/a.yaml", "site")).await.unwrap();
        audit.outcome(done, None).await;
        // The service died here.
        let _ = audit.intend(event("prompts/a.yaml", "site")).await.unwrap();
        let _ = audit.intend(event("prompts/a.yaml", "two")).await.unwrap();
        let _ = audit.intend(event("prompts/b.yaml", "site")).await.unwrap();
        drop(audit);
        let audit = Audit::open(dir.path()).unwrap();
        for _ in 0..2 {
            audit.mended("site", "prompts/a.yaml", true).await;
            audit.mended("site", "prompts/b.yaml", false).await;
            audit.mended("site", "prompts/c.yaml", true).await;
        }
        // One that was cut off without a death has another outcome to come.
        let cut = audit.intend(event("prompts/d.yaml", "site")).await.unwrap();
        let problem = Problem::new(axum::http::StatusCode::INTERNAL_SERVER_ERROR, CUT_OFF, "");
        audit.outcome(cut, Some(&problem)).await;
        for _ in 0..2 {
            audit.mended("site", "prompts/d.yaml", true).await;
        }
        let said: Vec<_> = told(dir.path()).into_iter().skip(5).collect();
        let (yes, no) = (Value::from(true), Value::from(false));
        let outcome =
            |seq: u64, of: u64, ok: &Value| (seq, "outcome".into(), of.into(), ok.clone());
        assert_eq!(
            said,
            [
                outcome(6, 3, &yes),
                outcome(7, 5, &no),
                (8, "intent".into(), Value::Null, Value::Null),
                outcome(9, 8, &no),
                outcome(10, 8, &yes),
            ]
        );
        let text = std::fs::read_to_string(dir.path().join(chain::FILE)).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&last["actor"], &last["type"]),
            (&"tess".into(), &kinds::EDITED.into())
        );
    }
}
