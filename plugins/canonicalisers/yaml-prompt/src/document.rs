//! Parser events to a value, with everything refused that could mean two things.

// Ordered, for a hashed one would ask the host for randomness.
use std::collections::BTreeMap;
use std::fmt;

use canonical_json::{Object, Value};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::scalar;
use crate::shared::Shared;

/// Mappings and lists may be nested this deep, aliases expanded; the root counts as one.
pub const MAX_DEPTH: usize = 64;

/// Why a document has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Counts from 1.
    pub line: usize,
    /// What stood in the way, and what to do.
    pub what: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Refusal {}

impl From<ScanError> for Refusal {
    fn from(e: ScanError) -> Self {
        refusal(e.marker().line(), format!("this is not YAML: {}", e.info()))
    }
}

fn refusal(line: usize, what: impl Into<String>) -> Refusal {
    Refusal {
        line: line.max(1),
        what: what.into(),
    }
}

/// Reads the one document in `text` and transforms it as the crate's rules say.
///
/// # Errors
/// [`Refusal`].
pub fn read(text: &str) -> Result<Value, Refusal> {
    directives(text)?;
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        shared: Shared::default(),
    };
    let mut entries = None;
    loop {
        let (event, span) = reader.next()?;
        let line = span.start.line();
        match event {
            Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
            Event::DocumentStart(_) if entries.is_some() => {
                return Err(refusal(
                    line,
                    "a second document begins; a prompt is one document",
                ));
            }
            Event::DocumentStart(_) => {
                let (event, span) = reader.next()?;
                match reader.node(event, span, 0)? {
                    Value::Object(found) => entries = Some(found),
                    _ => {
                        return Err(refusal(
                            span.start.line(),
                            "the root must be a mapping (`key: value`)",
                        ));
                    }
                }
            }
            other => return Err(refusal(line, format!("unexpected {other:?}"))),
        }
    }
    let Some(mut entries) = entries else {
        return Err(refusal(
            1,
            "there is no document; the root must be a mapping (`key: value`)",
        ));
    };
    entries.retain(|(key, _)| key != "fingerprint");
    Ok(Value::Object(entries))
}

/// Directives can only stand before the one document. `%YAML 1.1` would change
/// what scalars mean, `%TAG` only serves tags, and others are reserved.
fn directives(text: &str) -> Result<(), Refusal> {
    for (at, line) in text.lines().enumerate() {
        let directive = line.split(" #").next().unwrap_or(line).trim_end();
        if directive.starts_with('%') {
            if !directive.split_ascii_whitespace().eq(["%YAML", "1.2"]) {
                return Err(refusal(
                    at + 1,
                    format!("the directive `{directive}` is refused; only `%YAML 1.2` is known"),
                ));
            }
        } else if !line.trim_start().is_empty() && !line.trim_start().starts_with('#') {
            break;
        }
    }
    Ok(())
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    shared: Shared,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Refusal> {
        match self.parser.next_event() {
            Some(event) => Ok(event?),
            None => Err(refusal(1, "the document ends too early")),
        }
    }

    /// The node that begins with `event`, below `depth` mappings and lists.
    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Value, Refusal> {
        let line = span.start.line();
        let (value, anchor) = match event {
            Event::Alias(id) => {
                let (value, inner) = self.shared.alias(id).map_err(|what| refusal(line, what))?;
                deep(line, depth + inner)?;
                return Ok(value);
            }
            Event::Scalar(_, _, _, Some(tag))
            | Event::SequenceStart(_, Some(tag))
            | Event::MappingStart(_, Some(tag)) => {
                return Err(refusal(
                    line,
                    format!(
                        "the tag `{tag}` is refused; tags mean different things to different readers"
                    ),
                ));
            }
            Event::Scalar(text, ScalarStyle::Plain, anchor, None) => match scalar::plain(&text) {
                Ok(Value::String(s)) => (Value::String(nfc(s)), anchor),
                Ok(value) => (value, anchor),
                Err(what) => return Err(refusal(line, what)),
            },
            Event::Scalar(text, _, anchor, None) => (Value::String(nfc(text.into_owned())), anchor),
            Event::SequenceStart(anchor, None) => {
                deep(line, depth + 1)?;
                (Value::Array(self.list(depth + 1)?), anchor)
            }
            Event::MappingStart(anchor, None) => {
                deep(line, depth + 1)?;
                (Value::Object(self.mapping(depth + 1)?), anchor)
            }
            other => return Err(refusal(line, format!("unexpected {other:?}"))),
        };
        self.shared
            .anchor(anchor, &value)
            .map_err(|what| refusal(line, what))?;
        Ok(value)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>, Refusal> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Object, Refusal> {
        let mut entries = Object::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let line = span.start.line();
            let key = match self.node(event, span, depth)? {
                Value::String(key) => key,
                Value::Array(_) | Value::Object(_) => {
                    return Err(refusal(
                        line,
                        "a list or mapping can't be a key; keys must be strings",
                    ));
                }
                other => {
                    return Err(refusal(
                        line,
                        format!("the key {} is not a string; quote it", other.canonical()),
                    ));
                }
            };
            if key == "<<" || key == "__proto__" {
                return Err(refusal(
                    line,
                    format!(
                        "the key `{key}` is refused; some readers give it a meaning of its own"
                    ),
                ));
            }
            if let Some(first) = seen.insert(key.clone(), line) {
                return Err(refusal(
                    line,
                    format!("the key {key:?} stands twice; it first stood in line {first}"),
                ));
            }
            let (event, span) = self.next()?;
            match self.node(event, span, depth)? {
                Value::Null => {}
                value => entries.push((key, value)),
            }
        }
    }
}

fn deep(line: usize, depth: usize) -> Result<(), Refusal> {
    if depth > MAX_DEPTH {
        return Err(refusal(
            line,
            format!("nested deeper than {MAX_DEPTH} mappings and lists"),
        ));
    }
    Ok(())
}

fn nfc(text: String) -> String {
    if is_nfc(&text) {
        text
    } else {
        text.nfc().collect()
    }
}
