//! What is left of runs that are over: their records. The work is on the branch and in the patch,
//! so the worktree goes, which also lets the branch be checked out elsewhere. Of many runs the
//! records of the oldest go, too.

use std::fs;
use std::path::Path;
use std::sync::PoisonError;

use ralph_runner::{Error, Project, put_workers_away};
use ralph_workspace::{Git, Workspace};

use super::submit::PROMPT;
use super::tree;
use crate::app::Shared;
use crate::store::Run;

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

/// To be called when a run is over for the store. What a service that died, or a disk that refused,
/// has left behind is put away as well.
pub(super) async fn tidy(app: &Shared) {
    let _one = app.runs.git.lock().await;
    let all = app.data.join("runs");
    let listed = match tokio::task::spawn_blocking(move || list(&all)).await {
        Ok(Ok(listed)) => listed,
        // No run has ever begun.
        Ok(Err(e)) if e.kind() == std::io::ErrorKind::NotFound => return,
        Ok(Err(e)) => return tracing::warn!("runs that are over can't be tidied up: {e}"),
        Err(e) => return tracing::warn!("{e}"),
    };
    let mut over = Vec::new();
    let most = usize::try_from(app.settings.serve.runs_kept).unwrap_or(usize::MAX);
    let many = listed.len() > most;
    for (id, tree) in listed {
        if !tree && !many {
            continue;
        }
        let Ok(Some(run)) = app.store.run(&id).await else {
            continue;
        };
        if !run.status.is_terminal() {
            continue;
        }
        if tree && let Err(e) = put_away(app, &run).await {
            tracing::warn!("the worktree of {id} can't be put away yet: {e}");
            continue;
        }
        over.push((run.ended_at, id));
    }
    if many {
        over.sort();
        for (_, old) in over.iter().rev().skip(most) {
            let own = tree::dir(app, old);
            let gone = tokio::task::spawn_blocking(move || fs::remove_dir_all(own)).await;
            if !matches!(gone, Ok(Ok(()))) {
                tracing::warn!("the records of {old} can't be removed");
            }
        }
    }
}

/// Removes what a service has left that died in a submission: the prompt of a run that never was.
pub(super) async fn never_submitted(app: &Shared) {
    let all = app.data.join("runs");
    let alone = tokio::task::spawn_blocking(move || only_prompts(&all)).await;
    for id in alone.ok().and_then(Result::ok).unwrap_or_default() {
        if matches!(app.store.run(&id).await, Ok(None)) {
            let own = tree::dir(app, &id);
            let gone = tokio::task::spawn_blocking(move || fs::remove_dir_all(own)).await;
            if !matches!(gone, Ok(Ok(()))) {
                tracing::warn!("what is left of {id}, which was never submitted, can't be removed");
            }
        }
    }
}

/// Runs' directories with nothing in them but a prompt.
fn only_prompts(all: &Path) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(all)? {
        let entry = entry?;
        let mut inside = fs::read_dir(entry.path())?;
        let other = inside.any(|e| e.map_or(true, |e| e.file_name() != PROMPT));
        if !other {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

/// All runs' directories: whose, and is there a worktree?
fn list(all: &Path) -> std::io::Result<Vec<(String, bool)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(all)? {
        let entry = entry?;
        let tree = entry.path().join("tree").exists();
        found.push((entry.file_name().to_string_lossy().into_owned(), tree));
    }
    Ok(found)
}

/// Moves a run's records out of its worktree, which is removed. What can't be done now stays for the next time.
async fn put_away(app: &Shared, run: &Run) -> Result<(), Error> {
    let id = run.run_id.as_str();
    let (own, root) = (tree::dir(app, id), tree::root(app, id));
    let top = own.join("tree");
    for said in workers(&top, &root).await? {
        tracing::info!("{id} is over: {said}");
    }
    let shared = app.clone();
    let moved = move || {
        if root.join(".ralph").is_dir() {
            let moving = &shared.runs.moving;
            let _alone = moving.write().unwrap_or_else(PoisonError::into_inner);
            fs::create_dir_all(own.join(RECORDS))?;
            fs::rename(root.join(".ralph"), own.join(RECORDS).join(".ralph"))?;
        }
        std::io::Result::Ok(())
    };
    let moved = tokio::task::spawn_blocking(moved).await;
    moved
        .map_err(|e| Error::Internal(e.to_string()))?
        .map_err(|e| Error::Internal(e.to_string()))?;
    remove(app, &run.workspace, &top).await
}

/// What workers in a run's worktree have done and nobody accepted stays on branches of theirs.
async fn workers(top: &Path, root: &Path) -> Result<Vec<String>, Error> {
    // Without these the project that is opened would be another, above.
    if !root.join(".ralph/worktrees").is_dir() || !top.join(".git").is_file() {
        return Ok(Vec::new());
    }
    let project = Project::open(root)?;
    let git = Git::open(&project.ws)?;
    put_workers_away(&project, &git).await
}

/// Removes a worktree of this workspace, and what git knows of it.
async fn remove(app: &Shared, workspace: &str, top: &Path) -> Result<(), Error> {
    let git = match app.settings.workspaces.get(workspace) {
        Some(workspace) => Some(Git::open(&Workspace::open(&workspace.path)?)?),
        None => None,
    };
    if let Some(git) = &git {
        git.worktree_remove(top).await?;
    }
    if top.exists() {
        let gone = top.to_owned();
        let gone = tokio::task::spawn_blocking(move || fs::remove_dir_all(gone)).await;
        let gone = gone.map_err(|e| Error::Internal(e.to_string()))?;
        gone.map_err(|e| Error::Internal(e.to_string()))?;
        if let Some(git) = &git {
            git.worktree_remove(top).await?;
        }
    }
    Ok(())
}
