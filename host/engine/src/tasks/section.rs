//! Headings decide which boxes are tasks.

/// Boxes below these headings describe when the work is done; they are no work.
const CRITERIA: [&str; 4] = [
    "success criteria",
    "acceptance",
    "definition of done",
    "exit criteria",
];

/// Where in the document the scanner is.
#[derive(Debug, Default)]
pub(super) struct Sections {
    /// Below a level-2 heading "Tasks…".
    pub in_tasks: bool,
    /// There was such a heading.
    pub any_tasks: bool,
    /// Level of the criteria heading that is in force.
    criteria: Option<usize>,
    /// Text of the last heading; empty before the first.
    pub heading: String,
}

impl Sections {
    pub fn enter(&mut self, level: usize, text: &str) {
        let words = plain(text);
        if level <= 2 {
            self.in_tasks = level == 2 && starts_with(&words, "tasks");
            self.any_tasks |= self.in_tasks;
        }
        if self.criteria.is_some_and(|l| level <= l) {
            self.criteria = None;
        }
        if self.criteria.is_none() && CRITERIA.iter().any(|c| starts_with(&words, c)) {
            self.criteria = Some(level);
        }
        // Each box keeps a copy.
        self.heading = crate::text::one_line(text, 80);
    }

    /// Below a heading that lists criteria.
    pub fn in_criteria(&self) -> bool {
        self.criteria.is_some()
    }
}

/// Lower case, without emphasis, numbering or ornament in front.
fn plain(text: &str) -> String {
    text.trim_start_matches(|c: char| !c.is_alphabetic())
        .to_lowercase()
}

fn starts_with(words: &str, start: &str) -> bool {
    words
        .strip_prefix(start)
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Level and text of an ATX heading.
pub(super) fn atx(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|&b| b == b'#').count();
    let rest = &line[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let text = rest.trim();
    let bare = text.trim_end_matches('#');
    // `# C#` keeps its sign; `# title ##` is closed.
    let closed = bare.is_empty() || bare.ends_with([' ', '\t']);
    Some((level, if closed { bare.trim_end() } else { text }))
}

/// Level of a setext underline.
pub(super) fn setext(line: &str) -> Option<usize> {
    let line = line.trim_end();
    match line.bytes().next() {
        Some(b'=') if line.bytes().all(|b| b == b'=') => Some(1),
        Some(b'-') if line.bytes().all(|b| b == b'-') => Some(2),
        _ => None,
    }
}
