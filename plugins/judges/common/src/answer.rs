//! What of an answer counts.

use crate::objects::{self, Found, Said};

/// Something in an answer that counts.
#[derive(Debug, PartialEq)]
pub enum Item<'a> {
    /// A verdict object.
    Verdict(Box<Said>),
    /// What should have been a verdict object; why it can't be read.
    Broken(String),
    /// A line outside of fences and quotes.
    Line(&'a str),
}

/// All that counts in `text`, in order. Lines end with LF.
pub fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut search = objects::MAX_SEARCH;
    let mut rest = text;
    while !rest.is_empty() {
        let (line, after) = next_line(rest);
        let trimmed = line.trim();
        if let Some(fence) = Fence::open(line) {
            let (inside, behind) = fence.content(after);
            if fence.json && inside.trim_start().starts_with('{') {
                match objects::at_start(inside.trim_start(), &mut search, |rest| {
                    rest.trim().is_empty()
                }) {
                    Found::Verdict(said, _) => items.push(Item::Verdict(said)),
                    Found::Broken(why) => items.push(Item::Broken(why)),
                    Found::Other(_) | Found::Nothing => {}
                }
            }
            rest = behind;
            continue;
        }
        if trimmed.starts_with('{') {
            let object = rest.trim_start();
            let line_ends = |rest: &str| next_line(rest).0.trim().is_empty();
            match objects::at_start(object, &mut search, line_ends) {
                Found::Verdict(said, end) => {
                    items.push(Item::Verdict(said));
                    rest = next_line(&object[end..]).1;
                    continue;
                }
                Found::Other(end) => {
                    rest = next_line(&object[end..]).1;
                    continue;
                }
                Found::Broken(why) => items.push(Item::Broken(why)),
                Found::Nothing => items.push(Item::Line(trimmed)),
            }
        } else if !trimmed.is_empty() && !trimmed.starts_with('>') {
            items.push(Item::Line(trimmed));
        }
        rest = after;
    }
    items
}

/// The first line without its end, and what follows.
fn next_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}

/// A fence as CommonMark has it.
struct Fence {
    mark: char,
    length: usize,
    json: bool,
}

impl Fence {
    /// Also inside a list, so any indentation goes.
    fn open(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        Some(Fence {
            mark,
            length,
            json: info.trim().eq_ignore_ascii_case("json"),
        })
    }

    /// What is inside the fence, and what is behind it.
    fn content<'a>(&self, text: &'a str) -> (&'a str, &'a str) {
        let mut rest = text;
        while !rest.is_empty() {
            let inside = &text[..text.len() - rest.len()];
            let (line, after) = next_line(rest);
            let line = line.trim();
            if line.len() >= self.length && line.chars().all(|c| c == self.mark) {
                return (inside, after);
            }
            rest = after;
        }
        (text, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as they are, `V` for a verdict object, `B` for a broken one.
    fn seen(text: &str) -> Vec<String> {
        let show = |item| match item {
            Item::Verdict(_) => "V".to_owned(),
            Item::Broken(_) => "B".to_owned(),
            Item::Line(line) => line.to_owned(),
        };
        items(text).into_iter().map(show).collect()
    }

    #[test]
    fn fences_quotes_and_blank_lines_do_not_count() {
        for (text, want) in [
            ("a\n\n  b \n", &["a", "b"][..]),
            ("> a\n >b\nc", &["c"]),
            ("```\na\n```\nb", &["b"]),
            ("```text\na\n```b\n````\nc", &["c"]),
            ("~~~\n```\na\n~~~\nb", &["b"]),
            ("````\n```\na\n```\nb\n````\nc", &["c"]),
            ("- x\n  ```\n  a\n  ```\nb", &["- x", "b"]),
            ("```\na", &[]),
            ("``a``\n`` ` ``", &["``a``", "`` ` ``"]),
            ("```a``` b", &["```a``` b"]),
        ] {
            assert_eq!(seen(text), want, "{text:?}");
        }
    }

    #[test]
    fn verdict_objects_count_alone_and_in_json_fences() {
        for (text, want) in [
            ("{\"verdict\":true}", &["V"][..]),
            (
                "a\n  {\n \"verdict\": \"pass\",\n \"x\": {}\n}\nb",
                &["a", "V", "b"],
            ),
            ("```json\n{\"verdict\":true}\n```", &["V"]),
            ("~~~ JSON\n\n{\"verdict\":\n1}\n\n~~~", &["V"]),
            ("```json\n{\"verdict\":true}", &["V"]),
            (
                "```\n{\"verdict\":true}\n```\n```text\n{\"verdict\":true}\n```",
                &[],
            ),
            ("> {\"verdict\":true}", &[]),
            ("so {\"verdict\":true}", &["so {\"verdict\":true}"]),
            ("{\"verdict\":true} x", &["B"]),
            (
                "```json\n{\"verdict\":true}\n{\"verdict\":false}\n```",
                &["B"],
            ),
            ("```json\n{\"a\":1}\n```\n{\"a\":\n1}\nx", &["x"]),
            ("{\"verdict\":\"a\n```\nb\"}\nx", &["V", "x"]),
            ("{ hm\nx", &["{ hm", "x"]),
        ] {
            assert_eq!(seen(text), want, "{text:?}");
        }
    }
}
