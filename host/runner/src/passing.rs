//! Branches of workers that are being made, or are on their way out: a death in the middle leaves no
//! branch that nobody needs. (In between, the worktree itself says which branch it is on.)

use ralph_workspace::{Workspace, is_temporary};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::worker::{self, DIR, Home};

/// Beside the worktrees; no task's directory is called so.
pub(crate) const NAME: &str = ".branches";

/// What becomes of a branch.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Passing {
    /// It is made at this commit, with a worktree.
    Made { branch: String, base: String },
    /// It stays, and its worktree goes.
    Left,
    /// It goes, with its worktree: it is at this commit, which isn't needed any more.
    Going { branch: String, tip: String },
}

fn path(dir: &str) -> String {
    let name = dir.rsplit('/').next().unwrap_or(dir);
    format!("{DIR}/{NAME}/{name}")
}

/// To be said when what was begun for this worktree is done.
pub(crate) fn done(ws: &Workspace, dir: &str) -> Result<(), Error> {
    Ok(ws.remove_file(&path(dir))?)
}

/// What a death has cut off is brought to its end, or taken back.
pub(crate) async fn reconcile(home: Home<'_>) -> Result<(), Error> {
    let ws = &home.project.ws;
    let all = format!("{DIR}/{NAME}");
    if !ws.exists(&all) {
        return Ok(());
    }
    for name in ws.list(&all)? {
        let dir = format!("{DIR}/{name}");
        if is_temporary(&name) {
            done(ws, &dir)?;
            continue;
        }
        let said = ws.read(&path(&dir), 1 << 16)?.unwrap_or_default();
        // A file that is written as one is whole, or was somebody else's.
        match serde_json::from_slice::<Passing>(&said) {
            Ok(passing) => passing.end(home, &dir).await?,
            Err(_) => done(ws, &dir)?,
        }
    }
    Ok(())
}

impl Passing {
    /// To be said before the branch of this worktree is made, or deleted.
    pub(crate) fn begin(&self, ws: &Workspace, dir: &str) -> Result<(), Error> {
        let bytes = serde_json::to_vec(self).map_err(|e| Error::Internal(e.to_string()))?;
        ws.create_dir_all(&format!("{DIR}/{NAME}"))?;
        Ok(ws.write(&path(dir), &bytes)?)
    }

    /// Removes worktree and branch; one that was wholly made stays.
    pub(crate) async fn end(&self, home: Home<'_>, dir: &str) -> Result<(), Error> {
        match self {
            Passing::Made { .. } if worker::is_made(home, dir)? => {}
            Passing::Made { branch, base } => {
                worker::remove(home, dir).await?;
                // Another run may have taken the name first, and be at work there.
                home.git.branch_delete_at(branch, base).await?;
            }
            Passing::Left => worker::remove(home, dir).await?,
            Passing::Going { branch, tip } => {
                worker::remove(home, dir).await?;
                home.git.branch_delete_at(branch, tip).await?;
            }
        }
        done(&home.project.ws, dir)
    }
}
