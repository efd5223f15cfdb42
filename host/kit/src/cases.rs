//! `ralph plugin test`: a folder per case, with its input and what is expected.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::ask::{Answer, Asker, Outcome};
use crate::build::put;
use crate::differ::differences;
use crate::error::Error;
use crate::input::Given;
use crate::project;

/// The longest expectation.
const EXPECTED_MAX: u64 = 4 << 20;

/// What came of one case.
#[derive(Debug, Clone, Serialize)]
pub struct Tried {
    /// The folder's name.
    pub name: String,
    /// Is everything as expected?
    pub passed: bool,
    /// Where not; one or more lines each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// The component's log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
    /// Was what is expected written anew?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub updated: bool,
}

/// The cases below a folder, sorted; those that are named, if any are.
///
/// # Errors
/// There is none at all, or none of a name.
pub fn list(dir: &Path, only: &[String]) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::Usage(format!(
                "{} isn't there: a case is a folder in it, with input.json or diff.patch, and expected.json or error.txt",
                dir.display()
            )));
        }
        Err(e) => return Err(Error::io(dir, e)),
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    for name in only {
        if !found.iter().any(|path| path.ends_with(name)) {
            return Err(Error::Usage(format!(
                "there is no case `{name}` in {}",
                dir.display()
            )));
        }
    }
    found.retain(|path| only.is_empty() || only.iter().any(|name| path.ends_with(name)));
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "there is no case in {}; a test without one says nothing",
            dir.display()
        )));
    }
    Ok(found)
}

/// Tries one case. With `update` what came is what is expected from now on.
///
/// # Errors
/// The disk refuses. What is wrong with the case itself is a failed case.
pub async fn try_one(asker: &Asker, dir: &Path, update: bool) -> Result<Tried, Error> {
    let name = dir.file_name().unwrap_or_default();
    let mut tried = Tried {
        name: name.to_string_lossy().into_owned(),
        passed: false,
        differences: Vec::new(),
        log: Vec::new(),
        updated: false,
    };
    let given = match Given::from_dir(dir) {
        Ok(given) => given,
        Err(e) => {
            tried.differences.push(e.to_string());
            return Ok(tried);
        }
    };
    let answer = match asker.ask(&given).await {
        Ok(answer) => answer,
        Err(e) => {
            tried.differences.push(e.to_string());
            return Ok(tried);
        }
    };
    tried.log.clone_from(&answer.log);
    tried.differences = answer.strayed.clone();
    if update && answer.strayed.is_empty() {
        tried.updated = write(dir, &answer)?;
    }
    tried.differences.extend(against(dir, &answer)?);
    tried.passed = tried.differences.is_empty();
    Ok(tried)
}

fn against(dir: &Path, answer: &Answer) -> Result<Vec<String>, Error> {
    let [expected, error] = files(dir);
    let expected_text = project::read(&expected)?;
    let error_text = text(&error)?;
    Ok(match (expected_text, error_text, &answer.outcome) {
        (Some(_), Some(_), _) => {
            vec!["it has both expected.json and error.txt; one of them is too much".into()]
        }
        (None, None, _) => {
            vec![
                "it has neither expected.json nor error.txt; `--update` writes what comes now"
                    .into(),
            ]
        }
        (Some(text), None, Outcome::Answer(got)) => match serde_json::from_str::<Value>(&text) {
            Ok(expected) if expected.as_object().is_some_and(|o| !o.is_empty()) => {
                differences(&expected, got)
            }
            Ok(_) => vec!["expected.json should be an object that expects something".into()],
            Err(e) => vec![format!("expected.json: {e}")],
        },
        (Some(_), None, Outcome::Error(why)) => {
            vec![format!("expected an answer\n  got the error {why}")]
        }
        (None, Some(text), _) if text.is_empty() => vec!["error.txt is empty".into()],
        (None, Some(text), Outcome::Error(why)) => {
            if why.contains(&text) {
                Vec::new()
            } else {
                vec![format!("expected an error with `{text}`\n  got {why}")]
            }
        }
        (None, Some(text), Outcome::Answer(got)) => {
            vec![format!(
                "expected an error with `{text}`\n  got the answer {got}"
            )]
        }
    })
}

/// Writes what is expected from now on; true if that changed anything.
fn write(dir: &Path, answer: &Answer) -> Result<bool, Error> {
    if against(dir, answer)?.is_empty() {
        return Ok(false);
    }
    let [expected, error] = files(dir);
    let (keep, bytes, other) = match &answer.outcome {
        Outcome::Answer(value) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            (expected, text + "\n", error)
        }
        Outcome::Error(why) => (error, format!("{why}\n"), expected),
    };
    put(&keep, bytes.as_bytes())?;
    match std::fs::remove_file(&other) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&other, e)),
        _ => Ok(true),
    }
}

/// Keeps an answer as what a new case expects.
///
/// # Errors
/// The case is there already, or the disk refuses.
pub fn expect(dir: &Path, answer: &Answer) -> Result<(), Error> {
    write(dir, answer).map(|_| ())
}

fn files(dir: &Path) -> [PathBuf; 2] {
    [dir.join("expected.json"), dir.join("error.txt")]
}

fn text(path: &Path) -> Result<Option<String>, Error> {
    let bytes = project::bytes(path, EXPECTED_MAX)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
}
