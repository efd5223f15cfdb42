//! Paths that are committed as they are at the commit, e.g. the task file.

use std::collections::BTreeSet;

use super::index::TempFile;
use super::run::Cmd;
use super::snapshot::in_worktree;
use super::{Git, GitError, stage};
use crate::path::{is_own_record, normal};

impl Git {
    /// Extra paths that can be committed at all, in normal form.
    pub(super) fn usable(&self, extra: &[String]) -> Vec<String> {
        let root = self.inner.ws.root();
        let paths: BTreeSet<String> = extra
            .iter()
            .filter_map(|path| normal(path).ok())
            .filter(|path| !is_own_record(path) && path != ".git" && !path.starts_with(".git/"))
            .filter(|path| {
                let meta = in_worktree(root, path.as_bytes()).symlink_metadata();
                meta.map_or(true, |meta| meta.is_file() || meta.is_symlink())
            })
            .collect();
        paths.into_iter().collect()
    }

    /// Which of `paths` are in the index; what was once is believed to be still, if that will do.
    pub(super) async fn tracked(
        &self,
        index: &TempFile,
        paths: &[String],
        believe: bool,
    ) -> Result<Vec<String>, GitError> {
        if paths.is_empty() || (believe && paths.iter().all(|p| self.memory().tracked.contains(p)))
        {
            return Ok(paths.to_vec());
        }
        let cmd = Cmd::read("ls-files")
            .args(["-z", "--"])
            .args(paths.iter().map(|p| literal(p)));
        let out = self.runner().run(cmd.index(&index.path)).await?.ok()?;
        let found: Vec<String> = paths
            .iter()
            .filter(|path| out.split(|b| *b == 0).any(|line| line == path.as_bytes()))
            .cloned()
            .collect();
        self.memory().tracked = found.iter().cloned().collect();
        Ok(found)
    }

    /// Puts those of `extra` into `index` that git doesn't ignore.
    pub(super) async fn add_extra(
        &self,
        index: &TempFile,
        extra: &[String],
    ) -> Result<(), GitError> {
        if extra.is_empty() {
            return Ok(());
        }
        let list = extra.join("\0").into_bytes();
        let cmd = Cmd::read("check-ignore")
            .args(["-z", "--stdin"])
            .stdin(list);
        let ended = self.runner().run(cmd.index(&index.path)).await?;
        // 0: some are ignored, 1: none is.
        if !matches!(ended.code, Some(0 | 1)) {
            return Err(ended.failure());
        }
        let ignored: BTreeSet<&[u8]> = ended.stdout.split(|b| *b == 0).collect();
        let wanted: Vec<&[u8]> = extra
            .iter()
            .map(String::as_bytes)
            .filter(|p| !ignored.contains(p))
            .collect();
        stage::update(
            self.runner(),
            index,
            &["--add", "--remove", "--replace"],
            &[&wanted],
        )
        .await
    }
}

/// A path without any magic in it.
pub(super) fn literal(path: &str) -> String {
    format!(":(literal){path}")
}
