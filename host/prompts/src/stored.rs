//! Where a file's fingerprint stands: in the sidecar `<file>.fp`, one line; without one,
//! in the field `fingerprint` of a YAML document.

use serde::Serialize;

use crate::fingerprint::{Algorithm, Fingerprint};

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
/// Units are drafted with a word in its place, as `blake3:placeholder`, which is none.
///
/// # Errors
/// It was a fingerprint, and isn't one any more.
pub fn field(text: &str) -> Option<Result<Fingerprint, Damaged>> {
    let (from, to) = field_at(text)?;
    let value = text.get(from..to)?;
    let (name, rest) = value.split_once(':')?;
    let algorithm = name.to_ascii_lowercase().parse().ok()?;
    match value.parse() {
        Ok(fingerprint) => Some(Ok(fingerprint)),
        // In a word there are none.
        Err(_) if !rest.contains(|c: char| c.is_ascii_digit()) => None,
        Err(why) => Some(Err(Damaged { algorithm, why })),
    }
}

/// What was a fingerprint, and isn't one any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// The hash that it names.
    pub algorithm: Algorithm,
    /// What is wrong with it.
    pub why: String,
}

/// The document with `fingerprint` in its field, if it has one with a fingerprint, damaged or not.
pub fn with_field(text: &str, fingerprint: &Fingerprint) -> Option<String> {
    let _ = field(text)?;
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
    // Between braces a line's beginning says nothing of whose the key is.
    let braces = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{');
    for line in text.split_inclusive('\n') {
        let line_text = line.trim_start_matches('\u{feff}');
        let key = ["fingerprint", "\"fingerprint\"", "'fingerprint'"]
            .iter()
            .filter(|key| !braces || !key.starts_with(['"', '\'']))
            .find_map(|key| line_text.strip_prefix(key));
        let value = key.and_then(|rest| rest.trim_start_matches([' ', '\t']).strip_prefix(':'));
        if let Some(rest) = value.filter(|rest| rest.starts_with([' ', '\t'])) {
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
            ("id: x\n\"fingerprint\": ", "\n"),
            ("'fingerprint' : \"", "\"\n"),
            ("\u{feff}fingerprint: ", "  # x\n"),
            (
                "a:\n  fingerprint: blake3:00\nt: |\n  fingerprint: x\nfingerprint: ",
                "\n",
            ),
        ] {
            let text = format!("{before}{old}{after}");
            assert_eq!(field(&text), Some(Ok(old.clone())), "{text:?}");
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
        // What was one is not taken for a draft.
        let text = old.to_string();
        for damaged in [
            text.replacen(':', ": ", 1),
            text[..40].to_owned(),
            format!("{text}0"),
            text.to_uppercase(),
            text.replace("blake3:", "sha256:").replace('0', "g0"),
        ] {
            let unit = format!("id: x\nfingerprint: \"{damaged}\"\n");
            assert!(matches!(field(&unit), Some(Err(_))), "{unit}");
            let sealed = unit.replace(&damaged, &new.to_string());
            assert_eq!(with_field(&unit, &new), Some(sealed));
        }
    }
}
