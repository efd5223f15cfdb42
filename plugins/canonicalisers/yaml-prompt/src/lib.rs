//! Canonicaliser `yaml-prompt`, form `ralph-yaml-prompt-1`: prompts that say the
//! same have the same fingerprint, however their YAML is spelled.
//!
//! 1. *Read* one document of YAML 1.2 with the core schema. UTF-8; a byte order
//!    mark in front is dropped; CR LF counts as LF.
//! 2. *Transform*: the top-level key `fingerprint` is dropped; entries of mappings
//!    whose value is null are dropped at every depth (nulls in lists stay, and so
//!    do `[]`, `{}` and `""`); strings, keys included, become NFC.
//! 3. *Write* as RFC 8785 has it: compact JSON, keys sorted by UTF-16 code units,
//!    numbers as ECMAScript writes them, UTF-8, no line feed at the end.
//!
//! What could mean two things is refused, never guessed, each with its line:
//! tags; keys that are not strings; the keys `<<` and `__proto__`; a key that
//! stands twice, also after NFC; `.inf`, `.nan` and numbers too large for a
//! double; unquoted integers beyond 2^53; a root that is no mapping; more than
//! one document; directives other than `%YAML 1.2`; nesting deeper than
//! [`MAX_DEPTH`]; anchors and aliases that hold more than [`MAX_SHARED_NODES`]
//! nodes or [`MAX_SHARED_BYTES`] bytes together.
//!
//! Beware of unquoted versions: `1.10` is the number 1.1 here as everywhere in YAML.
//!
//! * [`document`]: parser events to a value
//! * [`scalar`]: what a plain scalar means
//! * [`shared`]: anchors and aliases, and their cap

pub mod document;
pub mod scalar;
pub mod shared;

pub use document::MAX_DEPTH;
pub use shared::{MAX_SHARED_BYTES, MAX_SHARED_NODES};

use ralph_plugin::{Canonicaliser, Error};

/// The canonicaliser.
pub struct YamlPrompt;

impl Canonicaliser for YamlPrompt {
    const ALGORITHM: &'static str = "ralph-yaml-prompt-1";

    fn canonicalise(path: &str, content: &[u8]) -> Result<Vec<u8>, Error> {
        canonicalise(content)
            .map(String::into_bytes)
            .map_err(|why| Error::failed(format!("{path}: {why}")))
    }
}

ralph_plugin::canonicaliser!(YamlPrompt);
ralph_plugin::manifest!(kinds: ["canonicaliser"]);

/// The canonical form of `content`.
///
/// # Errors
/// A text with the line of what stood in the way.
pub fn canonicalise(content: &[u8]) -> Result<String, String> {
    let text = canonical_json::text(content).map_err(|e| e.to_string())?;
    let value = document::read(text).map_err(|e| e.to_string())?;
    Ok(value.canonical())
}
