//! The plugin's own configuration.

use crate::Error;
use serde::de::DeserializeOwned;

/// Reads this plugin's configuration (`[plugins.<name>.config]`, over which the
/// keys of the gate's, agent's or judge's own table were laid) into `T`.
///
/// Put `#[serde(deny_unknown_fields)]` on `T`, so that a misspelt key is an
/// error and not silence.
///
/// # Errors
/// [`Error::InvalidConfig`] that names the key and says what is wrong with it.
pub fn config<T: DeserializeOwned>() -> Result<T, Error> {
    parse_config(&raw())
}

/// As [`config()`], from a text: one JSON object. For tests.
///
/// # Errors
/// [`Error::InvalidConfig`] that names the key and says what is wrong with it.
pub fn parse_config<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    let reader = &mut serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(reader).map_err(|e| describe(&e))
}

/// Kept apart from the generic function, so that it is compiled once.
fn describe(e: &serde_path_to_error::Error<serde_json::Error>) -> Error {
    let path = e.path().to_string();
    let whole = e.inner().to_string();
    // The host made the JSON: where in it the error stands tells the user nothing.
    let what = whole
        .rsplit_once(" at line ")
        .map_or(whole.as_str(), |(what, _)| what);
    if path == "." || path == "?" {
        // "missing field `x`" and "unknown field `x`" name the key themselves.
        Error::InvalidConfig(what.to_owned())
    } else {
        Error::InvalidConfig(format!("`{path}`: {what}"))
    }
}

#[cfg(target_family = "wasm")]
fn raw() -> String {
    crate::bindings::imports::ralph::plugin::config::get()
}

#[cfg(not(target_family = "wasm"))]
fn raw() -> String {
    crate::testing::with(|h| h.config.clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Inner {
        paths: Vec<String>,
    }
    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Config {
        max: u8,
        inner: Option<Inner>,
    }

    #[test]
    fn a_wrong_key_is_named() {
        for (json, expected) in [
            (
                r#"{"max":"x"}"#,
                r#"`max`: invalid type: string "x", expected u8"#,
            ),
            (
                r#"{"max":300}"#,
                "`max`: invalid value: integer `300`, expected u8",
            ),
            (r#"{}"#, "missing field `max`"),
            (
                r#"{"max":1,"maxx":2}"#,
                "`maxx`: unknown field `maxx`, expected `max` or `inner`",
            ),
            (
                r#"{"max":1,"inner":{"paths":["a",1]}}"#,
                "`inner.paths[1]`: invalid type: integer `1`, expected a string",
            ),
        ] {
            let e = parse_config::<Config>(json).unwrap_err();
            assert_eq!(e, Error::InvalidConfig(expected.into()), "{json}");
        }
    }
}
