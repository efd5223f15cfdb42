//! Which entry of which path goes into a commit.
//!
//! Four trees matter besides the one being made: HEAD when the iteration
//! began (o), the working tree then (b), HEAD at the later snapshot (a), the
//! working tree then (n), and HEAD now (h). What is to be committed is the
//! iteration's own part of n, on top of h:
//!
//! - a path the user had not touched (b = o): the step from a to n, which is
//!   what the agent left uncommitted;
//! - a path the user had modified, staged or not yet added (b ≠ o): the step
//!   from b to n, which leaves the user's part out.
//!
//! If h isn't where the step starts from, the step is merged onto it.

use std::collections::BTreeMap;

use super::raw::{self, Blob};
use super::repo::{Head, empty_tree};
use super::run::Cmd;
use super::{Git, GitError, Snapshot};
use crate::path::is_own_record_bytes;

#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The new entry of a path; `None` takes it out. Paths from the top of the work tree.
    pub(super) puts: BTreeMap<Vec<u8>, Option<Blob>>,
    /// Paths whose step cannot be told from the user's own work.
    pub(super) conflicts: Vec<Vec<u8>>,
}

/// A step that doesn't start from what HEAD has.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) from: Option<Blob>,
    pub(super) to: Option<Blob>,
    pub(super) ours: Option<Blob>,
}

impl Git {
    /// Processes: one `diff-tree` each for the working tree then, the user's
    /// own work, and a HEAD that moved after `now`, as far as there is any;
    /// three or five for each path to be merged.
    pub(super) async fn plan(
        &self,
        base: &Snapshot,
        now: &Snapshot,
        head: &Head,
    ) -> Result<Plan, GitError> {
        let mut plan = Plan::default();
        if now.clean {
            return Ok(plan);
        }
        let empty = empty_tree(&now.tree);
        let tree = |oid: &Option<String>| oid.clone().unwrap_or_else(|| empty.to_owned());
        let left = self.sides(&tree(&now.head), &now.tree).await?;
        let users = match base.clean {
            true => BTreeMap::new(),
            false => self.sides(&tree(&base.head), &base.tree).await?,
        };
        let moved = match head.oid == now.head {
            true => BTreeMap::new(),
            false => self.sides(&tree(&now.head), &tree(&head.oid)).await?,
        };
        let submodules = self.submodule_paths();
        for (path, (then, to)) in left {
            let Some(rel) = self.repo().strip(&path) else {
                continue;
            };
            let stray = then.is_none()
                && to.as_ref().is_some_and(Blob::is_gitlink)
                && !submodules.iter().any(|s| s.as_bytes() == path);
            if stray || is_own_record_bytes(rel) {
                continue;
            }
            let ours = moved
                .get(&path)
                .map_or_else(|| then.clone(), |(_, new)| new.clone());
            let from = users.get(&path).map_or(then, |(_, new)| new.clone());
            if to == from || to == ours {
                continue;
            }
            if ours == from {
                plan.puts.insert(path, to);
                continue;
            }
            match self.merge(&Step { from, to, ours }).await? {
                Some(merged) => {
                    plan.puts.insert(path, Some(merged));
                }
                None => plan.conflicts.push(path),
            }
        }
        Ok(plan)
    }

    /// The entries that differ between two trees, by path: `(old, new)`.
    async fn sides(
        &self,
        old: &str,
        new: &str,
    ) -> Result<BTreeMap<Vec<u8>, (Option<Blob>, Option<Blob>)>, GitError> {
        if old == new {
            return Ok(BTreeMap::new());
        }
        let cmd = Cmd::read("diff-tree")
            .args([
                "-r",
                "-z",
                "--raw",
                "--no-abbrev",
                "--no-renames",
                "--ignore-submodules=none",
            ])
            .args([old, new, "--"]);
        let (changes, _) = raw::parse(&self.runner().run(cmd).await?.ok()?)?;
        Ok(changes
            .into_iter()
            .map(|c| (c.path, (c.old, c.new)))
            .collect())
    }

    /// Paths that `.gitmodules` names. A link to a repository it doesn't name
    /// would break `git submodule` in every clone.
    fn submodule_paths(&self) -> Vec<String> {
        let text = match self.inner.ws.read(".gitmodules", 1 << 20) {
            Ok(Some(text)) => String::from_utf8_lossy(&text).into_owned(),
            _ => return Vec::new(),
        };
        text.lines()
            .filter_map(|line| {
                line.trim()
                    .strip_prefix("path")?
                    .trim_start()
                    .strip_prefix('=')
            })
            .map(|path| path.trim().trim_matches('"').to_owned())
            .collect()
    }
}
