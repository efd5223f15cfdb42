//! Strict reading of TOML files other than `ralph.toml`: types say what may stand there.

use serde::de::DeserializeOwned;

use crate::error::ConfigError;
use crate::show;
use crate::source::Source;

/// Reads a file into a type that denies unknown fields. `name` is for messages.
///
/// # Errors
/// No UTF-8, no TOML, unknown keys (with the nearest known one), wrong types and values: with line and column.
pub fn strict<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, ConfigError> {
    let source = Source::from_bytes(name, bytes)?;
    source.check()?;
    toml::from_str(source.toml()).map_err(|e| {
        let mut error = ConfigError::new(name, show::said(e.message()));
        error.hint = nearest(e.message());
        match e.span() {
            Some(span) => error.at(source.position(span.start)),
            None => error,
        }
    })
}

/// serde names the field and those it knows: the nearest of them, if one is near.
fn nearest(message: &str) -> Option<String> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown ").then(|| names.next())??;
    let far = unknown.chars().count().div_ceil(3).max(1);
    let near = |name| strsim::damerau_levenshtein(unknown, name);
    let (distance, name) = names.map(|name| (near(name), name)).min()?;
    (distance <= far).then(|| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Two {
        #[serde(rename = "listen")]
        _listen: Option<String>,
        #[serde(rename = "max_runs")]
        _max_runs: Option<u32>,
    }

    #[test]
    fn a_typo_has_its_place_and_the_nearest_name() {
        let said = |text: &str| strict::<Two>("s", text.as_bytes()).unwrap_err().to_string();
        let typo = said("\n  max_run = 1");
        assert!(
            typo.starts_with("s:2:3:") && typo.ends_with("did you mean `max_runs`?"),
            "{typo}"
        );
        assert!(!said("colour = 1").contains("did you mean"));
        assert!(said("max_runs = \"x\"").starts_with("s:1:12:"));
        // Nothing of it acts on a terminal.
        let odd = said("\"\\u001b[2J\" = 1");
        assert!(
            odd.contains("\\u{1b}[2J") && !odd.contains('\u{1b}'),
            "{odd}"
        );
    }
}
