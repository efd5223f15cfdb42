//! Accepted work of a worker onto the branch.

use ralph_engine::gates;
use ralph_workspace::{Advanced, Restacked};

use crate::checks::{self, Subject};
use crate::error::Error;
use crate::fleet::replayed;
use crate::run::Loop;
use crate::services::Looked;
use crate::sources::Outcome;
use crate::worker::{Done, Worker};

/// What came of accepted work.
pub(crate) enum Merge {
    /// It is on the branch; `None` if there was nothing to commit.
    Done(Option<String>),
    /// It can't be brought together with what was merged meanwhile.
    Refused(String),
}

/// Brings accepted work onto the branch. Called again after a death, it finds what was done.
pub(crate) async fn merge(l: &mut Loop, worker: &Worker, done: &Done) -> Result<Merge, Error> {
    let commit = done.commit().map(str::to_owned);
    let attempt = done.attempt().unwrap_or_default();
    let task = &worker.note.task;
    let (git, base) = (l.s.git.clone(), worker.note.base.clone());
    let merged = match commit {
        None => Merge::Done(None),
        Some(_) if let Some(sha) = git.find_commit(attempt, Some(&base)).await? => {
            Merge::Done(Some(sha))
        }
        Some(commit) => {
            let onto = git
                .head_commit()
                .await?
                .ok_or_else(|| Error::Internal("the repository has lost its commits".into()))?;
            let mut sha = match worker.git.restack(&base, &commit, &onto).await? {
                Restacked::Done { sha } => sha,
                Restacked::Conflict { paths } => {
                    return Ok(Merge::Refused(format!(
                        "what was merged meanwhile changed the same places in {}",
                        paths.join(", ")
                    )));
                }
            };
            if onto != base
                && let Some(failed) = checked_again(l, worker, done, &onto).await?
            {
                return Ok(Merge::Refused(failed));
            }
            if let Some(path) = l.s.source.file()
                && git.is_tracked_and_clean(path).await?
            {
                worker.copy(&l.s, path)?;
                let there = l.s.source.clone().beside(&worker.ws);
                let done = Outcome::BY_HAND;
                there.apply(&l.state.ids, task, &done).await?;
                sha = worker.git.amend_with(path).await?;
            }
            if let Advanced::Refused { output } = git.advance(&sha).await? {
                return Err(Error::Unmerged {
                    task: task.clone(),
                    branch: worker.note.branch.clone(),
                    output,
                });
            }
            Merge::Done(Some(sha))
        }
    };
    let done = Outcome::Done {
        commit: match &merged {
            Merge::Done(sha) => sha.clone(),
            Merge::Refused(_) => None,
        },
        attempt: Some(attempt.to_owned()),
    };
    l.s.source.apply(&l.state.ids, task, &done).await?;
    Ok(merged)
}

/// The gates once more, on the work together with what was merged meanwhile. What failed, if anything did.
async fn checked_again(
    l: &Loop,
    worker: &Worker,
    done: &Done,
    onto: &str,
) -> Result<Option<String>, Error> {
    let setup = worker.setup(&l.s, &l.s.agent.name);
    if setup.gates.is_empty() {
        return Ok(None);
    }
    let now = worker.git.snapshot().await?;
    let mut base = now.clone();
    (base.tree, base.head) = (onto.to_owned(), Some(onto.to_owned()));
    let ignore = l.ignore();
    let files = worker.git.changes(&base, &now, &ignore).await?.files;
    let looked = Looked {
        base,
        now,
        ignore,
        files: std::sync::Arc::new(files),
    };
    let (c, _) = replayed(l, &done.lines)?;
    let results = checks::again(
        &setup,
        &l.bus,
        &|_| {},
        &l.stopping,
        Subject::of(&c),
        looked,
    )
    .await?;
    // Told to stop: not all were asked, and nothing may be concluded.
    if l.stopping.forced() {
        return Err(Error::Stopped);
    }
    let failed: Vec<String> = gates::weigh(&setup.rules.groups, &results)
        .against
        .into_iter()
        .map(|r| {
            let found: Vec<&str> = r
                .verdict
                .findings
                .iter()
                .map(|f| f.message.as_str())
                .collect();
            format!(
                "gate {}: {}\n{}",
                r.name,
                r.verdict.summary,
                found.join("\n")
            )
        })
        .collect();
    Ok((!failed.is_empty()).then(|| {
        format!(
            "together with what was merged meanwhile, it fails\n{}",
            failed.join("\n")
        )
    }))
}
