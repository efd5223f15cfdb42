//! JSON objects out of running text.

use serde::Deserialize;
use serde_json::Value;

/// Objects nested deeper than this are none.
const MAX_DEPTH: usize = 32;

/// Longer objects are none.
const MAX_BYTES: usize = 256 * 1024;

/// So many bytes of one answer may be searched for the ends of objects in vain; then
/// it is searched no further, for a hostile one would take for ever.
pub const MAX_SEARCH: usize = 2 << 20;

/// What an object has to say about the work. Any shape goes; it is looked at later.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Said {
    /// `"pass"`, `"fail"`, or a boolean.
    pub verdict: Value,
    /// One line.
    #[serde(default)]
    pub summary: Value,
    /// A list of texts, or of objects with `message`, `path`, `line`, `rule`.
    #[serde(default)]
    pub findings: Value,
}

/// What stands at the start of a text that begins with `{`.
#[derive(Debug, PartialEq)]
pub enum Found {
    /// A verdict object; it is so many bytes long.
    Verdict(Box<Said>, usize),
    /// An object that says nothing about a verdict; it is so many bytes long.
    Other(usize),
    /// Something that names a verdict and can't be read; says why.
    Broken(String),
    /// No JSON.
    Nothing,
}

/// Looks at the start of `text`, which is a `{`. `search` is what is left of
/// [`MAX_SEARCH`]. `ends_well` is asked about what follows the object; if it says
/// no, what stands there is no object.
pub fn at_start(text: &str, search: &mut usize, ends_well: impl Fn(&str) -> bool) -> Found {
    let near = &text[..text.floor_char_boundary(text.len().min(400))];
    let broken = |why: String| {
        if near.contains("\"verdict\"") {
            Found::Broken(why)
        } else {
            Found::Nothing
        }
    };
    if *search == 0 {
        return Found::Broken("there are too many `{` that nothing closes".into());
    }
    let end = match end_of(text) {
        Ok(end) => end,
        Err(searched) => {
            *search = search.saturating_sub(searched);
            return broken("it has no end".into());
        }
    };
    if !ends_well(&text[end..]) {
        return broken("something follows it in the same line".into());
    }
    let json = tolerant(&text[..end]);
    match serde_json::from_str::<Said>(&json) {
        Ok(said) => Found::Verdict(Box::new(said), end),
        Err(e) if e.is_data() && e.to_string().starts_with("missing field `verdict`") => {
            Found::Other(end)
        }
        Err(e) => broken(e.to_string()),
    }
}

/// Where the object that `text` begins with ends, or how far it was searched in vain.
fn end_of(text: &str) -> Result<usize, usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, b) in text.bytes().enumerate().take(MAX_BYTES) {
        match b {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(at);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            _ => {}
        }
    }
    Err(text.len().min(MAX_BYTES))
}

/// `json` with raw control characters inside its strings written as escapes.
fn tolerant(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // A backslash in front of a raw line end is taken as one that means itself.
            c if in_string && c < ' ' => {
                if escaped {
                    out.push('\\');
                }
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
                escaped = false;
                continue;
            }
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn verdict(text: &str) -> Option<Value> {
        match at_start(text, &mut MAX_SEARCH.clone(), |_| true) {
            Found::Verdict(said, _) => Some(said.verdict),
            _ => None,
        }
    }

    #[test]
    fn an_object_ends_where_its_brace_closes() {
        for (text, end) in [
            ("{\"verdict\":1} x", 13),
            ("{\"verdict\":\"}\\\"}\"}", 18),
            ("{\"verdict\":{\"a\":[{}]}}{", 22),
        ] {
            let Found::Verdict(_, found) = at_start(text, &mut MAX_SEARCH.clone(), |_| true) else {
                panic!("{text}")
            };
            assert_eq!(found, end, "{text}");
        }
        assert_eq!(
            at_start("{\"a\":1} x", &mut MAX_SEARCH.clone(), |_| true),
            Found::Other(7)
        );
    }

    #[test]
    fn raw_control_characters_in_strings_are_tolerated() {
        let said = verdict("{\"verdict\":\"a\tb\nc\u{7}d\\ne\\\nf\"}");
        assert_eq!(said, Some(Value::String("a\tb\nc\u{7}d\ne\\\nf".into())));
    }

    #[test]
    fn what_names_a_verdict_and_cannot_be_read_is_told_from_what_is_no_json() {
        for text in [
            "{\"verdict\":\"pass\"",
            "{\"verdict\":\"pass\"|\"fail\"}",
            "{\"verdict\":\"fail\",\"verdict\":\"pass\"}",
            "{\"verdict\": pass}",
        ] {
            assert!(
                matches!(
                    at_start(text, &mut MAX_SEARCH.clone(), |_| true),
                    Found::Broken(_)
                ),
                "{text}"
            );
        }
        assert!(matches!(
            at_start("{\"verdict\":true} x", &mut MAX_SEARCH.clone(), |rest| rest
                .is_empty()),
            Found::Broken(_)
        ));
        for text in ["{", "{ not json }", "{}x{", "{{{{"] {
            assert!(
                !matches!(
                    at_start(text, &mut MAX_SEARCH.clone(), |_| true),
                    Found::Broken(_) | Found::Verdict(..)
                ),
                "{text}"
            );
        }
    }

    #[test]
    fn nesting_is_bounded() {
        assert_eq!(
            verdict(&format!(
                "{{\"verdict\":{}{}}}",
                "[".repeat(100_000),
                "]".repeat(100_000)
            )),
            None
        );
    }
}
