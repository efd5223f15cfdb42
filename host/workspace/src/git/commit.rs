//! A commit of what one iteration changed, and of nothing else.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::extra::literal;
use super::index::TempFile;
use super::message::with_trailer;
use super::raw::Blob;
use super::ready::Ready;
use super::repo::Head;
use super::run::{Cmd, Ended};
use super::sync::{FIRST_PAUSE, be_patient, index_info};
use super::{Git, GitError, Snapshot};

/// What came of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Commit {
    /// Committed, now or by an earlier call for the same attempt.
    Done {
        /// The commit.
        sha: String,
    },
    /// There was nothing to commit.
    Nothing,
    /// A hook said no. Nothing was committed; what the hook did to the working tree stays.
    HookRefused {
        /// What it wrote, the last 64 KiB.
        output: String,
    },
    /// In these paths the iteration's work cannot be told from what the user
    /// had there uncommitted. They were left out and are as they were.
    Conflict {
        /// The commit with all other paths; `None` if there were none.
        sha: Option<String>,
        /// Relative to the root, sorted.
        paths: Vec<String>,
    },
}

impl Git {
    /// Commits what changed from `base` to `now` – as it was at `now`, not as
    /// the files are by the time of the call – and `extra` (e.g. the task file)
    /// as it is at the call, unless git ignores it. On top of HEAD, which may
    /// have gone forward since. What the user had staged, modified or untracked
    /// at `base` is neither committed nor changed; the index is brought up to
    /// date where nothing was staged. Hooks, signing and identity are the user's.
    ///
    /// Idempotent: a commit since `base` that carries the trailer
    /// `Ralph-Attempt: <attempt>` is taken for this one.
    ///
    /// Processes: 1 (`commit`) if `base` was clean, HEAD is where it was and this
    /// handle took both snapshots lately; 2 if the user's own work was there too,
    /// in other files. Otherwise: `log` and `merge-base` if HEAD moved, up to
    /// three `diff-tree`, `read-tree`, `update-index`, for `extra` `check-ignore`
    /// and `update-index`, `commit`, then `diff-tree`, `diff-index`,
    /// `update-index` for the user's index; five for a path to be merged.
    ///
    /// # Errors
    /// [`GitError::Locked`], [`GitError::NoIdentity`], [`GitError::InProgress`],
    /// [`GitError::HeadMoved`] and what git says. Nothing was committed, unless
    /// the error comes from bringing the index up to date: call again then.
    pub async fn commit(
        &self,
        base: &Snapshot,
        now: &Snapshot,
        extra: &[String],
        message: &str,
        attempt: &str,
    ) -> Result<Commit, GitError> {
        base.check()?;
        now.check()?;
        if let Some(sha) = self.finished(base, attempt).await? {
            return Ok(Commit::Done { sha });
        }
        let head = self.head().await?;
        if let Some(busy) = self.repo().in_progress() {
            return Err(busy);
        }
        self.must_be_forward(base, &head).await?;
        self.wait_unlocked().await?;
        let extra = self.usable(extra);
        let message = with_trailer(message, attempt);
        match self.ready(base, now, &head, &extra) {
            Some(ready) => self.commit_ready(&ready, &extra, &head, message).await,
            None => self.commit_planned(base, now, &extra, &head, message).await,
        }
    }

    /// The commit that an earlier call has made for the attempt, if it has; the user's index
    /// is then brought up to date. Of `base` only the commit is looked at.
    ///
    /// # Errors
    /// As for [`commit`](Git::commit).
    pub async fn finished(
        &self,
        base: &Snapshot,
        attempt: &str,
    ) -> Result<Option<String>, GitError> {
        base.check()?;
        if self.head().await?.oid == base.head {
            return Ok(None);
        }
        let found = self.find_commit(attempt, base.head.as_deref()).await?;
        if let Some(sha) = &found
            && self.repo().in_progress().is_none()
        {
            self.sync_index(sha).await?;
        }
        Ok(found)
    }

    async fn must_be_forward(&self, base: &Snapshot, head: &Head) -> Result<(), GitError> {
        let forward = match (&base.head, &head.oid) {
            _ if base.branch != head.branch => false,
            (Some(then), Some(now)) if then != now => {
                let cmd = Cmd::read("merge-base").args(["--is-ancestor", then, now]);
                let ended = self.runner().run(cmd).await?;
                match ended.code {
                    Some(0) => true,
                    Some(1) => false,
                    _ => return Err(ended.failure()),
                }
            }
            (then, now) => then.is_none() || then == now,
        };
        if forward {
            return Ok(());
        }
        let from = Head {
            branch: base.branch.clone(),
            oid: base.head.clone(),
        };
        Err(GitError::HeadMoved {
            from: from.in_words(),
            to: head.in_words(),
        })
    }

    async fn commit_ready(
        &self,
        ready: &Ready,
        extra: &[String],
        head: &Head,
        message: String,
    ) -> Result<Commit, GitError> {
        let kept = &ready.kept;
        // What is committed with it changes it.
        self.memory().recent.forget(&kept.tree);
        self.put(&kept.index, &ready.resets, kept.tree.len())
            .await?;
        let mut extra = self.tracked(&kept.index, extra, true).await?;
        let mut ended = self.run_commit(&kept.index, &extra, &message).await?;
        if ended.code != Some(0) && !extra.is_empty() {
            // Perhaps one of them is no longer tracked, and no hook was ever asked.
            let still = self.tracked(&kept.index, &extra, false).await?;
            if still != extra {
                extra = still;
                ended = self.run_commit(&kept.index, &extra, &message).await?;
            }
        }
        let sha = match self.judge(ended, &kept.index, &extra, head).await? {
            Ok(sha) => sha,
            Err(other) => return Ok(other),
        };
        if !(ready.install && kept.index.install(self.repo(), kept.real)) {
            self.sync_index(&sha).await?;
        }
        Ok(Commit::Done { sha })
    }

    async fn commit_planned(
        &self,
        base: &Snapshot,
        now: &Snapshot,
        extra: &[String],
        head: &Head,
        message: String,
    ) -> Result<Commit, GitError> {
        let plan = self.plan(base, now, head).await?;
        let paths: Vec<String> = plan
            .conflicts
            .iter()
            .filter_map(|p| self.repo().strip(p))
            .map(|p| String::from_utf8_lossy(p).into_owned())
            .collect();
        let left_out = |sha: Option<String>| Commit::Conflict {
            sha,
            paths: paths.clone(),
        };
        if plan.puts.is_empty() && extra.is_empty() {
            return Ok(if paths.is_empty() {
                Commit::Nothing
            } else {
                left_out(None)
            });
        }
        let index = match &head.oid {
            None => TempFile::new(self.repo())?,
            Some(oid) => {
                // A copy, so that git knows which files it need not read again.
                let index = TempFile::copy_of_index(self.repo())?;
                let cmd = Cmd::write("read-tree")
                    .args(["--reset", oid])
                    .index(&index.path);
                self.runner().run(cmd).await?.ok()?;
                index
            }
        };
        self.put(&index, &plan.puts, now.tree.len()).await?;
        self.add_extra(&index, extra).await?;
        let ended = self.run_commit(&index, &[], &message).await?;
        match self.judge(ended, &index, &[], head).await? {
            Ok(sha) => {
                self.sync_index(&sha).await?;
                Ok(if paths.is_empty() {
                    Commit::Done { sha }
                } else {
                    left_out(Some(sha))
                })
            }
            Err(Commit::Nothing) if !paths.is_empty() => Ok(left_out(None)),
            Err(other) => Ok(other),
        }
    }

    /// Sets entries of `index`, paths from the top of the work tree.
    async fn put(
        &self,
        index: &TempFile,
        entries: &BTreeMap<Vec<u8>, Option<Blob>>,
        oid_len: usize,
    ) -> Result<(), GitError> {
        let mut lines = Vec::new();
        let (gone, there): (Vec<_>, Vec<_>) = entries.iter().partition(|(_, e)| e.is_none());
        for (path, entry) in gone.into_iter().chain(there) {
            index_info(&mut lines, path, entry.as_ref(), oid_len);
        }
        if lines.is_empty() {
            return Ok(());
        }
        let cmd = Cmd::write("update-index").args(["-z", "--index-info"]);
        self.runner()
            .run(cmd.index(&index.path).stdin(lines))
            .await?
            .ok()
            .map(drop)
    }

    /// `git commit` of an index, with `include` taken from the working tree.
    /// Repeated while somebody holds a lock on a ref; never when a hook refuses.
    async fn run_commit(
        &self,
        index: &TempFile,
        include: &[String],
        message: &str,
    ) -> Result<Ended, GitError> {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let mut cmd = Cmd::commit()
                .args(["--quiet", "--cleanup=whitespace", "-F", "-"])
                .index(&index.path)
                .stdin(message.as_bytes().to_vec());
            if !include.is_empty() {
                cmd = cmd
                    .args(["--include", "--"])
                    .args(include.iter().map(|p| literal(p)));
            }
            let ended = self.runner().run(cmd).await?;
            let Some(lock) = ended.taken_lock() else {
                return Ok(ended);
            };
            be_patient(lock, begun, &mut pause).await?;
        }
    }

    /// The new commit, or what there is instead of one.
    async fn judge(
        &self,
        ended: Ended,
        index: &TempFile,
        include: &[String],
        before: &Head,
    ) -> Result<Result<String, Commit>, GitError> {
        match ended.code {
            Some(0) => match self.head().await?.oid {
                Some(sha) if Some(&sha) != before.oid.as_ref() => Ok(Ok(sha)),
                _ => Err(GitError::Unreadable {
                    command: "commit",
                    what: "it succeeded, but HEAD did not move".to_owned(),
                }),
            },
            // git says 1 both when a hook refuses and when there is nothing to commit.
            Some(1) if self.is_same(index, include, before).await? => Ok(Err(Commit::Nothing)),
            Some(1) => {
                let output = [
                    ended.stderr.as_str(),
                    &String::from_utf8_lossy(&ended.stdout),
                ]
                .concat();
                Ok(Err(Commit::HookRefused {
                    output: output.trim().to_owned(),
                }))
            }
            _ if ended.stderr.contains("user.email") || ended.stderr.contains("user.name") => {
                Err(GitError::NoIdentity {
                    advice: ended.stderr.trim().to_owned(),
                })
            }
            _ => Err(ended.failure()),
        }
    }

    /// Whether the index and `include` are as in HEAD.
    async fn is_same(
        &self,
        index: &TempFile,
        include: &[String],
        head: &Head,
    ) -> Result<bool, GitError> {
        let Some(head) = &head.oid else {
            let cmd = Cmd::read("ls-files").arg("-z").index(&index.path);
            return Ok(self.runner().run(cmd).await?.ok()?.is_empty());
        };
        let mut cached = Cmd::read("diff-index").args(["--cached", "--quiet", head, "--"]);
        let mut checks = Vec::new();
        if !include.is_empty() {
            // These would have come from the working tree.
            cached = cached
                .arg(".")
                .args(include.iter().map(|p| format!(":(exclude,literal){p}")));
            let files = Cmd::read("diff").args(["--quiet", "--no-ext-diff", head, "--"]);
            checks.push(files.args(include.iter().map(|p| literal(p))));
        }
        checks.push(cached);
        for check in checks {
            let ended = self.runner().run(check.index(&index.path)).await?;
            match ended.code {
                Some(0) => {}
                Some(1) => return Ok(false),
                _ => return Err(ended.failure()),
            }
        }
        Ok(true)
    }
}
