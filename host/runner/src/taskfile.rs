//! The task file around an agent's work: what it may say there, and what is put back.
//!
//! An agent may tick its own task, which is a claim. Anything that would make
//! the loop believe more than was checked is undone: another task ticked, an
//! open task taken out, a file that can't be read any more. What it had written
//! is kept beside the attempt's records.

use ralph_engine::tasks::TaskFile;
use ralph_engine::types::TaskState;

use crate::error::Error;
use crate::names::Places;
use crate::project::Project;

const MAX: u64 = 64 << 20;

/// What the task file says after the agent.
pub struct Claimed {
    /// Of the task at hand.
    pub state: TaskState,
    /// What was undone, for the next attempt's prompt.
    pub problems: Vec<String>,
}

/// Keeps a copy from before the agent starts.
pub fn keep(project: &Project, places: &Places) -> Result<(), Error> {
    let (_, bytes, _) = project.tasks()?;
    Ok(project.ws.write_relaxed(&kept(places), &bytes)?)
}

/// Looks at what the agent left, and undoes what it may not do.
pub fn after_agent(
    project: &Project,
    path: &str,
    places: &Places,
    id: &str,
) -> Result<Claimed, Error> {
    let good = project.ws.read(&kept(places), MAX)?.ok_or_else(|| {
        Error::Internal(format!(
            "{} is gone, the copy of the task file from before the agent",
            kept(places)
        ))
    })?;
    let before = TaskFile::parse(path, &good)?;
    let bytes = project.ws.read(path, MAX)?;
    if bytes.as_deref() == Some(&good) {
        return Ok(Claimed {
            state: state_of(&before, id),
            problems: Vec::new(),
        });
    }
    let broken = match &bytes {
        None => Err("it was deleted".to_owned()),
        Some(bytes) => TaskFile::parse(path, bytes)
            .map_err(|e| e.to_string())
            .and_then(|now| {
                let lost = |e: &&ralph_engine::tasks::Entry| {
                    e.state != TaskState::Done && now.get(&e.task.id).is_none()
                };
                match before.entries().iter().find(lost) {
                    Some(e) => Err(format!("the open task {} was taken out", e.task.id)),
                    None => Ok(now),
                }
            }),
    };
    match broken {
        Err(why) => {
            if let Some(bytes) = &bytes {
                project
                    .ws
                    .write_relaxed(&format!("{}/task-file.refused", places.context), bytes)?;
            }
            project.ws.write(path, &good)?;
            let problem = format!(
                "the task file {path} was put back as it had been: {why}. It is not yours to edit."
            );
            Ok(Claimed {
                state: state_of(&before, id),
                problems: vec![problem],
            })
        }
        Ok(now) => untick(project, path, &before, now, id),
    }
}

fn untick(
    project: &Project,
    path: &str,
    before: &TaskFile,
    now: TaskFile,
    id: &str,
) -> Result<Claimed, Error> {
    let state = state_of(&now, id);
    let ticked = |e: &&ralph_engine::tasks::Entry| {
        e.task.id != id
            && e.state == TaskState::Done
            && before
                .get(&e.task.id)
                .is_none_or(|b| b.state != TaskState::Done)
    };
    let mut problems = Vec::new();
    let others: Vec<String> = now
        .entries()
        .iter()
        .filter(ticked)
        .map(|e| e.task.id.clone())
        .collect();
    let mut file = now;
    for other in &others {
        let to = before.get(other).map_or(TaskState::Open, |e| e.state);
        let bytes = file.set_state(other, to)?;
        file = TaskFile::parse(path, &bytes)?;
        project.ws.write(path, &bytes)?;
    }
    if !others.is_empty() {
        problems.push(format!(
            "{} had been ticked in {path} without having been worked on; taken back",
            others.join(", ")
        ));
    }
    Ok(Claimed { state, problems })
}

fn state_of(file: &TaskFile, id: &str) -> TaskState {
    file.get(id).map_or(TaskState::Open, |e| e.state)
}

/// Makes the task file say so. False if it has no such task any more.
pub fn mark(project: &Project, path: &str, id: &str, to: TaskState) -> Result<bool, Error> {
    let bytes = project.ws.read(path, MAX)?.unwrap_or_default();
    let file = TaskFile::parse(path, &bytes)?;
    match file.get(id) {
        None => Ok(false),
        Some(e) if e.state == to => Ok(true),
        Some(_) => {
            project.ws.write(path, &file.set_state(id, to)?)?;
            Ok(true)
        }
    }
}

fn kept(places: &Places) -> String {
    format!("{}/task-file", places.context)
}
