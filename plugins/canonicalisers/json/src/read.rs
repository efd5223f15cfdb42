//! JSON text to a value, duplicate keys refused.

// Ordered, for a hashed one would ask the host for randomness.
use std::collections::BTreeSet;
use std::fmt;

use canonical_json::{Object, Value};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// Reads one JSON text.
///
/// # Errors
/// A text that begins with `line L, column C:`.
pub fn value(text: &str) -> Result<Value, String> {
    serde_json::from_str::<Strict>(text)
        .map(|v| v.0)
        .map_err(|e| {
            let place = format!(" at line {} column {}", e.line(), e.column());
            let what = e.to_string();
            format!(
                "line {}, column {}: {}",
                e.line(),
                e.column(),
                what.strip_suffix(&place).unwrap_or(&what)
            )
        })
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Strict)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    #[allow(clippy::cast_precision_loss)] // RFC 8785, section 3.2.2.3: the nearest double.
    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(Value::Number(v as f64))
    }

    #[allow(clippy::cast_precision_loss)]
    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Number(v as f64))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(Value::Number(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(Value::String(v.to_owned()))
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(Value::String(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        let mut seen = BTreeSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(de::Error::custom(format_args!(
                    "the key {key:?} stands twice in one object"
                )));
            }
            let Strict(item) = entries.next_value()?;
            object.push((key, item));
        }
        Ok(Value::Object(object))
    }
}
