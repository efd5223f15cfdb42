//! Canonicaliser `json`, form `rfc8785`: the JSON Canonicalization Scheme.
//!
//! Numbers are doubles, as RFC 8785 has it: an integer beyond 2^53 comes out as
//! the double nearest to it. Refused, each with its line: what is not JSON, a
//! key that stands twice in one object, a number no double can hold, half a
//! surrogate pair, nesting deeper than 127, anything but UTF-8. A byte order
//! mark in front is dropped.

pub mod read;

use ralph_plugin::{Canonicaliser, Error};

/// The canonicaliser.
pub struct Json;

impl Canonicaliser for Json {
    const ALGORITHM: &'static str = "rfc8785";

    fn canonicalise(path: &str, content: &[u8]) -> Result<Vec<u8>, Error> {
        canonicalise(content)
            .map(String::into_bytes)
            .map_err(|why| Error::failed(format!("{path}: {why}")))
    }
}

ralph_plugin::canonicaliser!(Json);
ralph_plugin::manifest!(kinds: ["canonicaliser"]);

/// The canonical form of `content`.
///
/// # Errors
/// A text with line and column of what stood in the way.
pub fn canonicalise(content: &[u8]) -> Result<String, String> {
    let text = canonical_json::text(content).map_err(|e| e.to_string())?;
    Ok(read::value(text)?.canonical())
}
