//! The task file around an agent's work: what it may say there, and what is put back.
//!
//! An agent may tick its own task, which is a claim. Anything that would make
//! the loop believe more than was checked is undone: another task marked, an
//! open task taken out or renamed by its place, a file that can't be read any more. What it had written
//! is kept beside the attempt's records.

use std::collections::HashSet;

use ralph_engine::tasks::{Entry, Ids, TaskFile};
use ralph_engine::types::TaskState;
use ralph_workspace::Workspace;

use super::Claimed;
use super::file::{FileSource, MAX};
use crate::error::Error;
use crate::names::Places;

/// More tasks whose marks were taken back are counted, not named.
const NAMED: usize = 20;

/// Keeps a copy from before the agent starts, safely on the disk: an attempt that a power cut
/// ends is taken up with it.
pub fn keep(ws: &Workspace, bytes: &[u8], places: &Places) -> Result<(), Error> {
    Ok(ws.write(&kept(places), bytes)?)
}

/// Looks at what the agent left, and undoes what it may not do.
pub fn after_agent(
    source: &FileSource,
    places: &Places,
    id: &str,
    ids: &Ids,
) -> Result<Claimed, Error> {
    let (ws, path) = (&source.ws, source.path.as_str());
    let good = ws.read(&kept(places), MAX)?.ok_or_else(|| {
        Error::Internal(format!(
            "{} is gone, the copy of the task file from before the agent",
            kept(places)
        ))
    })?;
    let before = source.parse(&good, ids)?;
    let (bytes, odd) = match ws.read(path, MAX) {
        Ok(bytes) => (bytes, None),
        // A directory, a link to elsewhere, a pipe.
        Err(e) => (None, Some(e.to_string())),
    };
    if bytes.as_deref() == Some(&good) {
        return Ok(Claimed {
            state: state_of(&before, id),
            problems: Vec::new(),
        });
    }
    let broken = match &bytes {
        None => Err(odd.clone().unwrap_or_else(|| "it was deleted".to_owned())),
        Some(bytes) => source
            .parse(bytes, before.ids())
            .map_err(|e| e.to_string())
            .and_then(|now| {
                let lost = |e: &&Entry| e.state != TaskState::Done && now.get(&e.task.id).is_none();
                if let Some(e) = before.entries().iter().find(lost) {
                    return Err(format!("the open task {} was taken out", e.task.id));
                }
                match renumbered(&before, &now) {
                    Some(id) => Err(format!("{id} is another task now; add new ones at the end")),
                    None => Ok(now),
                }
            }),
    };
    match broken {
        Err(why) => {
            let refused = format!("{}/task-file.refused", places.context);
            if let Some(bytes) = &bytes {
                ws.write_relaxed(&refused, bytes)?;
            } else if odd.is_some() {
                let dir = ws.dir();
                dir.rename(path, dir, &refused)
                    .map_err(|e| Error::io(path, e))?;
            }
            ws.write(path, &good)?;
            let problem = format!(
                "the task file {path} was put back as it had been: {why}. It is not yours to edit."
            );
            Ok(Claimed {
                state: state_of(&before, id),
                problems: vec![problem],
            })
        }
        Ok(now) => untick(source, &before, &now, id),
    }
}

fn untick(
    source: &FileSource,
    before: &TaskFile,
    now: &TaskFile,
    id: &str,
) -> Result<Claimed, Error> {
    let path = &source.path;
    let state = state_of(now, id);
    // A new task may come with any mark but "done".
    let was = |e: &Entry| match before.get(&e.task.id) {
        Some(b) => b.state,
        None if e.state == TaskState::Done => TaskState::Open,
        None => e.state,
    };
    let others: Vec<(&str, TaskState, TaskState)> = now
        .entries()
        .iter()
        .map(|e| (e.task.id.as_str(), was(e), e.state))
        .filter(|(other, was, is)| *other != id && was != is)
        .collect();
    if !others.is_empty() {
        let back: Vec<_> = others.iter().map(|(id, was, _)| (*id, *was)).collect();
        source.ws.write(path, &now.set_states(&back)?)?;
    }
    let problem = |done: bool, what: &str| {
        let ids: Vec<&str> = others
            .iter()
            .filter(|(.., is)| (*is == TaskState::Done) == done)
            .map(|(id, ..)| *id)
            .collect();
        let more = ids.len().saturating_sub(NAMED);
        let named = ids[..ids.len() - more].join(", ");
        match more {
            0 if ids.is_empty() => None,
            0 => Some(format!("{named} {what}; taken back")),
            more => Some(format!("{named} and {more} more {what}; taken back")),
        }
    };
    let ticked = format!("had been ticked in {path} without having been worked on");
    let marked = format!("had been marked otherwise in {path}");
    let problems = [problem(true, &ticked), problem(false, &marked)];
    Ok(Claimed {
        state,
        problems: problems.into_iter().flatten().collect(),
    })
}

/// The first task whose id means another one now. A task without an id of its
/// own is named by its place, so a new one above it would take its name.
fn renumbered<'a>(before: &'a TaskFile, now: &TaskFile) -> Option<&'a str> {
    let titles: HashSet<&str> = now
        .entries()
        .iter()
        .map(|e| e.task.title.as_str())
        .collect();
    let moved = |b: &&Entry| {
        let here = now.get(&b.task.id);
        here.is_none_or(|e| e.task.title != b.task.title) && titles.contains(b.task.title.as_str())
    };
    let first = before.entries().iter().find(moved)?;
    Some(&first.task.id)
}

fn state_of(file: &TaskFile, id: &str) -> TaskState {
    file.get(id).map_or(TaskState::Open, |e| e.state)
}

fn kept(places: &Places) -> String {
    format!("{}/task-file", places.context)
}
