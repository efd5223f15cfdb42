//! Standard output: text for people, or one JSON envelope.
//!
//! The envelope is the same for every command:
//! `{"schema_version":"ralph.cli.v1","cmd":…,"exit_code":…,"timestamp":…,"result":…}`,
//! with `"error":{"message":…}` in place of `result` when the command failed.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::{Value, json};

/// Where a command's answer goes.
pub struct Out {
    cmd: &'static str,
    pub json: bool,
    color: bool,
}

impl Out {
    pub fn new(cmd: &'static str, json: bool) -> Out {
        Out {
            cmd,
            json,
            color: !json && color(&std::io::stdout()),
        }
    }

    /// Text for people; nothing with `--json`. A reader that went away is no error.
    pub fn text(&self, text: impl AsRef<str>) {
        if !self.json {
            line(text.as_ref());
        }
    }

    /// One JSON object on a line of its own, for commands that go on.
    pub fn line(&self, value: &Value) {
        line(&value.to_string());
    }

    /// Ends the command: the envelope with `--json`, nothing else.
    pub fn done(&self, code: u8, result: &impl Serialize) -> ExitCode {
        if self.json {
            let result = serde_json::to_value(result).unwrap_or(Value::Null);
            self.envelope(code, ("result", result));
        }
        ExitCode::from(code)
    }

    /// Ends the command with an error.
    pub fn fail(&self, code: u8, message: &str) -> ExitCode {
        if self.json {
            self.envelope(code, ("error", json!({ "message": message })));
        } else {
            let style = style(AnsiColor::Red, color(&std::io::stderr()));
            let _ = writeln!(std::io::stderr(), "{style}error:{style:#} {message}");
        }
        ExitCode::from(code)
    }

    fn envelope(&self, code: u8, (key, value): (&str, Value)) {
        let mut envelope = json!({
            "schema_version": "ralph.cli.v1",
            "cmd": self.cmd,
            "exit_code": code,
            "timestamp": ralph_runner::clock::now(),
        });
        envelope[key] = value;
        line(&envelope.to_string());
    }

    pub fn bold(&self, text: &str) -> String {
        let style = if self.color {
            Style::new().bold()
        } else {
            Style::new()
        };
        format!("{style}{text}{style:#}")
    }

    pub fn paint(&self, color: AnsiColor, text: &str) -> String {
        let style = style(color, self.color);
        format!("{style}{text}{style:#}")
    }
}

/// A line on standard error, for what isn't the answer.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn line(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

fn style(color: AnsiColor, on: bool) -> Style {
    if on {
        Style::new().fg_color(Some(color.into()))
    } else {
        Style::new()
    }
}

/// Is colour wanted there? A terminal, no `NO_COLOR`, no `TERM=dumb`.
pub fn color(stream: &impl IsTerminal) -> bool {
    let set = |v: &str| std::env::var_os(v).is_some_and(|v| !v.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}
