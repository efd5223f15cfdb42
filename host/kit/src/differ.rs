//! Where an answer isn't what was expected, in words.

use serde_json::Value;

/// A value is shown to this many characters.
const SHOWN: usize = 160;

/// Everything that `expected` names has to be in `got`, and be equal; lists have to be as long.
/// What isn't named isn't looked at.
pub(crate) fn differences(expected: &Value, got: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", expected, got, &mut found);
    found
}

fn compare(at: &str, expected: &Value, got: &Value, found: &mut Vec<String>) {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            for (key, value) in expected {
                let at = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                match got.get(key) {
                    Some(got) => compare(&at, value, got, found),
                    // `null` stands for what isn't there.
                    None if value.is_null() => {}
                    None => found.push(format!("{at}: expected {}, got nothing", shown(value))),
                }
            }
        }
        (Value::Array(expected), Value::Array(got)) => {
            for (n, (expected, got)) in expected.iter().zip(got).enumerate() {
                compare(&format!("{at}[{n}]"), expected, got, found);
            }
            for (n, more) in got.iter().enumerate().skip(expected.len()) {
                found.push(format!("{at}[{n}]: not expected: {}", shown(more)));
            }
            for (n, less) in expected.iter().enumerate().skip(got.len()) {
                found.push(format!("{at}[{n}]: expected {}, got nothing", shown(less)));
            }
        }
        _ if expected == got => {}
        _ => found.push(format!(
            "{at}: expected {}\n{:>w$} got {}",
            shown(expected),
            "",
            shown(got),
            w = at.len() + 5
        )),
    }
}

fn shown(value: &Value) -> String {
    ralph_engine::text::one_line(&value.to_string(), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_named_counts_and_lists_are_whole() {
        let got =
            json!({"status": "fail", "findings": [{"message": "a", "line": 1}, {"message": "b"}]});
        let same = |expected: Value| differences(&expected, &got);
        assert_eq!(same(json!({"status": "fail"})), Vec::<String>::new());
        assert_eq!(
            same(json!({"findings": [{"message": "a"}, {"line": null}]})),
            Vec::<String>::new()
        );
        for (expected, says) in [
            (json!({"status": "pass"}), "status: expected \"pass\""),
            (json!({"findings": []}), "findings[0]: not expected"),
            (
                json!({"findings": [{"message": "x"}, {}]}),
                "findings[0].message: expected \"x\"",
            ),
            (
                json!({"findings": [{}, {}, {"message": "c"}]}),
                "findings[2]: expected",
            ),
            (
                json!({"summary": "s"}),
                "summary: expected \"s\", got nothing",
            ),
        ] {
            let told = same(expected.clone());
            assert!(told[0].starts_with(says), "{expected}: {told:?}");
        }
    }
}
