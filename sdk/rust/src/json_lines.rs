//! One JSON object per line, as agent programs print them, with everything that
//! gets in between: banners, broken lines, lines without end.

use crate::lines::{Line, Lines};
use crate::text;
use serde_json::Value;
use std::borrow::Cow;

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A JSON object.
    Object(Value),
    /// Something a person should know of the stream itself.
    Notice(String),
}

/// Reads JSON lines. Memory is bounded by the longest line, 1 MiB; what is
/// longer is dropped to its end with a notice, and reading goes on behind it.
#[derive(Debug, Default)]
pub struct JsonLines {
    lines: Lines,
    objects: u64,
    lead_in: u64,
    malformed: u64,
}

/// So many lines before the first object pass as the banner of a wrapper; more
/// of them are counted as malformed.
pub const MAX_LEAD_IN: u64 = 100;

/// So many notices of one kind; further lines are only counted.
const MAX_NOTICES: u64 = 20;

impl JsonLines {
    /// See [`JsonLines`].
    pub fn new() -> Self {
        JsonLines::default()
    }

    /// Takes the next piece and calls `each` for what is complete now.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(Item)) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.feed(chunk, |line| self.line(&line, &mut each));
        self.lines = lines;
    }

    /// The last line may lack its end.
    pub fn finish(&mut self, mut each: impl FnMut(Item)) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.finish(|line| self.line(&line, &mut each));
    }

    /// How many lines after the first object (or after [`MAX_LEAD_IN`]) were no JSON object.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    fn line(&mut self, line: &Line<'_>, each: &mut impl FnMut(Item)) {
        let trimmed = line.text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\0']);
        if trimmed.is_empty() && line.dropped == 0 {
            return;
        }
        if line.dropped > 0 {
            self.malformed += 1;
            each(Item::Notice(format!(
                "left out a line of {} bytes: more than a line may have",
                line.text.len() as u64 + line.dropped
            )));
            return;
        }
        let error = match serde_json::from_str::<Value>(trimmed) {
            Ok(object @ Value::Object(_)) => {
                self.objects += 1;
                each(Item::Object(object));
                return;
            }
            Ok(_) => None,
            Err(e) => Some(e),
        };
        let shown = || text::clip(&text::plain(trimmed), 200);
        if self.objects == 0 && self.lead_in < MAX_LEAD_IN {
            self.lead_in += 1;
            notice(self.lead_in, each, || {
                format!("before the first event: {}", shown())
            });
        } else {
            self.malformed += 1;
            notice(self.malformed, each, || {
                let why = error.map_or("no object".to_owned(), |e| e.to_string());
                format!("a line that is no event ({why}): {}", shown())
            });
        }
    }
}

fn notice(nth: u64, each: &mut impl FnMut(Item), what: impl FnOnce() -> String) {
    match nth {
        n if n < MAX_NOTICES => each(Item::Notice(what())),
        MAX_NOTICES => each(Item::Notice(format!(
            "{}; more of the kind are not shown",
            what()
        ))),
        _ => {}
    }
}

/// What is at a JSON pointer whose names need no escapes. `Value::pointer` makes two
/// strings of each name.
fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut found = value;
    for name in pointer.strip_prefix('/')?.split('/') {
        found = match found {
            Value::Object(map) => map.get(name)?,
            Value::Array(list) => list.get(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(found)
}

/// The string at a JSON pointer such as `/item/text`.
pub fn str_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    at(value, pointer)?.as_str()
}

/// The whole number at a JSON pointer; a fraction is cut off, a negative number is none.
pub fn u64_at(value: &Value, pointer: &str) -> Option<u64> {
    let number = at(value, pointer)?;
    // `as` saturates.
    number
        .as_u64()
        .or_else(|| number.as_f64().filter(|f| *f >= 0.0).map(|f| f as u64))
}

/// One line that tells a person what a tool was called with: the tool's name,
/// and of its input what matters most, else all of it, cut short.
pub fn tool_line(name: &str, input: &Value) -> String {
    const TELLING: &[&str] = &[
        "command",
        "cmd",
        "file_path",
        "path",
        "notebook_path",
        "pattern",
        "url",
        "query",
    ];
    let rest: Cow<'_, str> = match input {
        Value::Null => "".into(),
        Value::String(s) => s.into(),
        other => TELLING
            .iter()
            .find_map(|key| other.get(key)?.as_str())
            .map_or_else(|| other.to_string().into(), Cow::from),
    };
    let mut words = String::with_capacity(rest.len());
    for word in rest.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    match words.as_str() {
        "" => name.to_owned(),
        words => format!("{name} {}", text::clip(words, 300)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<Item> {
        let mut reader = JsonLines::new();
        let mut out = Vec::new();
        for piece in pieces {
            reader.feed(piece, |i| out.push(i));
        }
        reader.finish(|i| out.push(i));
        out
    }

    fn objects(items: &[Item]) -> Vec<u64> {
        items
            .iter()
            .filter_map(|i| match i {
                Item::Object(v) => u64_at(v, "/n"),
                Item::Notice(_) => None,
            })
            .collect()
    }

    #[test]
    fn a_banner_is_skipped_and_a_later_broken_line_is_told() {
        let items =
            read(&["Welcome {to} the wrapper\n[1]\n{\"n\":1}\n{\"n\":\n\n{\"n\":2}".as_bytes()]);
        assert_eq!(objects(&items), [1, 2]);
        let notices: Vec<_> = items
            .iter()
            .filter_map(|i| match i {
                Item::Notice(n) => Some(n.as_str()),
                Item::Object(_) => None,
            })
            .collect();
        assert_eq!(notices.len(), 3);
        assert!(
            notices[0].starts_with("before the first event: Welcome"),
            "{notices:?}"
        );
        assert!(
            notices[2].starts_with("a line that is no event (EOF"),
            "{notices:?}"
        );
    }

    #[test]
    fn an_endless_line_is_dropped_and_reading_goes_on() {
        let mut reader = JsonLines::new();
        let mut out = Vec::new();
        reader.feed(b"{\"n\":1}\n{\"n\":\"", |i| out.push(i));
        for _ in 0..3000 {
            reader.feed(&[b'x'; 1024], |i| out.push(i));
        }
        reader.feed(b"\"}\n{\"n\":2}\n", |i| out.push(i));
        assert_eq!(objects(&out), [1, 2]);
        assert!(
            matches!(&out[1], Item::Notice(n) if n.contains("3072008 bytes")),
            "{:?}",
            out[1]
        );
    }

    #[test]
    fn a_flood_of_rubbish_gives_a_bounded_number_of_notices() {
        let mut reader = JsonLines::new();
        let mut count = 0;
        for _ in 0..10_000 {
            reader.feed(b"rubbish\n", |_| count += 1);
        }
        assert_eq!((count, reader.malformed()), (40, 9_900));
    }

    #[test]
    fn deep_nesting_is_a_notice_and_no_crash() {
        let deep = "{\"a\":".repeat(100_000);
        assert!(matches!(&read(&[deep.as_bytes()])[..], [Item::Notice(_)]));
    }

    #[test]
    fn items_do_not_depend_on_where_the_stream_was_cut() {
        let input = "banner\r\n{\"n\":1,\"s\":\"漢🦀\"}\n{bad}\n{\"n\":2}".as_bytes();
        let whole = read(&[input]);
        for at in 0..=input.len() {
            assert_eq!(read(&[&input[..at], &input[at..]]), whole, "cut at {at}");
        }
    }
}
