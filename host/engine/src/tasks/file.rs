//! A task file, read and edited in place.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

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
    list: Arc<TaskList>,
    bytes: Vec<u8>,
    format: Format,
    /// One for each task; in a checklist they ascend.
    edits: Arc<Vec<Edit>>,
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
            list: Arc::new(list),
            bytes: bytes.to_vec(),
            format,
            edits: Arc::new(edits),
            ids,
        })
    }

    /// Which tasks have another mark in `bytes`, if nothing but marks of tasks of a checklist differs:
    /// a mark decides its task's state and nothing else.
    pub(super) fn marks_in(&self, bytes: &[u8]) -> Option<Vec<(usize, TaskState)>> {
        if self.format != Format::Markdown || bytes.len() != self.bytes.len() {
            return None;
        }
        let place = |at| {
            self.edits.binary_search_by(|edit| match edit {
                Edit::Mark(mark) => mark.cmp(&at),
                Edit::Story(_) => std::cmp::Ordering::Less,
            })
        };
        differing(&self.bytes, bytes)
            .map(|at| Some((place(at).ok()?, checklist::state(bytes[at])?)))
            .collect()
    }

    /// The file becomes `bytes`, in which [`TaskFile::marks_in`] found these marks.
    pub(super) fn remark(&mut self, marks: &[(usize, TaskState)], bytes: &[u8]) {
        let list = Arc::make_mut(&mut self.list);
        for (place, state) in marks {
            list.set_at(*place, *state);
        }
        self.bytes.copy_from_slice(bytes);
    }

    pub(super) fn name(&self) -> &str {
        self.list.name()
    }

    /// Its tasks.
    pub fn list(&self) -> &TaskList {
        &self.list
    }

    /// The same, to keep.
    pub fn shared_list(&self) -> Arc<TaskList> {
        self.list.clone()
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
        self.set_states(&[(id, state)])
    }

    /// The same for several tasks, in one pass: O(bytes + changes · log changes). Of two changes of
    /// one task the last one holds.
    ///
    /// # Errors
    /// As [`TaskFile::set_state`].
    pub fn set_states(&self, changes: &[(&str, TaskState)]) -> Result<Vec<u8>, TaskFileError> {
        let in_file = |fault: Fault| fault.in_file(self.name(), &self.bytes);
        let mut wanted = BTreeMap::new();
        for (id, state) in changes {
            let Some(place) = self.list.place(id) else {
                let what = format!("there is no task {}", quoted(id));
                return Err(in_file(Fault::new(0, what)));
            };
            wanted.insert(place, *state);
        }
        wanted.retain(|place, state| self.entries().get(*place).map(|e| e.state) != Some(*state));
        let Some(&first) = wanted.keys().next() else {
            return Ok(self.bytes.clone());
        };
        let mut patches: Vec<Patch> = Vec::new();
        for (&place, &state) in &wanted {
            match self.edits.get(place) {
                Some(Edit::Mark(at)) => {
                    patches.push((*at..at + 1, checklist::mark(state).to_owned()));
                }
                Some(Edit::Story(story)) => {
                    patches.extend(story.patches(&self.bytes, state).map_err(in_file)?);
                }
                None => {}
            }
        }
        patches.sort_by_key(|(range, _)| range.start);
        let new = apply(&self.bytes, &patches);
        if self.format == Format::Yaml && !self.differs_only_in(&wanted, &new) {
            let what = "the task is laid out in a way that can't be edited in place; write it as `key: value` lines";
            return Err(TaskFileError {
                file: self.name().to_owned(),
                line: self.entries().get(first).map_or(1, |e| e.line),
                column: 1,
                message: what.to_owned(),
            });
        }
        Ok(new)
    }

    /// YAML has too many ways to lay things out to be sure of an edit without reading it back.
    fn differs_only_in(&self, wanted: &BTreeMap<usize, TaskState>, new: &[u8]) -> bool {
        let Ok(new) = TaskFile::parse(self.name(), new) else {
            return false;
        };
        let pairs = self.entries().iter().zip(new.entries());
        self.entries().len() == new.entries().len()
            && pairs.enumerate().all(|(place, (old, new))| {
                let state = wanted.get(&place).copied().unwrap_or(old.state);
                old.task == new.task && new.state == state
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

/// Where two texts of the same length differ.
fn differing<'a>(old: &'a [u8], new: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    /// Whole blocks are compared by the machine's fastest means; few are looked into.
    const BLOCK: usize = 4096;
    let blocks = old.chunks(BLOCK).zip(new.chunks(BLOCK)).enumerate();
    blocks.filter(|(_, (a, b))| a != b).flat_map(|(i, (a, b))| {
        let bytes = a.iter().zip(b).enumerate();
        bytes
            .filter(|(_, (a, b))| a != b)
            .map(move |(at, _)| i * BLOCK + at)
    })
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
