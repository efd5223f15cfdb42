//! A task file, read and edited in place.

use std::ops::Range;

use super::error::{Fault, TaskFileError, quoted};
use super::ids::{self, Ids};
use super::list::TaskList;
use super::story::StoryEdit;
use super::{checklist, decode, markdown, prd, select, yaml};
use crate::types::{Task, TaskState};

/// What a task file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A checklist.
    Markdown,
    /// An object with `userStories` or `stories`.
    PrdJson,
    /// A mapping with `tasks`.
    Yaml,
}

impl Format {
    /// By the name's extension; where that says nothing, JSON is what begins with `{`.
    fn detect(name: &str, text: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let markdown = name.ends_with(".md") || name.ends_with(".markdown");
        if name.ends_with(".yaml") || name.ends_with(".yml") {
            Format::Yaml
        } else if name.ends_with(".json") || (!markdown && text.trim_start().starts_with('{')) {
            Format::PrdJson
        } else {
            Format::Markdown
        }
    }
}

/// One task and what the file says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The task.
    pub task: Task,
    /// What its box or its fields say.
    pub state: TaskState,
    /// Where it stands; counts from 1.
    pub line: u32,
    /// `notes` of a story; empty in Markdown.
    pub notes: String,
}

/// A parsed task file with its bytes.
#[derive(Debug, Clone)]
pub struct TaskFile {
    list: TaskList,
    bytes: Vec<u8>,
    format: Format,
    edits: Vec<Edit>,
    ids: Ids,
}

/// Where a task's state is written.
#[derive(Debug, Clone)]
pub(super) enum Edit {
    /// The one byte between the brackets.
    Mark(usize),
    /// Fields of a story.
    Story(Box<StoryEdit>),
}

/// What a format's parser gives for each task.
#[derive(Debug)]
pub(super) struct Parsed {
    pub entry: Entry,
    /// Byte offset that errors about the task point at.
    pub at: usize,
    /// As written, with the byte offset of each.
    pub depends: Vec<(String, usize)>,
    /// The id is the position's, not the author's.
    pub numbered: bool,
    pub edit: Edit,
}

/// New bytes for a range of the old ones.
pub(super) type Patch = (Range<usize>, String);

impl TaskFile {
    /// Reads a task file. `name` is used for errors and, by its extension, for the format.
    ///
    /// # Errors
    /// Everything that makes the file unusable, with line and column: UTF-16, bad UTF-8, broken
    /// JSON or YAML, a duplicate key or id, a value of the wrong type, an unknown or circular dependency,
    /// and a file without any task (which must never look like one whose tasks are all done).
    pub fn parse(name: &str, bytes: &[u8]) -> Result<TaskFile, TaskFileError> {
        Self::parse_known(name, bytes, &Ids::default())
    }

    /// The same; items without an id of their own have the one that `known` remembers.
    ///
    /// # Errors
    /// As [`TaskFile::parse`].
    pub fn parse_known(name: &str, bytes: &[u8], known: &Ids) -> Result<TaskFile, TaskFileError> {
        Self::read(name, bytes, known).map_err(|fault| fault.in_file(name, bytes))
    }

    fn read(name: &str, bytes: &[u8], known: &Ids) -> Result<TaskFile, Fault> {
        let (text, start) = decode::utf8(bytes)?;
        let format = Format::detect(name, text);
        if text.trim().is_empty() {
            return Err(Fault::new(
                start,
                format!("no tasks in {name}: the file is empty"),
            ));
        }
        let (mut parsed, warnings) = match format {
            Format::Markdown => markdown::parse(text, start)?,
            Format::PrdJson => (prd::parse(text, start)?, Vec::new()),
            Format::Yaml => (yaml::parse(text, start)?, Vec::new()),
        };
        if parsed.is_empty() {
            let what = match format {
                Format::Markdown => "a task is a line like `- [ ] title`",
                Format::PrdJson => "the list of stories is empty",
                Format::Yaml => "the list `tasks` is empty",
            };
            let more = warnings
                .first()
                .map(|w| format!(" ({w})"))
                .unwrap_or_default();
            return Err(Fault::new(
                start,
                format!("no tasks in {name}: {what}{more}"),
            ));
        }
        let ids = match format {
            Format::Markdown => ids::assign(known, &mut parsed),
            Format::PrdJson | Format::Yaml => known.clone(),
        };
        let (list, edits) = TaskList::link(name, parsed, warnings, format == Format::Markdown)?;
        Ok(TaskFile {
            list,
            bytes: bytes.to_vec(),
            format,
            edits,
            ids,
        })
    }

    pub(super) fn name(&self) -> &str {
        self.list.name()
    }

    /// Its tasks.
    pub fn list(&self) -> &TaskList {
        &self.list
    }

    /// Its tasks, without the bytes.
    pub fn into_list(self) -> TaskList {
        self.list
    }

    /// Bytes of the story at a position, braces included.
    pub(super) fn story_range(&self, at: usize) -> Option<Range<usize>> {
        match self.edits.get(at)? {
            Edit::Story(story) => Some(story.range()),
            Edit::Mark(_) => None,
        }
    }

    /// What the file is written in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// All tasks in the file's order; at least one.
    pub fn entries(&self) -> &[Entry] {
        self.list.entries()
    }

    /// What looks like a task and isn't one; each line names its place.
    pub fn warnings(&self) -> &[String] {
        self.list.warnings()
    }

    /// What is to be remembered of the ids that the items have.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The bytes it was parsed from.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The task with this id. O(1).
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.list.get(id)
    }

    /// The file's bytes with one task in another state. Only the bytes that say so differ; if the
    /// task is in that state already, none do.
    ///
    /// A story without the field that is needed gets it (`passes` or `blocked`), written as its
    /// other fields are.
    ///
    /// # Errors
    /// An id that isn't there; `InProgress` for a story without `status`, which has no word for it.
    pub fn set_state(&self, id: &str, state: TaskState) -> Result<Vec<u8>, TaskFileError> {
        let fail = |at, message| Fault::new(at, message).in_file(self.name(), &self.bytes);
        let found = self
            .list
            .place(id)
            .and_then(|i| Some((self.entries().get(i)?, self.edits.get(i)?)));
        let Some((entry, edit)) = found else {
            return Err(fail(0, format!("there is no task {}", quoted(id))));
        };
        if entry.state == state {
            return Ok(self.bytes.clone());
        }
        let mut patches = match edit {
            Edit::Mark(at) => vec![(*at..at + 1, checklist::mark(state).to_owned())],
            Edit::Story(story) => story
                .patches(&self.bytes, state)
                .map_err(|f| f.in_file(self.name(), &self.bytes))?,
        };
        patches.sort_by_key(|(range, _)| range.start);
        let new = apply(&self.bytes, &patches);
        if self.format == Format::Yaml && !self.differs_only_in(id, state, &new) {
            let what = "the task is laid out in a way that can't be edited in place; write it as `key: value` lines";
            return Err(TaskFileError {
                file: self.name().to_owned(),
                line: entry.line,
                column: 1,
                message: what.to_owned(),
            });
        }
        Ok(new)
    }

    /// YAML has too many ways to lay things out to be sure of an edit without reading it back.
    fn differs_only_in(&self, id: &str, state: TaskState, new: &[u8]) -> bool {
        let Ok(new) = TaskFile::parse(self.name(), new) else {
            return false;
        };
        let pairs = self.entries().iter().zip(new.entries());
        self.entries().len() == new.entries().len()
            && pairs.into_iter().all(|(old, new)| {
                let wanted = if old.task.id == id { state } else { old.state };
                old.task == new.task && new.state == wanted
            })
    }

    /// [`TaskList::counts`]
    pub fn counts(&self) -> (usize, usize) {
        self.list.counts()
    }

    /// [`TaskList::next`]
    pub fn next(&self, skip: &dyn Fn(&str) -> bool) -> select::Selection<'_> {
        self.list.next(skip)
    }
}

fn apply(bytes: &[u8], patches: &[Patch]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 32);
    let mut from = 0;
    for (range, text) in patches {
        out.extend_from_slice(&bytes[from..range.start]);
        out.extend_from_slice(text.as_bytes());
        from = range.end;
    }
    out.extend_from_slice(&bytes[from..]);
    out
}
