//! Outside text made visible: nothing a configuration says may hide or act when it is shown.

use std::fmt::Write as _;

/// Longest name shown in an error, in characters.
const NAME_MAX: usize = 60;

/// The text with everything that does not show as itself written as an escape. Two different
/// texts never look the same.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '"' | '\\' => out.extend(['\\', c]),
            c if hidden(c) => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// The same of what a library says about a file: what it quotes is somebody else's.
pub(crate) fn said(message: &str) -> String {
    visible(message).replace("\\\"", "\"")
}

/// Control, format, blank and tag characters: what a terminal acts on or shows as nothing.
fn hidden(c: char) -> bool {
    let blank = c.is_whitespace() && c != ' ';
    c.is_control()
        || blank
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
}

/// Does it show as itself?
pub(crate) fn is_plain(text: &str) -> bool {
    !text.chars().any(hidden)
}

/// A name from outside in an error: visible and short.
pub(crate) fn name(text: &str) -> String {
    let mut chars = text.chars();
    let short: String = chars.by_ref().take(NAME_MAX).collect();
    let more = if chars.next().is_some() { "…" } else { "" };
    format!("`{}{more}`", visible(&short))
}

/// A word as a shell would need it, or with quotes and escapes where it isn't plain.
pub(crate) fn word(text: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(safe) {
        text.to_owned()
    } else {
        format!("\"{}\"", visible(text))
    }
}

/// Words with blanks between them; which words it were can be told from the result.
pub(crate) fn words(list: &[String]) -> String {
    list.iter().map(|w| word(w)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G07
    #[test]
    fn what_would_hide_or_act_is_spelled_out() {
        for (text, want) in [
            ("a b", "a b"),
            ("é日🎉", "é日🎉"),
            ("a\u{1b}[2J", "a\\u{1b}[2J"),
            ("\u{e0041}\u{e0042}", "\\u{e0041}\\u{e0042}"),
            ("\u{202e}x\u{200b}", "\\u{202e}x\\u{200b}"),
            ("a\u{a0}b", "a\\u{a0}b"),
            ("\\u{1b} \"\n", "\\\\u{1b} \\\"\\n"),
        ] {
            assert_eq!(visible(text), want);
        }
    }

    #[test]
    fn words_keep_their_borders() {
        let list = |l: &[&str]| words(&l.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            list(&["sh", "-c", "$(touch x); \"id\" #", ""]),
            "sh -c \"$(touch x); \\\"id\\\" #\" \"\""
        );
        assert_ne!(list(&["a b"]), list(&["a", "b"]));
        assert_ne!(list(&["a\" \"b"]), list(&["a", "b"]));
    }
}
