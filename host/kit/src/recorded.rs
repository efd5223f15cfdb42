//! What a run has kept of a call (`.ralph/context/<task>/<attempt>/replay/`), as an input: no
//! repository and no program is needed to ask again.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ralph_engine::types::{FileChange, Iteration};
use ralph_runner::replay::tape::{Asked, ChangesTape, GateTape, JudgeTape, TAPE_MAX};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::input::{Given, Input};
use crate::project;

/// One recorded call.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Where in the loop.
    pub it: Iteration,
    /// Where its clock stood.
    pub now: SystemTime,
    /// What a gate asked of the host, and was told.
    pub asked: Asked,
    input: Input,
    /// The files it was read from, for keeping them with a case.
    pub files: Vec<PathBuf>,
}

/// The folder of a case that holds a recording.
const FOLDER: &str = "replay";

impl Recorded {
    /// That of a case, if it has one.
    ///
    /// # Errors
    /// It can't be read.
    pub fn in_case(dir: &Path) -> Result<Option<Recorded>, Error> {
        let replay = dir.join(FOLDER);
        if !replay.is_dir() {
            return Ok(None);
        }
        let tapes = tapes(&replay)?;
        match tapes.as_slice() {
            [tape] => read(tape).map(Some),
            _ => Err(Error::Usage(format!(
                "{} should hold one gate-NAME.json, judge-N.json or review-N.json, and the gate's changes.json",
                replay.display()
            ))),
        }
    }

    /// That of an attempt of the project around `dir`: by its id, by a folder, or by a file. Of
    /// several calls it is the one of the gate that is called `name`.
    ///
    /// # Errors
    /// There is none, or it isn't clear which.
    pub fn find(dir: &Path, attempt: &str, name: &str) -> Result<Recorded, Error> {
        let given = dir.join(attempt);
        if given.is_file() {
            return read(&given);
        }
        let replay = if given.is_dir() {
            given
        } else {
            attempt_dir(dir, attempt)?
        };
        let inner = replay.join(FOLDER);
        let replay = if inner.is_dir() { inner } else { replay };
        let tapes = tapes(&replay)?;
        let stem = |path: &PathBuf| {
            let stem = path.file_stem().unwrap_or_default();
            stem.to_string_lossy().into_owned()
        };
        let own: Vec<_> = tapes
            .iter()
            .filter(|t| stem(t) == name || stem(t) == format!("gate-{name}"))
            .collect();
        match (own.as_slice(), tapes.as_slice()) {
            ([tape], _) => read(tape),
            (_, [tape]) => read(tape),
            (_, []) => Err(Error::Usage(format!(
                "{} holds no recorded call of a gate, judge or reviewer",
                replay.display()
            ))),
            _ => Err(Error::Usage(format!(
                "{} holds several calls, and none is called `{name}`; say which with --gate: {}",
                replay.display(),
                tapes.iter().map(stem).collect::<Vec<_>>().join(", ")
            ))),
        }
    }

    /// As a call's input.
    pub fn given(&self) -> Given {
        Given {
            input: self.input.clone(),
            files: None,
            recorded: Some(self.clone()),
        }
    }

    /// Keeps it in a case's folder.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn keep(&self, case: &Path) -> Result<(), Error> {
        for file in &self.files {
            let bytes = project::bytes(file, 2 * TAPE_MAX as u64)?.unwrap_or_default();
            let name = file.file_name().unwrap_or_default();
            crate::build::put(&case.join(FOLDER).join(name), &bytes)?;
        }
        Ok(())
    }
}

/// `.ralph/context/<task>/<attempt>`, upwards from `dir`.
pub(crate) fn attempt_dir(dir: &Path, attempt: &str) -> Result<PathBuf, Error> {
    let plain = !attempt.is_empty() && !attempt.contains(['/', '\\']) && !attempt.starts_with('.');
    let dir = std::path::absolute(dir).map_err(|e| Error::io(dir, e))?;
    let context = dir
        .ancestors()
        .map(|dir| dir.join(".ralph/context"))
        .find(|context| context.is_dir());
    if let Some(context) = context.filter(|_| plain) {
        for task in std::fs::read_dir(&context).into_iter().flatten().flatten() {
            let found = task.path().join(attempt);
            if found.is_dir() {
                return Ok(found);
            }
        }
    }
    Err(Error::Usage(format!(
        "there is no attempt `{attempt}` here: neither a path, nor in .ralph/context of {} and above; `ralph show N` names an iteration's",
        dir.display()
    )))
}

/// The calls that can be made again, sorted.
fn tapes(replay: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(replay).map_err(|e| Error::io(replay, e))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let ruler = ["gate-", "judge-", "review-"];
            name.ends_with(".json")
                && !name.ends_with("-agent.json")
                && ruler.iter().any(|r| name.starts_with(r))
        })
        .collect();
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Recorded, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with("gate-") {
        return gate(path);
    }
    let tape: JudgeTape = load(path)?;
    Ok(Recorded {
        now: tape.given.time(),
        it: tape.given.it,
        asked: Asked::default(),
        input: Input {
            config: config(path, &tape.given.config)?,
            seed: tape.given.seed,
            evidence: Some(tape.evidence),
            answer: tape.answer,
            ..Input::default()
        },
        files: vec![path.to_owned()],
    })
}

fn gate(path: &Path) -> Result<Recorded, Error> {
    let tape: GateTape = load(path)?;
    let beside = path.with_file_name("changes.json");
    let files: Vec<FileChange> = load::<ChangesTape>(&beside)?.files;
    if !tape.sees.is_empty() {
        return Err(Error::Usage(format!(
            "{}: the gate might have seen what isn't kept: {}. Write a case with files/ instead",
            path.display(),
            tape.sees.join(", ")
        )));
    }
    Ok(Recorded {
        now: tape.given.time(),
        it: tape.given.it,
        asked: tape.asked,
        input: Input {
            config: config(path, &tape.given.config)?,
            seed: tape.given.seed,
            changes: Some(files),
            ..Input::default()
        },
        files: vec![path.to_owned(), beside],
    })
}

pub(crate) fn config(path: &Path, text: &str) -> Result<Map<String, Value>, Error> {
    serde_json::from_str(text)
        .map_err(|e| Error::Usage(format!("{}: its configuration: {e}", path.display())))
}

pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let bytes = project::bytes(path, 2 * TAPE_MAX as u64)?
        .ok_or_else(|| Error::Usage(format!("{} isn't there", path.display())))?;
    serde_json::from_slice(&bytes)
        .map_err(|e| Error::Usage(format!("{} is no recorded call: {e}", path.display())))
}
