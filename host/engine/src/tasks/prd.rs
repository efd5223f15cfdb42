//! `prd.json`: an object with `userStories` or `stories`, an array of stories.
//!
//! A story has `id` (a string or a whole number) and `title`; it may have `description`,
//! `acceptanceCriteria` (or `acceptance`), `priority`, `passes`, `blocked`, `notes`, `depends_on`
//! (or `dependsOn`). Files of the Python loop may say `status` (open, in_progress, done, blocked)
//! instead of `passes`, `story_id` or `key` instead of `id`, and `blocked_reason`.

use std::ops::Range;

use super::error::{Fault, quoted};
use super::file::{Edit, Entry, Parsed, Patch};
use super::json::{self, Kind, Member, Value};
use crate::types::{Task, TaskState};

pub(super) fn parse(text: &str, start: usize) -> Result<Vec<Parsed>, Fault> {
    let root = json::parse(text, start)?;
    let Kind::Object(members) = &root.kind else {
        let what = root.kind.name();
        return Err(Fault::new(
            root.start,
            format!("expected an object with `userStories`, found {what}"),
        ));
    };
    let Some(list) = field(members, &["userStories", "stories"])? else {
        return Err(Fault::new(
            root.start,
            "the object has no `userStories` (or `stories`)",
        ));
    };
    let Kind::Array(stories) = &list.value.kind else {
        return Err(wrong(list, "an array of stories"));
    };
    let mut lines = Lines {
        text,
        start,
        line: 1,
        at: 0,
    };
    stories
        .iter()
        .enumerate()
        .map(|(i, story)| read(story, i + 1, &mut lines))
        .collect()
}

fn read(story: &Value, position: usize, lines: &mut Lines<'_>) -> Result<Parsed, Fault> {
    let Kind::Object(members) = &story.kind else {
        let what = story.kind.name();
        return Err(Fault::new(
            story.start,
            format!("story {position} should be an object and is {what}"),
        ));
    };
    let missing = |key| Fault::new(story.start, format!("story {position} has no `{key}`"));
    let id = field(members, &["id", "story_id", "key"])?.ok_or_else(|| missing("id"))?;
    let title = field(members, &["title"])?.ok_or_else(|| missing("title"))?;
    let title_text = string(title)?
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if title_text.is_empty() {
        return Err(Fault::new(
            title.value.start,
            format!("the title of story {position} is empty"),
        ));
    }
    let text = |keys: &[&str]| -> Result<String, Fault> {
        Ok(optional(members, keys)?
            .map(string)
            .transpose()?
            .unwrap_or_default())
    };
    let priority = optional(members, &["priority"])?
        .map(priority)
        .transpose()?;
    let criteria = optional(members, &["acceptanceCriteria", "acceptance"])?;
    let depends = optional(members, &["depends_on", "dependsOn"])?;
    let depends = depends.map(ids).transpose()?.unwrap_or_default();
    let marks = Marks::read(members)?;
    let mut notes = text(&["notes"])?;
    if notes.is_empty() {
        notes = text(&["blocked_reason"])?;
    }
    let task = Task {
        id: id_text(&id.value)?,
        title: title_text,
        description: text(&["description"])?,
        acceptance: criteria.map(strings).transpose()?.unwrap_or_default(),
        priority,
        depends_on: Vec::new(),
    };
    let entry = Entry {
        task,
        state: marks.state(),
        line: lines.line_of(story.start),
        notes,
    };
    let edit = Edit::Story(Box::new(marks.edit(story, members)));
    Ok(Parsed {
        entry,
        at: id.value.start,
        depends,
        numbered: false,
        edit,
    })
}

/// The member with one of these names; two of them at once would contradict each other.
fn field<'a>(members: &'a [Member], names: &[&str]) -> Result<Option<&'a Member>, Fault> {
    let mut found: Option<&Member> = None;
    for member in members.iter().filter(|m| names.contains(&m.key.as_str())) {
        if let Some(first) = found {
            let message = format!(
                "`{}` and `{}` mean the same; keep one",
                first.key, member.key
            );
            return Err(Fault::new(member.start, message));
        }
        found = Some(member);
    }
    Ok(found)
}

/// As [`field`]; `null` is the same as leaving it out.
fn optional<'a>(members: &'a [Member], names: &[&str]) -> Result<Option<&'a Member>, Fault> {
    Ok(field(members, names)?.filter(|m| m.value.kind != Kind::Null))
}

fn wrong(member: &Member, wanted: &str) -> Fault {
    let found = member.value.kind.name();
    Fault::new(
        member.value.start,
        format!("{} should be {wanted} and is {found}", quoted(&member.key)),
    )
}

fn string(member: &Member) -> Result<String, Fault> {
    match &member.value.kind {
        Kind::String(s) => Ok(s.clone()),
        _ => Err(wrong(member, "a string")),
    }
}

fn boolean(member: &Member) -> Result<bool, Fault> {
    match &member.value.kind {
        Kind::Bool(b) => Ok(*b),
        _ => Err(wrong(member, "true or false, without quotes,")),
    }
}

fn priority(member: &Member) -> Result<i32, Fault> {
    match &member.value.kind {
        Kind::Number(n) => n.parse().map_err(|_| {
            Fault::new(
                member.value.start,
                format!(
                    "`priority` should be a whole number of 32 bits and is {}",
                    quoted(n)
                ),
            )
        }),
        _ => Err(wrong(member, "a whole number")),
    }
}

/// One text, or an array of them.
fn strings(member: &Member) -> Result<Vec<String>, Fault> {
    let one = |v: &Value| match &v.kind {
        Kind::String(s) => Ok(s.clone()),
        other => {
            let message = format!(
                "an entry of {} should be a string and is {}",
                quoted(&member.key),
                other.name()
            );
            Err(Fault::new(v.start, message))
        }
    };
    match &member.value.kind {
        Kind::String(s) if s.trim().is_empty() => Ok(Vec::new()),
        Kind::String(s) => Ok(vec![s.clone()]),
        Kind::Array(items) => items.iter().map(one).collect(),
        _ => Err(wrong(member, "an array of strings")),
    }
}

fn ids(member: &Member) -> Result<Vec<(String, usize)>, Fault> {
    match &member.value.kind {
        Kind::Array(items) => items.iter().map(|v| Ok((id_text(v)?, v.start))).collect(),
        _ => Err(wrong(member, "an array of ids")),
    }
}

fn id_text(value: &Value) -> Result<String, Fault> {
    match &value.kind {
        Kind::String(s) => Ok(s.clone()),
        Kind::Number(n) if n.parse::<i64>().is_ok() => Ok(n.clone()),
        other => Err(Fault::new(
            value.start,
            format!(
                "an id is a string or a whole number; this is {}",
                other.name()
            ),
        )),
    }
}

/// The fields that say a story's state.
struct Marks<'a> {
    passes: Option<(&'a Member, bool)>,
    blocked: Option<(&'a Member, bool)>,
    status: Option<(&'a Member, TaskState)>,
}

impl<'a> Marks<'a> {
    fn read(members: &'a [Member]) -> Result<Self, Fault> {
        let passes = field(members, &["passes"])?
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
            passes,
            blocked,
            status,
        })
    }

    fn state(&self) -> TaskState {
        let blocked = matches!(self.blocked, Some((_, true)));
        match (self.passes, self.status) {
            (Some((_, true)), _) | (None, Some((_, TaskState::Done))) => TaskState::Done,
            _ if blocked => TaskState::Blocked,
            (_, Some((_, TaskState::Done))) | (_, None) => TaskState::Open,
            (_, Some((_, state))) => state,
        }
    }

    fn edit(&self, story: &Value, members: &[Member]) -> StoryEdit {
        let range = |m: &Member| m.value.start..m.value.end;
        let first = members.first();
        StoryEdit {
            story: story.start,
            passes: self.passes.map(|(m, on)| (range(m), on)),
            blocked: self.blocked.map(|(m, on)| (range(m), on)),
            status: self.status.map(|(m, state)| (range(m), state)),
            insert: members.last().map_or(story.start + 1, |m| m.value.end),
            lead: first.map_or(0..0, |m| story.start + 1..m.start),
            colon: first.map_or(0..0, |m| m.key_end..m.value.start),
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
    story: usize,
    passes: Option<(Range<usize>, bool)>,
    blocked: Option<(Range<usize>, bool)>,
    status: Option<(Range<usize>, TaskState)>,
    /// Behind the last field's value.
    insert: usize,
    /// The blanks before the first key.
    lead: Range<usize>,
    /// From the first key to its value.
    colon: Range<usize>,
}

impl StoryEdit {
    /// What has to change so that the story is in `state`.
    pub fn patches(&self, bytes: &[u8], state: TaskState) -> Result<Vec<Patch>, Fault> {
        if state == TaskState::InProgress && self.status.is_none() {
            return Err(Fault::new(
                self.story,
                "a story without `status` cannot be marked as in progress",
            ));
        }
        let (done, stuck) = (state == TaskState::Done, state == TaskState::Blocked);
        let mut patches = Vec::new();
        let mut new = String::new();
        for (key, place, wanted) in [
            ("passes", &self.passes, done),
            ("blocked", &self.blocked, stuck),
        ] {
            match place {
                Some((range, on)) if *on != wanted => {
                    patches.push((range.clone(), wanted.to_string()))
                }
                Some(_) => {}
                // `status` says it, or leaving the field out means the same as `false`.
                None if self.status.is_some() || !wanted => {}
                None => new = self.member(bytes, key),
            }
        }
        if let Some((range, old)) = &self.status
            && *old != state
        {
            let word = match state {
                TaskState::Open => "\"open\"",
                TaskState::InProgress => "\"in_progress\"",
                TaskState::Blocked => "\"blocked\"",
                TaskState::Done => "\"done\"",
            };
            patches.push((range.clone(), word.to_owned()));
        }
        if !new.is_empty() {
            patches.push((self.insert..self.insert, new));
        }
        Ok(patches)
    }

    /// A further field, laid out as the first one is.
    fn member(&self, bytes: &[u8], key: &str) -> String {
        let part =
            |range: &Range<usize>| String::from_utf8_lossy(&bytes[range.clone()]).into_owned();
        let mut lead = part(&self.lead);
        if lead.is_empty() {
            lead.push_str(if self.colon.len() > 1 { " " } else { "" });
        }
        format!(",{lead}\"{key}\"{}true", part(&self.colon))
    }
}

/// Line numbers of rising offsets, in one pass over the text.
struct Lines<'a> {
    text: &'a str,
    start: usize,
    line: u32,
    at: usize,
}

impl Lines<'_> {
    fn line_of(&mut self, offset: usize) -> u32 {
        let to = offset.saturating_sub(self.start).min(self.text.len());
        let bytes = self.text.as_bytes();
        for i in self.at..to {
            let end = bytes[i] == b'\n' || (bytes[i] == b'\r' && bytes.get(i + 1) != Some(&b'\n'));
            self.line = self.line.saturating_add(u32::from(end));
        }
        self.at = self.at.max(to);
        self.line
    }
}
