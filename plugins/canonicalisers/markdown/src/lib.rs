//! Canonicaliser `markdown`, form `ralph-markdown-1`: Markdown that reads the same
//! has the same fingerprint whatever editor saved it.
//!
//! The content must be UTF-8. Then, in this order:
//!
//! 1. a byte order mark in front is dropped; CR LF and a lone CR become LF;
//! 2. the text becomes NFC;
//! 3. spaces and tabs at the end of a line are dropped, but for two spaces where the
//!    line has text and ended in two or more: they are a line break;
//! 4. empty lines at the end are dropped, and the last line ends with one LF. Without
//!    any text there are no bytes at all.
//!
//! Everything else stays: empty lines elsewhere, indentation, the marks of lists and
//! emphasis. Nothing is known of blocks, so that the rules hold within code as well, and
//! front matter is text like the rest: a fingerprint belongs beside such a file, not into it.

use ralph_plugin::{Canonicaliser, Error};
use unicode_normalization::UnicodeNormalization;

/// The canonicaliser.
pub struct Markdown;

impl Canonicaliser for Markdown {
    const ALGORITHM: &'static str = "ralph-markdown-1";

    fn canonicalise(path: &str, content: &[u8]) -> Result<Vec<u8>, Error> {
        canonicalise(content)
            .map(String::into_bytes)
            .map_err(|why| Error::failed(format!("{path}: {why}")))
    }
}

ralph_plugin::canonicaliser!(Markdown);
ralph_plugin::manifest!(kinds: ["canonicaliser"]);

/// The canonical form of `content`.
///
/// # Errors
/// A text with the line of what is not UTF-8.
pub fn canonicalise(content: &[u8]) -> Result<String, String> {
    let text = canonical_json::text(content).map_err(|e| e.to_string())?;
    let text: String = text
        .replace("\r\n", "\n")
        .replace('\r', "\n")
        .nfc()
        .collect();
    let mut out = String::with_capacity(text.len() + 1);
    let mut empty = 0;
    for line in text.split('\n') {
        let words = line.trim_end_matches([' ', '\t']);
        if words.is_empty() {
            empty += 1;
            continue;
        }
        out.extend(std::iter::repeat_n('\n', empty));
        empty = 0;
        out.push_str(words);
        if line.ends_with("  ") {
            out.push_str("  ");
        }
        out.push('\n');
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(text: &str, want: &str) {
        assert_eq!(
            canonicalise(text.as_bytes()).as_deref(),
            Ok(want),
            "{text:?}"
        );
    }

    #[test]
    fn what_editors_do_to_a_file_makes_no_difference() {
        let want = "# T\n\ntext\n";
        for text in [
            "# T\n\ntext\n",
            "# T\n\ntext",
            "# T\r\n\r\ntext\r\n",
            "# T\r\rtext\r",
            "\u{feff}# T\n\ntext\n",
            "# T \n \t \ntext\t\n\n \n\n",
        ] {
            same(text, want);
        }
        same("e\u{301}\n", "\u{e9}\n");
    }

    #[test]
    fn a_line_break_of_two_spaces_stays_and_more_spaces_are_the_same_one() {
        same("a  \nb\n", "a  \nb\n");
        same("a     \nb\n", "a  \nb\n");
        same("a\t  \nb\n", "a  \nb\n");
        same("a \nb\n", "a\nb\n");
        same("a  \t\nb\n", "a\nb\n");
        same("a\n   \nb\n", "a\n\nb\n");
    }

    #[test]
    fn what_may_mean_something_stays() {
        for kept in [
            "\n\na\n",
            "a\n\n\n\nb\n",
            "    code\n\tcode\n",
            "* a\n- b\n",
            "---\nfingerprint: x\n---\n",
            "a\u{a0}\n",
        ] {
            same(kept, kept);
        }
    }

    #[test]
    fn nothing_but_white_space_is_nothing() {
        for text in ["", "\n", " \t\r\n\n", "\u{feff}"] {
            same(text, "");
        }
    }

    #[test]
    fn what_is_not_utf8_is_refused_with_its_line() {
        assert!(canonicalise(b"a\r\nb\xff").is_err_and(|e| e.starts_with("line 2:")));
    }

    proptest! {
        #[test]
        fn the_canonical_text_is_its_own_canonical_form(text in "[ab#*\u{301}\u{e9} \t\r\n]{0,60}") {
            let once = canonicalise(text.as_bytes()).unwrap_or_default();
            prop_assert_eq!(canonicalise(once.as_bytes()), Ok(once.clone()), "{:?}", text);
        }
    }
}
