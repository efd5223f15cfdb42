//! What the working tree holds at one moment, as a tree object.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::index::{self, Stamp, TempFile};
use super::run::Cmd;
use super::status::{self, Entry, Status};
use super::{Git, GitError, stage};
use crate::path::is_own_record_bytes;

/// The working tree at one moment. Made without touching the user's index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Snapshot {
    /// The commit HEAD stood at; `None` in a repository without commits.
    pub head: Option<String>,
    /// The branch, without `refs/heads/`; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// An object whose tree is the working tree without ignored files: a tree,
    /// or HEAD's commit if the working tree is clean.
    pub tree: String,
    /// Nothing staged, modified or untracked.
    pub clean: bool,
    /// SHA-256 of each file that git doesn't record but that can run something
    /// or steer ralph: `.git/config`, `.git/hooks/*`, `ralph.toml`, and what is
    /// below `.ralph/` without being one of ralph's own records.
    pub protected: BTreeMap<String, String>,
}

impl Snapshot {
    /// A snapshot may come from a file; what goes to git as an argument must be an object id.
    pub(super) fn check(&self) -> Result<(), GitError> {
        check_oid(&self.tree)?;
        self.head.as_deref().map_or(Ok(()), check_oid)
    }
}

pub(super) fn check_oid(oid: &str) -> Result<(), GitError> {
    if matches!(oid.len(), 40 | 64) && oid.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(())
    } else {
        Err(GitError::NotAnObject { id: oid.to_owned() })
    }
}

/// What differs from HEAD, as git saw it a moment ago: of what a snapshot is made.
#[derive(Debug)]
pub struct Look {
    /// The index before git looked.
    real: Option<Stamp>,
    status: Status,
}

/// A snapshot that was not clean, kept because its index can be committed as
/// it stands, and because the next snapshot is often the same.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) tree: String,
    pub(super) index: TempFile,
    /// The real index when it was copied.
    pub(super) real: Option<Stamp>,
    /// Something is in the index that must not be committed along.
    pub(super) foreign: bool,
    state: State,
    /// Wall time before the files were read, since 1970.
    taken: Duration,
}

/// If this is the same again, so is the tree.
#[derive(Debug, PartialEq, Eq)]
struct State {
    head: Option<String>,
    entries: Vec<Entry>,
    stamps: Vec<Option<Stamp>>,
    /// Settings and attributes decide how a file becomes an object.
    protected: BTreeMap<String, String>,
}

impl Kept {
    /// What was not as in HEAD, and how the file was; `None` if there was none.
    pub(super) fn seen(&self) -> impl Iterator<Item = (&Entry, Option<Stamp>)> {
        self.state
            .entries
            .iter()
            .zip(self.state.stamps.iter().copied())
    }

    /// Whether a later change of the file is bound to show in its stamp.
    pub(super) fn settled(&self, stamp: &Stamp) -> bool {
        let newest = stamp.changed.max(stamp.modified);
        let seconds = u64::try_from(newest.0).unwrap_or(0);
        let nanos = u32::try_from(newest.1).unwrap_or(0);
        Duration::new(seconds, nanos) + TICK < self.taken
    }
}

/// Times of files come in ticks of up to 10 ms; younger ones prove nothing.
const TICK: Duration = Duration::from_millis(50);

impl Git {
    /// Takes a snapshot. Files that git ignores are not in it.
    ///
    /// A nested repository that is no submodule is in it as a link to its
    /// commit, and not at all while it has none.
    ///
    /// # Errors
    /// What git says, e.g. of a file that cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, GitError> {
        let look = self.look().await?;
        self.snapshot_of(look).await
    }

    /// The part of a snapshot that takes long. It only reads.
    ///
    /// # Errors
    /// What git says.
    pub async fn look(&self) -> Result<Look, GitError> {
        Ok(Look {
            real: index::real_stamp(self.repo()),
            status: self.status().await?,
        })
    }

    /// A snapshot of what was seen.
    ///
    /// # Errors
    /// What git says, e.g. of a file that cannot be read.
    pub async fn snapshot_of(&self, look: Look) -> Result<Snapshot, GitError> {
        let mut looked = Some(look);
        // If the user's git writes the index in between, status and index don't belong together.
        for _ in 0..3 {
            let Look { real, status } = match looked.take() {
                Some(look) => look,
                None => self.look().await?,
            };
            let protected = self.protected();
            let foreign = status.entries.iter().any(|e| self.is_foreign(e));
            let Status {
                head,
                branch,
                mut entries,
            } = status;
            entries.retain(|e| {
                self.repo()
                    .strip(&e.path)
                    .is_some_and(|p| !is_own_record_bytes(p))
            });
            if let (Some(commit), true) = (&head, entries.is_empty()) {
                let tree = commit.clone();
                return Ok(Snapshot {
                    head,
                    branch,
                    tree,
                    clean: true,
                    protected,
                });
            }
            let clean = entries.is_empty();
            let stamps = entries.iter().map(|e| self.stamp(e)).collect();
            let state = State {
                head: head.clone(),
                entries,
                stamps,
                protected: protected.clone(),
            };
            if let Some(tree) = self.same_as_kept(real, &state) {
                return Ok(Snapshot {
                    head,
                    branch,
                    tree,
                    clean,
                    protected,
                });
            }
            let taken = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let index = TempFile::copy_of_index(self.repo())?;
            if index::real_stamp(self.repo()) != real {
                continue;
            }
            stage::worktree(self.runner(), self.repo(), &index, &state.entries).await?;
            let tree = self.write_tree(&index).await?;
            let kept = Kept {
                tree: tree.clone(),
                index,
                real,
                foreign,
                state,
                taken,
            };
            self.memory().recent.push(Arc::new(kept));
            return Ok(Snapshot {
                head,
                branch,
                tree,
                clean,
                protected,
            });
        }
        let path = index::real_path(self.repo());
        let busy = std::io::Error::other("it kept changing while it was read");
        Err(GitError::io("read", path, busy))
    }

    async fn status(&self) -> Result<Status, GitError> {
        let mut cmd = Cmd::read("status").args([
            "--porcelain=v2",
            "-z",
            "--branch",
            "--untracked-files=all",
            "--no-renames",
            "--no-ahead-behind",
            "--ignore-submodules=dirty",
        ]);
        if !self.repo().prefix.is_empty() {
            cmd = cmd.args(["--", "."]);
        }
        status::parse(&self.runner().run(cmd).await?.ok()?)
    }

    pub(super) async fn write_tree(&self, index: &TempFile) -> Result<String, GitError> {
        let out = self
            .runner()
            .run(Cmd::write("write-tree").index(&index.path))
            .await?
            .ok()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    /// What the index must not bring into a commit, though it is staged.
    fn is_foreign(&self, entry: &Entry) -> bool {
        let own = self
            .repo()
            .strip(&entry.path)
            .is_none_or(is_own_record_bytes);
        (own && entry.staged) || (entry.untracked && entry.nested)
    }

    fn same_as_kept(&self, real: Option<Stamp>, state: &State) -> Option<String> {
        let kept = self.memory().recent.last()?.clone();
        let same = kept.real == real
            && kept.state == *state
            && kept.seen().all(|(entry, stamp)| {
                !entry.nested && stamp.is_none_or(|stamp| kept.settled(&stamp))
            });
        same.then(|| kept.tree.clone())
    }

    fn stamp(&self, entry: &Entry) -> Option<Stamp> {
        let path = in_worktree(self.inner.ws.root(), self.repo().strip(&entry.path)?);
        fs::symlink_metadata(path).ok().map(|meta| Stamp::of(&meta))
    }
}

/// Only to be looked at, never to be opened.
pub(super) fn in_worktree(root: &Path, path: &[u8]) -> PathBuf {
    root.join(Path::new(std::ffi::OsStr::from_bytes(path)))
}
