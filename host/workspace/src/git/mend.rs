//! After a power cut: what git had not brought onto the disk. git leaves its objects to the
//! kernel (git-config(1), `core.fsync`), so that a name may be there without its content.

use std::fs;

use super::repo::empty_tree;
use super::run::Cmd;
use super::{Git, GitError, Snapshot};

impl Git {
    /// Removes loose objects that are empty, which none ever is, and which git would take for
    /// the content they should have had. Says how many there were.
    ///
    /// # Errors
    /// A directory or a file that can't be looked at or removed.
    pub fn remove_empty_objects(&self) -> Result<usize, GitError> {
        let objects = self.repo().common_dir.join("objects");
        let failed =
            |path: &std::path::Path, e| GitError::io("look at", path.display().to_string(), e);
        let mut removed = 0;
        let dirs = match fs::read_dir(&objects) {
            Ok(dirs) => dirs,
            Err(e) => return Err(failed(&objects, e)),
        };
        for dir in dirs.flatten().map(|d| d.path()) {
            let two = dir.file_name().is_some_and(|n| {
                n.len() == 2 && n.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
            });
            if !two {
                continue;
            }
            for file in fs::read_dir(&dir).map_err(|e| failed(&dir, e))?.flatten() {
                let meta = file.metadata();
                if meta.is_ok_and(|m| m.is_file() && m.len() == 0) {
                    fs::remove_file(file.path()).map_err(|e| failed(&file.path(), e))?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    /// Can all that a snapshot adds to its commit be read?
    ///
    /// # Errors
    /// git can't be run at all.
    pub async fn readable(&self, snapshot: &Snapshot) -> Result<bool, GitError> {
        snapshot.check()?;
        let from = match &snapshot.head {
            Some(head) => head.as_str(),
            None => empty_tree(&snapshot.tree),
        };
        let cmd = Cmd::read("diff-tree")
            .args(["-r", "-p", "--binary", "--no-ext-diff", "--no-textconv"])
            .args([from, &snapshot.tree]);
        let (code, _) = self.runner().stream(cmd, |_| true).await?;
        Ok(code == Some(0))
    }
}
