//! Which paths differ between two snapshots.

use std::collections::BTreeSet;

use ralph_engine::types::{ChangeKind, FileChange};
use serde::{Deserialize, Serialize};

use super::raw::{self, RawChange};
use super::run::Cmd;
use super::{Git, GitError, Snapshot};
use crate::path::{is_listed, is_own_record_bytes};

/// What is different in a later snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Changes {
    /// Sorted by path; protected paths among them. A renamed file is there
    /// twice: renamed under its new path, deleted under its old one, so that a
    /// rule about paths sees both. A path that isn't UTF-8 is shown with
    /// replacement characters.
    pub files: Vec<FileChange>,
    /// Those of `files` that are protected (see [`Snapshot::protected`]).
    pub protected: Vec<String>,
    /// HEAD stands at another commit.
    pub head_moved: bool,
    /// HEAD is on another branch.
    pub branch_changed: bool,
}

impl Changes {
    /// No path differs.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl Git {
    /// The newest commit that HEAD and the named one have in common, as a change's base is reckoned
    /// when it is proposed. `None` if there is no such commit or none in common.
    ///
    /// # Errors
    /// git can't be run.
    pub async fn fork_point(&self, name: &str) -> Result<Option<String>, GitError> {
        // Spelled so, no name is read as an option.
        let name = format!("{name}^{{commit}}");
        let verify = Cmd::read("rev-parse").args(["-q", "--verify", "--end-of-options", &name]);
        let Some(commit) = self.first_line(verify).await? else {
            return Ok(None);
        };
        let common = Cmd::read("merge-base").args(["HEAD", &commit]);
        self.first_line(common).await
    }

    async fn first_line(&self, cmd: Cmd) -> Result<Option<String>, GitError> {
        let ended = self.runner().run(cmd).await?;
        let text = String::from_utf8_lossy(&ended.stdout).into_owned();
        let line = text.lines().next().map(str::to_owned);
        Ok(line.filter(|_| ended.code == Some(0)))
    }

    /// What changed from `base` to `now`, without ralph's own records and
    /// without `ignore` (paths relative to the root; a directory covers what is
    /// below it). Two snapshots of the same tree start no process.
    ///
    /// # Errors
    /// What git says.
    pub async fn changes(
        &self,
        base: &Snapshot,
        now: &Snapshot,
        ignore: &[String],
    ) -> Result<Changes, GitError> {
        base.check()?;
        now.check()?;
        let mut files = Vec::new();
        if base.tree != now.tree {
            let cmd = Cmd::read("diff-tree")
                .args([
                    "-r",
                    "-z",
                    "--raw",
                    "--numstat",
                    "--no-abbrev",
                    "-M",
                    "--relative",
                ])
                .args(["--no-ext-diff", "--no-textconv", "--ignore-submodules=none"])
                .args([&base.tree, &now.tree, "--"]);
            let (changes, lines) = raw::parse(&self.runner().run(cmd).await?.ok()?)?;
            for RawChange {
                path, status, from, ..
            } in changes
            {
                let (added_lines, deleted_lines) = lines.get(&path).copied().unwrap_or_default();
                let kind = match status {
                    b'A' | b'C' => ChangeKind::Added,
                    b'D' => ChangeKind::Deleted,
                    b'R' => ChangeKind::Renamed,
                    _ => ChangeKind::Modified,
                };
                add(
                    &mut files,
                    ignore,
                    &path,
                    kind,
                    (added_lines, deleted_lines),
                );
                if let (Some(from), b'R') = (from, status) {
                    add(&mut files, ignore, &from, ChangeKind::Deleted, (0, 0));
                }
            }
        }
        let known: BTreeSet<String> = files.iter().map(|f| f.path.clone()).collect();
        let mut protected = Vec::new();
        for (path, kind) in protected_changes(base, now) {
            if is_listed(path.as_bytes(), ignore) {
                continue;
            }
            if !known.contains(path) {
                add(&mut files, ignore, path.as_bytes(), kind, (0, 0));
            }
            protected.push(path.clone());
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Changes {
            files,
            protected,
            head_moved: base.head != now.head,
            branch_changed: base.branch != now.branch,
        })
    }
}

fn add(
    files: &mut Vec<FileChange>,
    ignore: &[String],
    path: &[u8],
    kind: ChangeKind,
    (added_lines, deleted_lines): (u32, u32),
) {
    if !is_own_record_bytes(path) && !is_listed(path, ignore) {
        let path = String::from_utf8_lossy(path).into_owned();
        files.push(FileChange {
            path,
            kind,
            added_lines,
            deleted_lines,
        });
    }
}

fn protected_changes<'s>(
    base: &'s Snapshot,
    now: &'s Snapshot,
) -> impl Iterator<Item = (&'s String, ChangeKind)> {
    let paths: BTreeSet<&String> = base.protected.keys().chain(now.protected.keys()).collect();
    paths.into_iter().filter_map(|path| {
        let kind = match (base.protected.get(path), now.protected.get(path)) {
            (Some(a), Some(b)) if a == b => return None,
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        Some((path, kind))
    })
}
