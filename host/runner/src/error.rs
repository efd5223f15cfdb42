//! What can keep a run from starting or going on, as a person is told.

use ralph_config::ConfigError;
use ralph_engine::fact::EndReason;
use ralph_engine::tasks::TaskFileError;
use ralph_plugins::PluginError;
use ralph_workspace::{GitError, GuardError, LockError, RootError};

/// Every failure of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `ralph.toml` can't be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The command line asks for what isn't there.
    #[error("{0}")]
    Usage(String),
    /// The task file can't be used.
    #[error(transparent)]
    Tasks(#[from] TaskFileError),
    /// What keeps the tasks can't be used.
    #[error("{source_name}: {problem}; {advice}")]
    Source {
        /// Whose tasks.
        source_name: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: String,
        /// A person has to set something right first.
        setup: bool,
    },
    /// A component can't be used.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// A plugin's bytes can't be had, or not these.
    #[error(transparent)]
    Artifact(#[from] ralph_artifacts::ArtifactError),
    /// The configuration would run things nobody has looked at.
    #[error(
        "this project's configuration isn't trusted yet: it can run or reach {0} things. Look at them with `ralph trust`, or accept them for this run with `--trust`."
    )]
    Untrusted(usize),
    /// There is no project here.
    #[error(transparent)]
    Root(#[from] RootError),
    /// Another run is on.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A path leaves the project, or the disk refuses.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// git refuses.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Somebody asked for it.
    #[error("stopped")]
    Stopped,
    /// Accepted work is in nobody's way, but something of the user's is in its.
    #[error(
        "{task} is accepted, and its work is on the branch {branch}, but it can't be merged here: {output}\nPut away what is in the way (commit it, or `git stash`), then run again; nothing is done twice."
    )]
    Unmerged {
        /// The task.
        task: String,
        /// Where its work is.
        branch: String,
        /// What git says.
        output: String,
    },
    /// The journal isn't whole.
    #[error(
        ".ralph/journal.jsonl, line {line}: {why}. Nothing was changed. Move the file away to start afresh; the records in .ralph/receipts stay."
    )]
    Journal {
        /// Counts from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The disk refuses.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// There is no run to steer here, or it doesn't do as it is told.
    #[error("{0}")]
    Steer(String),
    /// What happened can't be: a fault in ralph itself.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn io(path: &str, source: std::io::Error) -> Error {
        Error::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// 3 for what a person wrote, 2 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Config(_)
            | Error::Usage(_)
            | Error::Tasks(_)
            | Error::Plugin(_)
            | Error::Artifact(_)
            | Error::Source { setup: true, .. }
            | Error::Untrusted(_)
            | Error::Root(_) => 3,
            Error::Steer(_) => 1,
            _ => 2,
        }
    }
}

impl Error {
    /// What happened and, where the machine is at fault, what to do about it.
    pub fn with_advice(&self) -> String {
        let text = self.to_string();
        let has = |word: &str| text.contains(word);
        let advice = if has("No space left on device") || has("quota exceeded") {
            ". The disk or the quota is full: free some space, then run again; nothing is lost or paid for twice"
        } else if has("Read-only file system") || has("os error 30") {
            ". The file system is read-only, which Linux also makes one that has errors: see to it, then run again; nothing is lost or paid for twice"
        } else {
            return text;
        };
        format!("{}{advice}", text.trim_end_matches('.'))
    }
}

impl From<Error> for EndReason {
    fn from(e: Error) -> EndReason {
        match e {
            Error::Stopped => EndReason::Stopped,
            e => EndReason::Error {
                message: e.with_advice(),
            },
        }
    }
}
