//! What gates found, in forms that other programs read.

mod github;
mod junit;
mod sarif;

use ralph_engine::types::{GateResult, Status};

use crate::watch::Checked;

/// A form that others read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// SARIF 2.1.0, for code scanning: one result for each finding.
    Sarif,
    /// JUnit's XML, as Jenkins and GitLab read it: one test case for each gate.
    Junit,
    /// Workflow commands of GitHub's runners, which show them at the lines: one for each finding.
    Github,
}

/// Writes it in that form, with a line break at its end.
pub fn report(format: Format, checked: &Checked) -> String {
    match format {
        Format::Sarif => sarif::write(checked),
        Format::Junit => junit::write(checked),
        Format::Github => github::write(checked),
    }
}

/// What a gate's answer comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Error,
    Warning,
    Note,
}

fn level(result: &GateResult) -> Level {
    match result.verdict.status {
        Status::Fail if result.severity.blocks() => Level::Error,
        Status::Fail => Level::Warning,
        _ => Level::Note,
    }
}

/// A remark, wherever it comes from.
struct Remark<'a> {
    message: String,
    path: Option<&'a str>,
    line: Option<u32>,
    /// `gate`, or `gate/rule`.
    rule: String,
}

/// A gate's remarks; what it says in all, if it failed and names nothing.
fn remarks(result: &GateResult) -> Vec<Remark<'_>> {
    let verdict = &result.verdict;
    let mut remarks: Vec<_> = verdict
        .findings
        .iter()
        .map(|finding| Remark {
            message: ralph_engine::text::strip_escapes(&finding.message),
            path: finding.path.as_deref(),
            line: finding.line.filter(|line| *line > 0),
            rule: match &finding.rule {
                Some(rule) => format!("{}/{rule}", result.name),
                None => result.name.clone(),
            },
        })
        .collect();
    if remarks.is_empty() && !verdict.passed() {
        remarks.push(Remark {
            message: ralph_engine::text::strip_escapes(&verdict.summary),
            path: None,
            line: None,
            rule: result.name.clone(),
        });
    }
    remarks
}

/// What is said of a group that doesn't hold.
fn of_group(group: &str) -> String {
    format!("group `{group}`: not enough of its gates passed")
}

#[cfg(test)]
mod tests;
