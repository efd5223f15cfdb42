//! `tasks.yaml`: a mapping with `tasks` (or `stories`), a list of mappings.
//!
//! A task has `id` and `title`; it may have `description`, `priority`, `completed` (or `passes`),
//! `blocked`, `blocked_reason`, `notes`, `status`, `acceptance` (or `acceptanceCriteria`) and
//! `depends_on` (or `dependsOn`). What else is there is left alone. Aliases and merge keys are
//! refused where a task's fields stand: an edit of one would change others.
//!
//! A crate reads the YAML; its events, which carry places, are made into the values that `json`
//! has too, so that a task means the same in both.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span};

use super::error::Fault;
use super::file::Parsed;
use super::json::{self, Kind, Member, Value};
use super::prd::{self, Lines};
use super::story::{DoneKey, Insert};

/// Deeper nesting is refused.
const DEPTH_MAX: usize = 64;

/// Fields whose values are text, whatever YAML would take them for: `id: 007`, `title: 2024`.
const TEXTS: [&str; 12] = [
    "id",
    "story_id",
    "key",
    "title",
    "description",
    "acceptance",
    "acceptanceCriteria",
    "notes",
    "blocked_reason",
    "depends_on",
    "dependsOn",
    "status",
];

pub(super) fn parse(text: &str, start: usize) -> Result<Vec<Parsed>, Fault> {
    let mut root = Reader::new(text, start).document()?;
    let found = root.kind.name();
    let Kind::Object(members) = &mut root.kind else {
        return Err(Fault::new(
            root.start,
            format!("expected a mapping with `tasks`, found {found}"),
        ));
    };
    if let Some(version) = members.iter().find(|m| m.key == "version") {
        let known = matches!(&version.value.kind, Kind::Number(n) | Kind::String(n) if n == "1");
        if !known {
            return Err(Fault::new(
                version.value.start,
                "only `version: 1` of this format is known",
            ));
        }
    }
    if prd::field(members, &["tasks", "stories"])?.is_none() {
        return Err(Fault::new(root.start, "the mapping has no `tasks`"));
    }
    let list = members
        .iter_mut()
        .find(|m| m.key == "tasks" || m.key == "stories");
    let Some(list) = list else {
        return Ok(Vec::new());
    };
    let found = list.value.kind.name();
    let Kind::Array(tasks) = &mut list.value.kind else {
        return Err(Fault::new(
            list.value.start,
            format!("`{}` should be a list of tasks and is {found}", list.key),
        ));
    };
    let mut lines = Lines::new(text, start);
    let place = |task: &Value, members: &[Member]| insert(text, start, task, members);
    let mut parsed = Vec::with_capacity(tasks.len());
    for (i, task) in tasks.iter_mut().enumerate() {
        if let Kind::Object(members) = &mut task.kind {
            for member in members.iter_mut() {
                if member.key == "<<" {
                    let why = "merge keys can't be used in a task; write its fields out";
                    return Err(Fault::new(member.start, why));
                }
                if TEXTS.contains(&member.key.as_str()) {
                    as_text(&mut member.value, text, start);
                }
            }
        }
        parsed.push(prd::read(
            task,
            i + 1,
            &mut lines,
            DoneKey::Completed,
            &place,
        )?);
    }
    Ok(parsed)
}

fn as_text(value: &mut Value, text: &str, start: usize) {
    match &mut value.kind {
        Kind::Number(_) | Kind::Bool(_) => {
            let written = text.get(value.start - start..value.end - start);
            value.kind = Kind::String(written.unwrap_or_default().to_owned());
        }
        Kind::Array(items) => items.iter_mut().for_each(|v| as_text(v, text, start)),
        _ => {}
    }
}

/// Where a task's further field would stand: in a line below the title, or first between the braces.
fn insert(text: &str, start: usize, task: &Value, members: &[Member]) -> Insert {
    let byte = |at: usize| text.as_bytes().get(at - start).copied();
    let first = members.first().map_or(task.start, |m| m.start);
    if byte(task.start) == Some(b'{') {
        return Insert::Yaml {
            at: first,
            before: String::new(),
            after: ", ".to_owned(),
        };
    }
    let head = &text[..first - start];
    let line = head.rfind(['\n', '\r']).map_or(0, |i| i + 1);
    let indent = " ".repeat(head[line..].chars().count());
    let eol = match text.find(['\n', '\r']) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        _ => "\n",
    };
    let title = members.iter().position(|m| m.key == "title").unwrap_or(0);
    let value = members.get(title).map(|m| &m.value);
    let short = value.is_some_and(|v| {
        let inside = &text[v.start - start..v.end.max(v.start) - start];
        !inside.contains(['\n', '\r']) && !matches!(byte(v.start), Some(b'|' | b'>' | b'&' | b'!'))
    });
    if let Some(value) = value.filter(|_| short) {
        let from = value.end - start;
        let end = text[from..].find(['\n', '\r']);
        return Insert::Yaml {
            at: end.map_or(text.len(), |i| from + i) + start,
            before: format!("{eol}{indent}"),
            after: String::new(),
        };
    }
    let at = members.get(title + 1).or(members.get(title));
    Insert::Yaml {
        at: at.map_or(first, |m| m.start),
        before: String::new(),
        after: format!("{eol}{indent}"),
    }
}

/// A mapping or list that is being read.
struct Open {
    value: Value,
    /// A mapping's key whose value is awaited.
    key: Option<(String, usize, usize)>,
}

struct Reader<'a> {
    text: &'a str,
    start: usize,
    /// Byte offset of each character; empty if all are ASCII.
    offsets: Vec<usize>,
    open: Vec<Open>,
    root: Option<Value>,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, start: usize) -> Self {
        let offsets = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().map(|(i, _)| i).collect()
        };
        Reader {
            text,
            start,
            offsets,
            open: Vec::new(),
            root: None,
        }
    }

    /// Offset in the text, not the file.
    fn byte(&self, mark: &Marker) -> usize {
        let at = mark.index();
        if self.offsets.is_empty() {
            at.min(self.text.len())
        } else {
            self.offsets.get(at).copied().unwrap_or(self.text.len())
        }
    }

    fn broken(&self, e: &ScanError) -> Fault {
        Fault::new(
            self.byte(e.marker()) + self.start,
            format!("not valid YAML: {}", crate::text::one_line(e.info(), 200)),
        )
    }

    fn document(mut self) -> Result<Value, Fault> {
        let mut parser = Parser::new_from_str(self.text);
        let mut documents = 0;
        while let Some(next) = parser.next_event() {
            let (event, span) = next.map_err(|e| self.broken(&e))?;
            let at = self.byte(&span.start) + self.start;
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(Fault::new(at, "a second document; keep one"));
                    }
                }
                Event::Scalar(text, style, _, tag) => {
                    let plain = style == ScalarStyle::Plain && tag.is_none();
                    let value = self.scalar(&text, plain, &span);
                    self.put(value)?;
                }
                Event::Alias(_) => {
                    let value = self.value(&span, Kind::Alias);
                    self.put(value)?;
                }
                Event::SequenceStart(..) => self.begin(&span, Kind::Array(Vec::new()))?,
                Event::MappingStart(..) => self.begin(&span, Kind::Object(Vec::new()))?,
                Event::SequenceEnd | Event::MappingEnd => {
                    if let Some(mut open) = self.open.pop() {
                        open.value.end = (self.byte(&span.end) + self.start).max(open.value.start);
                        if let Kind::Object(members) = &open.value.kind {
                            json::no_duplicates(members)?;
                        }
                        self.put(open.value)?;
                    }
                }
                Event::StreamEnd => break,
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
            }
        }
        let start = self.start;
        self.root
            .ok_or_else(|| Fault::new(start, "no tasks: the file has nothing but comments"))
    }

    fn value(&self, span: &Span, kind: Kind) -> Value {
        let start = self.byte(&span.start) + self.start;
        Value {
            start,
            end: (self.byte(&span.end) + self.start).max(start),
            kind,
        }
    }

    fn scalar(&self, text: &str, plain: bool, span: &Span) -> Value {
        let kind = if plain {
            resolved(text)
        } else {
            Kind::String(text.to_owned())
        };
        let mut value = self.value(span, kind);
        // The end of a plain scalar may be told too far; in one line it is as long as its text.
        if plain && self.text[value.start - self.start..].starts_with(text) {
            value.end = value.start + text.len();
        }
        value
    }

    fn begin(&mut self, span: &Span, kind: Kind) -> Result<(), Fault> {
        let value = self.value(span, kind);
        if self.open.len() >= DEPTH_MAX {
            return Err(Fault::new(
                value.start,
                format!("nested more than {DEPTH_MAX} deep"),
            ));
        }
        self.open.push(Open { value, key: None });
        Ok(())
    }

    /// A finished value goes where it belongs.
    fn put(&mut self, value: Value) -> Result<(), Fault> {
        let text = self.text;
        let start = self.start;
        let Some(open) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        match (&mut open.value.kind, open.key.take()) {
            (Kind::Object(members), Some((key, at, key_end))) => members.push(Member {
                key,
                start: at,
                key_end,
                value,
            }),
            (Kind::Object(_), None) => {
                let key = match value.kind {
                    Kind::String(key) | Kind::Number(key) => key,
                    Kind::Bool(_) | Kind::Null => {
                        let written = text.get(value.start - start..value.end - start);
                        written.unwrap_or_default().to_owned()
                    }
                    _ => return Err(Fault::new(value.start, "a key should be a word")),
                };
                open.key = Some((key, value.start, value.end));
            }
            (Kind::Array(items), _) => items.push(value),
            _ => {}
        }
        Ok(())
    }
}

/// What a plain scalar is in YAML 1.2's core schema; other notations of numbers are text here.
fn resolved(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ if text.parse::<i64>().is_ok() => Kind::Number(text.to_owned()),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            && text.parse::<f64>().is_ok() =>
        {
            Kind::Number(text.to_owned())
        }
        _ => Kind::String(text.to_owned()),
    }
}
