//! One tool: counts words.

use ralph_plugin::{Error, Tool, Tools};
use serde_json::{Map, Value, json};

struct Plugin;

impl Tools for Plugin {
    fn tools() -> Result<Vec<Tool>, Error> {
        let schema = json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
            "additionalProperties": false,
        });
        Ok(vec![Tool::new(
            "count",
            "Counts the words of a text",
            &schema,
        )])
    }

    fn call(name: &str, arguments: Map<String, Value>) -> Result<Map<String, Value>, Error> {
        match (name, arguments.get("text").and_then(Value::as_str)) {
            ("count", Some(text)) => {
                let words = text.split_whitespace().count();
                Ok(Map::from_iter([("words".to_owned(), json!(words))]))
            }
            _ => Err(Error::failed(format!("there is no tool {name}"))),
        }
    }
}

ralph_plugin::tools!(Plugin);
ralph_plugin::manifest!(kinds: ["tool"]);
