//! A tool's arguments against its JSON Schema, as much of draft 2020-12 as can be checked here.
//! A schema that asks for more is refused as a whole: "checked" is to mean that.

use serde_json::{Map, Value};

/// Keywords that only describe.
const REMARKS: [&str; 11] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "format",
];

/// Keywords that are checked.
const CHECKED: [&str; 20] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "anyOf",
    "oneOf",
    "allOf",
];

const TYPES: [&str; 7] = [
    "object", "array", "string", "integer", "number", "boolean", "null",
];

/// A schema's own text may be this long, in bytes.
const TEXT_MAX: usize = 64 << 10;

/// Schemas in one another, those that `$ref` leads to included.
const DEPTH_MAX: usize = 64;

/// Steps that one check may take: `$ref` and `anyOf` can multiply.
const STEPS_MAX: usize = 100_000;

/// The schema of a tool's arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema(Value);

impl Schema {
    /// Reads one.
    ///
    /// # Errors
    /// It is no JSON, doesn't describe an object, or asks for what isn't checked here.
    pub fn parse(text: &str) -> Result<Schema, String> {
        if text.len() > TEXT_MAX {
            return Err(format!("its schema is longer than {TEXT_MAX} bytes"));
        }
        let value: Value =
            serde_json::from_str(text).map_err(|e| format!("its schema is no JSON: {e}"))?;
        if value.get("type") != Some(&Value::from("object")) {
            return Err("its schema should say `\"type\": \"object\"`".to_owned());
        }
        known(&value, 0).map_err(|why| format!("its schema can't be checked: {why}"))?;
        for schema in value
            .get("$defs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            known(schema.1, 0).map_err(|why| format!("its schema can't be checked: {why}"))?;
        }
        let schema = Schema(value);
        schema.refs(&schema.0)?;
        Ok(schema)
    }

    /// As it was written.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// Do these arguments meet it?
    ///
    /// # Errors
    /// The first place that doesn't.
    pub fn check(&self, arguments: &Value) -> Result<(), String> {
        let mut check = Check {
            root: &self.0,
            steps: 0,
        };
        check.value(&self.0, arguments, "", 0)
    }

    /// Does every `$ref` lead somewhere?
    fn refs(&self, at: &Value) -> Result<(), String> {
        match at {
            Value::Object(map) => {
                if let Some(Value::String(to)) = map.get("$ref") {
                    target(&self.0, to)
                        .ok_or_else(|| format!("its schema's `$ref` {to:?} leads nowhere"))?;
                }
                map.values().try_for_each(|v| self.refs(v))
            }
            Value::Array(items) => items.iter().try_for_each(|v| self.refs(v)),
            _ => Ok(()),
        }
    }
}

fn target<'a>(root: &'a Value, to: &str) -> Option<&'a Value> {
    let name = to.strip_prefix("#/$defs/")?;
    root.get("$defs")?.get(name)
}

/// Is every keyword one of those above, with a value of the right kind?
fn known(schema: &Value, depth: usize) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("more than {DEPTH_MAX} schemas in one another"));
    }
    let map = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(map) => map,
        _ => return Err("a schema is neither an object nor true or false".to_owned()),
    };
    for (key, value) in map {
        let fits = match key.as_str() {
            key if REMARKS.contains(&key) => true,
            "$ref" => value.is_string(),
            "type" => match value {
                Value::String(name) => TYPES.contains(&name.as_str()),
                Value::Array(names) => names
                    .iter()
                    .all(|n| n.as_str().is_some_and(|n| TYPES.contains(&n))),
                _ => false,
            },
            "enum" => value.is_array(),
            "const" => true,
            "properties" => match value {
                Value::Object(map) => {
                    map.values().try_for_each(|v| known(v, depth + 1))?;
                    true
                }
                _ => false,
            },
            "required" => value
                .as_array()
                .is_some_and(|names| names.iter().all(Value::is_string)),
            "items" | "additionalProperties" => {
                known(value, depth + 1)?;
                true
            }
            "anyOf" | "oneOf" | "allOf" => match value {
                Value::Array(items) if !items.is_empty() => {
                    items.iter().try_for_each(|v| known(v, depth + 1))?;
                    true
                }
                _ => false,
            },
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            key if CHECKED.contains(&key) => value.is_u64(),
            _ => return Err(format!("`{key}` isn't known here")),
        };
        if !fits {
            return Err(format!("`{key}` can't be {value:.80}"));
        }
    }
    Ok(())
}

struct Check<'a> {
    root: &'a Value,
    steps: usize,
}

impl Check<'_> {
    fn value(
        &mut self,
        schema: &Value,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        self.steps += 1;
        if self.steps > STEPS_MAX || depth > DEPTH_MAX {
            return Err("the tool's schema is too deep for these arguments".to_owned());
        }
        let wrong = |what: String| {
            let place = if at.is_empty() { "the arguments" } else { at };
            Err(format!("{place}: {what}"))
        };
        let map = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(map) => map,
            _ => return wrong("nothing may stand here".to_owned()),
        };
        if let Some(Value::String(to)) = map.get("$ref")
            && let Some(found) = target(self.root, to)
        {
            self.value(found, value, at, depth + 1)?;
        }
        let types: Vec<&str> = match map.get("type") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(name) => name.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        if !types.is_empty() && !types.iter().any(|name| is(name, value)) {
            return wrong(format!("should be {}", types.join(" or ")));
        }
        if let Some(Value::Array(known)) = map.get("enum")
            && !known.iter().any(|k| same(k, value))
        {
            return wrong(format!("should be one of {}", Value::from(known.clone())));
        }
        if let Some(only) = map.get("const")
            && !same(only, value)
        {
            return wrong(format!("should be {only}"));
        }
        if let Err(what) = bounds(map, value) {
            return wrong(what);
        }
        match value {
            Value::Object(fields) => self.object(map, fields, at, depth)?,
            Value::Array(items) => {
                if let Some(schema) = map.get("items") {
                    for (i, item) in items.iter().enumerate() {
                        self.value(schema, item, &format!("{at}[{i}]"), depth + 1)?;
                    }
                }
            }
            _ => {}
        }
        self.combined(map, value, at, depth)
    }

    fn object(
        &mut self,
        map: &Map<String, Value>,
        fields: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let path = |key: &str| match at {
            "" => format!("`{key:.80}`"),
            at => format!("{at}.{key:.80}"),
        };
        for name in map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = name.as_str().unwrap_or_default();
            if !fields.contains_key(name) {
                return Err(format!("{} is missing", path(name)));
            }
        }
        let properties = map.get("properties").and_then(Value::as_object);
        for (key, value) in fields {
            match (
                properties.and_then(|p| p.get(key)),
                map.get("additionalProperties"),
            ) {
                (Some(schema), _) => self.value(schema, value, &path(key), depth + 1)?,
                (None, Some(Value::Bool(false))) => {
                    return Err(format!("{} isn't known", path(key)));
                }
                (None, Some(schema)) => self.value(schema, value, &path(key), depth + 1)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn combined(
        &mut self,
        map: &Map<String, Value>,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let list = |key: &str| map.get(key).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            self.value(schema, value, at, depth + 1)?;
        }
        let place = if at.is_empty() { "the arguments" } else { at };
        for (key, several) in [("anyOf", true), ("oneOf", false)] {
            let Some(schemas) = list(key) else { continue };
            let mut met = 0;
            for schema in schemas {
                met += usize::from(self.value(schema, value, at, depth + 1).is_ok());
            }
            if met == 0 || met > 1 && !several {
                return Err(format!("{place}: {met} of the {} forms fit", schemas.len()));
            }
        }
        Ok(())
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        // As the draft has it: `1.0` is one.
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0)
        }
        _ => false,
    }
}

/// As JSON Schema compares: `1` and `1.0` are the same number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}

fn bounds(map: &Map<String, Value>, value: &Value) -> Result<(), String> {
    if let Some(number) = value.as_f64() {
        let bound = |key: &str| map.get(key).and_then(Value::as_f64);
        for (key, broken) in [
            ("minimum", bound("minimum").is_some_and(|b| number < b)),
            ("maximum", bound("maximum").is_some_and(|b| number > b)),
            (
                "exclusiveMinimum",
                bound("exclusiveMinimum").is_some_and(|b| number <= b),
            ),
            (
                "exclusiveMaximum",
                bound("exclusiveMaximum").is_some_and(|b| number >= b),
            ),
        ] {
            if broken {
                return Err(format!(
                    "is beyond the {key} {}",
                    map.get(key).unwrap_or(&Value::Null)
                ));
            }
        }
    }
    let (count, least, most) = match value {
        Value::String(text) => (text.chars().count(), "minLength", "maxLength"),
        Value::Array(items) => (items.len(), "minItems", "maxItems"),
        Value::Object(fields) => (fields.len(), "minProperties", "maxProperties"),
        _ => return Ok(()),
    };
    let bound = |key: &str| map.get(key).and_then(Value::as_u64);
    if let Some(least) = bound(least).filter(|least| (count as u64) < *least) {
        return Err(format!("has {count}, and should have at least {least}"));
    }
    if let Some(most) = bound(most).filter(|most| count as u64 > *most) {
        return Err(format!("has {count}, and should have at most {most}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    fn said(schema: Value, arguments: Value) -> Result<(), String> {
        let mut schema = schema;
        schema["type"] = json!("object");
        Schema::parse(&schema.to_string())
            .unwrap()
            .check(&arguments)
    }

    #[test]
    fn each_keyword_is_checked() {
        for (of_a, good, bad) in [
            (json!({ "type": "integer" }), json!(1.0), json!(1.5)),
            (json!({ "type": ["string", "null"] }), json!(null), json!(0)),
            (json!({ "enum": [1, "x"] }), json!(1.0), json!("y")),
            (
                json!({ "const": { "k": [1] } }),
                json!({ "k": [1] }),
                json!({ "k": [2] }),
            ),
            (json!({ "minimum": 2 }), json!(2), json!(1.9)),
            (json!({ "maximum": 2 }), json!(2), json!(3)),
            (json!({ "exclusiveMinimum": 2 }), json!(3), json!(2)),
            (json!({ "exclusiveMaximum": 2 }), json!(1), json!(2)),
            (json!({ "minLength": 2 }), json!("éé"), json!("é")),
            (json!({ "maxLength": 2 }), json!("éé"), json!("abc")),
            (json!({ "minItems": 1 }), json!([0]), json!([])),
            (json!({ "maxItems": 1 }), json!([0]), json!([0, 0])),
            (
                json!({ "items": { "type": "string" } }),
                json!(["a"]),
                json!(["a", 1]),
            ),
            (json!({ "minProperties": 1 }), json!({ "x": 1 }), json!({})),
            (
                json!({ "maxProperties": 1 }),
                json!({ "x": 1 }),
                json!({ "x": 1, "y": 2 }),
            ),
            (
                json!({ "required": ["x"] }),
                json!({ "x": 1 }),
                json!({ "y": 1 }),
            ),
            (
                json!({ "properties": { "x": { "type": "string" } } }),
                json!({ "x": "" }),
                json!({ "x": 1 }),
            ),
            (
                json!({ "additionalProperties": false }),
                json!({}),
                json!({ "y": 1 }),
            ),
            (
                json!({ "additionalProperties": { "type": "null" } }),
                json!({ "y": null }),
                json!({ "y": 1 }),
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "minimum": 5 }] }),
                json!(6),
                json!(4),
            ),
            (
                json!({ "oneOf": [{ "minimum": 1 }, { "maximum": 3 }] }),
                json!(0),
                json!(2),
            ),
            (
                json!({ "allOf": [{ "minimum": 1 }, { "maximum": 3 }] }),
                json!(2),
                json!(4),
            ),
            (
                json!({ "$ref": "#/$defs/short" }),
                json!("a"),
                json!("abcd"),
            ),
            (json!(true), json!("a"), json!("never")),
        ] {
            let schema = json!({
                "properties": { "a": of_a }, "$defs": { "short": { "type": "string", "maxLength": 3 } },
            });
            said(schema.clone(), json!({ "a": good })).unwrap();
            if of_a == json!(true) {
                continue;
            }
            let error = said(schema, json!({ "a": bad })).unwrap_err();
            assert!(error.contains("`a`"), "{of_a}: {error}");
        }
    }

    #[test]
    fn what_cannot_be_checked_is_no_schema() {
        for (schema, says) in [
            ("{", "no JSON"),
            ("[]", "type"),
            (r#"{"type":"string"}"#, "type"),
            (
                r#"{"type":"object","properties":{"a":{"pattern":"x"}}}"#,
                "`pattern`",
            ),
            (r#"{"type":"object","if":{}}"#, "`if`"),
            (
                r#"{"type":"object","properties":{"a":{"type":"text"}}}"#,
                "`type`",
            ),
            (
                r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}"##,
                "leads nowhere",
            ),
            (r#"{"type":"object","required":[1]}"#, "`required`"),
            (r#"{"type":"object","anyOf":[]}"#, "`anyOf`"),
            (r#"{"type":"object","maxProperties":-1}"#, "`maxProperties`"),
        ] {
            let error = Schema::parse(schema).unwrap_err();
            assert!(error.contains(says), "{schema}: {error}");
        }
        let deep = format!(
            "{{\"type\":\"object\",\"items\":{}true{}}}",
            "{\"items\":".repeat(100),
            "}".repeat(100)
        );
        assert!(Schema::parse(&deep).unwrap_err().contains("in one another"));
    }

    #[test]
    fn a_schema_that_leads_to_itself_ends() {
        let list = json!({
            "properties": { "next": { "$ref": "#/$defs/list" } },
            "$defs": { "list": { "type": "object", "properties": { "next": { "$ref": "#/$defs/list" } } } },
        });
        said(list, json!({ "next": { "next": {} } })).unwrap();
        let itself = json!({
            "properties": { "a": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }] } },
        });
        assert!(said(itself, json!({ "a": 1 })).is_err());
    }
}
