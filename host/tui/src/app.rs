//! All runs, and what a person is doing with them. Nothing here knows a terminal or a socket.

use std::path::PathBuf;

use serde_json::json;

use crate::link::Said;
use crate::run::{Ask, Run};

/// What a line is being typed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// The next attempt's prompt.
    Prompt,
    /// What to search for.
    Search,
}

/// What is asked before it is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// End the run after its iteration.
    Stop,
    /// End it now.
    StopNow,
    /// Take this task up no more.
    Skip(String),
    /// Take it up again.
    Unskip(String),
}

/// What keys are for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    /// Commands.
    #[default]
    Normal,
    /// A line of text.
    Typing(Typing, String),
    /// Yes or no.
    Asking(Question),
    /// The agent's terminal.
    Interactive,
    /// The keys are explained.
    Help,
}

/// What has to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Do {
    /// Ask the run of this number.
    Ask(usize, Ask),
    /// Leave.
    Detach,
}

/// Everything.
#[derive(Debug, Default)]
pub struct App {
    /// The runs, in the order they were found.
    pub runs: Vec<Run>,
    /// The one that is shown; of several, the one that keys go to.
    pub shown: usize,
    /// All are wanted side by side, where there is room.
    pub side: bool,
    /// So many had room.
    pub panes: usize,
    /// What keys are for.
    pub mode: Mode,
    /// Told to a person until the next key.
    pub note: String,
    /// Lines that the log's view has room for.
    pub page: usize,
    /// Show this project's run as soon as it is known.
    pub wanted: Option<String>,
    /// Mark this task as soon as it is known.
    pub task: Option<String>,
}

impl App {
    /// The run that is shown.
    pub fn run(&self) -> Option<&Run> {
        self.runs.get(self.shown)
    }

    /// See [`App::run`].
    pub fn run_mut(&mut self) -> Option<&mut Run> {
        self.runs.get_mut(self.shown)
    }

    /// A socket was found; its number, and what its run is to be asked. One whose run is over makes
    /// room for the next one there.
    pub fn found(&mut self, path: PathBuf) -> Option<(usize, Vec<Ask>)> {
        let known = self.runs.iter().position(|run| run.path == path);
        if known.is_some_and(|at| !self.runs[at].closed) {
            return None;
        }
        let (run, asks) = Run::new(path);
        let at = match known {
            Some(at) => {
                self.runs[at] = run;
                at
            }
            None => {
                self.runs.push(run);
                self.runs.len() - 1
            }
        };
        Some((at, asks))
    }

    /// A run says something.
    pub fn said(&mut self, at: usize, said: Said) -> Vec<Do> {
        let Some(run) = self.runs.get_mut(at) else {
            return Vec::new();
        };
        let asks = run.said(said);
        if let Some(told) = run.told.take() {
            let name = run.text("task_name");
            self.note = match at == self.shown || name.is_empty() {
                true => told,
                false => format!("{name}: {told}"),
            };
        }
        if self.wanted.is_some() && Some(run.text("project")) == self.wanted {
            self.wanted = None;
            self.shown = at;
        }
        if at == self.shown
            && let Some(id) = &self.task
            && let Some(place) = run.tasks.iter().position(|t| t.id == *id)
        {
            run.marked = place;
            run.log.only(self.task.take());
        }
        if at == self.shown && self.mode == Mode::Interactive && self.runs[at].over() {
            self.mode = Mode::Normal;
            self.note = "the run is over; this is no longer the agent's terminal".into();
        }
        asks.into_iter().map(|ask| Do::Ask(at, ask)).collect()
    }

    /// Shows another run.
    pub fn turn(&mut self, by: isize) {
        let count = isize::try_from(self.runs.len()).unwrap_or(1).max(1);
        let at = isize::try_from(self.shown).unwrap_or_default();
        self.shown = usize::try_from((at + by).rem_euclid(count)).unwrap_or_default();
    }

    /// Asks the run that is shown, unless it is over.
    pub fn ask(&mut self, ask: Ask) -> Vec<Do> {
        match self.run() {
            Some(run) if !run.over() => vec![Do::Ask(self.shown, ask)],
            _ => {
                self.note = "this run is over".into();
                Vec::new()
            }
        }
    }

    /// What is to be said before one leaves: no run stays in a person's hands.
    pub fn farewell(&self) -> Vec<Do> {
        match self.mode {
            Mode::Interactive => {
                let off = ("set_interactive_mode", json!({ "enabled": false }));
                vec![Do::Ask(self.shown, off)]
            }
            _ => Vec::new(),
        }
    }
}
