//! Which boxes of a checklist are tasks, and what is said of the others.

use super::error::quoted;
use super::file::{Edit, Entry, Parsed};
use super::item;
use super::raw::Raw;
use crate::types::{Task, TaskState};

/// More warnings than these are of no use to anyone.
pub(super) const WARNINGS_MAX: usize = 20;

/// The byte that says a state.
pub(super) fn mark(state: TaskState) -> &'static str {
    match state {
        TaskState::Open => " ",
        TaskState::InProgress => "~",
        TaskState::Blocked => "-",
        TaskState::Done => "x",
    }
}

/// What a mark says.
pub(super) fn state(mark: u8) -> Option<TaskState> {
    Some(match mark {
        b' ' => TaskState::Open,
        b'x' | b'X' => TaskState::Done,
        b'-' | b'!' => TaskState::Blocked,
        b'~' => TaskState::InProgress,
        _ => return None,
    })
}

/// A box that may turn out to be no task.
pub(super) struct Candidate {
    pub line: u32,
    /// Offset of the mark between the brackets.
    pub mark: usize,
    pub state: TaskState,
    pub title: String,
    pub acceptance: Vec<String>,
    pub description: Vec<String>,
    pub depends: Vec<(String, usize)>,
    pub in_tasks: bool,
    pub in_criteria: bool,
    pub heading: String,
}

/// Tasks and warnings. `odd` are the warnings so far, `raw` the block that was open at the end,
/// `only_sections` says that only boxes below a heading "Tasks" count.
pub(super) fn finish(
    boxes: Vec<Candidate>,
    odd: Vec<String>,
    raw: Option<&Raw>,
    only_sections: bool,
) -> (Vec<Parsed>, Vec<String>) {
    let mut warnings = odd;
    if let Some(raw) = raw.filter(|raw| raw.container == 0) {
        let (line, what) = (raw.line, raw.name());
        warnings.push(format!(
            "line {line}: the {what} is never closed; nothing below it is a task"
        ));
    }
    let counts = |b: &Candidate| !b.in_criteria && (b.in_tasks || !only_sections);
    let (tasks, rest): (Vec<_>, Vec<_>) = boxes.into_iter().partition(counts);
    let mut rest = rest.into_iter().peekable();
    while let Some(first) = rest.next() {
        let same = |b: &Candidate| b.heading == first.heading && b.in_criteria == first.in_criteria;
        let mut count = 1;
        while rest.next_if(same).is_some() {
            count += 1;
        }
        warnings.push(left_out(&first, count));
    }
    warnings.truncate(WARNINGS_MAX);
    (
        tasks
            .into_iter()
            .enumerate()
            .map(|(i, b)| b.into_parsed(i + 1))
            .collect(),
        warnings,
    )
}

fn left_out(first: &Candidate, count: usize) -> String {
    let boxes = if count == 1 {
        "a box".to_owned()
    } else {
        format!("{count} boxes")
    };
    let heading = quoted(&first.heading);
    let place = match (first.in_criteria, first.heading.is_empty()) {
        (true, _) => format!("below {heading}"),
        (false, true) => "outside the section \"Tasks\"".to_owned(),
        (false, false) => format!("below {heading}, outside the section \"Tasks\","),
    };
    let verb = if count == 1 {
        "is no task"
    } else {
        "are no tasks"
    };
    format!("line {}: {boxes} {place} {verb}", first.line)
}

impl Candidate {
    fn into_parsed(self, position: usize) -> Parsed {
        let (id, title) = item::split_id(&self.title);
        let numbered = id.is_none();
        let task = Task {
            id: id.unwrap_or_else(|| format!("T{position}")),
            title,
            description: self.description.join("\n").trim_end().to_owned(),
            acceptance: self.acceptance,
            priority: None,
            depends_on: Vec::new(),
        };
        let entry = Entry {
            task,
            state: self.state,
            line: self.line,
            notes: String::new(),
        };
        Parsed {
            entry,
            at: self.mark,
            depends: self.depends,
            numbered,
            edit: Edit::Mark(self.mark),
        }
    }
}
