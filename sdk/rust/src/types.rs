//! The data which several worlds share, and convenient ways to make it. The
//! types themselves come from `wit/types.wit`, where each field is described.

pub use crate::bindings::imports::ralph::plugin::types::{
    ChangeKind, Event, FileChange, Finding, Iteration, Limit, Outcome, PluginError as Error, Role,
    Status, Task, Usage, Verdict,
};

impl Verdict {
    /// Fine. `summary` is one line for people.
    pub fn pass(summary: impl Into<String>) -> Self {
        Verdict {
            status: Status::Pass,
            summary: summary.into(),
            findings: Vec::new(),
        }
    }

    /// Not fine: the work isn't accepted. `summary` is one line; it goes into the next prompt.
    pub fn fail(summary: impl Into<String>) -> Self {
        Verdict {
            status: Status::Fail,
            summary: summary.into(),
            findings: Vec::new(),
        }
    }

    /// Nothing to check here; counts as passed.
    pub fn skip(summary: impl Into<String>) -> Self {
        Verdict {
            status: Status::Skip,
            summary: summary.into(),
            findings: Vec::new(),
        }
    }

    /// Adds findings, one (`Some(finding)`) or many.
    pub fn with(mut self, findings: impl IntoIterator<Item = Finding>) -> Self {
        self.findings.extend(findings);
        self
    }

    /// Only [`Status::Fail`] stops an acceptance.
    pub fn passed(&self) -> bool {
        self.status != Status::Fail
    }
}

impl Finding {
    /// A remark that belongs to no place in particular yet.
    pub fn new(message: impl Into<String>) -> Self {
        Finding {
            message: message.into(),
            path: None,
            line: None,
            rule: None,
        }
    }

    /// The file it is about, relative to the project's root.
    pub fn in_file(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The line it is about; the first one is 1.
    pub fn at(mut self, path: impl Into<String>, line: u32) -> Self {
        self.path = Some(path.into());
        self.line = Some(line);
        self
    }

    /// A stable name of the rule that was broken, for filters and SARIF.
    pub fn rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }
}

impl Error {
    /// The plugin's configuration can't be used; say which key and why.
    pub fn invalid_config(message: impl Into<String>) -> Self {
        Error::InvalidConfig(message.into())
    }

    /// Something was not granted; say what.
    pub fn denied(message: impl Into<String>) -> Self {
        Error::Denied(message.into())
    }

    /// Anything else that kept the plugin from answering.
    pub fn failed(message: impl Into<String>) -> Self {
        Error::Failed(message.into())
    }
}

/// The words of an error without its kind.
pub fn message_of(error: &Error) -> &str {
    match error {
        Error::InvalidConfig(m) | Error::Denied(m) | Error::Failed(m) => m,
    }
}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Self {
        match e.kind() {
            std::io::ErrorKind::PermissionDenied => Error::Denied(e.to_string()),
            _ => Error::Failed(e.to_string()),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(e: serde_json::Error) -> Self {
        Error::Failed(e.to_string())
    }
}
