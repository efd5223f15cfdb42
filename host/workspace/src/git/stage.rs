//! Brings the working tree's content into a temporary index.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::GitError;
use super::index::TempFile;
use super::repo::{self, Repo};
use super::run::{Cmd, Runner};
use super::snapshot::in_worktree;
use super::status::Entry;

/// Puts what the working tree has at the given entries into `index`.
///
/// Only these paths are touched: `git add -A` would walk the whole tree a
/// second time, after `git status` already did.
pub(super) async fn worktree(
    runner: &Runner,
    repo: &Repo,
    index: &TempFile,
    entries: &[Entry],
) -> Result<(), GitError> {
    let mut gone = Vec::new();
    let mut there = Vec::new();
    let mut beyond = Vec::new();
    let mut parents = Parents {
        root: &runner.cwd,
        known: HashMap::new(),
    };
    for entry in entries.iter().filter(|e| e.unstaged || e.unmerged) {
        let Some(rel) = repo.strip(&entry.path) else {
            continue;
        };
        let path = in_worktree(&runner.cwd, rel);
        if !parents.are_directories(&path) {
            beyond.push(rel);
            continue;
        }
        match fs::symlink_metadata(&path) {
            Err(_) => gone.push(rel),
            Ok(meta) if meta.is_dir() && !entry.nested => gone.push(rel),
            Ok(meta) if meta.is_dir() && entry.untracked && !repo::has_commit(&path) => {
                tracing::warn!(path = %path.display(), "a nested repository without a commit is left out");
            }
            Ok(meta) if meta.is_file() || meta.is_dir() || meta.is_symlink() => there.push(rel),
            // A pipe or the like: nothing that git could record.
            Ok(_) => beyond.push(rel),
        }
    }
    // git refuses to look at a path behind a link, so such ones are taken out unseen.
    update(runner, index, &["--force-remove"], &[&beyond]).await?;
    // A file that became a directory goes before what is in the directory comes.
    update(
        runner,
        index,
        &["--add", "--remove", "--replace"],
        &[&gone, &there],
    )
    .await
}

/// Updates `index` at these paths (relative to the runner's directory) from the working tree.
pub(super) async fn update(
    runner: &Runner,
    index: &TempFile,
    how: &[&str],
    paths: &[&[&[u8]]],
) -> Result<(), GitError> {
    let mut list = Vec::new();
    for path in paths.iter().copied().flatten() {
        list.extend_from_slice(path);
        list.push(0);
    }
    if list.is_empty() {
        return Ok(());
    }
    let cmd = Cmd::write("update-index").args(how).args(["-z", "--stdin"]);
    runner
        .run(cmd.index(&index.path).stdin(list))
        .await?
        .ok()
        .map(drop)
}

struct Parents<'r> {
    root: &'r Path,
    known: HashMap<PathBuf, bool>,
}

impl Parents<'_> {
    /// Whether each directory between the root and `path` is one, and no link.
    fn are_directories(&mut self, path: &Path) -> bool {
        let Some(parent) = path.parent() else {
            return true;
        };
        if parent.as_os_str().as_bytes().len() <= self.root.as_os_str().as_bytes().len() {
            return true;
        }
        if let Some(known) = self.known.get(parent) {
            return *known;
        }
        let real = self.are_directories(parent)
            && fs::symlink_metadata(parent).is_ok_and(|meta| meta.is_dir());
        self.known.insert(parent.to_owned(), real);
        real
    }
}
