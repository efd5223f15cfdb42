//! Which task is next, and why none is.

use super::file::Entry;
use super::list::TaskList;
use crate::types::TaskState;

/// What [`TaskList::next`] finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Take this one up.
    Task(&'a Entry),
    /// Every task is done, and there is at least one.
    AllDone,
    /// Some aren't done and none can be taken up.
    Nothing {
        /// Id and reason of each task that isn't done, in the file's order.
        open: Vec<(String, String)>,
    },
}

pub(super) fn next<'a>(file: &'a TaskList, skip: &dyn Fn(&str) -> bool) -> Selection<'a> {
    let mut best: Option<&Entry> = None;
    let mut left = false;
    for entry in file.entries() {
        left |= entry.state != TaskState::Done;
        let better = best.is_none_or(|b| rank(entry) < rank(b));
        if better
            && entry.state == TaskState::Open
            && waits_for(file, entry).is_none()
            && !skip(&entry.task.id)
        {
            best = Some(entry);
        }
    }
    match best {
        Some(entry) => Selection::Task(entry),
        None if !left => Selection::AllDone,
        None => {
            let open = file.entries().iter().filter(|e| e.state != TaskState::Done);
            Selection::Nothing {
                open: open.map(|e| (e.task.id.clone(), reason(file, e))).collect(),
            }
        }
    }
}

/// Lower is earlier; the file's order decides between equals.
fn rank(entry: &Entry) -> (bool, i32) {
    (
        entry.task.priority.is_none(),
        entry.task.priority.unwrap_or_default(),
    )
}

fn waits_for<'a>(file: &'a TaskList, entry: &Entry) -> Option<&'a Entry> {
    entry
        .task
        .depends_on
        .iter()
        .filter_map(|id| file.get(id))
        .find(|e| e.state != TaskState::Done)
}

fn reason(file: &TaskList, entry: &Entry) -> String {
    match entry.state {
        TaskState::Blocked => "blocked".to_owned(),
        TaskState::InProgress => "marked as in progress".to_owned(),
        TaskState::Open | TaskState::Done => match waits_for(file, entry) {
            Some(other) => {
                let state = match other.state {
                    TaskState::Blocked => "is blocked",
                    TaskState::InProgress => "is marked as in progress",
                    TaskState::Open | TaskState::Done => "isn't done",
                };
                format!("waits for {}, which {state}", other.task.id)
            }
            None => "skipped in this run".to_owned(),
        },
    }
}
