//! A task file's tasks in another form. The text is read back before it is handed out: what the
//! other form doesn't hold is named, and a task that would read as another one is refused.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::error::{TaskFileError, quoted};
use super::file::{Entry, Format, TaskFile};
use super::list::TaskList;
use crate::text;
use crate::types::TaskState;

/// A file in another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Its content.
    pub bytes: Vec<u8>,
    /// What it doesn't hold, one line each, in the tasks' order.
    pub lost: Vec<String>,
}

impl TaskFile {
    /// [`TaskList::convert`]
    ///
    /// # Errors
    /// As there.
    pub fn convert(&self, name: &str) -> Result<Converted, TaskFileError> {
        self.list().convert(name)
    }
}

impl TaskList {
    /// The same tasks as the file `name` would hold them; its ending says in which form: `.md`,
    /// `.json`, `.yaml` or `.yml`. Comments, headings and unknown fields are left behind.
    ///
    /// # Errors
    /// Another ending, or a task whose id, title, state, criteria or dependencies the other form
    /// can't say.
    pub fn convert(&self, name: &str) -> Result<Converted, TaskFileError> {
        let fail = |line: u32, message: String| TaskFileError {
            file: self.name().to_owned(),
            line,
            column: 1,
            message,
        };
        let lower = name.to_ascii_lowercase();
        let format = match lower.rsplit('.').next() {
            Some("md" | "markdown") => Format::Markdown,
            Some("json") => Format::PrdJson,
            Some("yaml" | "yml") => Format::Yaml,
            _ => {
                let what = "the new file's name should end in .md, .json, .yaml or .yml".to_owned();
                return Err(fail(1, what));
            }
        };
        let text = match format {
            Format::Markdown => markdown(self.entries()),
            Format::PrdJson => {
                let stories: Vec<Value> = self.entries().iter().map(story).collect();
                let whole = json!({ "userStories": stories });
                serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
            }
            Format::Yaml => yaml(self.entries()),
        };
        let bytes = text.into_bytes();
        let file = TaskFile::parse(name, &bytes).map_err(|e| fail(1, e.to_string()))?;
        let mut lost = Vec::new();
        for (i, entry) in self.entries().iter().enumerate() {
            let differs = |what: &str| {
                let id = quoted(&entry.task.id);
                fail(
                    entry.line,
                    format!("the {what} of {id} would read otherwise in {name}"),
                )
            };
            let Some(now) = file.entries().get(i) else {
                return Err(differs("text"));
            };
            let (a, b) = (&entry.task, &now.task);
            for (same, what) in [
                (a.id == b.id, "id"),
                (a.title == b.title, "title"),
                (entry.state == now.state, "state"),
                (a.acceptance == b.acceptance, "criteria"),
                (a.depends_on == b.depends_on, "dependencies"),
            ] {
                if !same {
                    return Err(differs(what));
                }
            }
            for (same, what) in [
                (a.description == b.description, "description"),
                (a.priority == b.priority, "priority"),
                (entry.notes == now.notes, "notes"),
            ] {
                if !same {
                    lost.push(format!("{}: its {what}", a.id));
                }
            }
        }
        if file.entries().len() != self.entries().len() {
            return Err(fail(1, format!("{name} would hold other tasks")));
        }
        Ok(Converted { bytes, lost })
    }
}

fn markdown(entries: &[Entry]) -> String {
    let mut out = String::from("# Plan\n\n## Tasks\n\n");
    for entry in entries {
        let task = &entry.task;
        let mark = match entry.state {
            TaskState::Open => ' ',
            TaskState::InProgress => '~',
            TaskState::Blocked => '-',
            TaskState::Done => 'x',
        };
        let title = text::one_line(&task.title, usize::MAX);
        let _ = if is_usual(&task.id) {
            writeln!(out, "- [{mark}] {}: {title}", task.id)
        } else {
            writeln!(out, "- [{mark}] {title} {{#{}}}", task.id)
        };
        for line in task.description.lines().filter(|l| !l.trim().is_empty()) {
            let _ = writeln!(out, "  {}", line.trim());
        }
        for criterion in &task.acceptance {
            let _ = writeln!(out, "  - {}", text::one_line(criterion, usize::MAX));
        }
        if !task.depends_on.is_empty() {
            let _ = writeln!(out, "  - Depends on: {}", task.depends_on.join(", "));
        }
    }
    out
}

/// `T1`, `US-7`: known as an id at the start of a title.
fn is_usual(id: &str) -> bool {
    let digits = id.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = id.len() - digits.len();
    let digits = digits.strip_prefix('-').unwrap_or(digits);
    letters > 0 && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// One task as a story of a `prd.json`; what is empty is left out.
fn story(entry: &Entry) -> Value {
    let task = &entry.task;
    let mut story = Map::new();
    let mut put = |key: &str, value: Value| {
        story.insert(key.to_owned(), value);
    };
    put("id", json!(task.id));
    put("title", json!(task.title));
    if !task.description.is_empty() {
        put("description", json!(task.description));
    }
    put("acceptanceCriteria", json!(task.acceptance));
    if !task.depends_on.is_empty() {
        put("depends_on", json!(task.depends_on));
    }
    if let Some(priority) = task.priority {
        put("priority", json!(priority));
    }
    put("passes", json!(entry.state == TaskState::Done));
    if entry.state == TaskState::Blocked {
        put("blocked", json!(true));
    }
    if entry.state == TaskState::InProgress {
        put("status", json!("in_progress"));
    }
    if !entry.notes.is_empty() {
        put("notes", json!(entry.notes));
    }
    Value::Object(story)
}

/// JSON scalars and lists are YAML as well.
fn yaml(entries: &[Entry]) -> String {
    let mut out = String::from("version: 1\ntasks:\n");
    for entry in entries {
        let task = &entry.task;
        let _ = writeln!(out, "  - id: {}", json!(task.id));
        let _ = writeln!(out, "    title: {}", json!(task.title));
        if !task.description.is_empty() {
            let _ = writeln!(out, "    description: {}", json!(task.description));
        }
        if !task.acceptance.is_empty() {
            out.push_str("    acceptance:\n");
            for criterion in &task.acceptance {
                let _ = writeln!(out, "      - {}", json!(criterion));
            }
        }
        if !task.depends_on.is_empty() {
            let _ = writeln!(out, "    depends_on: {}", json!(task.depends_on));
        }
        if let Some(priority) = task.priority {
            let _ = writeln!(out, "    priority: {priority}");
        }
        let _ = writeln!(out, "    completed: {}", entry.state == TaskState::Done);
        match entry.state {
            TaskState::Blocked => out.push_str("    blocked: true\n"),
            TaskState::InProgress => out.push_str("    status: in_progress\n"),
            _ => {}
        }
        if !entry.notes.is_empty() {
            let _ = writeln!(out, "    notes: {}", json!(entry.notes));
        }
    }
    out
}
