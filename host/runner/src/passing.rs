//! Branches of workers that are being made, or are on their way out: a death in the middle leaves no
//! branch that nobody needs. (In between, the worktree itself says which branch it is on.)

use ralph_workspace::Workspace;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::setup::Setup;
use crate::worker::{self, DIR};

/// Beside the worktrees; no task's directory is called so.
pub(crate) const NAME: &str = ".branches";

/// What becomes of a branch.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Passing {
    branch: String,
    /// The commit that it is made at. Nothing: what is on it is merged.
    base: Option<String>,
}

fn path(dir: &str) -> String {
    let name = dir.rsplit('/').next().unwrap_or(dir);
    format!("{DIR}/{NAME}/{name}")
}

/// To be said before the branch of this worktree is made, or deleted.
pub(crate) fn begin(
    ws: &Workspace,
    dir: &str,
    branch: &str,
    base: Option<&str>,
) -> Result<(), Error> {
    let branch = branch.to_owned();
    let base = base.map(str::to_owned);
    let bytes = serde_json::to_vec(&Passing { branch, base });
    let bytes = bytes.map_err(|e| Error::Internal(e.to_string()))?;
    ws.create_dir_all(&format!("{DIR}/{NAME}"))?;
    Ok(ws.write(&path(dir), &bytes)?)
}

/// To be said when that is done.
pub(crate) fn done(ws: &Workspace, dir: &str) -> Result<(), Error> {
    Ok(ws.remove_file(&path(dir))?)
}

/// What a death has cut off is brought to its end, or taken back.
pub(crate) async fn reconcile(main: &Setup) -> Result<(), Error> {
    let ws = &main.project.ws;
    let all = format!("{DIR}/{NAME}");
    if !ws.exists(&all) {
        return Ok(());
    }
    for name in ws.list(&all)? {
        let dir = format!("{DIR}/{name}");
        let said = ws.read(&path(&dir), 1 << 16)?.unwrap_or_default();
        // A file that is written as one is whole, or was somebody else's.
        if let Ok(passing) = serde_json::from_slice::<Passing>(&said) {
            passing.go(main, &dir).await?;
        }
        done(ws, &dir)?;
    }
    Ok(())
}

impl Passing {
    async fn go(&self, main: &Setup, dir: &str) -> Result<(), Error> {
        if self.base.is_some() && worker::is_made(main, dir)? {
            return Ok(());
        }
        worker::remove(main, dir).await?;
        let branch = self.branch.as_str();
        if !main.git.branch_exists(branch).await? {
            return Ok(());
        }
        match &self.base {
            None => main.git.branch_delete(branch).await?,
            // Another run may have taken the name first: what is on it stays, or is at work.
            Some(base) if !main.git.is_ahead(branch, base).await? => {
                if let Err(e) = main.git.branch_delete(branch).await {
                    tracing::debug!("{branch} stays: {e}");
                }
            }
            Some(_) => {}
        }
        Ok(())
    }
}
