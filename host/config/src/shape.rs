//! The schema as a check walks over it: no descriptions, no defaults. Every command that reads a
//! configuration needs it, and reading all of the schema takes several times as long.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::Number;

use crate::schema::TEXT;

/// What may stand at one place.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shape {
    #[serde(rename = "$ref")]
    pub reference: Option<&'static str>,
    #[serde(rename = "$defs", default)]
    pub defs: BTreeMap<&'static str, Shape>,
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    pub properties: Option<Properties>,
    pub additional_properties: Option<Additional>,
    #[serde(default)]
    pub required: Vec<&'static str>,
    pub items: Option<Box<Shape>>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    #[serde(rename = "enum", default)]
    words: Vec<&'static str>,
    #[serde(default)]
    one_of: Vec<Choice>,
}

/// Words of an enumeration that have a description of their own, or several that have none.
#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(rename = "const")]
    word: Option<&'static str>,
    #[serde(rename = "enum", default)]
    words: Vec<&'static str>,
}

/// In the schema's order.
#[derive(Debug)]
pub(crate) struct Properties(Vec<(&'static str, Shape)>);

/// What keys may be there that aren't named.
#[derive(Debug)]
pub(crate) enum Additional {
    /// Any, or none.
    Any(bool),
    /// Such.
    Of(Box<Shape>),
}

impl Properties {
    pub fn get(&self, key: &str) -> Option<&Shape> {
        let found = self.0.iter().find(|(name, _)| *name == key);
        found.map(|(_, shape)| shape)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(name, _)| *name)
    }
}

impl Shape {
    /// The whole of it, read once.
    pub fn root() -> &'static Shape {
        static SHAPE: OnceLock<Shape> = OnceLock::new();
        // A file that the tests have seen can be read.
        SHAPE.get_or_init(|| serde_json::from_str(TEXT).unwrap_or_default())
    }

    /// Follows `$ref`; gives the definition's name too.
    pub fn resolve<'a>(&'a self, mut shape: &'a Shape) -> (&'a Shape, &'static str) {
        let mut name = "";
        while let Some(target) = shape.reference {
            name = target.trim_start_matches("#/$defs/");
            match self.defs.get(name) {
                Some(found) => shape = found,
                None => break,
            }
        }
        (shape, name)
    }

    /// The words of an enumeration, whether they stand in `enum` or, with a description each, in `oneOf`.
    pub fn words(&self) -> Vec<&'static str> {
        let one_of = self.one_of.iter();
        let one_of = one_of.flat_map(|c| c.word.iter().chain(&c.words));
        self.words.iter().chain(one_of).copied().collect()
    }

    /// The least and the greatest whole number.
    pub fn range(&self) -> (i64, i64) {
        let bound = |number: &Option<Number>| number.as_ref().and_then(Number::as_i64);
        (
            bound(&self.minimum).unwrap_or(i64::MIN),
            bound(&self.maximum).unwrap_or(i64::MAX),
        )
    }
}

impl<'de: 'static> Deserialize<'de> for Properties {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de: 'static> Visitor<'de> for InOrder {
            type Value = Properties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("properties")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
                let mut all = Vec::new();
                while let Some(property) = map.next_entry()? {
                    all.push(property);
                }
                Ok(Properties(all))
            }
        }
        from.deserialize_map(InOrder)
    }
}

impl<'de: 'static> Deserialize<'de> for Additional {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de: 'static> Visitor<'de> for Either {
            type Value = Additional;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a schema, or whether there may be any")
            }

            fn visit_bool<E>(self, any: bool) -> Result<Additional, E> {
                Ok(Additional::Any(any))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Additional, A::Error> {
                let shape = Shape::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Additional::Of(Box::new(shape)))
            }
        }
        from.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::Value;

    use super::*;

    /// Everything of the schema that a check asks about is in the shape.
    #[test]
    fn it_says_what_the_schema_says() {
        let read: Shape = serde_json::from_str(TEXT).unwrap();
        let schema = crate::schema();
        same(&read, &schema, "");
        assert_eq!(read.defs.len(), schema["$defs"].as_object().unwrap().len());
        for (name, shape) in &read.defs {
            same(shape, &schema["$defs"][name], name);
        }
    }

    fn same(shape: &Shape, schema: &Value, at: &str) {
        let text = |key: &str| schema[key].as_str();
        assert_eq!(
            (shape.kind, shape.reference),
            (text("type"), text("$ref")),
            "{at}"
        );
        let required: Vec<_> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(shape.required, required, "{at}");
        assert_eq!(
            shape.range().0,
            schema["minimum"].as_i64().unwrap_or(i64::MIN),
            "{at}"
        );
        assert_eq!(
            shape.range().1,
            schema["maximum"].as_i64().unwrap_or(i64::MAX),
            "{at}"
        );
        let words = ["enum", "oneOf"].map(|key| schema.get(key).is_some());
        assert_eq!(!shape.words().is_empty(), words.contains(&true), "{at}");
        match (
            &shape.additional_properties,
            &schema["additionalProperties"],
        ) {
            (None, Value::Null) => {}
            (Some(Additional::Any(any)), Value::Bool(wanted)) => assert_eq!(any, wanted, "{at}"),
            (Some(Additional::Of(shape)), schema @ Value::Object(_)) => same(shape, schema, at),
            (had, wanted) => panic!("{at}: {had:?}, not {wanted}"),
        }
        match (&shape.items, &schema["items"]) {
            (None, Value::Null) => {}
            (Some(shape), schema) => same(shape, schema, at),
            (None, wanted) => panic!("{at}: not {wanted}"),
        }
        let properties = shape.properties.iter().flat_map(|p| &p.0);
        let wanted = schema["properties"].as_object().into_iter().flatten();
        let (had, wanted): (Vec<_>, Vec<_>) = (properties.collect(), wanted.collect());
        assert_eq!(had.len(), wanted.len(), "{at}");
        for ((name, shape), (key, schema)) in had.into_iter().zip(wanted) {
            assert_eq!(name, key);
            same(shape, schema, &format!("{at}.{key}"));
        }
    }
}
