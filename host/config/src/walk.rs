//! A generic walk over the schema: unknown keys, wrong types, ranges, words, durations, sizes.
//! It finds all there is to find, each with the place of the value.

use crate::legacy;
use crate::origins::Origins;
use crate::shape::{Additional, Shape};
use crate::show;
use crate::tree::{At, Field, Node, Table, Value};
use crate::units::{Size, Span};

/// A problem at a place, before the places are turned into lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub at: At,
    pub key: String,
    pub message: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn into_error(self, origins: &Origins) -> crate::ConfigError {
        origins.error_at(Some(self.at), &self.key, self.message, self.hint)
    }
}

/// What a walk looks for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Pass {
    /// One source: everything but what another source may add.
    Source,
    /// All sources together: only keys that must be there.
    Whole,
}

pub(crate) fn check(root: &Node, pass: Pass) -> Vec<Problem> {
    let mut walk = Walk {
        schema: Shape::root(),
        pass,
        path: Vec::new(),
        problems: Vec::new(),
    };
    walk.node(walk.schema, root);
    walk.problems
}

struct Walk {
    schema: &'static Shape,
    pass: Pass,
    path: Vec<String>,
    problems: Vec<Problem>,
}

impl Walk {
    fn node(&mut self, schema: &'static Shape, node: &Node) {
        let (schema, name) = self.schema.resolve(schema);
        let wanted = match schema.kind {
            Some("object") => match &node.value {
                Value::Table(table) => return self.table(schema, table, node.at),
                _ => "a table",
            },
            Some("array") => match &node.value {
                Value::Array(items) => return self.items(schema, items),
                _ if schema.items.as_ref().is_some_and(|i| i.reference.is_some()) => {
                    "an array of tables"
                }
                _ => "an array of strings",
            },
            Some("string") if name == "Duration" => match &node.value {
                Value::Text(text) => return self.parsed(Span::parse(text).err(), node.at),
                _ => "a duration like \"30m\"",
            },
            Some("string") if name == "Size" => match &node.value {
                Value::Text(text) => return self.parsed(Size::parse(text).err(), node.at),
                _ => "a size like \"64MiB\"",
            },
            Some("integer") => match node.value {
                Value::Integer(number) => return self.range(schema, number, node.at),
                _ => "a whole number",
            },
            Some("boolean") => match node.value {
                Value::Boolean(_) => return,
                _ => "true or false",
            },
            Some("string") | None if !schema.words().is_empty() => match &node.value {
                Value::Text(text) => return self.word(&schema.words(), text, node.at),
                _ => "a string",
            },
            Some("string") => match &node.value {
                Value::Text(_) => return,
                _ => "a string",
            },
            _ => return self.free(node),
        };
        self.wrong(wanted, node);
    }

    fn wrong(&mut self, wanted: &str, node: &Node) {
        let key = self.path.last().cloned().unwrap_or_default();
        let hint = match (&node.value, wanted) {
            (Value::Text(t), "true or false") if t == "true" || t == "false" => {
                Some("leave the quotes out".to_owned())
            }
            (Value::Text(t), "a whole number") if t.parse::<i64>().is_ok() => {
                Some("leave the quotes out".to_owned())
            }
            (Value::Text(t), "an array of strings") => Some(format!("write [{}]", quoted_words(t))),
            (Value::Table(_), "an array of tables") => {
                Some(format!("write [[{}]]", self.path.join(".")))
            }
            _ => None,
        };
        self.problem(
            node.at,
            format!(
                "{} should be {wanted} and is {}",
                show::name(&key),
                node.kind()
            ),
            hint,
        );
    }

    fn table(&mut self, schema: &'static Shape, table: &Table, at: At) {
        let properties = schema.properties.as_ref();
        let mut fields: Vec<(&String, &Field)> = table.iter().collect();
        fields.sort_by_key(|(_, f)| f.key_at);
        for (key, field) in fields {
            self.path.push(key.clone());
            match (
                properties.and_then(|p| p.get(key)),
                &schema.additional_properties,
            ) {
                (Some(property), _) => self.node(property, &field.node),
                (None, Some(Additional::Any(false))) => self.unknown(schema, key, field.key_at),
                (None, Some(Additional::Of(other))) => self.node(other, &field.node),
                (None, _) => self.free(&field.node),
            }
            self.path.pop();
        }
        if self.pass == Pass::Whole {
            for key in &schema.required {
                if !table.contains_key(*key) {
                    let message = format!("`{key}` is missing {}", place(&self.path));
                    self.problems.push(Problem {
                        at,
                        key: self.path.join("."),
                        message,
                        hint: None,
                    });
                }
            }
        }
    }

    fn items(&mut self, schema: &'static Shape, items: &[Node]) {
        let Some(wanted) = &schema.items else {
            return items.iter().for_each(|item| self.free(item));
        };
        for (i, item) in items.iter().enumerate() {
            self.path.push(i.to_string());
            match (wanted.kind, &item.value) {
                (Some("string"), value) if !matches!(value, Value::Text(_)) => {
                    let list = self
                        .path
                        .get(self.path.len().saturating_sub(2))
                        .cloned()
                        .unwrap_or_default();
                    let message = format!(
                        "an entry of {} should be a string and is {}",
                        show::name(&list),
                        item.kind()
                    );
                    self.problem(item.at, message, None);
                }
                _ => self.node(wanted, item),
            }
            self.path.pop();
        }
    }

    fn range(&mut self, schema: &Shape, number: i64, at: At) {
        let (low, high) = schema.range();
        if number < low || number > high {
            let key = self.path.last().cloned().unwrap_or_default();
            self.problem(
                at,
                format!("`{key}` should be from {low} to {high} and is {number}"),
                None,
            );
        }
    }

    fn word(&mut self, words: &[&str], text: &str, at: At) {
        if !words.contains(&text) {
            let key = self.path.last().cloned().unwrap_or_default();
            let near =
                nearest(text, words.iter().copied()).map(|w| format!("did you mean \"{w}\"?"));
            let list = words.join(", ");
            self.problem(
                at,
                format!(
                    "`{key}` should be one of {list} and is {}",
                    show::name(text)
                ),
                near,
            );
        }
    }

    fn parsed(&mut self, error: Option<String>, at: At) {
        if let Some(message) = error {
            let key = self.path.last().cloned().unwrap_or_default();
            self.problem(
                at,
                format!("`{key}`: {}", show::visible(&message).replace("\\\"", "\"")),
                None,
            );
        }
    }

    /// A plugin's own table: anything that JSON can say.
    fn free(&mut self, node: &Node) {
        match &node.value {
            Value::Float(f) if !f.is_finite() => {
                self.problem(
                    node.at,
                    "JSON, in which a plugin gets this, has no such number".to_owned(),
                    None,
                );
            }
            Value::Array(items) => items.iter().for_each(|i| self.free(i)),
            Value::Table(table) => table.iter().for_each(|(key, field)| {
                self.path.push(key.clone());
                self.free(&field.node);
                self.path.pop();
            }),
            _ => {}
        }
    }

    fn unknown(&mut self, schema: &'static Shape, key: &str, at: At) {
        let table = &self.path[..self.path.len().saturating_sub(1)];
        let own: Vec<&str> = schema.properties.iter().flat_map(|p| p.names()).collect();
        let old = legacy::names_in(&table.join("."));
        let hint = match nearest(key, own.iter().copied().chain(old)) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None => elsewhere(self.schema, key)
                .or_else(|| (!own.is_empty()).then(|| format!("it has {}", own.join(", ")))),
        };
        let message = format!("unknown key {} {}", show::name(key), place(table));
        self.problem(at, message, hint);
    }

    fn problem(&mut self, at: At, message: String, hint: Option<String>) {
        if self.pass == Pass::Source {
            self.problems.push(Problem {
                at,
                key: self.path.join("."),
                message,
                hint,
            });
        }
    }
}

/// Where a key stands, as its table is written: `in [loop]`, `in [[gates]]`, `in [plugins.x.allow]`.
pub(crate) fn place(path: &[String]) -> String {
    let number = |s: &String| s.bytes().all(|b| b.is_ascii_digit());
    match path {
        [] => "at the top level".to_owned(),
        [list, index] if number(index) && (list == "gates" || list == "gate_groups") => {
            format!("in [[{list}]]")
        }
        _ => {
            let steps: Vec<String> = path
                .iter()
                .filter(|s| !number(s))
                .map(|s| show::word(s))
                .collect();
            format!("in [{}]", steps.join("."))
        }
    }
}

/// The known name that is near enough to be meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Far longer than any key; and the distance costs the product of the lengths.
    if name.len() > 64 {
        return None;
    }
    let plain = |s: &str| {
        s.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase()
    };
    let wanted = plain(name);
    let scored = known.map(|k| {
        let k_plain = plain(k);
        // A name cut short (`task` for `task_id`) is near, however long the rest.
        let cut = wanted.len() >= 3 && k_plain.starts_with(&wanted);
        (
            if cut {
                1
            } else {
                strsim::damerau_levenshtein(&wanted, &k_plain)
            },
            k,
        )
    });
    let limit = (wanted.chars().count() / 3).clamp(1, 3);
    scored
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

/// Tables in which there is a key of this name.
fn elsewhere(schema: &Shape, key: &str) -> Option<String> {
    let tables = [
        ("[loop]", "Loop"),
        ("[files]", "Files"),
        ("[agents.NAME]", "Agent"),
        ("[[gates]]", "Gate"),
        ("[[gate_groups]]", "GateGroup"),
        ("[judge]", "Judge"),
        ("[plugins.NAME]", "Plugin"),
        ("[plugins.NAME.allow]", "Allow"),
        ("[plugins.NAME.limits]", "Limits"),
        ("[git]", "Git"),
    ];
    let has = |def: &str| {
        let properties = schema.defs.get(def).and_then(|d| d.properties.as_ref());
        properties.is_some_and(|p| p.get(key).is_some())
    };
    let found: Vec<&str> = tables
        .iter()
        .filter(|(_, def)| has(def))
        .map(|(label, _)| *label)
        .collect();
    (!found.is_empty()).then(|| format!("there is one in {}", found.join(", ")))
}

fn quoted_words(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .take(8)
        .map(|w| format!("\"{}\"", show::visible(w)))
        .collect();
    words.join(", ")
}
