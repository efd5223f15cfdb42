//! What is wrong with a task file, and where.

use thiserror::Error;

/// A task file that cannot be used. Nothing of it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct TaskFileError {
    /// The name the caller gave.
    pub file: String,
    /// Counts from 1.
    pub line: u32,
    /// Counts characters, from 1; a byte order mark is none.
    pub column: u32,
    /// What is wrong and, where that isn't plain, what to do.
    pub message: String,
}

/// A fault at a byte offset, before the file's name is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub at: usize,
    pub message: String,
}

impl Fault {
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Fault {
            at,
            message: message.into(),
        }
    }

    pub fn in_file(self, name: &str, bytes: &[u8]) -> TaskFileError {
        let (line, column) = position(bytes, self.at);
        TaskFileError {
            file: name.to_owned(),
            line,
            column,
            message: self.message,
        }
    }
}

/// Line and column of a byte offset, both from 1. LF, CRLF and a lone CR end a line.
pub(super) fn position(bytes: &[u8], at: usize) -> (u32, u32) {
    let before = &bytes[..at.min(bytes.len())];
    let mut line = 1u32;
    let mut start = if before.starts_with(super::decode::BOM) {
        super::decode::BOM.len()
    } else {
        0
    };
    for (i, &b) in before.iter().enumerate() {
        // A CR whose LF follows ends the line at the LF; the bytes after `at` matter for that.
        if b == b'\n' || (b == b'\r' && bytes.get(i + 1) != Some(&b'\n')) {
            line = line.saturating_add(1);
            start = i + 1;
        }
    }
    let column = String::from_utf8_lossy(&before[start.min(before.len())..])
        .chars()
        .count();
    (
        line,
        u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1),
    )
}

/// Outside text inside a message: one short line in backticks.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", crate::text::one_line(text, 80))
}
