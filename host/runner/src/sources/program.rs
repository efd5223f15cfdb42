//! How the programs of trackers are run: an argument array and no shell, a clean environment, a time
//! limit, a limit on what they may print, and an end for their whole tree.

use std::ffi::OsString;

use ralph_config::units::Span;
use ralph_engine::text;
use ralph_process::{EndedBy, Spawn, SpawnError};
use ralph_workspace::Workspace;

use crate::error::Error;
use crate::leftover;
use crate::records;

/// More than this on standard output is nothing that can be used.
const OUTPUT_MAX: usize = 32 << 20;
/// Of an error, this much is shown.
const SHOWN: usize = 400;

/// One tracker's program.
pub(super) struct Program {
    /// As it is looked up in `PATH`.
    pub name: &'static str,
    /// For people: whose tasks it keeps.
    pub source: String,
    /// What installs it.
    pub install: &'static str,
    /// Environment variables it gets beside the usual ones.
    pub env: &'static [&'static str],
    /// And these, so.
    pub set: &'static [(&'static str, &'static str)],
    /// Where it runs.
    pub ws: Workspace,
    /// One call may take this long.
    pub timeout: Span,
}

/// What came of a call.
pub(super) struct Said {
    /// Did it succeed?
    pub ok: bool,
    /// Its exit code.
    pub code: Option<i32>,
    /// All of it.
    pub out: Vec<u8>,
    /// The end of what it complained of.
    pub err: String,
}

impl Said {
    /// Does it complain of one of these? Lower case.
    pub fn complains(&self, of: &[&str]) -> bool {
        let err = self.err.to_lowercase();
        of.iter().any(|what| err.contains(what))
    }
}

impl Program {
    /// Runs it to its end. That it failed is no error here.
    pub async fn run(&self, args: &[&str]) -> Result<Said, Error> {
        let names: Vec<String> = self.env.iter().map(|n| (*n).to_owned()).collect();
        let mut env = ralph_process::environment(&names);
        for (name, value) in self.set {
            env.retain(|(n, _)| n != name);
            env.push((name.into(), value.into()));
        }
        let spawn = Spawn {
            args: args.iter().map(OsString::from).collect(),
            env,
            timeout: Some(self.timeout.get()),
            ..Spawn::new(self.name, self.ws.root())
        };
        let mut remembered = None;
        // Who only looks leaves nothing behind.
        let records = self.ws.exists(records::IGNORE.0);
        let started = |pid, start_time| {
            remembered = records.then(|| leftover::remember(&self.ws, pid, start_time));
        };
        let ran = ralph_process::run_noted(spawn, OUTPUT_MAX, started).await;
        drop(remembered);
        let what = || format!("`{}`", self.shown(args));
        let ran = ran.map_err(|e| match e {
            SpawnError::NotFound { .. } => self.setup(
                format!("there is no program `{}` in PATH", self.name),
                self.install,
            ),
            e => self.trouble(e.to_string(), "look at it with `ralph doctor`"),
        })?;
        match ran.finished.ended_by {
            EndedBy::Itself => {}
            EndedBy::Timeout => {
                let limit = self.timeout;
                let advice =
                    "run it by hand to see what it waits for, or give [tasks] timeout more";
                return Err(
                    self.trouble(format!("{} gave no answer within {limit}", what()), advice)
                );
            }
            _ => return Err(Error::Stopped),
        }
        if ran.truncated {
            let problem = format!("{} printed more than {} MiB", what(), OUTPUT_MAX >> 20);
            return Err(self.trouble(problem, "lower [tasks] limit"));
        }
        let err = String::from_utf8_lossy(&ran.stderr);
        Ok(Said {
            ok: ran.finished.code == Some(0),
            code: ran.finished.code,
            out: ran.stdout,
            err: text::tail(text::strip_escapes(&err).trim(), 8 * SHOWN),
        })
    }

    /// That a call failed, in general.
    pub fn failed(&self, args: &[&str], said: &Said) -> Error {
        let code = said
            .code
            .map_or("a signal".to_owned(), |c| format!("code {c}"));
        let words = match said.err.is_empty() {
            true => text::one_line(&String::from_utf8_lossy(&said.out), SHOWN),
            false => text::one_line(&said.err, SHOWN),
        };
        let problem = format!("`{}` ended with {code}: {words}", self.shown(args));
        self.trouble(problem, "run it by hand to see more, then run again")
    }

    /// That what it printed can't be read.
    pub fn garbage(&self, args: &[&str], why: &str, out: &[u8]) -> Error {
        let begins = text::one_line(&String::from_utf8_lossy(&out[..out.len().min(2000)]), 80);
        let problem = format!(
            "`{}` printed what can't be read: {why}; it begins with `{begins}`",
            self.shown(args)
        );
        self.setup(problem, "is it the program it should be, and not too old?")
    }

    /// Something a person has to set right first.
    pub fn setup(&self, problem: String, advice: &str) -> Error {
        self.error(problem, advice, true)
    }

    /// Something that may be over by itself.
    pub fn trouble(&self, problem: String, advice: &str) -> Error {
        self.error(problem, advice, false)
    }

    fn error(&self, problem: String, advice: &str, setup: bool) -> Error {
        Error::Source {
            source_name: self.source.clone(),
            problem,
            advice: advice.to_owned(),
            setup,
        }
    }

    fn shown(&self, args: &[&str]) -> String {
        let words = std::iter::once(self.name).chain(args.iter().copied());
        let words: Vec<String> = words.map(|w| text::one_line(w, 40)).collect();
        text::one_line(&words.join(" "), 120)
    }
}
