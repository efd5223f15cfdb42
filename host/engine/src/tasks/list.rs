//! Tasks as the loop sees them, wherever they are written.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::Fault;
use super::file::{Edit, Entry, Parsed};
use super::{graph, select};
use crate::types::TaskState;

/// Tasks in their order. All ids differ, every dependency names a task, and no task depends on
/// itself, directly or not.
#[derive(Debug, Clone)]
pub struct TaskList {
    name: String,
    entries: Vec<Entry>,
    index: Arc<HashMap<String, usize>>,
    warnings: Vec<String>,
}

impl TaskList {
    /// Of a source that isn't a file; `name` says which, for people.
    ///
    /// # Errors
    /// No task at all (which must never look like all done), a duplicate or unfit id, an unknown
    /// or circular dependency.
    pub fn of(name: &str, entries: Vec<Entry>, warnings: Vec<String>) -> Result<TaskList, String> {
        if entries.is_empty() {
            return Err("there are no tasks".to_owned());
        }
        let parsed = entries.into_iter().map(|mut entry| Parsed {
            depends: std::mem::take(&mut entry.task.depends_on)
                .into_iter()
                .map(|id| (id, 0))
                .collect(),
            entry,
            at: 0,
            numbered: false,
            // Nothing is edited through a list.
            edit: Edit::Mark(0),
        });
        let (list, _) =
            Self::link(name, parsed.collect(), warnings, false).map_err(|f| f.message)?;
        Ok(list)
    }

    pub(super) fn link(
        name: &str,
        mut parsed: Vec<Parsed>,
        warnings: Vec<String>,
        positions: bool,
    ) -> Result<(TaskList, Vec<Edit>), Fault> {
        let index = Arc::new(graph::link(&mut parsed, positions)?);
        let (entries, edits) = parsed.into_iter().map(|p| (p.entry, p.edit)).unzip();
        let list = TaskList {
            name: name.to_owned(),
            entries,
            index,
            warnings,
        };
        Ok((list, edits))
    }

    /// Where they are written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All tasks in their order; at least one.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What looks like a task and isn't one, and the like.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The place of the task with this id. O(1).
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// The task with this id. O(1).
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.place(id).and_then(|i| self.entries.get(i))
    }

    /// The same with one task in another state; nothing changes if it isn't there.
    pub fn set(&mut self, id: &str, state: TaskState) {
        if let Some(place) = self.place(id) {
            self.set_at(place, state);
        }
    }

    pub(super) fn set_at(&mut self, place: usize, state: TaskState) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.state = state;
        }
    }

    /// Done tasks and all tasks.
    pub fn counts(&self) -> (usize, usize) {
        let done = self
            .entries
            .iter()
            .filter(|e| e.state == TaskState::Done)
            .count();
        (done, self.entries.len())
    }

    /// The task to take up: open, not skipped, all it depends on done; the lowest priority first,
    /// one without a priority last, then the list's order. O(tasks + dependencies).
    pub fn next(&self, skip: &dyn Fn(&str) -> bool) -> select::Selection<'_> {
        select::next(self, skip)
    }
}
