//! One worker: a worktree with a branch of its own, and the project as it stands
//! in there. Its loop is the same as any other, with its own journal; what it
//! did is read back from that journal, so that a worker whose host died is
//! integrated like any other.

use std::sync::Arc;

use ralph_engine::Fact;
use ralph_engine::event::Event;
use ralph_engine::fact::{IterationResult, Phase, Rules};
use ralph_engine::pace::{Budget, Limits};
use ralph_engine::types::Task;
use ralph_workspace::{Added, Git, Workspace, is_temporary};
use serde::{Deserialize, Serialize};

use crate::bus::{Bus, View};
use crate::error::Error;
use crate::holding::protected;
use crate::journal::{self, Line};
use crate::names::{Places, branch_name, task_dir};
use crate::passing::{self, Passing};
use crate::project::Project;
use crate::setup::Setup;

/// Where worktrees are, relative to the project's root.
pub const DIR: &str = ".ralph/worktrees";
/// What a worktree is for, relative to the project's root in it. Written last: without it a worktree is half made.
const NOTE: &str = ".ralph/worker.json";
/// So often a branch's name that was free may be taken when it is to be made.
const BRANCH_TRIES: u32 = 20;
/// A copied log may be this big.
const COPY_MAX: u64 = 65 << 20;

/// What a worktree is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) task: String,
    pub(crate) branch: String,
    /// The commit it began at.
    pub(crate) base: String,
}

/// The project whose workers they are.
#[derive(Clone, Copy)]
pub(crate) struct Home<'a> {
    pub(crate) project: &'a Project,
    pub(crate) git: &'a Git,
}

/// Is there anything where worktrees are?
pub(crate) fn any(ws: &Workspace) -> bool {
    let names = ws.list(DIR).unwrap_or_default();
    names.iter().any(|name| !name.starts_with('.'))
}

/// A worktree with what it is for.
pub(crate) struct Worker {
    pub(crate) note: Note,
    /// Relative to the project's root.
    pub(crate) dir: String,
    pub(crate) ws: Workspace,
    pub(crate) git: Git,
}

/// How far a worker has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It has been told nothing.
    None,
    /// No iteration is on.
    Between,
    /// One is.
    Within,
}

impl Done {
    /// The attempt that its commit names.
    pub(crate) fn attempt(&self) -> Option<&str> {
        self.lines.iter().rev().find_map(|line| match &line.fact {
            Fact::Prepared { attempt_id, .. } => Some(attempt_id.as_str()),
            _ => None,
        })
    }

    /// Its commit, where the worker has made it.
    pub(crate) fn commit(&self) -> Option<&str> {
        self.lines.iter().rev().find_map(|line| match &line.fact {
            Fact::Committed { sha, .. } => sha.as_deref(),
            _ => None,
        })
    }
}

/// The lines of one iteration of a worker, from `Selected` to `IterationEnded`.
pub(crate) struct Done {
    pub(crate) lines: Vec<Line>,
    pub(crate) result: IterationResult,
}

impl Worker {
    /// All that are there. What a death left half made is removed; what isn't ralph's, or has been moved, is
    /// let be.
    pub(crate) async fn all(home: Home<'_>) -> Result<Vec<Worker>, Error> {
        let ws = &home.project.ws;
        let mut workers = Vec::new();
        if !ws.exists(DIR) {
            return Ok(workers);
        }
        passing::reconcile(home).await?;
        for name in ws.list(DIR)? {
            if name == ".gitignore" || name == passing::NAME || is_temporary(&name) {
                continue;
            }
            let dir = format!("{DIR}/{name}");
            match Worker::open(home, &dir) {
                Ok(Some(worker)) => workers.push(worker),
                Ok(None) => tracing::warn!("{dir} isn't a worker's worktree; it is let be"),
                Err(e) => tracing::warn!("{dir} is let be: {e}"),
            }
        }
        Ok(workers)
    }

    fn open(home: Home<'_>, dir: &str) -> Result<Option<Worker>, Error> {
        let Some((note, ws)) = made(&home.project.ws, dir, home.git.prefix())? else {
            return Ok(None);
        };
        let git = watched(home, &ws)?;
        if !git.is_of_same_repository(home.git) {
            return Err(Error::Usage(format!(
                "{dir} is a worktree of another repository; remove it, or `git worktree repair` it if this one was moved"
            )));
        }
        Ok(Some(Worker {
            note,
            dir: dir.to_owned(),
            git,
            ws,
        }))
    }

    /// The one that is there for a task.
    pub(crate) fn existing(home: Home<'_>, task: &str) -> Result<Option<Worker>, Error> {
        Worker::open(home, &format!("{DIR}/{}", task_dir(task)))
    }

    /// A new one, on a new branch at HEAD.
    pub(crate) async fn create(home: Home<'_>, task: &Task) -> Result<Worker, Error> {
        let base = home.git.head_commit().await?.ok_or_else(|| {
            Error::Usage(
                "worktrees begin at a commit, and this repository has none yet; make one first"
                    .into(),
            )
        })?;
        let dir = format!("{DIR}/{}", task_dir(&task.id));
        let ws = &home.project.ws;
        if ws.exists(&dir) {
            return Err(Error::Usage(format!(
                "{dir} is in the way of a worktree, and isn't a worker's; move it elsewhere"
            )));
        }
        // git may still know one that somebody has deleted.
        home.git.worktree_remove(&ws.root().join(&dir)).await?;
        ws.create_dir_all(DIR)?;
        ws.write_relaxed(&format!("{DIR}/.gitignore"), b"*\n")?;
        let mut tries = BRANCH_TRIES;
        let branch = loop {
            let branch = free_branch(home, task).await?;
            tries -= 1;
            let made = Passing::Made {
                branch: branch.clone(),
                base: base.clone(),
            };
            made.begin(ws, &dir)?;
            match home.git.worktree_add(&dir, &branch, &base).await {
                Ok(Added::Done) => break branch,
                // Another run in this repository was faster.
                Ok(Added::Taken) if tries > 0 => {}
                Ok(Added::Taken) => {
                    return Err(Error::Usage(format!(
                        "the branch {branch} is there already, and so was each of {BRANCH_TRIES} names before; who makes them?"
                    )));
                }
                Err(e) => {
                    made.end(home, &dir).await?;
                    return Err(e.into());
                }
            }
        };
        let root = ws.root().join(&dir).join(home.git.prefix());
        let ws = Workspace::open(&root)?;
        let note = Note {
            task: task.id.clone(),
            branch,
            base,
        };
        let bytes = serde_json::to_vec(&note).map_err(|e| Error::Internal(e.to_string()))?;
        ws.write(NOTE, &bytes)?;
        passing::done(&home.project.ws, &dir)?;
        Ok(Worker {
            note,
            dir,
            git: watched(home, &ws)?,
            ws,
        })
    }

    /// Brings in what the user's working tree has and a commit may not: the task file, and words for the agent.
    pub(crate) fn refresh(&self, main: &Setup) -> Result<(), Error> {
        let files = &main.project.config.files;
        if let Some(path) = main.source.file() {
            self.copy(main, path)?;
        }
        for path in [&files.feedback, &files.agents] {
            if let Some(bytes) = main.project.ws.read(path, 1 << 20)?
                && self.ws.read(path, 1 << 20)?.is_none()
            {
                self.ws.write_relaxed(path, &bytes)?;
            }
        }
        Ok(())
    }

    /// How far it has come, by its journal.
    pub(crate) fn progress(&self) -> Result<Progress, Error> {
        let mut progress = Progress::None;
        journal::each(&self.ws, |line| {
            progress = match (line.fact, progress) {
                (Fact::Selected { .. }, _) => Progress::Within,
                (Fact::IterationEnded { .. }, _) | (_, Progress::None) => Progress::Between,
                (_, same) => same,
            };
        })?;
        Ok(progress)
    }

    /// Writes a file of the project's as it is there.
    pub(crate) fn copy(&self, main: &Setup, path: &str) -> Result<(), Error> {
        let bytes = main.project.ws.read(path, COPY_MAX)?;
        let bytes = bytes.ok_or_else(|| Error::Usage(format!("the task file {path} is gone")))?;
        Ok(self.ws.write(path, &bytes)?)
    }

    /// The main run's setup, in this worktree and for one iteration at one task.
    pub(crate) fn setup(&self, main: &Setup, agent: &str) -> Setup {
        let mut project = main.project.clone();
        project.ws = self.ws.clone();
        Setup {
            ahead: Default::default(),
            project,
            git: self.git.clone(),
            agent: main.worker_agent(agent).clone(),
            fallback: Vec::new(),
            gates: main.gates.clone(),
            judge: main.judge.clone(),
            review: main.review.clone(),
            canonicaliser: main.canonicaliser.clone(),
            rules: Rules {
                max_iterations: 1,
                no_progress_limit: u32::MAX,
                // The project's run keeps the purse, and knows who may work.
                budget: Budget::default(),
                limits: Limits {
                    agents: vec![agent.to_owned()],
                    ..main.rules.limits.clone()
                },
                ..main.rules.clone()
            },
            source: main.source.clone().beside(&self.ws),
            deciding: main.deciding.clone(),
            warnings: Vec::new(),
            words: main.words.clone(),
            target: Some(self.note.task.clone()),
            workers: None,
            worker: Some(task_dir(&self.note.task)),
        }
    }

    /// Its iterations that came to an end after line `upto` of its journal.
    pub(crate) fn done_after(&self, upto: u64) -> Result<Vec<Done>, Error> {
        let mut done = Vec::new();
        let mut lines: Vec<Line> = Vec::new();
        let mut on = false;
        journal::each(&self.ws, |line| {
            if line.seq <= upto {
                return;
            }
            match &line.fact {
                Fact::Selected { .. } => {
                    (lines, on) = (vec![line], true);
                }
                // Taken up after a death: an agent whose end nobody saw was interrupted.
                Fact::RunStarted { .. } if on && at_agent(&lines) => lines.push(Line {
                    fact: Fact::TakenUp,
                    ..line
                }),
                Fact::RunStarted { .. }
                | Fact::RunEnded { .. }
                | Fact::StopAsked { .. }
                | Fact::Faulted { .. }
                | Fact::Recalled { .. }
                | Fact::IdsAssigned { .. }
                | Fact::NothingSelectable { .. }
                | Fact::Injected { .. }
                | Fact::Delivered { .. }
                | Fact::PauseAsked { .. }
                | Fact::ResumeAsked
                | Fact::SkipAsked { .. }
                | Fact::UnskipAsked { .. }
                // The project's records are written anew, and hashed there.
                | Fact::Recorded { .. }
                | Fact::Cleaned { .. }
                | Fact::Clock { .. }
                | Fact::Waiting { .. } => {}
                Fact::IterationEnded { result, .. } if on => {
                    let result = *result;
                    lines.push(line);
                    let lines = std::mem::take(&mut lines);
                    done.push(Done { lines, result });
                    on = false;
                }
                _ if on => lines.push(line),
                _ => {}
            }
        })?;
        Ok(done)
    }

    /// Copies prompt, questions, tapes and logs of one attempt to the project's own
    /// records; the paths of the logs.
    pub(crate) fn copy_records(
        &self,
        main: &Workspace,
        places: &Places,
        attempt: &str,
    ) -> Result<Vec<String>, Error> {
        for dir in [places.context.clone(), format!("{}/replay", places.context)] {
            self.copy_dir(main, &dir, |_| true)?;
        }
        self.copy_dir(main, ".ralph/logs", |name| name.starts_with(attempt))
    }

    fn copy_dir(
        &self,
        main: &Workspace,
        dir: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, Error> {
        let mut copied = Vec::new();
        if !self.ws.exists(dir) {
            return Ok(copied);
        }
        for name in self.ws.list(dir)? {
            let path = format!("{dir}/{name}");
            let is_file = self.ws.root().join(&path).is_file();
            if is_file
                && wanted(&name)
                && let Some(bytes) = self.ws.read_end(&path, COPY_MAX)?
            {
                main.write_relaxed(&path, &bytes)?;
                copied.push(path);
            }
        }
        Ok(copied)
    }

    /// Removes the worktree; the branch stays.
    pub(crate) async fn remove(&self, home: Home<'_>) -> Result<(), Error> {
        Passing::Left.begin(&home.project.ws, &self.dir)?;
        Passing::Left.end(home, &self.dir).await
    }

    /// The same with its branch, if that is still at `tip`: there is nothing on it that isn't elsewhere.
    pub(crate) async fn remove_with_branch(&self, home: Home<'_>, tip: &str) -> Result<(), Error> {
        let going = Passing::Going {
            branch: self.note.branch.clone(),
            tip: tip.to_owned(),
        };
        going.begin(&home.project.ws, &self.dir)?;
        going.end(home, &self.dir).await
    }
}

fn watched(home: Home<'_>, ws: &Workspace) -> Result<Git, Error> {
    let git = Git::open(ws)?;
    git.watch(protected(&home.project.config.sandbox));
    Ok(git)
}

fn at_agent(lines: &[Line]) -> bool {
    let ended = lines
        .iter()
        .any(|l| matches!(l.fact, Fact::AgentEnded { .. } | Fact::TakenUp));
    let begun = lines.iter().any(|l| {
        matches!(
            l.fact,
            Fact::Started {
                phase: Phase::Agent
            }
        )
    });
    begun && !ended
}

/// Is it whole?
pub(crate) fn is_made(home: Home<'_>, dir: &str) -> Result<bool, Error> {
    Ok(made(&home.project.ws, dir, home.git.prefix())?.is_some())
}

pub(crate) async fn remove(home: Home<'_>, dir: &str) -> Result<(), Error> {
    let ws = &home.project.ws;
    let path = ws.root().join(dir);
    home.git.worktree_remove(&path).await?;
    if ws.exists(dir) {
        ws.remove_dir_all(dir)?;
        home.git.worktree_remove(&path).await?;
    }
    Ok(())
}

/// `ralph/<task>-<title>`, with a number if that is taken.
async fn free_branch(home: Home<'_>, task: &Task) -> Result<String, Error> {
    let title: String = task
        .title
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let words: Vec<&str> = title.split('-').filter(|w| !w.is_empty()).take(6).collect();
    let id = branch_name(&task.id);
    let name = format!(
        "{}{id}-{}",
        home.project.config.git.branch_prefix,
        words.join("-")
    );
    let name = name.trim_end_matches('-');
    for number in 1..1000 {
        let name = match number {
            1 => name.to_owned(),
            n => format!("{name}-{n}"),
        };
        if !home.git.branch_exists(&name).await? {
            return Ok(name);
        }
    }
    Err(Error::Usage(format!(
        "there are a thousand branches named {name}-…; delete those that are no longer needed"
    )))
}

/// The worktree in this directory, if it is wholly made.
fn made(ws: &Workspace, dir: &str, prefix: &str) -> Result<Option<(Note, Workspace)>, Error> {
    let root = ws.root().join(dir).join(prefix);
    if !root.is_dir() {
        return Ok(None);
    }
    let ws = Workspace::open(&root)?;
    let Some(note) = ws.read(NOTE, 1 << 16)? else {
        return Ok(None);
    };
    Ok(serde_json::from_slice(&note).ok().map(|note| (note, ws)))
}

/// What stands in the journals of workers whose worktrees are there, by their tasks. `prefix` is where
/// the project is in its repository.
///
/// # Errors
/// One can't be read.
pub fn each_of_workers(
    ws: &Workspace,
    prefix: &str,
    mut each: impl FnMut(&str, Line),
) -> Result<(), Error> {
    if !ws.exists(DIR) {
        return Ok(());
    }
    for name in ws.list(DIR)? {
        if let Some((note, ws)) = made(ws, &format!("{DIR}/{name}"), prefix)? {
            journal::each(&ws, |line| each(&note.task, line))?;
        }
    }
    Ok(())
}

/// Shows a worker's events as what they are.
struct Tagged {
    task: String,
    to: Bus,
}

impl View for Tagged {
    fn event(&self, event: &Event) {
        self.to.send(&Event::Worker {
            task: self.task.clone(),
            what: Box::new(event.clone()),
        });
    }
}

pub(crate) fn tagged(to: &Bus, task: &str) -> Bus {
    Bus::new(vec![Arc::new(Tagged {
        task: task.to_owned(),
        to: to.clone(),
    })])
}
