//! A story's state: the fields that say it, in JSON and in YAML, and what has to change in them.

use std::ops::Range;

use super::error::Fault;
use super::file::Patch;
use super::json::{Kind, Member, Value};
use super::prd::{boolean, field};
use crate::types::TaskState;

/// What the field is called that says "done".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DoneKey {
    /// `passes`, in JSON.
    Passes,
    /// `completed`, in YAML; `passes` is understood too.
    Completed,
}

impl DoneKey {
    /// The name for a new field, then what else is understood.
    fn names(self) -> &'static [&'static str] {
        match self {
            DoneKey::Passes => &["passes"],
            DoneKey::Completed => &["completed", "passes"],
        }
    }
}

/// The fields that say a story's state.
pub(super) struct Marks<'a> {
    done: DoneKey,
    passes: Option<(&'a Member, bool)>,
    blocked: Option<(&'a Member, bool)>,
    status: Option<(&'a Member, TaskState)>,
}

impl<'a> Marks<'a> {
    pub fn read(members: &'a [Member], done: DoneKey) -> Result<Self, Fault> {
        let passes = field(members, done.names())?
            .map(|m| Ok((m, boolean(m)?)))
            .transpose()?;
        // `null` keeps its place: a second `blocked` beside it would be a duplicate key.
        let on = |m: &Member| {
            if m.value.kind == Kind::Null {
                Ok(false)
            } else {
                boolean(m)
            }
        };
        let blocked = field(members, &["blocked"])?
            .map(|m| Ok((m, on(m)?)))
            .transpose()?;
        let status = match field(members, &["status"])? {
            None => None,
            Some(m) => match (word(m), passes.is_some()) {
                (Some(state), _) => Some((m, state)),
                // With `passes` there, `status` may be anything of the author's own.
                (None, true) => None,
                (None, false) => {
                    return Err(Fault::new(
                        m.value.start,
                        "`status` should be open, in_progress, done or blocked",
                    ));
                }
            },
        };
        Ok(Marks {
            done,
            passes,
            blocked,
            status,
        })
    }

    pub fn state(&self) -> TaskState {
        let blocked = matches!(self.blocked, Some((_, true)));
        match (self.passes, self.status) {
            (Some((_, true)), _) | (None, Some((_, TaskState::Done))) => TaskState::Done,
            _ if blocked => TaskState::Blocked,
            (_, Some((_, TaskState::Done))) | (_, None) => TaskState::Open,
            (_, Some((_, state))) => state,
        }
    }

    pub fn edit(&self, story: &Value, insert: Insert) -> StoryEdit {
        let range = |m: &Member| m.value.start..m.value.end;
        StoryEdit {
            story: story.start..story.end,
            passes: self.passes.map(|(m, on)| (range(m), on)),
            blocked: self.blocked.map(|(m, on)| (range(m), on)),
            status: self.status.map(|(m, state)| (range(m), state)),
            done: self.done,
            insert,
        }
    }
}

fn word(member: &Member) -> Option<TaskState> {
    let Kind::String(status) = &member.value.kind else {
        return None;
    };
    Some(
        match status
            .trim()
            .to_ascii_lowercase()
            .replace([' ', '-'], "_")
            .as_str()
        {
            "open" | "todo" | "pending" | "ready" => TaskState::Open,
            "in_progress" | "doing" => TaskState::InProgress,
            "done" | "complete" | "completed" | "closed" => TaskState::Done,
            "blocked" | "stuck" => TaskState::Blocked,
            _ => return None,
        },
    )
}

/// Where a story's state is written, and how a new field would have to look.
#[derive(Debug, Clone)]
pub(super) struct StoryEdit {
    story: Range<usize>,
    passes: Option<(Range<usize>, bool)>,
    blocked: Option<(Range<usize>, bool)>,
    status: Option<(Range<usize>, TaskState)>,
    done: DoneKey,
    insert: Insert,
}

impl StoryEdit {
    /// Bytes of the whole story.
    pub fn range(&self) -> Range<usize> {
        self.story.clone()
    }

    /// What has to change so that the story is in `state`.
    pub fn patches(&self, bytes: &[u8], state: TaskState) -> Result<Vec<Patch>, Fault> {
        if state == TaskState::InProgress && self.status.is_none() {
            return Err(Fault::new(
                self.story.start,
                "a story without `status` cannot be marked as in progress",
            ));
        }
        let (done, stuck) = (state == TaskState::Done, state == TaskState::Blocked);
        let mut patches = Vec::new();
        let mut new = None;
        for (key, place, wanted) in [
            (self.done.names()[0], &self.passes, done),
            ("blocked", &self.blocked, stuck),
        ] {
            match place {
                Some((range, on)) if *on != wanted => {
                    patches.push((range.clone(), wanted.to_string()))
                }
                Some(_) => {}
                // `status` says it, or leaving the field out means the same as `false`.
                None if self.status.is_some() || !wanted => {}
                None => new = Some(self.insert.patch(bytes, key)),
            }
        }
        if let Some((range, old)) = &self.status
            && *old != state
        {
            let word = match state {
                TaskState::Open => "open",
                TaskState::InProgress => "in_progress",
                TaskState::Blocked => "blocked",
                TaskState::Done => "done",
            };
            patches.push((range.clone(), self.insert.word(word)));
        }
        patches.extend(new);
        Ok(patches)
    }
}

/// Where a further field would stand, and how it has to look there.
#[derive(Debug, Clone)]
pub(super) enum Insert {
    /// Laid out as the first field is.
    Json {
        /// Behind the last field's value.
        at: usize,
        /// The blanks before the first key.
        lead: Range<usize>,
        /// From the first key to its value.
        colon: Range<usize>,
    },
    /// As a line of its own, or between the braces.
    Yaml {
        /// Where.
        at: usize,
        /// What stands before the field.
        before: String,
        /// What stands behind it.
        after: String,
    },
}

impl Insert {
    fn patch(&self, bytes: &[u8], key: &str) -> Patch {
        match self {
            Insert::Json { at, lead, colon } => {
                let part = |range: &Range<usize>| {
                    String::from_utf8_lossy(&bytes[range.clone()]).into_owned()
                };
                let mut lead = part(lead);
                if lead.is_empty() {
                    lead.push_str(if colon.len() > 1 { " " } else { "" });
                }
                (*at..*at, format!(",{lead}\"{key}\"{}true", part(colon)))
            }
            Insert::Yaml { at, before, after } => (*at..*at, format!("{before}{key}: true{after}")),
        }
    }

    fn word(&self, word: &str) -> String {
        match self {
            Insert::Json { .. } => format!("\"{word}\""),
            Insert::Yaml { .. } => word.to_owned(),
        }
    }
}
