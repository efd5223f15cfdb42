//! Worktrees for workers, and the way of their work back.
//!
//! A worker's commits are brought onto the branch one worker at a time: picked
//! onto where the branch stands by now *in the worker's own worktree*, where
//! they can be checked again, and then the branch is moved forward. The user's
//! working tree changes only in that last step, which git refuses if anything
//! of the user's is in the way.

use std::path::Path;

use tokio::sync::Mutex;

use super::run::Cmd;
use super::snapshot::check_oid;
use super::{Git, GitError};

/// What came of picking commits onto another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restacked {
    /// HEAD of the worktree is detached there now.
    Done {
        /// The last commit.
        sha: String,
    },
    /// They don't go together; HEAD is detached where they should have gone.
    Conflict {
        /// The paths, sorted.
        paths: Vec<String>,
    },
}

/// What came of making a worktree with a new branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Added {
    /// Both are there.
    Done,
    /// The branch's name is somebody else's; nothing has changed.
    Taken,
}

/// What came of moving the branch forward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advanced {
    /// The branch and the working tree are there now.
    Done,
    /// Something uncommitted is in the way, or the branch has gone another way. Nothing has changed.
    Refused {
        /// In git's words.
        output: String,
    },
}

/// git looks at every worktree that it knows of, and fails where another git has made half of one. Runs of
/// this process don't get into each other's way.
static ONE: Mutex<()> = Mutex::const_new(());

impl Git {
    /// The commit HEAD stands at; `None` in a repository without commits.
    ///
    /// # Errors
    /// What git says.
    pub async fn head_commit(&self) -> Result<Option<String>, GitError> {
        Ok(self.head().await?.oid)
    }

    /// The tree without entries, in this repository's object format; `like` is any object id of it.
    pub fn empty_tree(&self, like: &str) -> String {
        super::repo::empty_tree(like).to_owned()
    }

    /// The project's root relative to the top of the working tree: empty, or `sub/dir/`.
    pub fn prefix(&self) -> &str {
        &self.repo().prefix
    }

    /// Makes a worktree at `path` (relative to the root) with a new branch at `commit`.
    ///
    /// # Errors
    /// What git says: the path is there already, for one. The branch may have been made.
    pub async fn worktree_add(
        &self,
        path: &str,
        branch: &str,
        commit: &str,
    ) -> Result<Added, GitError> {
        check_oid(commit)?;
        let cmd = Cmd::write("worktree")
            .args(["add", "--quiet", "-b", branch, "--"])
            .args([path, commit]);
        let _one = ONE.lock().await;
        let ended = self.runner().run(cmd).await?;
        let taken = ["a branch named", "reference already exists"];
        if ended.code != Some(0)
            && ended.stderr.contains("already exists")
            && taken.iter().any(|t| ended.stderr.contains(t))
        {
            return Ok(Added::Taken);
        }
        ended.ok().map(|_| Added::Done)
    }

    /// Removes the worktree at `path`, whatever is in it, and forgets it; also one whose directory is gone
    /// already. A directory that git doesn't know as a worktree (any more), or that lost its `.git` when git
    /// was killed as it removed or made it, is left to the caller, who asks once more when it is gone.
    /// (Not by `git worktree prune`: that forgets others too whose directories are only away.)
    ///
    /// # Errors
    /// What git says.
    pub async fn worktree_remove(&self, path: &Path) -> Result<(), GitError> {
        // By its whole path: git takes another one whose path ends so for a relative one.
        let cmd = Cmd::write("worktree")
            .args(["remove", "--force", "--force", "--"])
            .arg(path);
        let _one = ONE.lock().await;
        let ended = self.runner().run(cmd).await?;
        let known = ["is not a working tree", "validation failed"];
        if ended.code != Some(0) && !known.iter().any(|k| ended.stderr.contains(k)) {
            return Err(ended.failure());
        }
        Ok(())
    }

    /// Is there such a branch?
    ///
    /// # Errors
    /// What git says.
    pub async fn branch_exists(&self, branch: &str) -> Result<bool, GitError> {
        let name = format!("refs/heads/{branch}");
        let cmd = Cmd::read("show-ref").args(["--verify", "--quiet", &name]);
        Ok(self.runner().run(cmd).await?.code == Some(0))
    }

    /// The commit that the branch is at; `None` if there is none such.
    ///
    /// # Errors
    /// What git says.
    pub async fn branch_tip(&self, branch: &str) -> Result<Option<String>, GitError> {
        let name = format!("refs/heads/{branch}");
        let cmd = Cmd::read("rev-parse").args(["--verify", "--quiet", &name]);
        let ended = self.runner().run(cmd).await?;
        let tip = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
        Ok((ended.code == Some(0)).then_some(tip))
    }

    /// Has the branch commits that `base` has not?
    ///
    /// # Errors
    /// What git says.
    pub async fn is_ahead(&self, branch: &str, base: &str) -> Result<bool, GitError> {
        check_oid(base)?;
        let range = format!("{base}..refs/heads/{branch}");
        let cmd = Cmd::read("rev-list").args(["-n", "1", &range, "--"]);
        Ok(!self.runner().run(cmd).await?.ok()?.is_empty())
    }

    /// Deletes a branch, merged or not; one that is gone is fine.
    ///
    /// # Errors
    /// What git says.
    pub async fn branch_delete(&self, branch: &str) -> Result<(), GitError> {
        let cmd = Cmd::write("branch").args(["--quiet", "-D", "--", branch]);
        let _one = ONE.lock().await;
        let ended = self.runner().run(cmd).await?;
        if ended.code != Some(0) && !self.branch_exists(branch).await? {
            return Ok(());
        }
        ended.ok().map(drop)
    }

    /// Deletes a branch if it is at this commit. One that is gone, is somewhere else by now, or has a
    /// worktree, is somebody's and is let be.
    ///
    /// # Errors
    /// What git says.
    pub async fn branch_delete_at(&self, branch: &str, tip: &str) -> Result<(), GitError> {
        if self.branch_tip(branch).await?.as_deref() != Some(tip) {
            return Ok(());
        }
        match self.branch_delete(branch).await {
            Err(GitError::Failed { stderr, .. })
                if ["checked out at", "used by worktree"]
                    .iter()
                    .any(|k| stderr.contains(k)) =>
            {
                tracing::info!("{branch} stays: {stderr}");
                Ok(())
            }
            other => other,
        }
    }

    /// Lets the working tree be on this branch, which is made at HEAD (or at `base`) if
    /// it isn't there. What the user has uncommitted comes along, or git refuses.
    ///
    /// # Errors
    /// What git says.
    pub async fn switch(&self, branch: &str, base: Option<&str>) -> Result<(), GitError> {
        if self.head().await?.branch.as_deref() == Some(branch) {
            return Ok(());
        }
        let cmd = Cmd::write("switch").arg("--quiet");
        let cmd = if self.branch_exists(branch).await? {
            cmd.args(["--", branch])
        } else {
            cmd.args(["--no-track", "-c", branch]).args(base)
        };
        self.runner().run(cmd).await?.ok().map(drop)
    }

    /// Whether `git status` has nothing to tell.
    ///
    /// # Errors
    /// What git says.
    pub async fn is_clean(&self) -> Result<bool, GitError> {
        let cmd = Cmd::read("status").args(["--porcelain", "-z"]);
        Ok(self.runner().run(cmd).await?.ok()?.is_empty())
    }

    /// Whether git records this file and the working tree has it as HEAD has it.
    ///
    /// # Errors
    /// What git says.
    pub async fn is_tracked_and_clean(&self, path: &str) -> Result<bool, GitError> {
        let spec = super::extra::literal(path);
        let cmd = Cmd::read("ls-files").args(["-z", "--", &spec]);
        if self.runner().run(cmd).await?.ok()?.is_empty() {
            return Ok(false);
        }
        let cmd = Cmd::read("status").args(["--porcelain", "-z", "--", &spec]);
        Ok(self.runner().run(cmd).await?.ok()?.is_empty())
    }

    /// Puts what `since..commit` did on top of `onto`, in this (a worker's) worktree. What
    /// is uncommitted in it is lost.
    ///
    /// # Errors
    /// What git says, a missing identity included.
    pub async fn restack(
        &self,
        since: &str,
        commit: &str,
        onto: &str,
    ) -> Result<Restacked, GitError> {
        for oid in [since, commit, onto] {
            check_oid(oid)?;
        }
        // A host that died in the midst of this left a cherry-pick half done, and files of it
        // that git doesn't know yet. From the commit on, it knows them all.
        let quit = Cmd::write("cherry-pick").arg("--quit");
        let _ = self.runner().run(quit).await?;
        let steps: &[&str] = if since == onto {
            &[commit]
        } else {
            &[commit, onto]
        };
        for at in steps {
            let cmd = Cmd::write("checkout").args(["--quiet", "--force", "--detach", at, "--"]);
            self.runner().run(cmd).await?.ok()?;
        }
        if since == onto {
            let sha = commit.to_owned();
            return Ok(Restacked::Done { sha });
        }
        let range = format!("{since}..{commit}");
        let cmd = Cmd::write("cherry-pick").args(["--allow-empty", "--keep-redundant-commits"]);
        let ended = self.runner().run(cmd.arg(range)).await?;
        if ended.code == Some(0) {
            let sha = self.head().await?.oid.ok_or_else(|| GitError::Unreadable {
                command: "cherry-pick",
                what: "it succeeded, but HEAD is nowhere".to_owned(),
            })?;
            return Ok(Restacked::Done { sha });
        }
        let cmd = Cmd::read("diff").args(["--name-only", "-z", "--diff-filter=U"]);
        let unmerged = self.runner().run(cmd).await?.ok()?;
        let abort = Cmd::write("cherry-pick").arg("--abort");
        let _ = self.runner().run(abort).await?;
        let mut paths: Vec<String> = unmerged
            .split(|b| *b == 0)
            .filter(|p| !p.is_empty())
            .map(|p| String::from_utf8_lossy(p).into_owned())
            .collect();
        paths.sort();
        paths.dedup();
        if paths.is_empty() {
            return Err(ended.failure());
        }
        Ok(Restacked::Conflict { paths })
    }

    /// Takes a file, as the working tree has it, into the newest commit. Hooks are not
    /// asked: they were when the commit was made.
    ///
    /// # Errors
    /// What git says.
    pub async fn amend_with(&self, path: &str) -> Result<String, GitError> {
        let cmd = Cmd::commit()
            .args([
                "--quiet",
                "--amend",
                "--no-edit",
                "--no-verify",
                "--only",
                "--",
            ])
            .arg(super::extra::literal(path));
        self.runner().run(cmd).await?.ok()?;
        self.head().await?.oid.ok_or_else(|| GitError::Unreadable {
            command: "commit",
            what: "it succeeded, but HEAD is nowhere".to_owned(),
        })
    }

    /// Moves the branch that HEAD is on (or a detached HEAD) and the working tree forward to `commit`, also
    /// where a death has cut that off half way.
    ///
    /// # Errors
    /// What git says, beyond a refusal.
    pub async fn advance(&self, commit: &str) -> Result<Advanced, GitError> {
        check_oid(commit)?;
        if let Some(busy) = self.repo().in_progress() {
            return Err(busy);
        }
        self.wait_unlocked().await?;
        let refused = self.fast_forward(commit).await?;
        if refused == Advanced::Done {
            return Ok(refused);
        }
        let adopted = self.adopt(commit).await.unwrap_or_else(|e| {
            tracing::debug!("what is there of {commit} can't be told: {e}");
            Vec::new()
        });
        if adopted.is_empty() {
            return Ok(refused);
        }
        if self.fast_forward(commit).await? == Advanced::Done {
            return Ok(Advanced::Done);
        }
        self.disown(&adopted).await?;
        Ok(refused)
    }

    async fn fast_forward(&self, commit: &str) -> Result<Advanced, GitError> {
        let cmd = Cmd::write("merge").args(["--ff-only", "--quiet", "--no-autostash", commit]);
        let ended = self.runner().run(cmd).await?;
        match ended.code {
            Some(0) => Ok(Advanced::Done),
            Some(1 | 128) => {
                let said = String::from_utf8_lossy(&ended.stdout);
                let output = format!("{}{}", ended.stderr, said).trim().to_owned();
                Ok(Advanced::Refused { output })
            }
            _ => Err(ended.failure()),
        }
    }
}
