//! `prd.json`: an object with `userStories` or `stories`, an array of stories.
//!
//! A story has `id` (a string or a whole number) and `title`; it may have `description`,
//! `acceptanceCriteria` (or `acceptance`), `priority`, `passes`, `blocked`, `notes`, `depends_on`
//! (or `dependsOn`). Files of the Python loop may say `status` (open, in_progress, done, blocked)
//! instead of `passes`, `story_id` or `key` instead of `id`, and `blocked_reason`.

use super::error::{Fault, quoted};
use super::file::{Edit, Entry, Parsed};
use super::json::{self, Kind, Member, Value};
use super::story::{DoneKey, Insert, Marks};
use crate::types::Task;

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
    let mut lines = Lines::new(text, start);
    stories
        .iter()
        .enumerate()
        .map(|(i, story)| {
            read(
                story,
                i + 1,
                &mut lines,
                DoneKey::Passes,
                &|story, members| {
                    let first = members.first();
                    Insert::Json {
                        at: members.last().map_or(story.start + 1, |m| m.value.end),
                        lead: first.map_or(0..0, |m| story.start + 1..m.start),
                        colon: first.map_or(0..0, |m| m.key_end..m.value.start),
                    }
                },
            )
        })
        .collect()
}

/// One story, in JSON or YAML. `insert` says where a further field would stand.
pub(super) fn read(
    story: &Value,
    position: usize,
    lines: &mut Lines<'_>,
    done: DoneKey,
    insert: &dyn Fn(&Value, &[Member]) -> Insert,
) -> Result<Parsed, Fault> {
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
    let marks = Marks::read(members, done)?;
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
    let edit = Edit::Story(Box::new(marks.edit(story, insert(story, members))));
    Ok(Parsed {
        entry,
        at: id.value.start,
        depends,
        numbered: false,
        edit,
    })
}

/// The member with one of these names; two of them at once would contradict each other.
pub(super) fn field<'a>(
    members: &'a [Member],
    names: &[&str],
) -> Result<Option<&'a Member>, Fault> {
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

pub(super) fn boolean(member: &Member) -> Result<bool, Fault> {
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

/// Line numbers of rising offsets, in one pass over the text.
pub(super) struct Lines<'a> {
    text: &'a str,
    start: usize,
    line: u32,
    at: usize,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str, start: usize) -> Self {
        Lines {
            text,
            start,
            line: 1,
            at: 0,
        }
    }

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
