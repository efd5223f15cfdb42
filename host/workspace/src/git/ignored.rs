//! What git ignores.

use std::path::PathBuf;

use super::run::Cmd;
use super::snapshot::in_worktree;
use super::{Git, GitError};

impl Git {
    /// Ignored files and directories below the root, relative to it; of a directory
    /// that is ignored as a whole only itself. One process: `ls-files`.
    ///
    /// # Errors
    /// What git says.
    pub async fn ignored(&self) -> Result<Vec<PathBuf>, GitError> {
        let cmd = Cmd::read("ls-files").args([
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
        ]);
        let out = self.runner().run(cmd).await?.ok()?;
        let paths = out.split(|b| *b == 0).filter(|p| !p.is_empty());
        Ok(paths
            .map(|path| in_worktree("".as_ref(), path.strip_suffix(b"/").unwrap_or(path)))
            .collect())
    }
}
