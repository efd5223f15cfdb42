//! What a run would do, without doing it: no lock, no journal, nothing written.

use ralph_engine::Fact;
use ralph_engine::fact::Phase;
use ralph_engine::tasks::Selection;
use ralph_engine::types::TaskState;
use ralph_workspace::ProjectLock;
use serde::Serialize;

use crate::bus::Bus;
use crate::control::Control;
use crate::error::Error;
use crate::run::Loop;
use crate::setup::Setup;

/// What would be done next.
#[derive(Debug, Clone, Serialize)]
pub struct Preview {
    /// The task's id; `None` if nothing can run.
    pub task: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Which attempt it would be, and how many there may be.
    pub attempt: Option<(u32, u32)>,
    /// It was begun by a run that was cut off, and would be taken up.
    pub taken_up: bool,
    /// What is open and why it can't run, if nothing can.
    pub open: Vec<(String, String)>,
    /// Who would work.
    pub agent: String,
    /// SHA-256 of the agent's component.
    pub agent_sha256: String,
    /// The gates, in order.
    pub gates: Vec<String>,
    /// The agent that would judge.
    pub judge: Option<String>,
    /// The agent that would review.
    pub review: Option<String>,
    /// Would accepted work be committed?
    pub commit: bool,
    /// Iterations the run may take.
    pub max_iterations: u32,
    /// Workers in worktrees, if the run has any.
    pub workers: Option<usize>,
    /// Bytes of the prompt.
    pub prompt_bytes: Option<usize>,
    /// A run is on here: its process.
    pub running: Option<u32>,
}

/// The prompt that would be sent for a task.
#[derive(Debug, Clone, Serialize)]
pub struct Prompt {
    /// The task's id.
    pub task: String,
    /// Which attempt it would be.
    pub attempt: u32,
    /// The text.
    pub prompt: String,
}

/// Says what a run with this set-up would do next.
///
/// # Errors
/// The task file or the journal can't be read.
pub async fn preview(setup: Setup) -> Result<Preview, Error> {
    let ws = setup.project.ws.clone();
    let mut l = aside(setup)?;
    let s = &l.s;
    let mut seen = Preview {
        task: None,
        title: None,
        attempt: None,
        taken_up: l.state.current.is_some(),
        open: Vec::new(),
        agent: s.agent.name.clone(),
        agent_sha256: s.agent.bound.plugin.digest().to_owned(),
        gates: s.rules.gates.clone(),
        judge: s.judge.as_ref().map(|j| j.agent.name.clone()),
        review: s.review.as_ref().map(|r| r.agent.name.clone()),
        commit: s.rules.commit,
        max_iterations: s.rules.max_iterations,
        workers: s.workers,
        prompt_bytes: None,
        running: ProjectLock::holder(&ws),
    };
    if !seen.taken_up {
        let target = l.s.target.clone();
        for fact in l.select(target.as_deref()).await? {
            match fact {
                fact @ Fact::Selected { .. } => begin(&mut l, fact)?,
                Fact::NothingSelectable { open, .. } => seen.open = open,
                fact => apply(&mut l, &fact)?,
            }
        }
    }
    if let Some(c) = l.state.current.clone() {
        seen.attempt = Some((c.attempt, l.s.rules.max_attempts));
        if c.prepared.is_none() {
            seen.prompt_bytes = Some(l.whole_prompt(&c)?.len());
        }
        (seen.task, seen.title) = (Some(c.task.id), Some(c.task.title));
    }
    Ok(seen)
}

/// Writes the prompt of the task that is next, or of the set-up's target in whatever state it is.
///
/// # Errors
/// Nothing can run, or the task file or the journal can't be read.
pub async fn prompt(setup: Setup) -> Result<Prompt, Error> {
    let mut l = aside(setup)?;
    // A task that is on or done may be looked at as well.
    l.state.current = None;
    let file = l.s.source.load(&l.state.ids).await?.list;
    let entry = match &l.s.target {
        Some(id) => file.get(id),
        None => match file.next(&|_| false) {
            Selection::Task(entry) => Some(entry),
            _ => None,
        },
    };
    let Some(entry) = entry else {
        let open = |e: &&ralph_engine::tasks::Entry| e.state != TaskState::Done;
        let left = file.entries().iter().filter(open).count();
        return Err(Error::Usage(format!(
            "no task of {} can run now ({left} aren't done; `ralph explain` says why). Name one: `ralph prompt ID`",
            file.name()
        )));
    };
    let fact = Fact::Selected {
        task: entry.task.clone(),
        done: 0,
        total: 0,
    };
    begin(&mut l, fact)?;
    let c = l.current()?.clone();
    Ok(Prompt {
        prompt: l.whole_prompt(&c)?,
        attempt: c.attempt,
        task: c.task.id,
    })
}

/// A loop that only looks.
fn aside(setup: Setup) -> Result<Loop, Error> {
    let (_, stopping) = Control::new();
    let mut l = Loop::aside(setup, Bus::default(), stopping)?;
    let started = Fact::RunStarted {
        run: "run-preview".into(),
        agent: l.s.agent.name.clone(),
        rules: l.s.rules.clone(),
        target: l.s.target.clone(),
    };
    apply(&mut l, &started)?;
    Ok(l)
}

fn begin(l: &mut Loop, selected: Fact) -> Result<(), Error> {
    apply(l, &selected)?;
    let phase = Phase::Prepare;
    apply(l, &Fact::Started { phase })
}

fn apply(l: &mut Loop, fact: &Fact) -> Result<(), Error> {
    l.state
        .apply(fact)
        .map_err(|e| Error::Internal(e.to_string()))
}
