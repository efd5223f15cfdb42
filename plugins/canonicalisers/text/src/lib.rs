//! Canonicaliser `text`, form `ralph-text-1`: the same words have the same
//! fingerprint whatever editor saved them.
//!
//! The content must be UTF-8. A byte order mark in front is dropped; CR LF and
//! a lone CR become LF. Everything else stays as it is, byte for byte: white
//! space at the end of a line or of the file, Unicode composition, control
//! characters.

use ralph_plugin::{Canonicaliser, Error};

/// The canonicaliser.
pub struct Text;

impl Canonicaliser for Text {
    const ALGORITHM: &'static str = "ralph-text-1";

    fn canonicalise(path: &str, content: &[u8]) -> Result<Vec<u8>, Error> {
        canonicalise(content)
            .map(String::into_bytes)
            .map_err(|why| Error::failed(format!("{path}: {why}")))
    }
}

ralph_plugin::canonicaliser!(Text);
ralph_plugin::manifest!(kinds: ["canonicaliser"]);

/// The canonical form of `content`.
///
/// # Errors
/// A text with the line of what is not UTF-8.
pub fn canonicalise(content: &[u8]) -> Result<String, String> {
    let text = canonical_json::text(content).map_err(|e| e.to_string())?;
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings_and_byte_order_mark_make_no_difference() {
        for same in ["a\nb\n", "a\r\nb\r\n", "a\rb\r", "\u{feff}a\r\nb\n"] {
            assert_eq!(
                canonicalise(same.as_bytes()).as_deref(),
                Ok("a\nb\n"),
                "{same:?}"
            );
        }
        // Two returns are two line ends, not one.
        assert_eq!(canonicalise(b"a\r\r\nb").as_deref(), Ok("a\n\nb"));
    }

    #[test]
    fn everything_else_stays_byte_for_byte() {
        for kept in [
            "",
            "a",
            "a  \n\t\n\n",
            "e\u{301}",
            "\u{e9}",
            "\0\u{1b}[0m",
            "a\u{feff}",
        ] {
            assert_eq!(
                canonicalise(kept.as_bytes()).as_deref(),
                Ok(kept),
                "{kept:?}"
            );
        }
    }

    #[test]
    fn what_is_not_utf8_is_refused_with_its_line() {
        assert!(canonicalise(b"a\r\nb\xff").is_err_and(|e| e.starts_with("line 2:")));
    }
}
