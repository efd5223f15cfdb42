//! Checklists: the block structure of Markdown as far as it decides what a task is.

use super::checklist::{self, Candidate, WARNINGS_MAX};
use super::error::{Fault, quoted};
use super::file::Parsed;
use super::item::{self, Mark};
use super::raw::Raw;
use super::section::{self, Sections};
use crate::types::TaskState;

/// Lists deeper than this on one line (`- - - -`) are text.
const NEST_MAX: usize = 16;

/// Tasks and warnings. Offsets count from `base`.
pub(super) fn parse(text: &str, base: usize) -> Result<(Vec<Parsed>, Vec<String>), Fault> {
    let mut scan = Scan {
        base,
        ..Scan::default()
    };
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        scan.number = scan.number.saturating_add(1);
        scan.line(&rest[..end], at);
        let eol = if rest[end..].starts_with("\r\n") {
            2
        } else {
            usize::from(end < rest.len())
        };
        at += end + eol;
    }
    Ok(checklist::finish(
        scan.boxes,
        scan.odd,
        scan.raw.as_ref(),
        scan.sections.any_tasks,
    ))
}

/// A list item whose content may go on.
struct Open {
    /// Column of the marker.
    marker: usize,
    /// Column of the content.
    content: usize,
    ordered: bool,
    node: Node,
}

#[derive(Clone, Copy)]
enum Node {
    /// An item of no interest.
    Plain,
    /// Index of the candidate.
    Task(usize),
    /// Index of the candidate and of its criterion, if that has text.
    Criterion(usize, Option<usize>),
}

/// What the line before was, for what goes on without a blank line.
#[derive(Clone, Copy, PartialEq, Default)]
enum Before {
    #[default]
    Blank,
    Paragraph,
    Code,
    Other,
}

#[derive(Default)]
struct Scan {
    base: usize,
    number: u32,
    open: Vec<Open>,
    raw: Option<Raw>,
    before: Before,
    /// First line of the paragraph at the top level, which a line of dashes would make a heading.
    paragraph: String,
    sections: Sections,
    boxes: Vec<Candidate>,
    odd: Vec<String>,
}

/// A line without its indentation.
#[derive(Clone, Copy)]
struct Line<'a> {
    column: usize,
    text: &'a str,
    /// Offset of `text` in the file.
    at: usize,
}

impl Scan {
    fn line(&mut self, whole: &str, at: usize) {
        let (column, text) = item::indent(whole, 0);
        let line = Line {
            column,
            text,
            at: self.base + at + (whole.len() - text.len()),
        };
        if text.is_empty() {
            self.before = if self.before == Before::Code {
                Before::Code
            } else {
                Before::Blank
            };
            self.describe(&line);
        } else if !self.in_raw(line) {
            self.block(line, 0);
        }
    }

    /// A line of a fence or an HTML block that is open.
    fn in_raw(&mut self, line: Line<'_>) -> bool {
        let Some(raw) = &self.raw else { return false };
        if line.column < raw.container {
            // The list item that holds the block has ended, and the block with it.
            self.raw = None;
            return false;
        }
        let ends = raw.ends(line.column, line.text);
        if raw.is_fence() {
            self.describe(&line);
        }
        if ends {
            self.raw = None;
            self.before = Before::Other;
        }
        true
    }

    /// One line, or what follows a list marker on it.
    fn block(&mut self, line: Line<'_>, nest: usize) {
        let text = line.text;
        let top = self.open.last().map_or(0, |o| o.content);
        let far = line.column >= top + 4;
        if far && self.before != Before::Paragraph {
            self.before = Before::Code;
            return self.describe(&line);
        }
        if let Some(level) = section::setext(text).filter(|_| {
            self.before == Before::Paragraph && self.open.is_empty() && !self.paragraph.is_empty()
        }) {
            let heading = std::mem::take(&mut self.paragraph);
            return self.heading(level, &heading);
        }
        let marker = if item::is_break(text) || nest >= NEST_MAX {
            None
        } else {
            item::marker(text)
        };
        if let Some(marker) = marker {
            // Too far in for a list of its own, but below a task people mean a criterion.
            if !far || self.task().is_some() {
                return self.item(line, marker, nest);
            }
        }
        if far {
            return self.paragraph(line);
        }
        if let Some((level, heading)) = section::atx(text) {
            self.close(|o| line.column >= o.content);
            if self.open.is_empty() {
                return self.heading(level, heading);
            }
            self.before = Before::Other;
            return self.describe(&line);
        }
        if let Some(raw) = self.raw_start(line) {
            self.close(|o| line.column >= o.content.min(o.marker + 2));
            return self.enter_raw(raw, line);
        }
        if item::is_break(text) || text.starts_with('>') {
            self.close(|o| line.column >= o.content);
            self.before = Before::Other;
            self.paragraph.clear();
            if text.starts_with('>') {
                self.describe(&line);
            }
            return;
        }
        self.paragraph(line);
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.sections.enter(level, text);
        self.before = Before::Other;
        self.paragraph.clear();
    }

    fn enter_raw(&mut self, raw: Raw, line: Line<'_>) {
        if raw.is_fence() {
            self.describe(&line);
        }
        let ended = !raw.is_fence() && raw.ends(line.column, line.text);
        self.raw = if ended { None } else { Some(raw) };
        self.before = Before::Other;
        self.paragraph.clear();
    }

    fn raw_start(&self, line: Line<'_>) -> Option<Raw> {
        let columns = self.open.iter().map(|o| o.content);
        let container = columns.filter(|&c| c <= line.column).max().unwrap_or(0);
        Raw::start(line.text, container, self.number)
    }

    fn item(&mut self, line: Line<'_>, marker: item::Marker, nest: usize) {
        let after = &line.text[marker.width..];
        let edge = line.column + marker.width;
        let (column, content) = item::indent(after, edge);
        // Five blanks or more: the content is indented code, and begins one column behind the marker.
        let code = column - edge > 4;
        let inner = if content.is_empty() || code {
            edge + 1
        } else {
            column
        };
        let at = line.at + (line.text.len() - content.len());
        let found = if code {
            Mark::None
        } else {
            item::mark(content)
        };
        let boxed = matches!(found, Mark::Box(..));
        self.close(|o| {
            let loose = o.content.min(o.marker + 2);
            let strict = marker.ordered || (boxed && !o.ordered);
            line.column >= if strict { o.content } else { loose }
        });
        self.paragraph.clear();
        self.before = if content.is_empty() {
            Before::Other
        } else {
            Before::Paragraph
        };
        let inside = Line {
            column,
            text: content,
            at,
        };
        // A list, a fence or a comment may begin right behind the marker.
        let nested = found == Mark::None && !content.is_empty() && !code;
        let node = match self.task() {
            Some(task) if nested && self.raw_start(inside).is_some() => Node::Criterion(task, None),
            Some(task) => Node::Criterion(task, self.criterion(task, found, content, at)),
            None => match found {
                Mark::Box(state, title) => Node::Task(self.candidate(state, title, at)),
                Mark::Odd(what) => {
                    let hint = "a task has `[ ]`, `[x]`, `[-]` or `[~]`, a blank and a title";
                    if self.odd.len() < WARNINGS_MAX {
                        self.odd.push(format!(
                            "line {}: {} is no box; {hint}",
                            self.number,
                            quoted(what)
                        ));
                    }
                    Node::Plain
                }
                Mark::None => Node::Plain,
            },
        };
        self.open.push(Open {
            marker: line.column,
            content: inner,
            ordered: marker.ordered,
            node,
        });
        match node {
            Node::Plain if nested => {
                self.before = Before::Other;
                self.block(inside, nest + 1);
            }
            Node::Criterion(_, None) if nested => {
                if let Some(raw) = self.raw_start(inside) {
                    self.enter_raw(raw, inside);
                }
            }
            _ => {}
        }
    }

    /// Notes a nested item; gives the index of its text in the task's criteria.
    fn criterion(
        &mut self,
        task: usize,
        found: Mark<'_>,
        content: &str,
        at: usize,
    ) -> Option<usize> {
        let (text, offset) = match found {
            Mark::Box(_, title) => (title, at + offset_in(content, title)),
            _ => (content.trim_end(), at),
        };
        if self.depends(task, text, offset) || text.is_empty() {
            return None;
        }
        let list = &mut self.boxes.get_mut(task)?.acceptance;
        list.push(text.to_owned());
        Some(list.len() - 1)
    }

    fn candidate(&mut self, state: TaskState, title: &str, at: usize) -> usize {
        self.boxes.push(Candidate {
            line: self.number,
            mark: at + 1,
            state,
            title: title.to_owned(),
            acceptance: Vec::new(),
            description: Vec::new(),
            depends: Vec::new(),
            in_tasks: self.sections.in_tasks,
            in_criteria: self.sections.in_criteria(),
            heading: self.sections.heading.clone(),
        });
        self.boxes.len() - 1
    }

    fn depends(&mut self, task: usize, text: &str, at: usize) -> bool {
        let Some(ids) = item::depends(text) else {
            return false;
        };
        if let Some(candidate) = self.boxes.get_mut(task) {
            candidate
                .depends
                .extend(ids.into_iter().map(|(id, offset)| (id, at + offset)));
        }
        true
    }

    fn paragraph(&mut self, line: Line<'_>) {
        let goes_on = self.before == Before::Paragraph;
        if !goes_on {
            self.close(|o| line.column >= o.content.min(o.marker + 2));
        }
        if self.open.is_empty() && !goes_on {
            self.paragraph = line.text.to_owned();
        }
        self.before = Before::Paragraph;
        match self.open.last().map(|o| o.node) {
            Some(Node::Task(task)) if self.depends(task, line.text.trim_end(), line.at) => {}
            Some(Node::Criterion(task, Some(index))) => {
                if let Some(text) = self
                    .boxes
                    .get_mut(task)
                    .and_then(|b| b.acceptance.get_mut(index))
                {
                    text.push(' ');
                    text.push_str(line.text.trim_end());
                }
            }
            _ => self.describe(&line),
        }
    }

    /// The task that the open items belong to.
    fn task(&self) -> Option<usize> {
        self.open.iter().find_map(|o| match o.node {
            Node::Task(i) | Node::Criterion(i, _) => Some(i),
            Node::Plain => None,
        })
    }

    /// Adds a line to the description of the task it stands in.
    fn describe(&mut self, line: &Line<'_>) {
        let content = self
            .open
            .iter()
            .find(|o| matches!(o.node, Node::Task(_)))
            .map_or(0, |o| o.content);
        let Some(candidate) = self.task().and_then(|t| self.boxes.get_mut(t)) else {
            return;
        };
        if line.text.is_empty() && candidate.description.is_empty() {
            return;
        }
        let pad = " ".repeat(line.column.saturating_sub(content).min(80));
        candidate
            .description
            .push(format!("{pad}{}", line.text).trim_end().to_owned());
    }

    /// Ends the items that do not hold a line, the innermost first.
    fn close(&mut self, holds: impl Fn(&Open) -> bool) {
        while self.open.last().is_some_and(|o| !holds(o)) {
            self.open.pop();
        }
    }
}

/// Where `part`, a slice of `whole`'s text, begins in it.
fn offset_in(whole: &str, part: &str) -> usize {
    whole.find(part).unwrap_or(0)
}
