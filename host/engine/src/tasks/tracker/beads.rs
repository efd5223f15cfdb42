//! Issues of Beads (`bd`) as tasks.
//!
//! - The id is bd's own. Priority 0 to 4 is the priority.
//! - `closed` is done, `in_progress` is somebody's, `open` is open if `bd ready` says so too;
//!   what is open and neither ready nor waiting for a task counts as blocked, and so does every
//!   other state.
//! - Epics, and what bd keeps for itself (messages, gates, templates), are no tasks.
//! - What it depends on by `blocks` has to be closed first. Other links are only links.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::super::file::Entry;
use super::super::{graph, item};
use crate::text;
use crate::types::{Task, TaskState};

/// An issue, as far as it matters here.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "named as bd names them")]
pub struct Bead {
    pub id: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub design: String,
    #[serde(default, alias = "acceptance")]
    pub acceptance_criteria: String,
    #[serde(default)]
    pub notes: String,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub priority: Option<i32>,
    #[serde(default, alias = "type")]
    pub issue_type: String,
    #[serde(default)]
    pub ephemeral: bool,
    #[serde(default)]
    pub is_template: bool,
    #[serde(default)]
    pub dependencies: Option<Vec<Link>>,
    #[serde(default)]
    pub dependency_count: u32,
    #[serde(default)]
    pub comments: Option<Vec<Comment>>,
}

/// A dependency: of `bd list` with both ends, of `bd show` as the other issue.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "named as bd names them")]
pub struct Link {
    #[serde(default)]
    pub depends_on_id: Option<String>,
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub dependency_type: Option<String>,
}

/// What somebody wrote below it.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs, reason = "named as bd names them")]
pub struct Comment {
    #[serde(default)]
    pub text: String,
}

/// Kinds that are no work.
const NO_WORK: [&str; 11] = [
    "epic", "message", "molecule", "gate", "agent", "role", "convoy", "event", "slot", "rig",
    "wisp",
];
/// Links that make an issue wait.
const WAITS: [&str; 3] = ["blocks", "conditional-blocks", "waits-for"];

impl Link {
    /// The issue that is waited for, if it is.
    fn waits_for(&self) -> Option<&str> {
        let kind = self.dependency_type.as_deref().or(self.kind.as_deref());
        // The `type` beside an `id` is the other issue's.
        let kind = match (&self.depends_on_id, &self.dependency_type) {
            (None, None) => "blocks",
            _ => kind.unwrap_or("blocks"),
        };
        let id = self.depends_on_id.as_deref().or(self.id.as_deref())?;
        WAITS.contains(&kind).then_some(id)
    }
}

impl Bead {
    /// Reads what `bd list`, `bd ready`, `bd show` or `bd create` prints.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn many(json: &[u8]) -> Result<Vec<Bead>, String> {
        super::many(json)
    }

    /// Is it closed?
    pub fn is_closed(&self) -> bool {
        matches!(self.status.as_str(), "closed" | "tombstone")
    }

    /// Is what it depends on only known by number?
    pub fn lacks_links(&self) -> bool {
        !self.is_closed() && self.dependencies.is_none() && self.dependency_count > 0
    }

    fn is_work(&self) -> bool {
        self.status != "tombstone"
            && !self.ephemeral
            && !self.is_template
            && !NO_WORK.contains(&self.issue_type.as_str())
    }

    fn waits_for(&self) -> impl Iterator<Item = &str> {
        let links = self.dependencies.iter().flatten();
        links.filter_map(Link::waits_for)
    }

    /// What bd says of its state, without regard to what it waits for.
    pub fn state(&self) -> TaskState {
        match self.status.as_str() {
            "closed" | "tombstone" => TaskState::Done,
            "open" => TaskState::Open,
            "in_progress" | "hooked" => TaskState::InProgress,
            _ => TaskState::Blocked,
        }
    }
}

/// Can this be handed to bd as an id? It is never taken for an option.
pub fn is_id(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.len() <= graph::ID_MAX
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The tasks, in their order, and what a person should know.
pub fn entries(beads: &[Bead], ready: &BTreeSet<String>) -> (Vec<Entry>, Vec<String>) {
    let mut warnings = Vec::new();
    let mut work: Vec<&Bead> = Vec::new();
    for bead in beads.iter().filter(|b| b.is_work()) {
        if is_id(&bead.id) {
            work.push(bead);
        } else {
            let id = text::one_line(&bead.id, 80);
            warnings.push(format!("`{id}` is no id that can be used; it is left out"));
        }
    }
    work.sort_by_key(|b| (b.priority.unwrap_or(i32::MAX), b.id.len(), b.id.clone()));
    work.dedup_by(|a, b| a.id == b.id);
    let tasks: BTreeSet<&str> = work.iter().map(|b| b.id.as_str()).collect();
    let closed = |id: &str| beads.iter().any(|b| b.id == id && b.is_closed());
    let mut waited: BTreeSet<String> = BTreeSet::new();
    let mut entries = Vec::with_capacity(work.len());
    for bead in work {
        let mut depends_on: Vec<String> = Vec::new();
        let mut state = bead.state();
        if state != TaskState::Done {
            for id in bead.waits_for() {
                if depends_on.iter().any(|d| d == id) || !tasks.contains(id) && closed(id) {
                    continue;
                }
                if !tasks.contains(id) {
                    waited.insert(id.to_owned());
                }
                depends_on.push(id.to_owned());
            }
            let waits = depends_on.iter().any(|id| !closed(id));
            if state == TaskState::Open && !waits && !ready.contains(&bead.id) {
                state = TaskState::Blocked;
            }
        }
        entries.push(entry(bead, state, depends_on));
    }
    for id in waited.into_iter().filter(|id| is_id(id)) {
        let known = beads.iter().find(|b| b.id == id);
        let missing = Bead {
            id: id.clone(),
            title: "there is no such issue".to_owned(),
            ..Bead::default()
        };
        let bead = known.unwrap_or(&missing);
        entries.push(entry(bead, TaskState::InProgress, Vec::new()));
    }
    for (entry, line) in entries.iter_mut().zip(1..) {
        entry.line = line;
    }
    (entries, warnings)
}

fn entry(bead: &Bead, state: TaskState, depends_on: Vec<String>) -> Entry {
    let title = text::one_line(&text::strip_escapes(&bead.title), 500);
    let parts = [bead.description.trim(), bead.design.trim()];
    let parts: Vec<&str> = parts.into_iter().filter(|t| !t.is_empty()).collect();
    Entry {
        task: Task {
            id: bead.id.clone(),
            title: if title.is_empty() {
                bead.id.clone()
            } else {
                title
            },
            description: text::strip_escapes(&parts.join("\n\n")),
            acceptance: criteria(&bead.acceptance_criteria),
            priority: bead.priority,
            depends_on,
        },
        state,
        line: 0,
        notes: text::strip_escapes(&bead.notes),
    }
}

/// One criterion a line, markers and boxes left out.
fn criteria(text: &str) -> Vec<String> {
    let text = text::strip_escapes(text);
    let lines = text.lines().map(str::trim).map(|line| {
        let content = match item::marker(line) {
            Some(marker) => line[marker.width..].trim_start(),
            None => line,
        };
        match item::mark(content) {
            item::Mark::Box(_, title) => title.to_owned(),
            _ => content.to_owned(),
        }
    });
    lines.filter(|l| !l.is_empty()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tasks::{Selection, TaskList};

    const LIST: &str = r#"[
      {"id":"bd-3","title":"Roof","status":"open","priority":1,"issue_type":"task",
       "dependencies":[{"issue_id":"bd-3","depends_on_id":"bd-2","type":"blocks"},
                       {"issue_id":"bd-3","depends_on_id":"bd-9","type":"parent-child"}]},
      {"id":"bd-2","title":"Walls","status":"open","priority":0,"issue_type":"task","description":"d",
       "acceptance_criteria":"- [ ] they stand\n* straight\n\n"},
      {"id":"bd-1","title":"Ground","status":"closed","priority":2,"issue_type":"task"},
      {"id":"bd-9","title":"House","status":"open","priority":0,"issue_type":"epic"}]"#;

    fn ready(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn links_that_block_are_dependencies_and_epics_are_no_tasks() {
        let beads = Bead::many(LIST.as_bytes()).unwrap();
        let (entries, warnings) = entries(&beads, &ready(&["bd-2", "bd-9"]));
        let seen: Vec<_> = entries
            .iter()
            .map(|e| (e.task.id.as_str(), e.state))
            .collect();
        assert_eq!(
            seen,
            [
                ("bd-2", TaskState::Open),
                ("bd-3", TaskState::Open),
                ("bd-1", TaskState::Done)
            ]
        );
        assert_eq!(entries[1].task.depends_on, ["bd-2"]);
        assert_eq!(entries[0].task.acceptance, ["they stand", "straight"]);
        assert!(warnings.is_empty());
    }

    #[test]
    fn nothing_ready_while_some_are_open_is_not_all_done() {
        let beads = Bead::many(LIST.as_bytes()).unwrap();
        let (entries, _) = entries(&beads, &ready(&[]));
        let list = TaskList::of("x", entries, Vec::new()).unwrap();
        assert!(matches!(
            list.next(&|_| false),
            Selection::Nothing { open } if open.len() == 2
        ));
    }

    #[test]
    fn show_gives_the_other_issue_with_the_kind_of_the_link() {
        let json = r#"[{"id":"a-1","title":"t","status":"open","dependencies":[
            {"id":"a-2","title":"u","status":"open","issue_type":"task","dependency_type":"blocks"},
            {"id":"a-3","title":"v","status":"open","issue_type":"epic","dependency_type":"parent-child"}]},
            {"id":"a-2","title":"u","status":"in_progress"}]"#;
        let beads = Bead::many(json.as_bytes()).unwrap();
        let (entries, _) = entries(&beads, &ready(&["a-1"]));
        assert_eq!(entries[0].task.depends_on, ["a-2"]);
        assert_eq!(entries[1].state, TaskState::InProgress);
    }

    #[test]
    fn an_epic_that_is_waited_for_is_somebody_elses_until_it_is_closed() {
        let json = |status: &str| {
            format!(
                r#"[{{"id":"a-1","title":"t","status":"open","dependencies":[{{"issue_id":"a-1","depends_on_id":"a-9","type":"blocks"}}]}},
                    {{"id":"a-9","title":"e","status":"{status}","issue_type":"epic"}}]"#
            )
        };
        let read = |status: &str| {
            entries(
                &Bead::many(json(status).as_bytes()).unwrap(),
                &ready(&["a-1"]),
            )
            .0
        };
        assert_eq!(read("open")[1].state, TaskState::InProgress);
        assert_eq!(read("closed").len(), 1);
        assert!(read("closed")[0].task.depends_on.is_empty());
    }

    #[test]
    fn an_id_is_never_an_option_or_a_path() {
        assert!(is_id("bd-a3f8.1") && is_id("my_proj-7"));
        for odd in ["", "-x", "--all", "a/b", "a b", "..", "é"] {
            assert!(!is_id(odd), "{odd}");
        }
        let beads = Bead::many(br#"{"id":"--all","title":"x","status":"open"}"#).unwrap();
        let (entries, warnings) = entries(&beads, &ready(&[]));
        assert!(entries.is_empty() && warnings[0].contains("--all"));
    }
}
