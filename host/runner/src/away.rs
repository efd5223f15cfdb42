//! Workers that nobody goes on with: what nobody else has is kept on their branches.

use ralph_engine::fact::IterationResult;
use ralph_workspace::Git;

use crate::error::Error;
use crate::project::Project;
use crate::worker::{Done, Home, Progress, Worker};

/// Puts all workers away, for a project that no run will go on with. What is said of their branches.
///
/// # Errors
/// The disk or git refuses one; the others are put away.
pub async fn put_workers_away(project: &Project, git: &Git) -> Result<Vec<String>, Error> {
    let home = Home { project, git };
    let mut said = Vec::new();
    let mut first = Ok(());
    for worker in Worker::all(home).await? {
        match put_away(home, &worker).await {
            Ok(more) => said.extend(more),
            Err(e) => first = first.and(Err(e)),
        }
    }
    first.map(|()| said)
}

/// What was accepted last, if nothing has come since.
pub(crate) fn accepted_last(worker: &Worker) -> Result<Option<Done>, Error> {
    if worker.progress()? == Progress::Within {
        return Ok(None);
    }
    let last = worker.done_after(0)?.pop();
    Ok(last.filter(|done| done.result == IterationResult::Accepted))
}

/// Its commit on the run's own branch.
pub(crate) async fn merged(
    home: Home<'_>,
    worker: &Worker,
    done: &Done,
) -> Result<Option<String>, Error> {
    let Some(attempt) = done.attempt() else {
        return Ok(None);
    };
    let base = Some(worker.note.base.as_str());
    Ok(home.git.find_commit(attempt, base).await?)
}

/// Work that isn't on the run's own branch stays on the worker's, so that it isn't lost with the worktree.
/// What is to be said of it.
pub(crate) async fn put_away(home: Home<'_>, worker: &Worker) -> Result<Option<String>, Error> {
    let note = &worker.note;
    let (task, branch, base) = (&note.task, &note.branch, note.base.as_str());
    if let Some(last) = accepted_last(worker)? {
        let merged = merged(home, worker, &last).await?;
        // All that it did is in this commit; what else is in the worktree came of merging it.
        let tip = last.commit().unwrap_or(base);
        if merged.is_some() || tip == base {
            worker.remove_with_branch(home, tip).await?;
            return Ok(None);
        }
        worker.remove(home).await?;
        return Ok(Some(format!(
            "{task}: its commits are kept on the branch {branch}"
        )));
    }
    let message = format!("ralph: unaccepted work on {task}");
    let kept = worker.git.keep_all(branch, &message).await?;
    if kept.is_none() && !home.git.is_ahead(branch, base).await? {
        worker.remove_with_branch(home, base).await?;
        return Ok(None);
    }
    worker.remove(home).await?;
    let what = match kept {
        Some(_) => "unaccepted work is",
        None => "commits are",
    };
    Ok(Some(format!(
        "{task}: its {what} kept on the branch {branch}"
    )))
}
