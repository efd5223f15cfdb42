//! The journal, iteration by iteration.

use std::collections::BTreeMap;

use ralph_engine::fact::{IterationResult, Past, Rules};
use ralph_engine::state::Current;
use ralph_engine::types::{Role, Usage, Verdict};
use ralph_engine::{Fact, State};
use ralph_workspace::Workspace;

use crate::clock;
use crate::error::Error;
use crate::journal::{Line, Lines};

/// One iteration.
#[derive(Debug, Clone)]
pub struct Record {
    /// The run it was in.
    pub run: String,
    /// What held for the run.
    pub rules: Rules,
    /// The iteration as its facts make it.
    pub current: Current,
    /// Its journal lines, from the end of the one before.
    pub lines: Vec<Line>,
    /// How it ended; `None` if it is on, or was cut off.
    pub end: Option<Ended>,
}

/// The end of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What it came to.
    pub result: IterationResult,
    /// In one line.
    pub reason: String,
    /// Did it bring anything?
    pub progress: bool,
    /// When, RFC 3339.
    pub at: String,
}

/// One who ruled.
#[derive(Debug, Clone)]
pub struct Answer {
    /// A gate's name, `judge` or `review`.
    pub name: String,
    /// What was ruled.
    pub verdict: Verdict,
    /// Digest of the component.
    pub plugin: String,
    /// How long it took.
    pub millis: u64,
    /// Tokens and money of asking.
    pub usage: Usage,
}

impl Record {
    /// Names the attempt in every record; empty if there was no prompt.
    pub fn attempt_id(&self) -> &str {
        self.current.prepared.as_ref().map_or("", |p| &p.attempt_id)
    }

    /// When its first phase began, RFC 3339.
    pub fn started_at(&self) -> &str {
        self.lines
            .iter()
            .find(|l| matches!(l.fact, Fact::Started { .. }))
            .map_or("", |l| &l.at)
    }

    /// How long it took, in seconds; until now if it hasn't ended.
    pub fn seconds(&self) -> f64 {
        match &self.end {
            Some(end) => clock::seconds(self.started_at(), &end.at),
            None => clock::seconds(self.started_at(), &clock::now()),
        }
    }

    /// The commit its work went into.
    pub fn commit(&self) -> Option<&str> {
        self.current.committed.as_ref().and_then(Option::as_deref)
    }

    /// The journal line of that commit.
    pub fn commit_line(&self) -> u64 {
        self.lines
            .iter()
            .rev()
            .find(|l| matches!(l.fact, Fact::Committed { .. }))
            .map_or(0, |l| l.seq)
    }

    /// SHA-256 of its files by short name; `None` in journals from before they were kept.
    pub fn recorded(&self) -> Option<&BTreeMap<String, String>> {
        self.lines.iter().rev().find_map(|l| match &l.fact {
            Fact::Recorded { files } => Some(files),
            _ => None,
        })
    }

    /// The lines that still count: not those before the workspace was changed by others.
    pub fn current_lines(&self) -> &[Line] {
        let moved = |l: &Line| matches!(l.fact, Fact::WorkspaceMoved);
        match self.lines.iter().rposition(moved) {
            Some(at) => &self.lines[at + 1..],
            None => &self.lines,
        }
    }

    /// The agent's component: its digest, and how long it worked in milliseconds.
    pub fn agent_call(&self) -> Option<(&str, u64)> {
        self.current
            .ended
            .as_ref()
            .filter(|e| !e.plugin.is_empty())
            .map(|e| (e.plugin.as_str(), e.millis))
    }

    /// The gates that count, in order of their answers.
    pub fn gates(&self) -> Vec<Answer> {
        self.current_lines()
            .iter()
            .filter_map(|l| match &l.fact {
                Fact::GateAnswered {
                    result,
                    plugin,
                    millis,
                    ..
                } => Some(Answer {
                    name: result.name.clone(),
                    verdict: result.verdict.clone(),
                    plugin: plugin.clone(),
                    millis: *millis,
                    usage: Usage::default(),
                }),
                _ => None,
            })
            .collect()
    }

    /// What judge and reviewer ruled.
    pub fn answers(&self) -> Vec<Answer> {
        self.current_lines()
            .iter()
            .filter_map(|l| match &l.fact {
                Fact::Answered {
                    role,
                    verdict,
                    plugin,
                    usage,
                    millis,
                    ..
                } => Some(Answer {
                    name: if *role == Role::Review {
                        "review".into()
                    } else {
                        "judge".into()
                    },
                    verdict: verdict.clone(),
                    plugin: plugin.clone(),
                    millis: *millis,
                    usage: *usage,
                }),
                _ => None,
            })
            .collect()
    }
}

/// Folds the journal line by line.
pub struct Folder {
    /// The lines; where the last one ended.
    pub lines: Lines,
    /// The state after the last line.
    pub state: State,
    /// Records of iterations up to this one were removed.
    pub cleaned: u32,
    recent: Vec<Line>,
}

/// What one line brought.
pub enum Step {
    /// Nothing that ends anything.
    Line,
    /// An iteration's end.
    Ended(Box<Record>),
}

impl Folder {
    /// From the journal's beginning; `None` if there is none.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn open(ws: &Workspace) -> Result<Option<Folder>, Error> {
        Ok(Lines::open(ws)?.map(|lines| Folder {
            lines,
            state: State::default(),
            cleaned: 0,
            recent: Vec::new(),
        }))
    }

    /// Takes the next line in; `None` at the end.
    ///
    /// # Errors
    /// The line can't be read, or doesn't fit what came before.
    pub fn step(&mut self) -> Result<Option<Step>, Error> {
        let Some(line) = self.lines.next()? else {
            return Ok(None);
        };
        if let Fact::Absorbed { facts, .. } = &line.fact {
            let record = absorbed(&self.state, &line, facts)?;
            self.lines.apply(&mut self.state, &line)?;
            self.recent.clear();
            return Ok(Some(match record {
                Some(record) => Step::Ended(Box::new(record)),
                None => Step::Line,
            }));
        }
        let ended = match &line.fact {
            Fact::IterationEnded { .. } => self.state.current.clone().zip(self.state.run.clone()),
            _ => None,
        };
        self.lines.apply(&mut self.state, &line)?;
        if let Fact::Cleaned { through } = &line.fact {
            self.cleaned = self.cleaned.max(*through);
        }
        let (
            Some((current, run)),
            Fact::IterationEnded {
                result,
                reason,
                progress,
            },
        ) = (ended, &line.fact)
        else {
            self.recent.push(line);
            return Ok(Some(Step::Line));
        };
        Ok(Some(Step::Ended(Box::new(Record {
            run: run.id,
            rules: run.rules,
            current,
            lines: std::mem::take(&mut self.recent),
            end: Some(Ended {
                result: *result,
                reason: reason.clone(),
                progress: *progress,
                at: line.at.clone(),
            }),
        }))))
    }

    /// The iteration that hasn't ended.
    pub fn open_one(&self) -> Option<Record> {
        let (current, run) = (self.state.current.clone()?, self.state.run.clone()?);
        Some(Record {
            run: run.id,
            rules: run.rules,
            current,
            lines: self.recent.clone(),
            end: None,
        })
    }
}

/// The iteration of a worker, as it stands in one line of the project's journal.
fn absorbed(state: &State, line: &Line, facts: &[Past]) -> Result<Option<Record>, Error> {
    let mut state = state.clone();
    let mut lines = Vec::new();
    for past in facts {
        if let Fact::IterationEnded {
            result,
            reason,
            progress,
        } = &past.fact
        {
            let (Some(current), Some(run)) = (state.current, state.run) else {
                return Ok(None);
            };
            return Ok(Some(Record {
                run: run.id,
                rules: run.rules,
                current,
                lines,
                end: Some(Ended {
                    result: *result,
                    reason: reason.clone(),
                    progress: *progress,
                    at: past.at.clone(),
                }),
            }));
        }
        let inner = Line {
            seq: line.seq,
            at: past.at.clone(),
            prev: line.prev.clone(),
            fact: past.fact.clone(),
        };
        state.apply(&inner.fact).map_err(|e| Error::Journal {
            line: line.seq,
            why: e.to_string(),
        })?;
        lines.push(inner);
    }
    Ok(None)
}

/// Shows every iteration, oldest first, the one that hasn't ended last. What the
/// folder stands at in the end; `None` if there is no journal.
///
/// # Errors
/// The journal can't be read.
pub fn scan(ws: &Workspace, mut each: impl FnMut(Record)) -> Result<Option<Folder>, Error> {
    let Some(mut folder) = Folder::open(ws)? else {
        return Ok(None);
    };
    while let Some(step) = folder.step()? {
        if let Step::Ended(record) = step {
            each(*record);
        }
    }
    if let Some(record) = folder.open_one() {
        each(record);
    }
    Ok(Some(folder))
}

/// One iteration by its number.
///
/// # Errors
/// There is none of that number, or the journal can't be read.
pub fn find(ws: &Workspace, number: u32) -> Result<Record, Error> {
    let mut found = None;
    let mut last = 0;
    scan(ws, |record| {
        last = record.current.number;
        if last == number {
            found = Some(record);
        }
    })?;
    found.ok_or_else(|| {
        Error::Usage(if last == 0 {
            format!("there is no iteration {number}: nothing has run here yet")
        } else {
            format!("there is no iteration {number}; the last one is {last}")
        })
    })
}
