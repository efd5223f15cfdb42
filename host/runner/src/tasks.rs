//! `ralph task …`: what a person does with tasks beside a run. A change takes the project's
//! lock, so that none happens under an agent's hands, and what the journal has to know of it is
//! journaled.

use std::sync::Arc;

use ralph_config::types::TaskSource;
use ralph_engine::state::Note;
use ralph_engine::tasks::{Entry, NewTask, TaskList};
use ralph_engine::types::TaskState;
use ralph_engine::{Fact, State};
use ralph_workspace::ProjectLock;
use serde::Serialize;

use crate::error::Error;
use crate::journal::{self, Journal};
use crate::project::Project;
use crate::records::{self, StateFile};
use crate::sources::file::FileSource;
use crate::sources::{Outcome, Source};
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
pub async fn list(project: &Project) -> Result<Listed, Error> {
    let state = status::state(project)?;
    let tasks = project.tasks(&state.ids).await?.list;
    Ok(Listed {
        task_file: tasks.name().to_owned(),
        tasks: tasks.entries().iter().map(|e| shown(e, &state)).collect(),
    })
}

/// Reads one. Takes no lock.
pub async fn show(project: &Project, id: &str) -> Result<Shown, Error> {
    let state = status::state(project)?;
    let tasks = project.tasks(&state.ids).await?.list;
    Ok(shown(find(&tasks, id)?, &state))
}

/// Changes a task's state.
///
/// # Errors
/// No such task; a run is on, or one was cut off while at this task; unblocking what isn't blocked.
pub async fn change(project: &Project, id: &str, change: &Change) -> Result<Shown, Error> {
    let (mut edit, tasks) = Edit::open(project).await?;
    let entry = find(&tasks, id)?;
    let cut_off = edit.state.current.as_ref().map(|c| c.task.id.as_str());
    if cut_off == Some(id) {
        return Err(Error::Usage(format!(
            "a run was cut off while it was at {id}; `ralph run` takes it up"
        )));
    }
    let outcome = match change {
        Change::Done => Outcome::BY_HAND,
        Change::Block(reason) => Outcome::Blocked {
            reason: reason.clone(),
            attempt: None,
        },
        Change::Unblock if entry.state != TaskState::Blocked => {
            return Err(Error::Usage(format!("{id} isn't blocked")));
        }
        Change::Unblock | Change::Retry => Outcome::Open,
    };
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
    edit.source.apply(&edit.state.ids, id, &outcome).await?;
    edit.finish(facts, id).await
}

/// Adds a task behind `after`, or at the end.
///
/// # Errors
/// As [`ralph_engine::tasks::TaskFile::add`]; a run is on; the source has no place for what is wanted.
pub async fn add(project: &Project, new: &NewTask, after: Option<&str>) -> Result<Shown, Error> {
    let (mut edit, _) = Edit::open(project).await?;
    let id = edit.source.add(&edit.state.ids, new, after).await?;
    edit.finish(Vec::new(), &id).await
}

fn find<'a>(tasks: &'a TaskList, id: &str) -> Result<&'a Entry, Error> {
    tasks.get(id).ok_or_else(|| {
        let name = tasks.name();
        Error::Usage(format!("{name} has no task `{id}`; see `ralph task list`"))
    })
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
    source: Arc<dyn Source>,
    state: State,
    journal: Journal,
    _lock: ProjectLock,
}

impl Edit {
    /// The tasks are read once it is locked.
    async fn open(project: &Project) -> Result<(Edit, Arc<TaskList>), Error> {
        let ws = &project.ws;
        let source = project.source()?;
        // What can't be read is told before anything is made below `.ralph`.
        if source.file().is_some() {
            source.load(&status::state(project)?.ids).await?;
        }
        let lock = ProjectLock::acquire(ws)?;
        if !ws.exists(records::IGNORE.0) {
            ws.write_relaxed(records::IGNORE.0, records::IGNORE.1.as_bytes())?;
        }
        let file = StateFile::read(ws).unwrap_or_default();
        let folded = journal::fold(ws, Some((file.checkpoint, file.engine)))?;
        let journal = Journal::open(ws, &folded)?;
        let mut edit = Edit {
            source,
            state: folded.state,
            journal,
            _lock: lock,
        };
        let tasks = edit.source.load(&edit.state.ids).await?;
        // An id that is named here has to mean the same from now on.
        if tasks.ids != *edit.state.ids {
            edit.record(vec![Fact::IdsAssigned { ids: tasks.ids }])?;
        }
        Ok((edit, tasks.list))
    }

    /// Journals what a change means for the state; the task as it is now. The source comes first: it
    /// may refuse, or be out of reach.
    async fn finish(&mut self, mut facts: Vec<Fact>, id: &str) -> Result<Shown, Error> {
        let tasks = self.source.load(&self.state.ids).await?;
        if tasks.ids != *self.state.ids {
            facts.push(Fact::IdsAssigned { ids: tasks.ids });
        }
        self.record(facts)?;
        Ok(shown(find(&tasks.list, id)?, &self.state))
    }

    fn record(&mut self, facts: Vec<Fact>) -> Result<(), Error> {
        let facts = crate::redact::facts(facts);
        for fact in &facts {
            self.state
                .apply(fact)
                .map_err(|e| Error::Internal(e.to_string()))?;
        }
        self.journal.append(&facts)?;
        self.journal.sync()
    }
}

/// Writes the tasks of `from` into `to`, which must not be there; what `to` doesn't hold.
/// Ids that a run remembers hold for the project's own task file. `github` and `beads` are those
/// trackers, unless a file is called so.
///
/// # Errors
/// `from` can't be read, `to` is there already, is a tracker, or can't hold the tasks.
pub async fn convert(project: &Project, from: &str, to: &str) -> Result<Vec<String>, Error> {
    let ws = &project.ws;
    if tracker(to).is_some() {
        return Err(Error::Usage(format!(
            "tasks can be read from {to} and not written into it all at once; `ralph task add` adds one"
        )));
    }
    let source: Arc<dyn Source> = match tracker(from).filter(|_| !ws.exists(from)) {
        Some(kind) => {
            let mut wanted = project.clone();
            // Whoever names what the configuration doesn't wants it to run.
            wanted.accepted |= project.config.tasks.source != kind;
            wanted.config.tasks.source = kind;
            wanted.source()?
        }
        None if !ws.exists(from) => {
            return Err(Error::Usage(format!("there is no file {from}")));
        }
        None => Arc::new(FileSource::new(ws, from.to_owned())),
    };
    if ws.exists(to) {
        return Err(Error::Usage(format!(
            "{to} is there already; nothing was written"
        )));
    }
    let own = project.config.tasks.source == TaskSource::File
        && project.task_path().is_ok_and(|path| path == from);
    let known = match own {
        true => status::state(project)?.ids,
        false => Default::default(),
    };
    let converted = source.load(&known).await?.list.convert(to)?;
    ws.write(to, &converted.bytes)?;
    Ok(converted.lost)
}

fn tracker(name: &str) -> Option<TaskSource> {
    match name {
        "github" => Some(TaskSource::Github),
        "beads" => Some(TaskSource::Beads),
        _ => None,
    }
}
