//! After a host's death: the git that it left at work. After a power cut: what git had not brought onto
//! the disk. git leaves its objects to the kernel (git-config(1), `core.fsync`), so that a name may be
//! there without its content.

use std::fs;
use std::time::Duration;

use super::repo::empty_tree;
use super::run::{Cmd, SIGNATURE};
use super::{Git, GitError, Snapshot};

/// How long the git of a dead host may go on. Most of what it does takes milliseconds; a hook may take
/// minutes, and the next run starts it anew.
const PATIENCE: Duration = Duration::from_secs(2);

/// The name of an object in its directory: what is left of SHA-1 or SHA-256. git writes it elsewhere first
/// (`tmp_obj_…`), where it begins empty.
fn is_object(name: &std::ffi::OsStr) -> bool {
    matches!(name.len(), 38 | 62) && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit)
}

impl Git {
    /// What a host that died has left writing in this repository has ended when this returns: by itself
    /// within 2 s, or it was ended. Blocks that long. Says how many there were.
    pub fn settle(&self) -> usize {
        ralph_process::settle(
            "git",
            SIGNATURE,
            self.repo().common_dir.as_os_str(),
            PATIENCE,
        )
    }

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
                if !is_object(&file.file_name()) {
                    continue;
                }
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
