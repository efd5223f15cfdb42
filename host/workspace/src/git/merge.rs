//! One path's step, merged onto what HEAD has.

use super::index::TempFile;
use super::plan::Step;
use super::raw::Blob;
use super::run::Cmd;
use super::{Git, GitError};

impl Git {
    /// `None` if it conflicts, is no plain file on all three sides, or is too
    /// large to be merged. Processes: three `cat-file`, one `merge-file`, one
    /// `hash-object`; none if only modes differ.
    pub(super) async fn merge(&self, step: &Step) -> Result<Option<Blob>, GitError> {
        let (Some(from), Some(to), Some(ours)) = (&step.from, &step.to, &step.ours) else {
            return Ok(None);
        };
        let Some(mode) = choose(&from.mode, &ours.mode, &to.mode) else {
            return Ok(None);
        };
        if !(from.is_file() && to.is_file() && ours.is_file()) {
            return Ok(None);
        }
        if let Some(oid) = choose(&from.oid, &ours.oid, &to.oid) {
            return Ok(Some(Blob { mode, oid }));
        }
        let mut files = Vec::new();
        for blob in [ours, from, to] {
            match self.blob_file(blob).await {
                Ok(file) => files.push(file),
                Err(GitError::TooMuchOutput { .. }) => return Ok(None),
                Err(e) => return Err(e),
            }
        }
        let cmd = Cmd::read("merge-file")
            .args(["-p", "-q", "--"])
            .args(files.iter().map(|f| &f.path));
        let merged = match self.runner().run(cmd).await {
            Ok(ended) if ended.code == Some(0) => ended.stdout,
            // The exit code counts the conflicts; 255 stands for a binary file.
            Ok(_) | Err(GitError::TooMuchOutput { .. }) => return Ok(None),
            Err(e) => return Err(e),
        };
        let cmd = Cmd::write("hash-object")
            .args(["-w", "--no-filters", "--stdin"])
            .stdin(merged);
        let out = self.runner().run(cmd).await?.ok()?;
        let oid = String::from_utf8_lossy(&out).trim_end().to_owned();
        Ok(Some(Blob { mode, oid }))
    }

    async fn blob_file(&self, blob: &Blob) -> Result<TempFile, GitError> {
        let cmd = Cmd::read("cat-file").args(["blob", &blob.oid]);
        let bytes = self.runner().run(cmd).await?.ok()?;
        let file = TempFile::new(self.repo())?;
        std::fs::write(&file.path, bytes).map_err(|e| GitError::io("write", &file.path, e))?;
        Ok(file)
    }
}

/// The side that changed, if only one did or both did alike.
fn choose(from: &str, ours: &str, to: &str) -> Option<String> {
    if ours == from || ours == to {
        Some(to.to_owned())
    } else if to == from {
        Some(ours.to_owned())
    } else {
        None
    }
}
