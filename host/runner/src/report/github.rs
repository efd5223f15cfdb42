//! Workflow commands of GitHub's runners. A runner shows ten of each level for a step.

use std::fmt::Write;

use super::{Level, level, of_group, remarks};
use crate::watch::Checked;

pub(super) fn write(checked: &Checked) -> String {
    let mut out = String::new();
    for result in &checked.results {
        let level = match level(result) {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "notice",
        };
        for remark in remarks(result) {
            let mut properties = format!("title={}", property(&remark.rule));
            if let Some(path) = remark.path {
                let _ = write!(properties, ",file={}", property(path));
            }
            if let Some(line) = remark.line {
                let _ = write!(properties, ",line={line}");
            }
            let _ = writeln!(out, "::{level} {properties}::{}", data(&remark.message));
        }
    }
    for group in &checked.groups {
        let title = property(group);
        let _ = writeln!(out, "::error title={title}::{}", data(&of_group(group)));
    }
    out
}

/// What isn't escaped could be another command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
