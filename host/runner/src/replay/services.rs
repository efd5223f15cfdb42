//! The host's side of a call that is made again: what was told then is told
//! again, and nothing else.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ralph_engine::types::{DiffText, FileChange};
use ralph_plugins::{Command, Level, Output, ProcessError, Services};

use super::tape::{self, Asked, Ran};

/// For components that may ask nothing, but for a driver its call's prompt.
#[derive(Default)]
pub(super) struct Nothing {
    pub(super) prompt: String,
}

#[async_trait]
impl Services for Nothing {
    fn log(&self, plugin: &str, _: Level, message: &str) {
        tracing::debug!(plugin, "{message}");
    }

    fn prompt(&self) -> String {
        self.prompt.clone()
    }

    async fn files(&self) -> Vec<FileChange> {
        Vec::new()
    }

    async fn diff(&self, _: u64) -> DiffText {
        DiffText::default()
    }

    async fn run(&self, _: Command) -> Result<Output, ProcessError> {
        Err(ProcessError::Denied("no program runs in a replay".into()))
    }
}

/// For a gate.
pub(super) struct Again {
    files: Vec<FileChange>,
    diffs: Mutex<VecDeque<(u64, DiffText)>>,
    runs: Mutex<VecDeque<Ran>>,
    strayed: Mutex<Option<String>>,
}

impl Again {
    pub(super) fn new(asked: Asked, files: Vec<FileChange>) -> Again {
        Again {
            files,
            diffs: Mutex::new(asked.diffs.into()),
            runs: Mutex::new(asked.runs.into()),
            strayed: Mutex::new(None),
        }
    }

    /// What it asked that it hadn't asked then, or no longer asked.
    pub(super) fn strayed(&self) -> Option<String> {
        let said = lock(&self.strayed).take();
        said.or_else(|| {
            let left = lock(&self.runs).len() + lock(&self.diffs).len();
            (left > 0).then(|| "it asks less of the host than it did then".to_owned())
        })
    }

    fn stray(&self, what: String) {
        lock(&self.strayed).get_or_insert(what);
    }
}

#[async_trait]
impl Services for Again {
    fn log(&self, plugin: &str, _: Level, message: &str) {
        tracing::debug!(plugin, "{message}");
    }

    async fn files(&self) -> Vec<FileChange> {
        self.files.clone()
    }

    async fn diff(&self, max_bytes: u64) -> DiffText {
        match lock(&self.diffs).pop_front() {
            Some((max, diff)) if max == max_bytes => diff,
            _ => {
                self.stray("it asks for another diff than it did then".into());
                DiffText::default()
            }
        }
    }

    async fn run(&self, command: Command) -> Result<Output, ProcessError> {
        match lock(&self.runs).pop_front() {
            Some(ran) if ran.command == tape::command_hash(&command) => ran.again(),
            _ => {
                let program = &command.program;
                self.stray(format!("it runs {program} otherwise than it did then"));
                Err(ProcessError::Failed("not in the record".into()))
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
