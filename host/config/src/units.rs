//! Durations and sizes as people write them.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A duration: a whole number with `ms`, `s`, `m`, `h` or `d`, e.g. `"30m"`. At most 366 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(Duration);

const SPAN_MAX: Duration = Duration::from_secs(366 * 86_400);

impl Span {
    /// So many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Span(Duration::from_secs(secs))
    }
    /// As the standard library's type.
    pub fn get(self) -> Duration {
        self.0
    }
    /// Reads `"30m"` and the like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is no duration; write a whole number with ms, s, m, h or d, as in \"30m\""
            )
        };
        let (number, unit) = split(text).ok_or_else(bad)?;
        let ms = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(bad()),
        };
        let duration = number
            .checked_mul(ms)
            .map(Duration::from_millis)
            .filter(|d| *d <= SPAN_MAX);
        duration
            .map(Span)
            .ok_or_else(|| format!("`{text}` is more than 366 days"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        for (unit, size) in [
            ("d", 86_400_000),
            ("h", 3_600_000),
            ("m", 60_000),
            ("s", 1_000),
        ] {
            if ms >= size && ms.is_multiple_of(size) {
                return write!(f, "{}{unit}", ms / size);
            }
        }
        if ms == 0 {
            write!(f, "0s")
        } else {
            write!(f, "{ms}ms")
        }
    }
}

/// A size in bytes: a whole number with `B`, `KiB`, `MiB` or `GiB`, e.g. `"64MiB"`. At most 1024 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(u64);

const SIZE_MAX: u64 = 1 << 40;

impl Size {
    /// So many KiB.
    pub const fn from_kib(kib: u64) -> Self {
        Size(kib << 10)
    }
    /// So many MiB.
    /// From whole bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Size(bytes)
    }

    /// From whole mebibytes.
    pub const fn from_mib(mib: u64) -> Self {
        Size(mib << 20)
    }
    /// In bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
    /// Reads `"64MiB"` and the like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is no size; write a whole number with B, KiB, MiB or GiB, as in \"64MiB\""
            )
        };
        let (number, unit) = split(text).ok_or_else(bad)?;
        let shift = match unit {
            "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => return Err(bad()),
        };
        let bytes = number.checked_mul(1 << shift).filter(|b| *b <= SIZE_MAX);
        bytes
            .map(Size)
            .ok_or_else(|| format!("`{text}` is more than 1024 GiB"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
            if self.0 >= 1 << shift && self.0.trailing_zeros() >= shift {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}B", self.0)
    }
}

fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    Some((text[..at].parse().ok()?, text[at..].trim_start()))
}

macro_rules! as_string {
    ($type:ty, $name:literal, $pattern:literal, $about:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(d)?).map_err(D::Error::custom)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "description": $about })
            }
        }
    };
}
as_string!(
    Span,
    "Duration",
    r"^\d+ ?(ms|s|m|h|d)$",
    "A whole number with ms, s, m, h or d, e.g. \"30m\"; at most 366 days."
);
as_string!(
    Size,
    "Size",
    r"^\d+ ?(B|KiB|MiB|GiB)$",
    "A whole number with B, KiB, MiB or GiB, e.g. \"64MiB\"; at most 1024 GiB."
);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_in_their_largest_unit() {
        for (text, ms, shown) in [
            ("0s", 0, "0s"),
            ("250ms", 250, "250ms"),
            ("90s", 90_000, "90s"),
            ("60s", 60_000, "1m"),
            ("24h", 86_400_000, "1d"),
            ("366d", 366 * 86_400_000, "366d"),
            (" 5 m ", 300_000, "5m"),
        ] {
            let text = text.trim_end();
            let span = Span::parse(text).unwrap();
            assert_eq!(
                (span.get().as_millis(), span.to_string().as_str()),
                (ms, shown),
                "{text}"
            );
        }
        for bad in [
            "",
            "5",
            "s",
            "-1s",
            "1.5h",
            "5 parsecs",
            "5M",
            "367d",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(Span::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read_and_shown_in_their_largest_unit() {
        for (text, bytes, shown) in [
            ("0B", 0, "0B"),
            ("1023B", 1023, "1023B"),
            ("1024B", 1024, "1KiB"),
            ("64 MiB", 64 << 20, "64MiB"),
            ("1024GiB", 1 << 40, "1024GiB"),
        ] {
            let size = Size::parse(text).unwrap();
            assert_eq!(
                (size.bytes(), size.to_string().as_str()),
                (bytes, shown),
                "{text}"
            );
        }
        for bad in [
            "",
            "5",
            "5kb",
            "5MB",
            "-1B",
            "1025GiB",
            "18446744073709551615GiB",
        ] {
            assert!(Size::parse(bad).is_err(), "{bad}");
        }
    }
}
