//! A new task in a task file. The text is read back before it is handed out: either exactly one
//! task is new and all others are as they were, or nothing is given.

use super::error::{TaskFileError, quoted};
use super::file::{Format, TaskFile};
use crate::text;
use crate::types::TaskState;

/// What is added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTask {
    /// One line.
    pub title: String,
    /// Criteria, one line each.
    pub acceptance: Vec<String>,
    /// Ids of tasks of the file.
    pub depends_on: Vec<String>,
}

impl TaskFile {
    /// The file's bytes with one task more, behind the task `after` or the last one, and the new
    /// task's id.
    ///
    /// # Errors
    /// Text of more than one line or of none, an `after` or a dependency that isn't there, and a
    /// layout into which the task can't be put in place.
    pub fn add(
        &self,
        new: &NewTask,
        after: Option<&str>,
    ) -> Result<(Vec<u8>, String), TaskFileError> {
        let fail = |line: u32, message: String| TaskFileError {
            file: self.name().to_owned(),
            line,
            column: 1,
            message,
        };
        for line in std::iter::once(&new.title).chain(&new.acceptance) {
            if line.trim().is_empty() || text::one_line(line, usize::MAX) != *line {
                let what = format!("{} should be one line of plain text", quoted(line));
                return Err(fail(1, what));
            }
        }
        for id in after
            .into_iter()
            .chain(new.depends_on.iter().map(String::as_str))
        {
            if self.get(id).is_none() {
                return Err(fail(1, format!("there is no task {}", quoted(id))));
            }
        }
        let entries = self.entries();
        let at = match after {
            Some(id) => entries.iter().position(|e| e.task.id == id),
            None => entries.len().checked_sub(1),
        };
        let Some((at, entry)) = at.and_then(|i| Some((i, entries.get(i)?))) else {
            return Err(fail(1, "there is no task".to_owned()));
        };
        let bytes = match self.format() {
            Format::PrdJson => self.json_behind(at, new),
            format => self.lines_behind(entry.line, new, format),
        };
        let added = bytes.and_then(|bytes| {
            let file = TaskFile::parse_known(self.name(), &bytes, self.ids()).ok()?;
            let id = self.only_new(&file, at + 1, new)?;
            Some((bytes, id))
        });
        added.ok_or_else(|| {
            let what = "a task can't be put behind this one in place, as the file is laid out here; write it by hand";
            fail(entry.line, what.to_owned())
        })
    }

    /// The new task's id, if it is the only difference.
    fn only_new(&self, file: &TaskFile, at: usize, new: &NewTask) -> Option<String> {
        let mut now: Vec<_> = file.entries().iter().collect();
        if now.len() != self.entries().len() + 1 {
            return None;
        }
        let added = now.remove(at);
        let same = |(a, b): (&super::Entry, &&super::Entry)| a.task == b.task && a.state == b.state;
        let others = self.entries().iter().zip(&now).all(same);
        let task = &added.task;
        let right = new.title.ends_with(&task.title)
            && task.acceptance == new.acceptance
            && new.depends_on.iter().all(|d| task.depends_on.contains(d))
            && added.state == TaskState::Open;
        (others && right).then(|| task.id.clone())
    }

    /// Markdown and YAML: lines below the block of the task that begins in `line`.
    fn lines_behind(&self, line: u32, new: &NewTask, format: Format) -> Option<Vec<u8>> {
        let whole = std::str::from_utf8(self.bytes()).ok()?;
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        let first = usize::try_from(line).ok()?.checked_sub(1)?;
        let head = lines.get(first)?.trim_start_matches('\u{feff}');
        let width = |l: &str| l.len() - l.trim_start_matches([' ', '\t']).len();
        let lead = &head[..width(head)];
        let inside = |l: &&&str| l.trim().is_empty() || width(l) > lead.len();
        let mut end = first + 1 + lines[first + 1..].iter().take_while(inside).count();
        while end > first + 1 && lines[end - 1].trim().is_empty() {
            end -= 1;
        }
        let eol = if whole.contains("\r\n") { "\r\n" } else { "\n" };
        let added = match format {
            Format::Markdown => markdown(head.trim_start(), new),
            _ => yaml(&self.free_id(), new),
        };
        let mut out: String = lines[..end].concat();
        if !out.ends_with('\n') {
            out.push_str(eol);
        }
        for l in added {
            out.push_str(&format!("{lead}{l}{eol}"));
        }
        out.push_str(&lines[end..].concat());
        Some(out.into_bytes())
    }

    fn json_behind(&self, at: usize, new: &NewTask) -> Option<Vec<u8>> {
        let range = self.story_range(at)?;
        let whole = self.bytes();
        let story = std::str::from_utf8(whole.get(range.clone())?).ok()?;
        let blanks = |text: &str| {
            let rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
            text[..text.len() - rest.len()].to_owned()
        };
        let before = std::str::from_utf8(whole.get(..range.start)?).ok()?;
        let lead = before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..].to_owned();
        let inner = story.strip_prefix('{')?.strip_suffix('}')?;
        let open = blanks(inner);
        let close = inner[inner.trim_end_matches([' ', '\t', '\r', '\n']).len()..].to_owned();
        let comma = if open.is_empty() {
            ", ".to_owned()
        } else {
            format!(",{open}")
        };
        let has = |key: &str| String::from_utf8_lossy(whole).contains(key);
        let criteria = if has("\"acceptance\"") {
            "acceptance"
        } else {
            "acceptanceCriteria"
        };
        let depends = if has("\"dependsOn\"") {
            "dependsOn"
        } else {
            "depends_on"
        };
        let mut fields = vec![
            format!("\"id\": {}", json(&self.free_id())),
            format!("\"title\": {}", json(&new.title)),
        ];
        if !new.acceptance.is_empty() {
            fields.push(format!("\"{criteria}\": {}", json(&new.acceptance)));
        }
        if !new.depends_on.is_empty() {
            fields.push(format!("\"{depends}\": {}", json(&new.depends_on)));
        }
        fields.push("\"passes\": false".to_owned());
        let mut out = whole[..range.end].to_vec();
        out.extend(format!(",{lead}{{{open}{}{close}}}", fields.join(&comma)).bytes());
        out.extend(&whole[range.end..]);
        Some(out)
    }

    /// The last id with its number raised until it is free, as in `US-007` behind `US-006`.
    fn free_id(&self) -> String {
        let last = self.entries().last().map_or("", |e| e.task.id.as_str());
        let name = last.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &last[name.len()..];
        let (name, width) = match digits {
            "" => (format!("{last}-"), 1),
            digits => (name.to_owned(), digits.len()),
        };
        let mut number: u64 = digits.parse().unwrap_or(1);
        loop {
            number = number.saturating_add(1);
            let id = format!("{name}{number:0width$}");
            if self.get(&id).is_none() || number == u64::MAX {
                return id;
            }
        }
    }
}

/// JSON of a value, which is YAML as well.
fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn markdown(head: &str, new: &NewTask) -> Vec<String> {
    let marker = head.split([' ', '\t']).next().unwrap_or("-");
    let digits = marker.trim_end_matches(['.', ')']);
    let marker = match digits.parse::<u32>() {
        Ok(n) => format!("{}{}", n.saturating_add(1), &marker[digits.len()..]),
        Err(_) => marker.to_owned(),
    };
    let pad = " ".repeat(marker.len() + 1);
    let mut lines = vec![format!("{marker} [ ] {}", new.title)];
    lines.extend(new.acceptance.iter().map(|a| format!("{pad}- {a}")));
    if !new.depends_on.is_empty() {
        lines.push(format!("{pad}- Depends on: {}", new.depends_on.join(", ")));
    }
    lines
}

fn yaml(id: &str, new: &NewTask) -> Vec<String> {
    let mut lines = vec![
        format!("- id: {}", json(id)),
        format!("  title: {}", json(&new.title)),
    ];
    if !new.acceptance.is_empty() {
        lines.push("  acceptance:".to_owned());
        lines.extend(new.acceptance.iter().map(|a| format!("    - {}", json(a))));
    }
    if !new.depends_on.is_empty() {
        lines.push(format!("  depends_on: {}", json(&new.depends_on)));
    }
    lines
}
