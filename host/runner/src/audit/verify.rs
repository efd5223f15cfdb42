//! `ralph verify`: does what is on disk agree with the journal, and the journal with itself?

use std::collections::{BTreeMap, BTreeSet};

use ralph_engine::State;
use ralph_workspace::{Git, ProjectLock, Workspace, is_temporary};
use serde::Serialize;
use serde_json::Value;

use super::files;
use super::history::{Folder, Record, Step};
use crate::error::Error;
use crate::history::HistoryEntry;
use crate::journal::{self, Checkpoint};
use crate::names::Places;
use crate::project::Project;
use crate::records::{self, StateFile};

/// So many problems are told.
const TOLD: usize = 50;
/// A record is read to this size.
const RECORD_MAX: u64 = 64 << 20;

/// What was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verify {
    /// Nothing is wrong.
    pub clean: bool,
    /// Lines of the journal that were read, all of them good.
    pub lines: u64,
    /// Iterations that ended.
    pub iterations: u64,
    /// Record files compared.
    pub files: u64,
    /// Commits looked up.
    pub commits: u64,
    /// What is wrong, the first first; at most 50.
    pub problems: Vec<Problem>,
    /// What a person should know that isn't wrong.
    pub notes: Vec<String>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    /// A line of the journal, a file, or a commit.
    pub place: String,
    /// What is wrong with it.
    pub what: String,
}

impl Verify {
    fn problem(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.problems.len() < TOLD {
            self.problems.push(Problem {
                place: place.into(),
                what: what.into(),
            });
        }
    }
}

/// What is kept of an iteration until all of the journal is read.
struct Left {
    number: u32,
    places: Places,
    files: Option<BTreeMap<String, String>>,
    commit: Option<(String, u64)>,
}

/// Looks at everything. Changes nothing, and works while a run is on.
///
/// # Errors
/// The disk refuses, or git can't be asked. What is wrong with the records is no error but the answer.
pub async fn verify(project: &Project) -> Result<Verify, Error> {
    let ws = &project.ws;
    let mut found = Verify::default();
    let state_file = StateFile::read(ws);
    if state_file.is_none() && ws.exists(records::STATE) {
        let note = "can't be read; the next run makes it anew from the journal";
        found.notes.push(format!("{} {note}", records::STATE));
    }
    let checkpoint = state_file
        .as_ref()
        .map(|f| (f.checkpoint.clone(), f.engine.clone()));
    let (left, cleaned) = read_journal(ws, checkpoint, &mut found)?;
    for one in &left {
        compare(ws, one, cleaned, &mut found)?;
    }
    if let Some(file) = &state_file {
        compare_history(ws, file, &mut found)?;
    }
    look_up_commits(ws, &left, &mut found).await?;
    found.clean = found.problems.is_empty();
    Ok(found)
}

/// The chain, the facts' order, and the checkpoint. What is to be compared after it.
fn read_journal(
    ws: &Workspace,
    checkpoint: Option<(Checkpoint, State)>,
    found: &mut Verify,
) -> Result<(Vec<Left>, u32), Error> {
    let mut left = Vec::new();
    let mut wanted = checkpoint.filter(|(at, _)| at.offset > 0);
    let Some(mut folder) = Folder::open(ws)? else {
        if let Some((at, _)) = wanted {
            let what = format!(
                "it is gone; {} has seen {} lines of it",
                records::STATE,
                at.seq
            );
            found.problem(journal::PATH, what);
        } else {
            found.notes.push("nothing has run here yet".into());
        }
        return Ok((left, 0));
    };
    let mut damaged = false;
    loop {
        match folder.step() {
            Ok(None) => break,
            Ok(Some(Step::Line)) => {}
            Ok(Some(Step::Ended(record))) => {
                found.iterations += 1;
                left.push(keep(&record));
            }
            Err(Error::Journal { line, why }) => {
                found.problem(format!("{}, line {line}", journal::PATH), why);
                damaged = true;
                break;
            }
            Err(e) => return Err(e),
        }
        found.lines = folder.lines.at.seq;
        let here = |(at, _): &(Checkpoint, State)| at.offset == folder.lines.at.offset;
        if let Some((at, state)) = wanted.take_if(|w| here(w)) {
            if at != folder.lines.at {
                let what = format!(
                    "its checkpoint doesn't fit line {} of the journal",
                    folder.lines.at.seq
                );
                found.problem(records::STATE, what);
            } else if !alike(&state, &folder.state) {
                let what = format!(
                    "its state isn't what the journal's first {} lines give",
                    at.seq
                );
                found.problem(records::STATE, what);
            }
        }
    }
    if let Some((at, _)) = wanted.filter(|_| !damaged) {
        let what = format!(
            "its checkpoint is behind line {}, byte {}, where the journal has no line's end",
            at.seq, at.offset
        );
        found.problem(records::STATE, what);
    }
    if folder.lines.torn > 0 {
        found.notes.push(format!(
            "the journal ends in {} bytes of an unfinished line, as a death in mid-write leaves it; the next run cuts them off",
            folder.lines.torn
        ));
    }
    if folder.state.run.is_some() && ProjectLock::holder(ws).is_none() {
        let note = "the last run was cut off; `ralph run` takes it up";
        found.notes.push(note.into());
    }
    Ok((left, folder.cleaned))
}

fn keep(record: &Record) -> Left {
    Left {
        number: record.current.number,
        places: Places::of(&record.current.task.id, record.attempt_id()),
        files: record.recorded().cloned(),
        commit: record
            .commit()
            .map(|sha| (sha.to_owned(), record.commit_line())),
    }
}

/// The files of one iteration.
fn compare(ws: &Workspace, left: &Left, cleaned: u32, found: &mut Verify) -> Result<(), Error> {
    let Some(files) = &left.files else {
        found.notes.push(format!(
            "iteration {}: its journal doesn't say what its records hash to",
            left.number
        ));
        return Ok(());
    };
    for (short, then) in files {
        let path = left.places.long(short);
        let now = match files::hash(ws, &path) {
            Ok(now) => now,
            Err(Error::Io { path, source }) => {
                found.problem(path, source.to_string());
                continue;
            }
            Err(e) => return Err(e),
        };
        match now {
            Some(now) if now == *then => found.files += 1,
            Some(_) => found.problem(
                path,
                format!(
                    "it isn't what the journal recorded at the end of iteration {}",
                    left.number
                ),
            ),
            None if left.number <= cleaned && short != "attempt" => {}
            None => found.problem(
                path,
                format!("it is gone; iteration {} had left it", left.number),
            ),
        }
    }
    let known: BTreeSet<&str> = files
        .keys()
        .filter_map(|short| short.strip_prefix("receipts/"))
        .collect();
    for name in ws.list(&left.places.receipts)? {
        if !known.contains(name.as_str()) && !is_temporary(&name) {
            let path = format!("{}/{name}", left.places.receipts);
            let what = format!("iteration {} left no such receipt", left.number);
            found.problem(path, what);
        }
    }
    Ok(())
}

/// `state.json` shows the newest attempts; each says the same as its own record.
fn compare_history(ws: &Workspace, file: &StateFile, found: &mut Verify) -> Result<(), Error> {
    for entry in file.history.iter().map(HistoryEntry::value) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let path = Places::of(text("task_id"), text("attempt_id")).attempt;
        let bytes = ws.read(&path, RECORD_MAX)?;
        let record = bytes.and_then(|b| serde_json::from_slice::<Value>(&b).ok());
        if record.is_some_and(|record| record != entry) {
            let what = format!("its entry of {} isn't what {path} says", text("attempt_id"));
            found.problem(records::STATE, what);
        }
    }
    Ok(())
}

async fn look_up_commits(ws: &Workspace, left: &[Left], found: &mut Verify) -> Result<(), Error> {
    let commits: Vec<(&Left, &String, u64)> = left
        .iter()
        .filter_map(|l| l.commit.as_ref().map(|(sha, line)| (l, sha, *line)))
        .collect();
    if commits.is_empty() {
        return Ok(());
    }
    let git = Git::open(ws)?;
    let shas: Vec<String> = commits.iter().map(|(_, sha, _)| (*sha).clone()).collect();
    let answers = git.attempts_of(&shas).await?;
    for ((left, sha, line), answer) in commits.iter().zip(answers) {
        found.commits += 1;
        let place = format!("commit {sha} ({}, line {line})", journal::PATH);
        let attempt = left.places.attempt_id();
        match answer {
            None => found.problem(place, "the repository has no such commit"),
            Some(values) if values.iter().any(|v| v == attempt) => {}
            Some(_) => found.problem(
                place,
                format!("it doesn't say that it is of attempt {attempt}"),
            ),
        }
    }
    Ok(())
}

/// The same, but for the last digit of a sum of money that was written and read again.
fn alike(a: &State, b: &State) -> bool {
    let value = |s| serde_json::to_value(s).unwrap_or_default();
    a == b || close(&value(a), &value(b))
}

fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| close(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
        }
        (Value::Number(a), Value::Number(b)) => {
            a == b
                || match (a.as_f64(), b.as_f64()) {
                    (Some(a), Some(b)) if !(a.fract() == 0.0 && b.fract() == 0.0) => {
                        (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
                    }
                    _ => false,
                }
        }
        _ => a == b,
    }
}
