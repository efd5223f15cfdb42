//! What can go wrong between ralph and git.

use std::io;
use std::path::PathBuf;

use crate::error::GuardError;

/// Why git could not do what was asked. Nothing of the user's was touched
/// unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// No `.git` here or above.
    #[error("{} is not in a git repository. Run `git init` there first", root.display())]
    NotARepository {
        /// The project's root.
        root: PathBuf,
    },
    /// A bare repository, or the inside of a `.git` directory.
    #[error("{} is a bare repository or the inside of a `.git` directory: there is no working tree to work in", path.display())]
    NoWorkTree {
        /// The directory that looks like a git directory.
        path: PathBuf,
    },
    /// The `git` program isn't there.
    #[error("the program `git` was not found. Install git (2.30 or newer) or put it on the PATH")]
    NoGit,
    /// git ended with an error of its own.
    #[error("`git {command}` failed ({}): {stderr}", code.map_or_else(|| "ended by a signal".to_owned(), |c| format!("exit code {c}")))]
    Failed {
        /// The sub-command.
        command: String,
        /// The exit code; `None` if a signal ended it.
        code: Option<i32>,
        /// What it said, bounded.
        stderr: String,
    },
    /// git, a filter or a hook took too long and was ended, its process group included.
    #[error(
        "`git {command}` did not end within {seconds} s and was ended. A hook, a filter or a slow disk may be the cause"
    )]
    TimedOut {
        /// The sub-command.
        command: String,
        /// The limit.
        seconds: u64,
    },
    /// More output than is kept in memory.
    #[error(
        "`git {command}` wrote more than {max} bytes. Are build products missing from `.gitignore`?"
    )]
    TooMuchOutput {
        /// The sub-command.
        command: String,
        /// The limit, in bytes.
        max: u64,
    },
    /// Another git process holds a lock, or one died and left it.
    #[error("git is locked by {}, and was for {waited_ms} ms. If no other git process is at work here, remove that file", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long we waited, in milliseconds.
        waited_ms: u64,
    },
    /// No name or address to commit under.
    #[error("git does not know whom to commit as; it says:\n{advice}")]
    NoIdentity {
        /// git's own advice.
        advice: String,
    },
    /// A merge, rebase, cherry-pick or revert has not been finished.
    #[error("{what} is under way in this repository (its {} exists). Finish or abort it first", marker.display())]
    InProgress {
        /// "a merge"…
        what: &'static str,
        /// What git keeps of it.
        marker: PathBuf,
    },
    /// HEAD went somewhere else than forward on the same branch.
    #[error(
        "HEAD has moved from {from} to {to} since the iteration began; nothing was committed. Go back to where it was, or start anew from here"
    )]
    HeadMoved {
        /// Branch and commit at the beginning.
        from: String,
        /// Branch and commit now.
        to: String,
    },
    /// git printed what we do not understand.
    #[error("cannot read what `git {command}` printed: {what}")]
    Unreadable {
        /// The sub-command.
        command: &'static str,
        /// Which part.
        what: String,
    },
    /// A snapshot names what cannot be an object of git's.
    #[error("`{}` is no object id: the snapshot it comes from is damaged", id.escape_debug())]
    NotAnObject {
        /// As it stands in the snapshot.
        id: String,
    },
    /// The guard refused a path.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// A file of the repository cannot be had.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "read", "copy"…
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl GitError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        GitError::Io {
            action,
            path: path.into(),
            source,
        }
    }

    pub(super) fn unreadable(command: &'static str, what: &[u8]) -> Self {
        let what = String::from_utf8_lossy(what.get(..200).unwrap_or(what))
            .escape_debug()
            .to_string();
        GitError::Unreadable { command, what }
    }
}
