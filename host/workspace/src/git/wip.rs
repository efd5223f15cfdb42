//! Work in progress: what an attempt changed that was not accepted, kept on a branch beside
//! the user's, whose HEAD, index and files stay as they are.

use super::run::Cmd;
use super::{Git, GitError, Snapshot};

impl Git {
    /// Commits what changed from `base` to `now` and lets `branch` point to it. If the user's
    /// own work was there too, it stands in a commit of its own below, so that the one on
    /// top holds the attempt's changes alone. `None` if nothing changed. Processes: two, or
    /// three if the workspace was not clean.
    ///
    /// # Errors
    /// What git says, e.g. that it doesn't know who commits.
    pub async fn keep_work(
        &self,
        base: &Snapshot,
        now: &Snapshot,
        branch: &str,
        message: &str,
    ) -> Result<Option<String>, GitError> {
        base.check()?;
        now.check()?;
        if base.tree == now.tree {
            return Ok(None);
        }
        let parent = match &base.head {
            Some(head) if base.clean => Some(head.clone()),
            head => {
                let message = "ralph: the workspace before the attempt above";
                Some(
                    self.commit_tree(
                        &base.tree,
                        &head.as_deref().into_iter().collect::<Vec<_>>(),
                        message,
                    )
                    .await?,
                )
            }
        };
        let sha = self
            .commit_tree(
                &now.tree,
                &parent.as_deref().into_iter().collect::<Vec<_>>(),
                message,
            )
            .await?;
        self.let_be_at(branch, &sha, None).await?;
        Ok(Some(sha))
    }

    /// Commits everything that this (a worker's) worktree has but ralph's own on top of `branch`, so that
    /// nothing is lost with the worktree. `None` if HEAD has all of it. Processes: six at most.
    ///
    /// # Errors
    /// What git says; somebody has moved the branch meanwhile, for one.
    pub async fn keep_all(&self, branch: &str, message: &str) -> Result<Option<String>, GitError> {
        let now = self.snapshot().await?;
        let tip = self.branch_tip(branch).await?;
        // Commits elsewhere, of an agent that has left the branch.
        let apart = match (&now.head, &tip) {
            (Some(head), Some(tip)) if head != tip => {
                let cmd = Cmd::read("merge-base").args(["--is-ancestor", head, tip]);
                self.runner().run(cmd).await?.code != Some(0)
            }
            (head, tip) => tip.is_none() && head.is_some(),
        };
        if now.clean && !apart {
            return Ok(None);
        }
        let head = now.head.as_deref().filter(|_| apart);
        let parents: Vec<&str> = tip.as_deref().into_iter().chain(head).collect();
        // Of a clean tree the snapshot names the commit.
        let sha = self.commit_tree(&now.tree, &parents, message).await?;
        let never = "0".repeat(sha.len());
        let expected = tip.as_deref().unwrap_or(&never);
        self.let_be_at(branch, &sha, Some(expected)).await?;
        Ok(Some(sha))
    }

    async fn let_be_at(
        &self,
        branch: &str,
        sha: &str,
        expected: Option<&str>,
    ) -> Result<(), GitError> {
        let name = format!("refs/heads/{branch}");
        let cmd = Cmd::write("update-ref")
            .args(["-m", "ralph: work in progress", &name, sha])
            .args(expected);
        self.runner().run(cmd).await?.ok().map(drop)
    }

    async fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, GitError> {
        let mut cmd = Cmd::write("commit-tree").arg(format!("{tree}^{{tree}}"));
        for parent in parents {
            cmd = cmd.args(["-p", parent]);
        }
        let cmd = cmd.args(["-F", "-"]).stdin(message.as_bytes().to_vec());
        let out = self.runner().run(cmd).await?.ok()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }
}
