//! Bytes to text.

use std::fmt;

/// The content isn't UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadUtf8 {
    /// Line of the first byte that can't be read; counts from 1.
    pub line: usize,
    /// The content begins with the mark of UTF-16.
    pub utf16: bool,
}

impl fmt::Display for BadUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.utf16 {
            write!(f, "line 1: this is UTF-16; save it as UTF-8")
        } else {
            write!(
                f,
                "line {}: this is not UTF-8; save the file as UTF-8",
                self.line
            )
        }
    }
}

impl std::error::Error for BadUtf8 {}

/// The content as text, without a leading byte order mark.
///
/// # Errors
/// [`BadUtf8`] with the line of the first byte that is not UTF-8.
pub fn text(content: &[u8]) -> Result<&str, BadUtf8> {
    if content.starts_with(&[0xff, 0xfe]) || content.starts_with(&[0xfe, 0xff]) {
        return Err(BadUtf8 {
            line: 1,
            utf16: true,
        });
    }
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    std::str::from_utf8(content).map_err(|e| BadUtf8 {
        line: 1 + content[..e.valid_up_to()]
            .iter()
            .filter(|b| **b == b'\n')
            .count(),
        utf16: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_dropped_once_and_only_in_front() {
        assert_eq!(text("\u{feff}a".as_bytes()), Ok("a"));
        assert_eq!(text("\u{feff}\u{feff}a".as_bytes()), Ok("\u{feff}a"));
        assert_eq!(text("a\u{feff}".as_bytes()), Ok("a\u{feff}"));
    }

    #[test]
    fn what_is_not_utf8_is_refused_with_its_line() {
        assert_eq!(
            text(b"a\nb\n\xff"),
            Err(BadUtf8 {
                line: 3,
                utf16: false
            })
        );
        assert_eq!(
            text(b"\xff\xfea\0"),
            Err(BadUtf8 {
                line: 1,
                utf16: true
            })
        );
        assert!(text(b"\xff\xfea\0").is_err_and(|e| e.to_string().contains("UTF-16")));
    }
}
