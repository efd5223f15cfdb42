//! The gate's configuration.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// `config`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Files that aren't looked at; patterns as [`path_globs`] reads them.
    pub allow_paths: Vec<String>,
    /// Strings that aren't secrets, each exactly what would be taken for one.
    pub allow: Vec<String>,
    /// A larger diff isn't read, and not accepted: bytes, or a text such as `"8MiB"`.
    pub max_diff: MaxDiff,
}

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxDiff(pub u64);

impl Default for MaxDiff {
    fn default() -> Self {
        MaxDiff(8 << 20)
    }
}

const UNITS: [(&str, u64); 4] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("B", 1),
];

impl fmt::Display for MaxDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS
            .iter()
            .rev()
            .skip(1)
            .find(|(_, bytes)| self.0 >= *bytes && self.0.is_multiple_of(*bytes));
        match whole {
            Some((unit, bytes)) => write!(f, "{}{unit}", self.0 / bytes),
            None => write!(f, "{} bytes", self.0),
        }
    }
}

impl<'de> Deserialize<'de> for MaxDiff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl de::Visitor<'_> for Reader {
    type Value = MaxDiff;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of bytes, or a text such as \"8MiB\"")
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<MaxDiff, E> {
        if bytes == 0 {
            return Err(E::invalid_value(de::Unexpected::Unsigned(0), &self));
        }
        Ok(MaxDiff(bytes))
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<MaxDiff, E> {
        u64::try_from(bytes)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
            .and_then(|n| self.visit_u64(n))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MaxDiff, E> {
        UNITS
            .iter()
            .find_map(|(unit, bytes)| {
                text.trim()
                    .strip_suffix(unit)?
                    .trim()
                    .parse::<u64>()
                    .ok()?
                    .checked_mul(*bytes)
            })
            .filter(|bytes| *bytes > 0)
            .map(MaxDiff)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}
