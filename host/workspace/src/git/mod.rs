//! The project's git repository: snapshots, changes, diffs, commits.
//!
//! All of it is done by the `git` program and not by a library, because the
//! user's hooks, filters (autocrlf, LFS), signing, identity, work trees,
//! sparse checkouts, object formats and whatever comes next then behave as
//! they do when the user types `git` – a commit made in another way than the
//! user's own would be a different commit. Only what three small reads can
//! tell (where the repository is, where HEAD stands) is read from its files.
//!
//! git runs without a shell, without a terminal, without stdin, in a process
//! group of its own that ends with it, within 120 s, with bounded output.
//!
//! # git processes per call
//! A "clean" tree is one where `git status` has nothing to say.
//!
//! | call | processes |
//! |---|---|
//! | [`Git::open`] | 0 |
//! | [`Git::snapshot`], clean | 1: `status` |
//! | …, not clean but nothing changed since the last snapshot | 1: `status` |
//! | …, not clean | 3: `status`, `update-index`, `write-tree` (2 if all is staged; 4 if a directory became a link) |
//! | [`Git::changes`], [`Git::diff`] | 1 each: `diff-tree`; 0 if the trees are the same |
//! | [`Git::commit`], clean base, HEAD where it was | 1: `commit` (2 the first time there is an `extra`; 2 or 3 more if the index was written meanwhile) |
//! | …, the user's own work is in the tree, but not in the same files | 2: `update-index`, `commit` (2 or 3 more if something was staged) |
//! | …, in the same files, HEAD moved, or after a restart | 5 to 12, see [`commit`](Git::commit) |
//! | [`Git::find_commit`] | 1: `log`; 0 in a repository without commits |
//!
//! One more (`rev-parse`, `symbolic-ref`) where refs are kept as reftables.
//!
//! # Limits
//! What is changed within a submodule is seen once it is committed there.
//! Files that git ignores are not seen, except the protected ones.

mod changes;
mod commit;
mod diff;
mod error;
mod extra;
mod half;
mod ignored;
mod index;
mod mend;
mod merge;
mod message;
mod plan;
mod protected;
mod raw;
mod ready;
mod repo;
mod run;
mod snapshot;
mod stage;
mod status;
mod sync;
mod wip;
mod worktree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use changes::Changes;
pub use commit::Commit;
pub use error::GitError;
pub use snapshot::{Look, Snapshot};
pub use worktree::{Added, Advanced, Restacked};

/// The directory that belongs to the work tree around `root`, and the one that all work
/// trees of its repository share; the same if there is one only. `None` where there is no repository.
pub fn repository(root: &Path) -> Option<(PathBuf, PathBuf)> {
    let repo = Repo::discover(root).ok()?;
    Some((repo.git_dir, repo.common_dir))
}

use crate::guard::Workspace;
use ralph_process::signature;
use repo::{Head, Repo};
use run::{Cmd, Runner};

/// How long one git process may take, hooks included, unless [`Git::with_time_limit`] says otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// The repository that the project's root lies in. Cheap to clone.
///
/// If the root is a directory within the work tree, only what lies below it
/// is looked at and committed; paths are relative to it.
#[derive(Debug, Clone)]
pub struct Git {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    ws: Workspace,
    repo: Repo,
    runner: Runner,
    memory: Mutex<Memory>,
}

/// What spares a process if it still holds.
#[derive(Debug, Default)]
struct Memory {
    recent: ready::Recent,
    /// Extra paths that were seen to be tracked.
    tracked: BTreeSet<String>,
    hashes: protected::Hashes,
    /// Paths that are watched beside git's and ralph's own.
    watched: Vec<String>,
}

impl Git {
    /// Finds the repository without starting a process.
    ///
    /// # Errors
    /// [`GitError::NotARepository`], [`GitError::NoWorkTree`], [`GitError::Io`].
    pub fn open(ws: &Workspace) -> Result<Git, GitError> {
        let repo = Repo::discover(ws.root())?;
        index::sweep(&repo);
        let runner = Runner {
            cwd: ws.root().to_owned(),
            limit: TIME_LIMIT,
            started: AtomicU64::new(0),
            signature: signature(repo.common_dir.as_os_str()),
        };
        let memory = Mutex::default();
        Ok(Git {
            inner: Arc::new(Inner {
                ws: ws.clone(),
                repo,
                runner,
                memory,
            }),
        })
    }

    /// The same repository with another limit for each git process, for hooks that take long.
    #[must_use]
    pub fn with_time_limit(&self, limit: Duration) -> Git {
        let ws = self.inner.ws.clone();
        let Repo {
            git_dir,
            common_dir,
            prefix,
        } = &self.inner.repo;
        let repo = Repo {
            git_dir: git_dir.clone(),
            common_dir: common_dir.clone(),
            prefix: prefix.clone(),
        };
        let runner = Runner {
            cwd: ws.root().to_owned(),
            limit,
            started: AtomicU64::new(0),
            signature: self.runner().signature.clone(),
        };
        Git {
            inner: Arc::new(Inner {
                ws,
                repo,
                runner,
                memory: Mutex::default(),
            }),
        }
    }

    /// These files and directories, relative to the root, are watched like git's hooks: a
    /// change of one is among [`Changes::protected`]. Holds for this and its clones.
    pub fn watch(&self, paths: &[String]) {
        self.memory().watched = paths.to_vec();
    }

    /// Do both have the same objects and branches?
    pub fn is_of_same_repository(&self, other: &Git) -> bool {
        self.repo().common_dir == other.repo().common_dir
    }

    /// How many git processes this (and its clones) started so far.
    pub fn processes_started(&self) -> u64 {
        self.runner().started.load(Ordering::Relaxed)
    }

    fn runner(&self) -> &Runner {
        &self.inner.runner
    }

    fn repo(&self) -> &Repo {
        &self.inner.repo
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // What is in there is complete at any time, whoever panicked.
        self.inner
            .memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn head(&self) -> Result<Head, GitError> {
        if let Some(head) = self.repo().head()? {
            return Ok(head);
        }
        let line = |bytes: Vec<u8>| {
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let name = Cmd::read("symbolic-ref").args(["-q", "--short", "HEAD"]);
        let branch = line(self.runner().run(name).await?.stdout);
        let verify = Cmd::read("rev-parse").args(["-q", "--verify", "HEAD^{commit}"]);
        let oid = line(self.runner().run(verify).await?.stdout);
        Ok(Head { branch, oid })
    }
}
