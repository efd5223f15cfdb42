//! `ralph task …`: what a person does with the task file beside a run. A change takes the project's
//! lock, so that none happens under an agent's hands, and what the journal has to know of it is
//! journaled.

use ralph_engine::state::Note;
use ralph_engine::tasks::{Entry, NewTask, TaskFile};
use ralph_engine::types::TaskState;
use ralph_engine::{Fact, State};
use ralph_workspace::ProjectLock;
use serde::Serialize;

use crate::error::Error;
use crate::journal::{self, Journal};
use crate::project::Project;
use crate::records::{self, StateFile};
use crate::status;

/// One task, for people and programs.
#[derive(Debug, Clone, Serialize)]
pub struct Shown {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// `open`, `in_progress`, `blocked`, `done`.
    pub state: TaskState,
    /// Where it stands in the task file; counts from 1.
    pub line: u32,
    /// More about it.
    pub description: String,
    /// Its criteria.
    pub acceptance: Vec<String>,
    /// Ids of tasks that have to be done first.
    pub depends_on: Vec<String>,
    /// Lower is earlier.
    pub priority: Option<i32>,
    /// Attempts that counted.
    pub attempts: u32,
    /// What its next attempt is told of the last.
    pub notes: Vec<Note>,
}

/// All tasks, and where they are written.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// Relative to the root.
    pub task_file: String,
    /// In the file's order.
    pub tasks: Vec<Shown>,
}

/// What is to become of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is done, whatever a run would say.
    Done,
    /// It is blocked, with a reason for its next attempt.
    Block(Option<String>),
    /// It is open.
    Unblock,
    /// It is open, and its attempts are forgotten.
    Retry,
}

/// Reads them. Takes no lock.
pub fn list(project: &Project) -> Result<Listed, Error> {
    let state = status::state(project)?;
    let (task_file, _, file) = project.tasks(&state.ids)?;
    let tasks = file.entries().iter().map(|e| shown(e, &state)).collect();
    Ok(Listed { task_file, tasks })
}

/// Reads one. Takes no lock.
pub fn show(project: &Project, id: &str) -> Result<Shown, Error> {
    let state = status::state(project)?;
    let (path, _, file) = project.tasks(&state.ids)?;
    Ok(shown(find(&file, &path, id)?, &state))
}

/// Changes a task's state.
///
/// # Errors
/// No such task; a run is on, or one was cut off while at this task; unblocking what isn't blocked.
pub fn change(project: &Project, id: &str, change: &Change) -> Result<Shown, Error> {
    let mut edit = Edit::open(project)?;
    let (path, _, file) = project.tasks(&edit.state.ids)?;
    let entry = find(&file, &path, id)?;
    let cut_off = edit.state.current.as_ref().map(|c| c.task.id.as_str());
    if cut_off == Some(id) {
        return Err(Error::Usage(format!(
            "a run was cut off while it was at {id}; `ralph run` takes it up"
        )));
    }
    let to = match change {
        Change::Done => TaskState::Done,
        Change::Block(_) => TaskState::Blocked,
        Change::Unblock if entry.state != TaskState::Blocked => {
            return Err(Error::Usage(format!("{id} isn't blocked")));
        }
        Change::Unblock | Change::Retry => TaskState::Open,
    };
    let bytes = file.set_state(id, to)?;
    let mut facts = Vec::new();
    match change {
        Change::Retry => facts.push(Fact::Forgotten {
            task: id.to_owned(),
        }),
        Change::Block(Some(text)) => facts.push(Fact::Noted {
            task: id.to_owned(),
            text: text.clone(),
        }),
        _ => {}
    }
    edit.write(project, &path, &file, &bytes, facts)?;
    show(project, id)
}

/// Adds a task behind `after`, or at the end.
///
/// # Errors
/// As [`TaskFile::add`]; a run is on.
pub fn add(project: &Project, new: &NewTask, after: Option<&str>) -> Result<Shown, Error> {
    let mut edit = Edit::open(project)?;
    let (path, _, file) = project.tasks(&edit.state.ids)?;
    let (bytes, id) = file.add(new, after)?;
    edit.write(project, &path, &file, &bytes, Vec::new())?;
    show(project, &id)
}

fn find<'a>(file: &'a TaskFile, path: &str, id: &str) -> Result<&'a Entry, Error> {
    file.get(id)
        .ok_or_else(|| Error::Usage(format!("{path} has no task `{id}`; see `ralph task list`")))
}

fn shown(entry: &Entry, state: &State) -> Shown {
    let record = state.tasks.get(&entry.task.id);
    Shown {
        id: entry.task.id.clone(),
        title: entry.task.title.clone(),
        state: entry.state,
        line: entry.line,
        description: entry.task.description.clone(),
        acceptance: entry.task.acceptance.clone(),
        depends_on: entry.task.depends_on.clone(),
        priority: entry.task.priority,
        attempts: state.attempts(&entry.task.id),
        notes: record.map(|r| r.notes.clone()).unwrap_or_default(),
    }
}

/// The project, locked.
struct Edit {
    state: State,
    journal: Journal,
    _lock: ProjectLock,
}

impl Edit {
    fn open(project: &Project) -> Result<Edit, Error> {
        let ws = &project.ws;
        // What can't be read is told before anything is made below `.ralph`.
        project.tasks(&status::state(project)?.ids)?;
        let lock = ProjectLock::acquire(ws)?;
        if !ws.exists(records::IGNORE.0) {
            ws.write_relaxed(records::IGNORE.0, records::IGNORE.1.as_bytes())?;
        }
        let file = StateFile::read(ws).unwrap_or_default();
        let folded = journal::fold(ws, Some((file.checkpoint, file.engine)))?;
        let journal = Journal::open(ws, &folded)?;
        Ok(Edit {
            state: folded.state,
            journal,
            _lock: lock,
        })
    }

    /// The facts first: a death in between leaves a task that is merely not yet marked.
    fn write(
        &mut self,
        project: &Project,
        path: &str,
        before: &TaskFile,
        bytes: &[u8],
        mut facts: Vec<Fact>,
    ) -> Result<(), Error> {
        let after = TaskFile::parse_known(path, bytes, before.ids())?;
        if *after.ids() != *self.state.ids {
            facts.push(Fact::IdsAssigned {
                ids: after.ids().clone(),
            });
        }
        for fact in &facts {
            self.state
                .apply(fact)
                .map_err(|e| Error::Internal(e.to_string()))?;
        }
        self.journal.append(&facts)?;
        self.journal.sync()?;
        if bytes != before.bytes() {
            project.ws.write(path, bytes)?;
        }
        Ok(())
    }
}

/// Writes the tasks of `from` into `to`, which must not be there; what `to` doesn't hold.
/// Ids that a run remembers hold for the project's own task file.
///
/// # Errors
/// `from` can't be read, `to` is there already, or can't hold the tasks.
pub fn convert(project: &Project, from: &str, to: &str) -> Result<Vec<String>, Error> {
    const MAX: u64 = 64 << 20;
    let ws = &project.ws;
    let bytes = ws
        .read(from, MAX)?
        .ok_or_else(|| Error::Usage(format!("there is no file {from}")))?;
    if ws.exists(to) {
        return Err(Error::Usage(format!(
            "{to} is there already; nothing was written"
        )));
    }
    let known = if project.task_path().is_ok_and(|path| path == from) {
        status::state(project)?.ids
    } else {
        Default::default()
    };
    let converted = TaskFile::parse_known(from, &bytes, &known)?.convert(to)?;
    ws.write(to, &converted.bytes)?;
    Ok(converted.lost)
}
