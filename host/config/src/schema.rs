//! JSON Schema of `ralph.toml`.

use serde_json::Value;

/// JSON Schema, draft 2020-12. Tables that people name their keys in (`config`, `agents`,
/// `plugins`) are open; all others refuse unknown keys. Keys of the Python loop are not in it.
pub fn schema() -> Value {
    // A file that the test has seen can be read.
    serde_json::from_str(TEXT).unwrap_or_default()
}

/// What the types say, written down: to make it anew from them would take longer than all else of
/// reading a configuration. A test holds the file against the types.
pub(crate) const TEXT: &str = include_str!("../schema.json");

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::Config;

    fn generated() -> Value {
        let mut schema = schemars::schema_for!(Config).to_value();
        without_null(&mut schema);
        let root = schema.as_object_mut().unwrap();
        root.insert("title".to_owned(), json!("ralph.toml"));
        schema
    }

    #[test]
    fn the_file_says_what_the_types_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.json");
        let text = format!("{:#}\n", generated());
        if std::env::var_os("RALPH_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap();
        assert!(
            written == text,
            "schema.json isn't what the types say; `RALPH_WRITE_SCHEMA=1 cargo test -p ralph-config` writes it anew"
        );
        assert_eq!(schema(), generated());
    }

    /// TOML has no null: what is optional is left out.
    fn without_null(schema: &mut Value) {
        match schema {
            Value::Array(items) => items.iter_mut().for_each(without_null),
            Value::Object(map) => {
                if map.get("default").is_some_and(Value::is_null) {
                    map.shift_remove("default");
                }
                if let Some(Value::Array(types)) = map.get_mut("type") {
                    types.retain(|t| t != "null");
                    if let [only] = types.as_slice() {
                        let only = only.clone();
                        map.insert("type".to_owned(), only);
                    }
                }
                // An optional value of a type with a name of its own.
                if let Some(Value::Array(kinds)) = map.get_mut("anyOf") {
                    kinds.retain(|kind| kind.get("type").is_none_or(|t| t != "null"));
                    if let [Value::Object(only)] = kinds.as_slice() {
                        let only = only.clone();
                        map.shift_remove("anyOf");
                        map.extend(only);
                    }
                }
                // A default spelled as an object may hold nulls for what is left out.
                if let Some(default) = map.get_mut("default") {
                    left_out(default);
                }
                map.values_mut().for_each(without_null);
            }
            _ => {}
        }
    }

    fn left_out(default: &mut Value) {
        if let Value::Object(map) = default {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(left_out);
        }
    }

    #[test]
    fn every_table_with_fixed_keys_refuses_others() {
        let schema = schema();
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        let mut tables = vec![("root".to_owned(), &schema)];
        for (name, def) in schema["$defs"].as_object().unwrap() {
            tables.push((name.clone(), def));
        }
        let mut strict = 0;
        for (name, table) in tables {
            if table.get("properties").is_some() {
                assert_eq!(table["additionalProperties"], false, "{name}");
                strict += 1;
            }
        }
        assert_eq!(
            strict, 26,
            "Config, Loop, Files, Tasks, Agent, Gate, When, GateGroup, Judge, Fingerprints, Plugin, Allow, Limits, Tools, Git, Parallel, Notify, Supervise, Budget, ProviderLimits, Prompt, Claims, Mode, OsSandbox, Confine, Rlimits"
        );
    }

    #[test]
    fn nothing_may_be_null() {
        assert!(!schema().to_string().contains("null"), "{}", schema());
    }

    #[test]
    fn ranges_and_descriptions_are_in_it() {
        let schema = schema();
        let field = &schema["$defs"]["Loop"]["properties"]["max_iterations"];
        assert_eq!(
            (field["minimum"].as_u64(), field["maximum"].as_u64()),
            (Some(1), Some(100_000))
        );
        assert_eq!(field["default"], 20);
        for (name, def) in schema["$defs"].as_object().unwrap() {
            for (key, property) in def
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let mut target = property;
                while let Some(name) = target.get("$ref").and_then(Value::as_str) {
                    target = schema.pointer(&name[1..]).unwrap();
                }
                let described = property.get("description").or(target.get("description"));
                assert!(described.is_some(), "{name}.{key} has no description");
            }
        }
    }
}
