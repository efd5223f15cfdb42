//! `ralph explain` and `ralph blocked`: why this task, why not that one.

use std::collections::BTreeMap;

use ralph_engine::fact::IterationResult;
use ralph_engine::state::Note;
use ralph_engine::tasks::{Entry, Selection, TaskList};
use ralph_engine::types::TaskState;
use serde::Serialize;

use super::history::{self, Record};
use super::log;
use super::suggest;
use crate::error::Error;
use crate::project::Project;

/// So many tasks that come first are named.
const AHEAD: usize = 20;

/// Why a task is next, or isn't.
#[derive(Debug, Clone, Serialize)]
pub struct Explain {
    /// The task's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What the task file says of it.
    pub state: TaskState,
    /// Is it the one that would run next?
    pub next: bool,
    /// In a sentence.
    pub why: String,
    /// What may be done about it.
    pub suggestion: Option<String>,
    /// The tasks it depends on, and what the task file says of each.
    pub depends_on: Vec<(String, TaskState)>,
    /// The tasks that wait for it.
    pub waiting: Vec<String>,
    /// Its iterations, oldest first.
    pub attempts: Vec<log::Entry>,
    /// Attempts that count towards the limit, and the limit.
    pub counted: (u32, u32),
    /// What the next attempt will be told of earlier ones.
    pub notes: Vec<Note>,
}

/// A blocked task.
#[derive(Debug, Clone, Serialize)]
pub struct Blocked {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Why.
    pub reason: String,
    /// The iteration that ended so, if it was one of ralph's.
    pub iteration: Option<u32>,
    /// Attempts at it over the life of the project.
    pub attempts: u32,
    /// What may be done about it.
    pub suggestion: String,
    /// The tasks that wait for it, directly or not.
    pub waiting: Vec<String>,
}

/// Explains a task; without an id the one that is next, or if none is, why.
///
/// # Errors
/// There is no such task, or the task file or the journal can't be read.
pub async fn explain(project: &Project, id: Option<&str>) -> Result<Explain, Error> {
    let file = project
        .tasks(&crate::status::state(project)?.ids)
        .await?
        .list;
    let path = file.name();
    let next = match file.next(&|_| false) {
        Selection::Task(entry) => Some(entry.task.id.clone()),
        _ => None,
    };
    let id = match (id, &next) {
        (Some(id), _) => id.to_owned(),
        (None, Some(next)) => next.clone(),
        // The first that isn't done is what holds the rest up.
        (None, None) => match file.entries().iter().find(|e| e.state != TaskState::Done) {
            Some(entry) => entry.task.id.clone(),
            None => {
                return Err(Error::Usage(format!(
                    "every task of {path} is done; name one to hear how it went"
                )));
            }
        },
    };
    let entry = file
        .get(&id)
        .ok_or_else(|| Error::Usage(format!("{path} has no task `{id}`")))?;
    let mut records: Vec<Record> = Vec::new();
    let folder = history::scan(&project.ws, |record| {
        if record.current.task.id == id {
            // All that is needed of the older ones is their line.
            if let Some(last) = records.last_mut() {
                last.lines.truncate(8);
            }
            records.push(record);
        }
    })?;
    let state = folder.map(|f| f.state).unwrap_or_default();
    let known = state.tasks.get(&id);
    let is_next = next.as_deref() == Some(id.as_str());
    let why = why(path, &file, entry, is_next, &records);
    let suggestion = match entry.state {
        TaskState::Blocked => Some(match last_ruled(&records) {
            Some(record) => suggest::after(record, path),
            None => opened_by_hand(path, &id),
        }),
        TaskState::InProgress => Some(format!(
            "if nobody is at it any more, open it again in {path}"
        )),
        _ => None,
    };
    Ok(Explain {
        title: entry.task.title.clone(),
        state: entry.state,
        next: is_next,
        why,
        suggestion,
        depends_on: entry
            .task
            .depends_on
            .iter()
            .filter_map(|other| Some((other.clone(), file.get(other)?.state)))
            .collect(),
        waiting: waiting(&file, &id),
        attempts: records.iter().map(log::Entry::from).collect(),
        counted: (
            known.map_or(0, |k| k.attempts),
            project.config.run.max_attempts,
        ),
        notes: known.map(|k| k.notes.clone()).unwrap_or_default(),
        id,
    })
}

fn why(path: &str, file: &TaskList, entry: &Entry, next: bool, records: &[Record]) -> String {
    let id = &entry.task.id;
    let last = last_ruled(records);
    match entry.state {
        TaskState::Done => match records.iter().rev().find(|r| accepted(r)) {
            Some(r) => {
                let commit = r.commit().map_or_else(String::new, |c| {
                    format!(", commit {}", c.get(..10).unwrap_or(c))
                });
                format!(
                    "{id} is done: accepted in iteration {}{commit}",
                    r.current.number
                )
            }
            None => format!("{id} is done: {path} says so; no iteration of ralph's did it"),
        },
        TaskState::Blocked => match last {
            Some(r) => format!(
                "{id} is blocked: attempt {} in iteration {} ended so: {}",
                r.current.attempt,
                r.current.number,
                r.end.as_ref().map_or("", |e| e.reason.as_str())
            ),
            None => {
                format!("{id} is blocked: {path} says so; no iteration of ralph's came to that")
            }
        },
        TaskState::InProgress => {
            format!("{id} is marked as in progress in {path}; it isn't taken up while it is")
        }
        TaskState::Open if next => {
            let by = match entry.task.priority {
                Some(p) => format!("no task that can run has a lower priority number than its {p}"),
                None => format!("it is the first in {path} that can run"),
            };
            let passed = passed_over(file, id);
            format!("{id} is next: {by}{passed}")
        }
        TaskState::Open => match file.next(&|other| other != id) {
            Selection::Task(_) => {
                let (ahead, more) = ahead(file, id);
                let more = if more { " and others" } else { "" };
                format!("{id} can run; before it comes {}{more}", ahead.join(", "))
            }
            Selection::Nothing { open } => {
                let reason = open.into_iter().find(|(other, _)| other == id);
                let reason = reason.map_or_else(String::new, |(_, why)| why);
                format!("{id} can't run: it {reason}")
            }
            Selection::AllDone => format!("{id} is done"),
        },
    }
}

/// What stands above the next one in the file and isn't done.
fn passed_over(file: &TaskList, id: &str) -> String {
    let Selection::Nothing { open } = file.next(&|_| true) else {
        return String::new();
    };
    let above: Vec<String> = open
        .into_iter()
        .take_while(|(other, _)| other != id)
        .filter_map(|(other, _)| {
            let Selection::Nothing { open } = file.next(&|o| o != other) else {
                return None;
            };
            let (_, why) = open.into_iter().find(|(o, _)| *o == other)?;
            Some(format!("{other} ({why})"))
        })
        .take(AHEAD)
        .collect();
    if above.is_empty() {
        String::new()
    } else {
        format!("; passed over: {}", above.join(", "))
    }
}

/// Those that would be taken before it, and whether there are more.
fn ahead(file: &TaskList, id: &str) -> (Vec<String>, bool) {
    let mut ahead: Vec<String> = Vec::new();
    while ahead.len() < AHEAD {
        match file.next(&|other| ahead.iter().any(|a| a == other)) {
            Selection::Task(entry) if entry.task.id != id => ahead.push(entry.task.id.clone()),
            _ => return (ahead, false),
        }
    }
    (ahead, true)
}

/// The blocked tasks, in the file's order.
///
/// # Errors
/// The task file or the journal can't be read.
pub async fn blocked(project: &Project) -> Result<Vec<Blocked>, Error> {
    let file = project
        .tasks(&crate::status::state(project)?.ids)
        .await?
        .list;
    let path = file.name();
    let is_blocked = |id: &str| file.get(id).is_some_and(|e| e.state == TaskState::Blocked);
    let mut last: BTreeMap<String, (Record, u32)> = BTreeMap::new();
    history::scan(&project.ws, |record| {
        let id = &record.current.task.id;
        if ruled(&record) && is_blocked(id) {
            let before = last.get(id).map_or(0, |(_, n)| *n);
            last.insert(id.clone(), (record, before + 1));
        }
    })?;
    let blocked = file
        .entries()
        .iter()
        .filter(|e| e.state == TaskState::Blocked);
    Ok(blocked
        .map(|entry| {
            let id = &entry.task.id;
            let known = last.get(id);
            Blocked {
                id: id.clone(),
                title: entry.task.title.clone(),
                reason: match known.and_then(|(r, _)| r.end.as_ref()) {
                    Some(end) => end.reason.clone(),
                    None => format!("{path} says so; no iteration of ralph's came to that"),
                },
                iteration: known.map(|(r, _)| r.current.number),
                attempts: known.map_or(0, |(_, n)| *n),
                suggestion: match known {
                    Some((record, _)) => suggest::after(record, path),
                    None => opened_by_hand(path, id),
                },
                waiting: waiting(&file, id),
            }
        })
        .collect())
}

fn opened_by_hand(path: &str, id: &str) -> String {
    format!("whoever marked it knows why; open {id} again in {path} when it may run")
}

fn ruled(record: &Record) -> bool {
    let end = record.end.as_ref();
    end.is_some_and(|e| {
        matches!(
            e.result,
            IterationResult::Accepted | IterationResult::Rejected
        )
    })
}

fn accepted(record: &Record) -> bool {
    let end = record.end.as_ref();
    end.is_some_and(|e| e.result == IterationResult::Accepted)
}

fn last_ruled(records: &[Record]) -> Option<&Record> {
    records.iter().rev().find(|r| ruled(r))
}

/// Those that wait for a task, directly or not, in the file's order.
fn waiting(file: &TaskList, id: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    loop {
        let more: Vec<String> = file
            .entries()
            .iter()
            .filter(|e| e.state != TaskState::Done && !found.contains(&e.task.id))
            .filter(|e| {
                e.task
                    .depends_on
                    .iter()
                    .any(|d| d == id || found.contains(d))
            })
            .map(|e| e.task.id.clone())
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}
