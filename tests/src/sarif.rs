//! Holds a log against SARIF 2.1.0, as far as ralph uses it. Written from the standard (OASIS, with
//! its section for each object): what has to be there, of which type, and that nothing else is.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Properties of an object: name, required, what it has to be.
type Properties = [(&'static str, bool, fn(&Value, &str))];

/// Panics unless the value is a log file.
#[track_caller]
pub fn sarif(log: &Value) {
    object(
        log,
        "sarifLog",
        &[
            ("$schema", false, uri),
            ("version", true, |v, at| one_of(v, at, &["2.1.0"])),
            ("runs", true, |v, at| each(v, at, run)),
        ],
    );
}

/// 3.14
fn run(run: &Value, at: &str) {
    object(
        run,
        at,
        &[
            ("tool", true, |v, at| {
                object(v, at, &[("driver", true, driver)])
            }),
            ("columnKind", false, |v, at| {
                one_of(v, at, &["utf16CodeUnits", "unicodeCodePoints"]);
            }),
            ("results", false, |v, at| each(v, at, result)),
        ],
    );
    // 3.27.5 and 3.49: what a result names is among the rules, each of which is there once.
    let rules = run["tool"]["driver"]["rules"].as_array();
    let ids: Vec<&Value> = rules
        .into_iter()
        .flatten()
        .map(|rule| &rule["id"])
        .collect();
    let once: BTreeSet<String> = ids.iter().map(|id| id.to_string()).collect();
    assert_eq!(once.len(), ids.len(), "{at}: a rule twice: {ids:?}");
    for result in run["results"].as_array().into_iter().flatten() {
        assert!(
            ids.contains(&&result["ruleId"]),
            "{at}: no rule for {result}"
        );
    }
}

/// 3.19
fn driver(driver: &Value, at: &str) {
    object(
        driver,
        at,
        &[
            ("name", true, word),
            ("version", false, word),
            ("informationUri", false, uri),
            ("rules", false, |v, at| {
                each(v, at, |v, at| object(v, at, &[("id", true, word)]));
            }),
        ],
    );
}

/// 3.27
fn result(result: &Value, at: &str) {
    object(
        result,
        at,
        &[
            ("ruleId", false, word),
            ("level", false, |v, at| {
                one_of(v, at, &["none", "note", "warning", "error"]);
            }),
            // 3.11: plain text of a message.
            ("message", true, |v, at| {
                object(v, at, &[("text", true, text)])
            }),
            ("locations", false, |v, at| {
                each(v, at, |v, at| {
                    object(v, at, &[("physicalLocation", false, place)])
                });
            }),
        ],
    );
}

/// 3.29
fn place(place: &Value, at: &str) {
    object(
        place,
        at,
        &[
            ("artifactLocation", true, |v, at| {
                object(
                    v,
                    at,
                    &[("uri", false, relative), ("uriBaseId", false, word)],
                );
            }),
            ("region", false, |v, at| {
                object(v, at, &[("startLine", true, positive)]);
            }),
        ],
    );
}

#[track_caller]
fn object(value: &Value, at: &str, properties: &Properties) {
    let Value::Object(found) = value else {
        panic!("{at}: no object: {value}");
    };
    check(found, at, properties);
}

fn check(found: &Map<String, Value>, at: &str, properties: &Properties) {
    for name in found.keys() {
        let known = properties.iter().any(|(known, ..)| known == name);
        assert!(known, "{at}: {name} is no property of it");
    }
    for (name, required, is) in properties {
        match found.get(*name) {
            Some(value) => is(value, &format!("{at}.{name}")),
            None => assert!(!required, "{at}: without {name}"),
        }
    }
}

fn each(value: &Value, at: &str, is: impl Fn(&Value, &str)) {
    let Value::Array(all) = value else {
        panic!("{at}: no array: {value}");
    };
    for (i, one) in all.iter().enumerate() {
        is(one, &format!("{at}[{i}]"));
    }
}

fn one_of(value: &Value, at: &str, all: &[&str]) {
    let fits = value.as_str().is_some_and(|value| all.contains(&value));
    assert!(fits, "{at}: {value} is none of {all:?}");
}

fn text<'a>(value: &'a Value, at: &str) {
    let fits = |text: &'a str| !text.chars().any(|c| c == '\u{1b}' || c == '\0');
    assert!(value.as_str().is_some_and(fits), "{at}: {value}");
}

fn word(value: &Value, at: &str) {
    let fits = value.as_str().is_some_and(|word| !word.is_empty());
    assert!(fits, "{at}: {value}");
}

fn positive(value: &Value, at: &str) {
    assert!(value.as_u64().is_some_and(|n| n > 0), "{at}: {value}");
}

/// RFC 3986: its characters, and a scheme.
fn uri(value: &Value, at: &str) {
    reference(value, at);
    let text = value.as_str().unwrap();
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    assert!(fits, "{at}: no absolute address: {text}");
}

/// 3.4.4: below a base, and so without a scheme, and not from the root.
fn relative(value: &Value, at: &str) {
    reference(value, at);
    let text = value.as_str().unwrap();
    let first = text.split('/').next().unwrap_or_default();
    assert!(
        !text.starts_with('/') && !first.contains(':'),
        "{at}: {text}"
    );
}

fn reference(value: &Value, at: &str) {
    let Some(text) = value.as_str() else {
        panic!("{at}: no string: {value}");
    };
    let bytes = text.as_bytes();
    for (i, byte) in bytes.iter().enumerate() {
        let fits = match byte {
            b'%' => bytes
                .get(i + 1..i + 3)
                .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
            byte => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(byte),
        };
        assert!(fits, "{at}: no address: {text}");
    }
}
