//! Native programs, run by the host in the project's root. Needs
//! `allow.process = ["name", …]` in `ralph.toml`, or `["name argument *", …]` for some calls of it.
//!
//! ```no_run
//! # fn f() -> Result<(), ralph_plugin::Error> {
//! let output = ralph_plugin::process::Command::new("cargo").args(["fmt", "--check"]).run()?;
//! let formatted = output.code == Some(0);
//! # Ok(()) }
//! ```

use crate::Error;
pub use crate::bindings::imports::ralph::plugin::process::{Command, Output, ProcessError};
use std::time::Duration;

impl Command {
    /// A name that is looked up in `PATH`, or a path relative to the project's root. No shell.
    pub fn new(program: impl Into<String>) -> Self {
        Command {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: None,
            timeout_ms: None,
        }
    }

    /// Adds arguments.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable, beside those on ralph's list.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// What it reads on standard input; empty otherwise.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// When it is ended. Without this: what the gate's `timeout` says.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Runs it and waits. A program that fails is no error: look at [`Output::code`].
    ///
    /// # Errors
    /// The program was not granted, is not there, or could not be started.
    pub fn run(&self) -> Result<Output, ProcessError> {
        #[cfg(target_family = "wasm")]
        return crate::bindings::imports::ralph::plugin::process::run(self);
        #[cfg(not(target_family = "wasm"))]
        crate::testing::run(self)
    }
}

impl From<ProcessError> for Error {
    fn from(e: ProcessError) -> Self {
        match e {
            ProcessError::Denied(m) => Error::Denied(m),
            ProcessError::NotFound(m) | ProcessError::Failed(m) => Error::Failed(m),
        }
    }
}
