//! Standard output: text for people, or one JSON envelope.
//!
//! The envelope is the same for every command:
//! `{"schema_version":"ralph.cli.v1","cmd":…,"exit_code":…,"timestamp":…,"result":…}`,
//! with `"error":{"message":…}` in place of `result` when the command failed.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::{Value, json};

/// Where a command's answer goes.
pub struct Out {
    cmd: &'static str,
    pub json: bool,
    color: bool,
    kept: Option<Kept>,
}

/// What a command says, kept instead of printed. The end of very much is left out.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Said>>);

/// What was said.
#[derive(Default)]
pub struct Said {
    /// On standard output.
    pub output: String,
    /// What went wrong.
    pub error: Option<String>,
}

/// Bytes of a command's output that are kept.
const KEPT_MAX: usize = 4 << 20;

impl Kept {
    pub fn said(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, text: &str) {
        let mut said = self.said();
        if said.output.len().saturating_add(text.len()) <= KEPT_MAX {
            said.output.push_str(text);
            said.output.push('\n');
        } else if !said.output.ends_with("…\n") {
            said.output.push_str("…\n");
        }
    }
}

impl Out {
    pub fn new(cmd: &'static str, json: bool) -> Out {
        Out {
            cmd,
            json,
            color: !json && color(&std::io::stdout()),
            kept: None,
        }
    }

    /// One that prints nothing; `kept` has it all.
    pub fn keep(cmd: &'static str, json: bool, kept: &Kept) -> Out {
        Out {
            cmd,
            json,
            color: false,
            kept: Some(kept.clone()),
        }
    }

    /// Text for people; nothing with `--json`. A reader that went away is no error.
    pub fn text(&self, text: impl AsRef<str>) {
        if !self.json {
            self.put(text.as_ref());
        }
    }

    /// One JSON object on a line of its own, for commands that go on.
    pub fn line(&self, value: &Value) {
        self.put(&value.to_string());
    }

    /// Bytes as they are.
    pub fn raw(&self, bytes: &[u8]) {
        match &self.kept {
            Some(kept) => kept.line(&String::from_utf8_lossy(bytes)),
            None => {
                let _ = std::io::stdout().lock().write_all(bytes);
            }
        }
    }

    fn put(&self, text: &str) {
        match &self.kept {
            Some(kept) => kept.line(text),
            None => line(text),
        }
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
        if let Some(kept) = &self.kept {
            kept.said().error = Some(message.to_owned());
        }
        if self.json {
            self.envelope(code, ("error", json!({ "message": message })));
        } else if self.kept.is_none() {
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
        self.put(&envelope.to_string());
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

/// A stream that shows no secret of this process's environment. What is written
/// in one piece has to hold a secret whole, as a line of a log does.
pub struct Clean<W>(pub W);

impl<W: std::io::Write> std::io::Write for Clean<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(&ralph_process::secrets().bytes(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
