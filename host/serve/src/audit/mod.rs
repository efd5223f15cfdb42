//! What was asked for and what came of it: append-only, each line hashed over the one before.
//!
//! An event is on the disk before its effect (`stage` is `intent`), and what came of it after
//! (`outcome`, whose `of` is the intent's `seq`). An intent without an outcome: the service died
//! in between. Contents of prompts never stand there.

pub mod chain;
mod page;
pub mod relay;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::problem::Problem;
use chain::Chain;

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

/// The audit. Cheap to clone.
#[derive(Clone)]
pub struct Audit {
    chain: Arc<Mutex<Chain>>,
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
            chain: Arc::new(Mutex::new(chain)),
            newest,
        })
    }

    /// Brings an event onto the disk, before its effect.
    ///
    /// # Errors
    /// It can't be brought there: the effect must not be made.
    pub async fn intend(&self, event: Event) -> Result<Intent, Problem> {
        let seq = self.append(&event, "intent", Map::new()).await?;
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
        // It has happened by now, and the log says that this isn't recorded.
        let _ = self.append(&intent.event, "outcome", more).await;
    }

    /// Something that has happened, and that nobody asked for.
    ///
    /// # Errors
    /// It can't be brought onto the disk.
    pub async fn happened(&self, event: Event) -> Result<u64, Problem> {
        self.append(&event, "outcome", Map::new()).await
    }

    /// The number of the newest line; changes with each.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    async fn append(
        &self,
        event: &Event,
        stage: &'static str,
        more: Map<String, Value>,
    ) -> Result<u64, Problem> {
        let mut members = Map::new();
        members.insert("type".into(), event.kind.into());
        members.insert("stage".into(), stage.into());
        members.extend(event.members.clone());
        members.extend(more);
        let chain = self.chain.clone();
        let appended = tokio::task::spawn_blocking(move || {
            let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
            chain.append(members)
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
