//! TOML as a tree in which every value knows where it was written.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ConfigError;
use crate::source::Source;

/// A place: which source, and the byte offset in its TOML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct At {
    pub source: usize,
    pub offset: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub at: At,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// As written.
    Date(String),
    Array(Vec<Node>),
    Table(Table),
}

/// A table's entries, by key.
pub(crate) type Table = BTreeMap<String, Field>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    /// Where the key stands.
    pub key_at: At,
    pub node: Node,
}

impl Node {
    pub fn new(at: At, value: Value) -> Self {
        Node { at, value }
    }

    pub fn text(at: At, text: impl Into<String>) -> Self {
        Node::new(at, Value::Text(text.into()))
    }

    /// What a person would call it.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::Boolean(_) => "true or false",
            Value::Date(_) => "a date",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }

    pub fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn json(&self) -> serde_json::Value {
        match &self.value {
            Value::Text(s) | Value::Date(s) => s.as_str().into(),
            Value::Integer(i) => (*i).into(),
            Value::Float(f) => (*f).into(),
            Value::Boolean(b) => (*b).into(),
            Value::Array(items) => items.iter().map(Node::json).collect(),
            Value::Table(table) => table
                .iter()
                .map(|(k, f)| (k.clone(), f.node.json()))
                .collect(),
        }
    }

    /// Lays `over` on top: tables merge, anything else replaces.
    pub fn overlay(&mut self, over: Node) {
        match (&mut self.value, over.value) {
            (Value::Table(below), Value::Table(above)) => {
                for (key, field) in above {
                    match below.get_mut(&key) {
                        Some(old) => old.node.overlay(field.node),
                        None => drop(below.insert(key, field)),
                    }
                }
            }
            (_, value) => *self = Node { at: over.at, value },
        }
    }

    /// The value at a path of keys and array indexes.
    pub fn find(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| match &node.value {
            Value::Table(table) => table.get(*step).map(|f| &f.node),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }
}

/// Parses one source. The first syntax error is the only one given: what follows it is guesswork.
pub(crate) fn parse(sources: &[Source], source: usize) -> Result<Node, ConfigError> {
    let Some(text) = sources.get(source) else {
        return Ok(Node::new(At::default(), Value::Table(Table::new())));
    };
    text.check()?;
    let fail = |offset: usize, message: String| {
        ConfigError::new(&text.name, message).at(text.position(offset))
    };
    let root = DeTable::parse(text.toml()).map_err(|e| {
        let what = crate::show::said(e.message());
        fail(
            e.span().map_or(0, |s| s.start),
            format!("this is no TOML: {what}"),
        )
    })?;
    table(root.get_ref(), source)
        .map(|t| Node::new(At { source, offset: 0 }, Value::Table(t)))
        .map_err(|(o, m)| fail(o, m))
}

type Bad = (usize, String);

fn table(from: &DeTable<'_>, source: usize) -> Result<Table, Bad> {
    let mut out = Table::new();
    for (key, value) in from.iter() {
        let key_at = At {
            source,
            offset: key.span().start,
        };
        out.insert(
            key.get_ref().to_string(),
            Field {
                key_at,
                node: node(value, source)?,
            },
        );
    }
    Ok(out)
}

fn node(from: &Spanned<DeValue<'_>>, source: usize) -> Result<Node, Bad> {
    let offset = from.span().start;
    let value = match from.get_ref() {
        DeValue::String(s) => Value::Text(s.to_string()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => return Err((offset, "this number does not fit into 64 bits".to_owned())),
        },
        DeValue::Float(f) => match f.as_str().parse() {
            Ok(f) => Value::Float(f),
            Err(_) => return Err((offset, "this is no number".to_owned())),
        },
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(d) => Value::Date(d.to_string()),
        DeValue::Array(items) => Value::Array(
            items
                .iter()
                .map(|i| node(i, source))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(t) => Value::Table(table(t, source)?),
    };
    Ok(Node::new(At { source, offset }, value))
}
