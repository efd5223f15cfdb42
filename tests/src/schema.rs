//! Holds a value against a JSON Schema, as far as the published ones go: a keyword that isn't
//! known here fails the test instead of passing unseen.

use serde_json::Value;

/// Words that say nothing of what is valid.
const WORDS: [&str; 6] = [
    "$schema",
    "title",
    "description",
    "default",
    "format",
    "examples",
];

/// Panics unless the value is as the schema says.
#[track_caller]
pub fn valid(schema: &Value, value: &Value) {
    if let Err(why) = check(schema, value, "") {
        panic!("{why}\nschema {schema}\nvalue {value}");
    }
}

/// Why the value isn't as the schema says, and where.
pub fn check(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let rules = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(rules) => rules,
        odd => return Err(format!("{at}: no schema: {odd}")),
    };
    let no = |why: String| Err(format!("at `{at}`: {why}"));
    for (word, rule) in rules {
        match word.as_str() {
            "type" => {
                let one = |name: &Value| name.as_str().is_some_and(|name| is(name, value));
                let fits = rule
                    .as_array()
                    .map_or_else(|| one(rule), |all| all.iter().any(one));
                if !fits {
                    return no(format!("{value} is no {rule}"));
                }
            }
            "enum" if rule.as_array().is_some_and(|all| all.contains(value)) => {}
            "enum" => return no(format!("{value} is none of {rule}")),
            "const" if rule == value => {}
            "minimum" if value.as_f64() >= rule.as_f64() || !value.is_number() => {}
            "maximum" if value.as_f64() <= rule.as_f64() || !value.is_number() => {}
            "anyOf" | "oneOf" => {
                let all = rule.as_array().unwrap();
                let fit = all.iter().filter(|s| check(s, value, at).is_ok()).count();
                if fit == 0 || fit > 1 && word == "oneOf" {
                    return no(format!("{value} fits {fit} of {rule}"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                        return no(format!("{name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(schema, value, &format!("{at}/{name}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let known = rules.get("properties");
                for (name, value) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|k| k.get(name).is_none()) {
                        if *rule == Value::Bool(false) {
                            return no(format!("`{name}` isn't known"));
                        }
                        check(rule, value, &format!("{at}/{name}"))?;
                    }
                }
            }
            "items" => {
                for (n, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, value, &format!("{at}/{n}"))?;
                }
            }
            "minItems" | "maxItems" | "uniqueItems" => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                let count = items.len() as u64;
                let twice = (1..items.len()).any(|n| items[..n].contains(&items[n]));
                let fits = match word.as_str() {
                    "minItems" => rule.as_u64() <= Some(count),
                    "maxItems" => rule.as_u64() >= Some(count),
                    _ => *rule == Value::Bool(false) || !twice,
                };
                if !fits {
                    return no(format!("{word} {rule}: {value}"));
                }
            }
            word if WORDS.contains(&word) => {}
            _ => {
                return no(format!(
                    "`{word}: {rule}` isn't kept, or isn't known to the test"
                ));
            }
        }
    }
    Ok(())
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "string" => value.is_string(),
        _ => false,
    }
}
