//! Gate `command`: a program must end with exit code 0. `run = [...]` in a
//! `[[gates]]` table is short for this gate.
//!
//! ```toml
//! [[gates]]
//! name = "tests"
//! plugin = "command"
//! config = { run = ["cargo", "test"], timeout_ms = 300000, env = { RUST_BACKTRACE = "1" } }
//! ```
//! Needs `allow.process = ["cargo"]`. No shell is involved.
//!
//! * [`output`]: which part of what it printed is worth showing

pub mod output;

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_plugin::process::{Command, Output, ProcessError};
use ralph_plugin::{Error, Finding, Gate, Iteration, Verdict, config, text};

/// The command line is shown up to so many bytes.
const MAX_SHOWN_COMMAND: usize = 160;

/// `config`
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// It is ended after so many milliseconds; without this after the gate's `timeout`.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Environment variables it gets beside those on ralph's list.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl Config {
    fn command(&self) -> Result<Command, Error> {
        let Some((program, args)) = self
            .run
            .split_first()
            .filter(|(program, _)| !program.trim().is_empty())
        else {
            return Err(Error::invalid_config(
                "`run`: there must be a program, for example [\"cargo\", \"test\"]",
            ));
        };
        if self.timeout_ms == Some(0) {
            return Err(Error::invalid_config("`timeout_ms`: must be at least 1"));
        }
        if let Some(name) = self
            .env
            .keys()
            .find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            return Err(Error::invalid_config(format!(
                "`env`: {name:?} can't be the name of a variable"
            )));
        }
        let command = self
            .env
            .iter()
            .fold(Command::new(program).args(args), |c, (name, value)| {
                c.env(name, value)
            });
        Ok(match self.timeout_ms {
            Some(ms) => command.timeout(Duration::from_millis(ms)),
            None => command,
        })
    }

    /// As a person would type it.
    fn shown(&self) -> String {
        let word = |word: &String| {
            if word.is_empty() || word.contains(char::is_whitespace) {
                format!("'{word}'")
            } else {
                word.clone()
            }
        };
        let line = self.run.iter().map(word).collect::<Vec<_>>().join(" ");
        format!(
            "`{}`",
            text::clip(&text::plain(&line).replace('\n', " "), MAX_SHOWN_COMMAND)
        )
    }
}

/// The gate.
pub struct CommandGate;

impl Gate for CommandGate {
    fn check(_: &Iteration) -> Result<Verdict, Error> {
        let config: Config = config()?;
        match config.command()?.run() {
            Ok(output) => Ok(rule(&config, &output)),
            Err(ProcessError::Denied(why)) => Err(Error::Denied(why)),
            Err(ProcessError::NotFound(why) | ProcessError::Failed(why)) => Ok(Verdict::fail(
                format!("{} could not be started: {why}", config.shown()),
            )),
        }
    }
}

ralph_plugin::gate!(CommandGate);
ralph_plugin::manifest!(kinds: ["gate"], capabilities: { "process": ["*"] });

fn rule(config: &Config, output: &Output) -> Verdict {
    let (rule, how) = match output.code {
        _ if output.timed_out => (
            "command/timeout",
            match config.timeout_ms {
                Some(ms) if ms % 1000 == 0 => format!("was ended after {} s", ms / 1000),
                Some(ms) => format!("was ended after {ms} ms"),
                None => "was ended: it took longer than the gate's `timeout`".into(),
            },
        ),
        Some(0) => return Verdict::pass(format!("{} passed", config.shown())),
        Some(code) => ("command/exit-code", format!("exited with code {code}")),
        None => ("command/signal", "was ended by a signal".into()),
    };
    let message = output::useful(&output.stdout, &output.stderr, output.truncated);
    Verdict::fail(format!("{} {how}", config.shown())).with([Finding::new(message).rule(rule)])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use ralph_plugin::Status;
    use ralph_plugin::testing::{Host, Record, iteration, output};

    type Answer = Result<Output, ProcessError>;

    fn check(config: &str, answer: Answer) -> (Result<Verdict, Error>, Record) {
        Host::new()
            .config(config)
            .process(move |_| answer.clone())
            .run(|| CommandGate::check(&iteration()))
    }

    fn verdict(config: &str, answer: Answer) -> Verdict {
        check(config, answer).0.unwrap()
    }

    const TEST: &str = r#"{"run": ["cargo", "test"]}"#;

    #[test]
    fn exit_code_0_passes_whatever_was_printed() {
        let v = verdict(TEST, Ok(output(0, "FAILED", "error: 3 errors")));
        assert_eq!(v, Verdict::pass("`cargo test` passed"));
    }

    #[test]
    fn any_other_exit_code_fails_with_the_output() {
        for code in [1, 101, 127, -1] {
            let v = verdict(TEST, Ok(output(code, "boom", "")));
            assert_eq!(
                (v.status, v.summary),
                (
                    Status::Fail,
                    format!("`cargo test` exited with code {code}")
                )
            );
            assert_eq!(v.findings, [Finding::new("boom").rule("command/exit-code")]);
        }
    }

    #[test]
    fn a_program_that_was_ended_fails_whatever_its_code() {
        let ended = |code, timed_out| Output {
            code,
            timed_out,
            ..output(0, "", "")
        };
        for (config, answer, how) in [
            (
                r#"{"run": ["x"], "timeout_ms": 600000}"#,
                ended(None, true),
                "was ended after 600 s",
            ),
            (
                r#"{"run": ["x"], "timeout_ms": 1500}"#,
                ended(Some(0), true),
                "was ended after 1500 ms",
            ),
            (
                r#"{"run": ["x"]}"#,
                ended(None, true),
                "was ended: it took longer than the gate's `timeout`",
            ),
            (
                r#"{"run": ["x"]}"#,
                ended(None, false),
                "was ended by a signal",
            ),
        ] {
            let v = verdict(config, Ok(answer));
            assert_eq!((v.status, v.summary), (Status::Fail, format!("`x` {how}")));
        }
    }

    #[test]
    fn a_program_that_could_not_be_started_fails() {
        for error in [
            ProcessError::NotFound("no `cargo` in PATH".into()),
            ProcessError::Failed("no `cargo` in PATH".into()),
        ] {
            let v = verdict(TEST, Err(error));
            assert_eq!(
                v,
                Verdict::fail("`cargo test` could not be started: no `cargo` in PATH")
            );
        }
    }

    #[test]
    fn a_missing_grant_is_an_error_not_a_verdict() {
        let answer = check(
            TEST,
            Err(ProcessError::Denied("add `cargo` to allow.process".into())),
        )
        .0;
        assert_eq!(answer, Err(Error::denied("add `cargo` to allow.process")));
    }

    #[test]
    fn the_program_gets_what_the_configuration_says() {
        let config =
            r#"{"run": ["sh", "-c", "exit 0"], "timeout_ms": 5, "env": {"B": "2", "A": "1"}}"#;
        let (v, record) = check(config, Ok(output(0, "", "")));
        assert_eq!(v.unwrap().summary, "`sh -c 'exit 0'` passed");
        let want = Command::new("sh")
            .args(["-c", "exit 0"])
            .env("A", "1")
            .env("B", "2")
            .timeout(Duration::from_millis(5));
        assert_eq!(record.commands, [want]);
    }

    #[test]
    fn a_configuration_that_cannot_work_is_named_and_nothing_runs() {
        for (config, named) in [
            ("{}", "run"),
            (r#"{"run": []}"#, "`run`"),
            (r#"{"run": [" ", "x"]}"#, "`run`"),
            (r#"{"run": "cargo test"}"#, "`run`"),
            (r#"{"run": ["x"], "timeout_ms": 0}"#, "`timeout_ms`"),
            (r#"{"run": ["x"], "timeout_ms": -1}"#, "`timeout_ms`"),
            (r#"{"run": ["x"], "env": {"A=B": "1"}}"#, "`env`"),
            (r#"{"run": ["x"], "cwd": "/"}"#, "`cwd`"),
        ] {
            let (answer, record) = check(config, Ok(output(0, "", "")));
            assert!(
                matches!(&answer, Err(Error::InvalidConfig(text)) if text.contains(named)),
                "{config}: {answer:?}"
            );
            assert!(record.commands.is_empty());
        }
    }

    #[test]
    fn control_characters_of_the_command_line_are_not_shown() {
        let v = verdict(
            r#"{"run": ["sh", "\u001b[31ma\nb"]}"#,
            Ok(output(1, "", "")),
        );
        assert_eq!(v.summary, "`sh 'a b'` exited with code 1");
    }
}
