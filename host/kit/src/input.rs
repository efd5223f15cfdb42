//! What one call is given: `input.json`, a `diff.patch` and `files/` beside it, or what a run has
//! kept of a call.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use ralph_engine::types::{Evidence, FileChange, Iteration};
use ralph_plugins::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::diff;
use crate::error::Error;
use crate::project;

/// The largest file of a case.
const FILE_MAX: u64 = 64 << 20;

/// Everything that a component may be given, by kind. What isn't said has a plain default.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    /// As which kind it is asked; only for components that are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// What `config.get` answers.
    pub config: Map<String, Value>,
    /// Laid over a plain iteration.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub iteration: Map<String, Value>,
    /// Where its clock stands: seconds since 1970.
    pub now: u64,
    /// Fixes its randomness.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub seed: String,
    /// Changed paths, instead of those in the diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<FileChange>>,
    /// A unified diff, instead of `diff.patch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The programs it has the host run, in order, and what they come to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// The HTTP requests that it sends, in order, and what comes back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Request>,
    /// Values that it has kept from earlier calls, by their keys.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub state: BTreeMap<String, String>,
    /// Agents and drivers: the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Drivers: the program's standard output, in pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
    /// Drivers: how the program ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// Judges: what they write their question from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Judges: the answer to read. Without it the question is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Canonicalisers: the document's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Canonicalisers: the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Tools: which one is called. Without it they are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Tools: what it is called with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Notifiers: how the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
    /// Trackers: what is asked. Without it the tasks are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<Track>,
}

/// One program that is run for it, and what it comes to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name.
    pub program: String,
    /// Its arguments; not looked at if there are none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// `null`: ended by a signal.
    #[serde(default)]
    pub code: Option<i32>,
    /// Its time was over.
    #[serde(default)]
    pub timed_out: bool,
    /// What it prints.
    #[serde(default)]
    pub stdout: String,
    /// The same, as errors.
    #[serde(default)]
    pub stderr: String,
    /// It doesn't run, and why: `denied`, `not-found` or `failed`, then a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<(String, String)>,
}

/// One request that it sends, and what comes back.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `GET`, …; not looked at if there is none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The whole address, with its scheme.
    pub url: String,
    /// What is sent; not looked at if there is none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// 200 unless it is said.
    #[serde(default = "ok")]
    pub status: u16,
    /// Of the response.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Of the response.
    #[serde(default)]
    pub body: String,
    /// Nothing comes back, and why: `timeout`, or other words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn ok() -> u16 {
    200
}

/// How an agent's program ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exit {
    /// `null`: by a signal.
    pub code: Option<i32>,
    /// The signal.
    pub signal: Option<i32>,
    /// The end of its standard error.
    pub stderr: String,
    /// Files of the scratch directory, with their content.
    pub collected: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "as in `ralph_plugins::Notice`")]
pub struct Notice {
    pub event: String,
    pub project: String,
    pub text: String,
    #[serde(default)]
    pub details: Value,
}

/// What a tracker is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Track {
    /// All tasks.
    Load,
    /// An agent begins with this one.
    Begin(String),
    /// A task was done.
    Done {
        /// Which.
        task: String,
        /// Its commit.
        #[serde(default)]
        commit: Option<String>,
        /// The attempt.
        #[serde(default)]
        attempt: Option<String>,
    },
    /// A task is blocked.
    Blocked {
        /// Which.
        task: String,
        /// Why.
        #[serde(default)]
        reason: Option<String>,
        /// The attempt.
        #[serde(default)]
        attempt: Option<String>,
    },
    /// A task is to be done (again).
    Open(String),
    /// A further task.
    Add {
        /// One line.
        title: String,
        /// Criteria.
        #[serde(default)]
        acceptance: Vec<String>,
        /// Ids.
        #[serde(default)]
        depends_on: Vec<String>,
    },
}

/// A call's input with everything around it.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// The input.
    pub input: Input,
    /// The project's files as they are after the change, for granted directories.
    pub files: Option<PathBuf>,
    /// What a run has kept, if that is where it comes from.
    pub recorded: Option<crate::recorded::Recorded>,
}

impl Given {
    /// From a file, with what lies beside it; standard input for `-`.
    ///
    /// # Errors
    /// It can't be read, or something in it isn't known.
    pub fn from_file(path: &Path) -> Result<Given, Error> {
        if path == Path::new("-") {
            let mut text = String::new();
            std::io::Read::take(std::io::stdin(), FILE_MAX)
                .read_to_string(&mut text)
                .map_err(|e| Error::io(path, e))?;
            return Ok(Given {
                input: parse(&text, "standard input")?,
                ..Given::default()
            });
        }
        let text =
            text(path)?.ok_or_else(|| Error::Usage(format!("{} isn't there", path.display())))?;
        let dir = path.parent().unwrap_or(Path::new("."));
        let dir = if dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            dir
        };
        let mut given = Given {
            input: parse(&text, &path.display().to_string())?,
            ..Given::default()
        };
        given.beside(dir)?;
        Ok(given)
    }

    /// From a case's folder.
    ///
    /// # Errors
    /// As for [`Given::from_file`]; or there is nothing in it.
    pub fn from_dir(dir: &Path) -> Result<Given, Error> {
        let path = dir.join("input.json");
        let input = text(&path)?;
        let recorded = crate::recorded::Recorded::in_case(dir)?;
        let mut given = match (&recorded, &input) {
            (Some(recorded), _) => recorded.given(),
            _ => Given::default(),
        };
        if let Some(text) = &input {
            let own: Input = parse(text, &path.display().to_string())?;
            if recorded.is_some() {
                // Beside a recording only what differs from it stands there.
                given.input.config.extend(own.config);
            } else {
                given.input = own;
            }
        }
        given.beside(dir)?;
        if input.is_none() && recorded.is_none() && given.input.diff.is_none() {
            return Err(Error::Usage(format!(
                "{} has neither an input.json nor a diff.patch nor a replay/",
                dir.display()
            )));
        }
        Ok(given)
    }

    fn beside(&mut self, dir: &Path) -> Result<(), Error> {
        if self.input.diff.is_none() {
            self.input.diff = text(&dir.join("diff.patch"))?;
        }
        let files = dir.join("files");
        if files.is_dir() {
            self.files = Some(files);
        }
        Ok(())
    }
}

impl Input {
    /// The iteration: a plain one, over which what is said was laid.
    ///
    /// # Errors
    /// Something in it isn't known.
    pub fn iteration(&self) -> Result<Iteration, Error> {
        let mut plain = json!({
            "run_id": "run-1", "number": 1, "attempt": 1, "agent": "test", "role": "work",
            "workspace": "/workspace", "scratch": "/scratch",
            "task": { "id": "T1", "title": "The first task" },
        });
        for (key, value) in &self.iteration {
            match plain.get_mut(key) {
                Some(slot) => *slot = value.clone(),
                None => {
                    return Err(Error::Usage(format!(
                        "`iteration.{key}` of the input isn't known"
                    )));
                }
            }
        }
        serde_json::from_value(plain)
            .map_err(|e| Error::Usage(format!("`iteration` of the input: {e}")))
    }

    /// The changed paths: those that are named, or those in the diff.
    pub fn changes(&self) -> Vec<FileChange> {
        let mut files = match (&self.changes, &self.diff) {
            (Some(files), _) => files.clone(),
            (None, Some(diff)) => diff::changed(diff),
            (None, None) => Vec::new(),
        };
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }

    /// The configuration as JSON.
    pub fn config(&self) -> String {
        Value::Object(self.config.clone()).to_string()
    }
}

fn text(path: &Path) -> Result<Option<String>, Error> {
    let Some(bytes) = project::bytes(path, FILE_MAX)? else {
        return Ok(None);
    };
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| Error::Usage(format!("{} isn't UTF-8", path.display())))
}

/// Reads an input; `name` is for messages.
///
/// # Errors
/// It isn't one.
pub fn parse(text: &str, name: &str) -> Result<Input, Error> {
    serde_json::from_str(text).map_err(|e| Error::Usage(format!("{name}: {e}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn what_is_misspelt_is_said() {
        let why = parse(r#"{"chnages": []}"#, "x.json")
            .unwrap_err()
            .to_string();
        assert!(why.contains("x.json") && why.contains("chnages"), "{why}");
        let input = parse(r#"{"iteration": {"attmpt": 2}}"#, "x").unwrap();
        assert!(
            input
                .iteration()
                .unwrap_err()
                .to_string()
                .contains("attmpt")
        );
        let input = parse(r#"{"iteration": {"attempt": 2, "task": null}}"#, "x").unwrap();
        let it = input.iteration().unwrap();
        assert_eq!((it.attempt, it.task), (2, None));
    }
}
