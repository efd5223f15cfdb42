//! JUnit's XML, in the subset that Jenkins, GitLab and GitHub's actions read alike.

use std::fmt::Write;

use ralph_engine::types::{GateResult, Status};

use super::{Level, level, of_group, remarks};
use crate::watch::Checked;

pub(super) fn write(checked: &Checked) -> String {
    let count =
        |level_of: fn(&GateResult) -> bool| checked.results.iter().filter(|r| level_of(r)).count();
    let failures = count(|r| level(r) == Level::Error) + checked.groups.len();
    let skipped = count(|r| r.verdict.status == Status::Skip);
    let tests = checked.results.len() + checked.groups.len();
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"ralph\" {counts}>");
    let _ = writeln!(
        out,
        "  <testsuite name=\"gates\" {counts} skipped=\"{skipped}\">"
    );
    for result in &checked.results {
        case(&mut out, &result.name, &inside(result));
    }
    for group in &checked.groups {
        let inside = format!("<failure message=\"{}\"/>", escaped(&of_group(group)));
        case(&mut out, group, &inside);
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn case(out: &mut String, name: &str, inside: &str) {
    let name = escaped(name);
    let _ = match inside {
        "" => writeln!(out, "    <testcase classname=\"gates\" name=\"{name}\"/>"),
        _ => writeln!(
            out,
            "    <testcase classname=\"gates\" name=\"{name}\">{inside}</testcase>"
        ),
    };
}

fn inside(result: &GateResult) -> String {
    let summary = escaped(&ralph_engine::text::strip_escapes(&result.verdict.summary));
    let text = escaped(&lines(result));
    match (result.verdict.status, level(result)) {
        (Status::Skip, _) => format!("<skipped message=\"{summary}\"/>"),
        (_, Level::Error) => format!("<failure message=\"{summary}\">{text}</failure>"),
        (_, Level::Warning) => format!("<system-out>warning: {summary}\n{text}</system-out>"),
        _ if text.is_empty() => String::new(),
        _ => format!("<system-out>{text}</system-out>"),
    }
}

/// One line for each remark, as compilers write them.
fn lines(result: &GateResult) -> String {
    let lines = remarks(result).into_iter().map(|remark| {
        let place = match (remark.path, remark.line) {
            (Some(path), Some(line)) => format!("{path}:{line}: "),
            (Some(path), None) => format!("{path}: "),
            (None, _) => String::new(),
        };
        format!("{place}{} [{}]", remark.message, remark.rule)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// For text and attributes. What XML 1.0 can't have, not even escaped, becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push('\t'),
            '\r' => out.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
