//! What an edit changed, by counts; never what it says.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Counts of lines, and of sections: the keys at the root of YAML and JSON, the headings of
/// Markdown with the text below them, and the whole of any other text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Lines that are new.
    pub lines_added: usize,
    /// Lines that are gone.
    pub lines_removed: usize,
    /// Sections that are new, gone or otherwise.
    pub sections_changed: usize,
}

/// A document and its canonical form.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Side<'a> {
    pub text: &'a [u8],
    pub canonical: &'a [u8],
}

/// Above this many cells the lines in the middle count as replaced as a whole.
const CELLS_MAX: usize = 4_000_000;

pub(crate) fn of(form: &str, old: Side<'_>, new: Side<'_>) -> Summary {
    let (lines_added, lines_removed) = lines(old.text, new.text);
    let (old, new) = (sections(form, old.canonical), sections(form, new.canonical));
    let gone = old.keys().filter(|key| !new.contains_key(*key)).count();
    let otherwise = new
        .iter()
        .filter(|(key, value)| old.get(*key) != Some(value));
    Summary {
        lines_added,
        lines_removed,
        sections_changed: gone + otherwise.count(),
    }
}

fn lines(old: &[u8], new: &[u8]) -> (usize, usize) {
    // With their ends: of nothing there is no line.
    let split = |text| <[u8]>::split_inclusive(text, |b| *b == b'\n');
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (split(old).collect(), split(new).collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let common = match old.len().saturating_mul(new.len()) {
        0..=CELLS_MAX => common(old, new),
        _ => 0,
    };
    (new.len() - common, old.len() - common)
}

/// Length of the longest common subsequence.
fn common(old: &[&[u8]], new: &[&[u8]]) -> usize {
    let mut row = vec![0_usize; new.len() + 1];
    for a in old {
        let mut corner = 0;
        for (i, b) in new.iter().enumerate() {
            let above = row[i + 1];
            row[i + 1] = if a == b {
                corner + 1
            } else {
                above.max(row[i])
            };
            corner = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

fn sections(form: &str, canonical: &[u8]) -> BTreeMap<String, String> {
    if canonical.is_empty() {
        return BTreeMap::new();
    }
    let text = String::from_utf8_lossy(canonical);
    match (form, serde_json::from_str(&text)) {
        ("yaml-prompt" | "json", Ok(Value::Object(fields))) => fields
            .into_iter()
            .map(|(key, value)| (key, value.to_string()))
            .collect(),
        ("markdown", _) => {
            let mut found: BTreeMap<String, String> = BTreeMap::new();
            let mut heading = "";
            for line in text.lines() {
                if line.starts_with('#') {
                    heading = line;
                }
                let below = found.entry(heading.to_owned()).or_default();
                below.push_str(line);
                below.push('\n');
            }
            found
        }
        _ => BTreeMap::from([(String::new(), text.into_owned())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(form: &str, old: &str, new: &str) -> (usize, usize, usize) {
        let side = |text: &'static str| Side {
            text: text.as_bytes(),
            canonical: text.as_bytes(),
        };
        let (old, new): (&'static str, &'static str) = (
            Box::leak(old.to_owned().into_boxed_str()),
            Box::leak(new.to_owned().into_boxed_str()),
        );
        let s = of(form, side(old), side(new));
        (s.lines_added, s.lines_removed, s.sections_changed)
    }

    #[test]
    fn lines_are_counted_as_a_diff_has_them() {
        assert_eq!(made("text", "a\nb\nc\n", "a\nb\nc\n"), (0, 0, 0));
        assert_eq!(made("text", "a\nb\nc\n", "a\nx\nc\n"), (1, 1, 1));
        assert_eq!(made("text", "a\nb\nc\n", "c\na\nb\n"), (1, 1, 1));
        assert_eq!(made("text", "a\na\n", "a\na\na\n"), (1, 0, 1));
        assert_eq!(made("text", "", "a\nb"), (2, 0, 1));
        assert_eq!(made("text", "a\nb\n", ""), (0, 2, 1));
        assert_eq!(made("text", "a", ""), (0, 1, 1));
        assert_eq!(made("text", "a", "a\nb"), (2, 1, 1));
        assert_eq!(made("text", "1\n2\n3\n4\n5\n", "1\n3\n5\n"), (0, 2, 1));
    }

    #[test]
    fn sections_are_keys_or_headings() {
        assert_eq!(
            made("json", r#"{"a":1,"b":2,"c":3}"#, r#"{"a":1,"b":9,"d":4}"#).2,
            3
        );
        assert_eq!(
            made("markdown", "# A\nx\n# B\ny\n", "# A\nx\n# B\nz\n# C\n").2,
            2
        );
        assert_eq!(made("markdown", "", "# A\nx\n").2, 1);
    }
}
