//! Where a project stands, read without a lock and without starting anything.

use ralph_engine::State;
use ralph_engine::fact::EndReason;
use ralph_engine::types::{TaskState, Usage};
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::history::HistoryEntry;
use crate::journal;
use crate::project::Project;
use crate::records::StateFile;

/// What `ralph status` shows.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The project's root.
    pub root: String,
    /// The task file, relative to it, or what else the tasks are kept in.
    pub task_file: String,
    /// Tasks done.
    pub done: u32,
    /// Tasks in all.
    pub total: u32,
    /// Tasks that are blocked.
    pub blocked: Vec<String>,
    /// The one that would run next.
    pub next: Option<NextTask>,
    /// Is a run on, or was one cut off?
    pub run: Option<RunNow>,
    /// What the run has spent.
    pub spent: Option<SpentNow>,
    /// What is waited for: until when, and why.
    pub waiting: Option<WaitingNow>,
    /// Why the last run ended.
    pub last_end: Option<String>,
    /// The newest iteration's record.
    pub last: Option<Value>,
    /// Iterations over the life of the project.
    pub iterations: u32,
    /// Iterations in a row without progress.
    pub no_progress: u32,
    /// Texts a person gave that wait for the next prompt.
    pub injected: usize,
    /// Tokens and money over the life of the project.
    pub usage: Usage,
}

/// The task that would run next.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "named as in the task file")]
pub struct NextTask {
    pub id: String,
    pub title: String,
    pub attempts: u32,
}

/// A run that hasn't ended.
#[derive(Debug, Clone, Serialize)]
pub struct RunNow {
    /// Its id.
    pub id: String,
    /// Who works.
    pub agent: String,
    /// Is its process alive? If not, `ralph run` takes it up.
    pub alive: bool,
    /// No new iteration starts until `ralph resume`.
    pub paused: bool,
    /// The iteration that is on.
    pub iteration: Option<u32>,
    /// Its task.
    pub task: Option<String>,
    /// Its phase.
    pub phase: Option<ralph_engine::fact::Phase>,
}

/// What a run has spent of its budget.
#[derive(Debug, Clone, Serialize)]
pub struct SpentNow {
    /// Seconds at work.
    pub seconds: u64,
    /// Tokens in and out.
    pub tokens: u64,
    /// US dollars, as far as known.
    pub cost_usd: Option<f64>,
    /// Iterations begun within the last hour.
    pub this_hour: u32,
    /// What it may spend.
    pub budget: ralph_engine::pace::Budget,
}

/// What a run waits for.
#[derive(Debug, Clone, Serialize)]
pub struct WaitingNow {
    /// Seconds since 1970.
    pub until: u64,
    /// What for.
    #[serde(flatten)]
    pub why: ralph_engine::pace::Waiting,
}

/// What the journal says, read without a lock.
pub fn state(project: &Project) -> Result<State, Error> {
    let file = StateFile::read(&project.ws).unwrap_or_default();
    Ok(journal::fold(&project.ws, Some((file.checkpoint, file.engine)))?.state)
}

/// Why the last run ended.
pub fn last_end(project: &Project) -> Result<Option<EndReason>, Error> {
    let state = state(project)?;
    Ok(state.last_end.filter(|_| state.run.is_none()))
}

/// Reads it.
pub async fn status(project: &Project) -> Result<Status, Error> {
    let file = StateFile::read(&project.ws).unwrap_or_default();
    let last = file.history.last().map(HistoryEntry::value);
    let state = journal::fold(&project.ws, Some((file.checkpoint, file.engine)))?.state;
    let tasks = project.tasks(&state.ids).await?.list;
    let (done, total) = crate::choice::counts(&tasks);
    let next = match tasks.next(&|_| false) {
        ralph_engine::tasks::Selection::Task(e) => Some(NextTask {
            id: e.task.id.clone(),
            title: e.task.title.clone(),
            attempts: state.attempts(&e.task.id),
        }),
        _ => None,
    };
    let current = state.current.as_ref();
    let alive = ralph_workspace::ProjectLock::holder(&project.ws).is_some();
    Ok(Status {
        root: project.ws.root().to_string_lossy().into_owned(),
        task_file: tasks.name().to_owned(),
        done,
        total,
        blocked: tasks
            .entries()
            .iter()
            .filter(|e| e.state == TaskState::Blocked)
            .map(|e| e.task.id.clone())
            .collect(),
        next,
        run: state.run.as_ref().map(|run| RunNow {
            id: run.id.clone(),
            agent: run.agent.clone(),
            alive,
            paused: alive && run.pause.is_some(),
            iteration: current.map(|c| c.number),
            task: current.map(|c| c.task.id.clone()),
            phase: current.map(|c| c.phase),
        }),
        spent: state.run.as_ref().map(|run| SpentNow {
            seconds: run.elapsed,
            tokens: run
                .usage
                .input_tokens
                .saturating_add(run.usage.output_tokens),
            cost_usd: run.usage.cost_usd,
            this_hour: u32::try_from(state.pace.starts.len()).unwrap_or(u32::MAX),
            budget: run.rules.budget.clone(),
        }),
        waiting: state
            .pace
            .waiting
            .clone()
            .filter(|_| state.run.is_some())
            .map(|(until, why)| WaitingNow { until, why }),
        last_end: state.last_end.as_ref().map(|e| e.word().to_owned()),
        last,
        iterations: state.iterations,
        no_progress: state.no_progress,
        injected: state.injected.len(),
        usage: state.usage,
    })
}
