//! What is left of runs that are over: their records. The work is on the branch and in the patch,
//! so the worktree goes, which also lets the branch be checked out elsewhere. Of many runs the
//! records of the oldest go, too.

use std::fs;
use std::path::Path;
use std::sync::PoisonError;

use ralph_runner::Project;
use ralph_workspace::Git;

use super::tree;
use crate::app::Shared;

/// Where the records are once the worktree is gone.
const RECORDS: &str = "records";

/// The directory with a run's records: receipts, logs, attempts, context.
pub(super) fn records(own: &Path, root: &Path) -> std::path::PathBuf {
    let kept = own.join(RECORDS).join(".ralph");
    match kept.is_dir() {
        true => kept,
        false => root.join(".ralph"),
    }
}

/// To be called when a run is over for the store. What can't be removed now is tried again at the
/// end of the next run.
pub(super) async fn tidy(app: &Shared, id: &str, workspace: &str) {
    let (own, root) = (tree::dir(app, id), tree::root(app, id));
    let all = app.data.join("runs");
    let shared = app.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let kept = own.join(RECORDS);
        if root.join(".ralph").is_dir() {
            let moving = &shared.runs.moving;
            let _alone = moving.write().unwrap_or_else(PoisonError::into_inner);
            let moved = fs::create_dir_all(&kept)
                .and_then(|()| fs::rename(root.join(".ralph"), kept.join(".ralph")));
            if let Err(e) = moved {
                tracing::warn!("{}: its records can't be moved: {e}", own.display());
            }
        }
        strip(&all)
    });
    let known = match looked.await {
        Ok(Ok(known)) => known,
        Ok(Err(e)) => return tracing::warn!("runs that are over can't be tidied up: {e}"),
        Err(e) => return tracing::warn!("{e}"),
    };
    if let Err(e) = prune(app, workspace).await {
        tracing::warn!("git still knows the worktree of {id}: {e}");
    }
    let most = usize::try_from(app.settings.serve.runs_kept).unwrap_or(usize::MAX);
    if known.len() <= most {
        return;
    }
    let mut over = Vec::new();
    for id in known {
        if let Ok(Some(run)) = app.store.run(&id).await
            && run.status.is_terminal()
        {
            over.push((run.ended_at, id));
        }
    }
    over.sort();
    for (_, old) in over.iter().rev().skip(most) {
        let own = tree::dir(app, old);
        let gone = tokio::task::spawn_blocking(move || fs::remove_dir_all(own)).await;
        if !matches!(gone, Ok(Ok(()))) {
            tracing::warn!("the records of {old} can't be removed");
        }
    }
}

/// Removes the worktrees of those whose records are moved; all such.
fn strip(all: &Path) -> std::io::Result<Vec<String>> {
    let mut known = Vec::new();
    for entry in fs::read_dir(all)? {
        let entry = entry?;
        let own = entry.path();
        if !own.join(RECORDS).join(".ralph").is_dir() {
            continue;
        }
        let tree = own.join("tree");
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        known.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(known)
}

/// git forgets worktrees whose directories are gone.
async fn prune(app: &Shared, workspace: &str) -> Result<(), String> {
    let Some(workspace) = app.settings.workspaces.get(workspace) else {
        return Ok(());
    };
    let project = Project::open(&workspace.path).map_err(|e| e.to_string())?;
    let git = Git::open(&project.ws).map_err(|e| e.to_string())?;
    let _one = app.runs.git.lock().await;
    git.worktree_prune().await.map_err(|e| e.to_string())
}
