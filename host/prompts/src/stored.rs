//! Where a file's fingerprint stands: in the sidecar `<file>.fp`, one line; without one,
//! in the field `fingerprint` of a YAML document.

use serde::Serialize;

use crate::fingerprint::Fingerprint;

/// What a sidecar's name ends in.
pub const SIDECAR: &str = ".fp";

/// A sidecar has no more bytes.
pub(crate) const SIDECAR_MAX: u64 = 1024;

/// Where a fingerprint stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// `<file>.fp`
    Sidecar,
    /// The document's field `fingerprint`.
    Field,
}

/// What a sidecar says.
///
/// # Errors
/// It isn't one line with a fingerprint.
pub fn read_sidecar(bytes: &[u8]) -> Result<Fingerprint, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the sidecar isn't text".to_owned())?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    line.strip_suffix('\r')
        .unwrap_or(line)
        .parse()
        .map_err(|why| format!("the sidecar can't be read: {why}"))
}

/// A sidecar's content.
pub fn sidecar(fingerprint: &Fingerprint) -> String {
    format!("{fingerprint}\n")
}

/// What the field of a YAML document says, if it has one in a line of its own. At the
/// beginning of a line a key can only be one of the root's: what belongs to another is indented.
/// Any other content than a fingerprint is none: units are drafted with a word in its place.
pub fn field(text: &str) -> Option<Fingerprint> {
    let (from, to) = field_at(text)?;
    text.get(from..to)?.parse().ok()
}

/// The document with `fingerprint` in its field, if it has one with a fingerprint.
pub fn with_field(text: &str, fingerprint: &Fingerprint) -> Option<String> {
    field(text)?;
    let (from, to) = field_at(text)?;
    Some(format!(
        "{}{fingerprint}{}",
        text.get(..from)?,
        text.get(to..)?
    ))
}

/// Where the field's value stands, without its quotes.
fn field_at(text: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let key = line
            .trim_start_matches('\u{feff}')
            .strip_prefix("fingerprint:");
        if let Some(rest) = key.filter(|rest| rest.starts_with([' ', '\t'])) {
            let value = rest.trim_start_matches([' ', '\t']);
            let begin = at + line.len() - value.len();
            return match value.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    let end = value.get(1..)?.find(quote)?;
                    Some((begin + 1, begin + 1 + end))
                }
                _ => {
                    let end = value.find([' ', '\t', '\r', '\n']).unwrap_or(value.len());
                    Some((begin, begin + end))
                }
            };
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::fingerprint::Algorithm;

    #[test]
    fn a_sidecar_is_one_line() {
        let fingerprint = Algorithm::Sha256.of(b"x");
        let text = sidecar(&fingerprint);
        assert!(text.ends_with('\n') && text.lines().count() == 1);
        for same in [
            text.clone(),
            text.trim().to_owned(),
            text.replace('\n', "\r\n"),
        ] {
            assert_eq!(
                read_sidecar(same.as_bytes()),
                Ok(fingerprint.clone()),
                "{same:?}"
            );
        }
        for bad in [
            String::new(),
            format!("{text}{text}"),
            format!(" {text}"),
            "x".into(),
        ] {
            assert!(read_sidecar(bad.as_bytes()).is_err(), "{bad:?}");
        }
        assert!(read_sidecar(b"\xff").is_err());
    }

    #[test]
    fn the_field_is_that_of_the_root_and_only_its_value_is_replaced() {
        let (old, new) = (Algorithm::Blake3.of(b"old"), Algorithm::Blake3.of(b"new"));
        for (before, after) in [
            ("id: x\nfingerprint: ", "\nb: 1\n"),
            ("fingerprint: \"", "\" # by hand\r\nid: x\r\n"),
            ("fingerprint:   '", "'"),
            ("\u{feff}fingerprint: ", "  # x\n"),
            (
                "a:\n  fingerprint: blake3:00\nt: |\n  fingerprint: x\nfingerprint: ",
                "\n",
            ),
        ] {
            let text = format!("{before}{old}{after}");
            assert_eq!(field(&text).as_ref(), Some(&old), "{text:?}");
            assert_eq!(
                with_field(&text, &new).unwrap(),
                format!("{before}{new}{after}")
            );
        }
        for none in [
            "id: x\n".to_owned(),
            "fingerprint: \"blake3:placeholder\"\n".into(),
            format!("a: {{fingerprint: {old}}}\n"),
            format!("  fingerprint: {old}\n"),
            "fingerprint:\n".into(),
            "fingerprint: \"\n".into(),
            format!("fingerprint:{old}\n"),
        ] {
            assert_eq!(field(&none), None, "{none:?}");
            assert_eq!(with_field(&none, &new), None);
        }
    }
}
