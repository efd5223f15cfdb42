//! What a plain scalar means: the core schema of YAML 1.2.2, section 10.3.2.

use canonical_json::Value;

/// Integers up to here have a double of their own.
const MAX_INTEGER: u64 = 1 << 53;

/// The value of a plain (unquoted, single- or multi-line) scalar.
///
/// # Errors
/// Why it has no value that can be written as JSON without loss.
pub fn plain(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(format!(
            "`{text}` has no place in JSON; quote it if it is meant as text"
        ));
    }
    if let Some(digits) = text.strip_prefix("0o") {
        if all(digits, |b| matches!(b, b'0'..=b'7')) {
            return integer(text, false, digits, 8);
        }
    } else if let Some(digits) = text.strip_prefix("0x") {
        if all(digits, |b| b.is_ascii_hexdigit()) {
            return integer(text, false, digits, 16);
        }
    } else if all(unsigned, |b| b.is_ascii_digit()) {
        return integer(text, text.starts_with('-'), unsigned, 10);
    } else if is_float(unsigned) {
        let number = text.parse::<f64>().map_err(|e| format!("`{text}`: {e}"))?;
        if !number.is_finite() {
            return Err(format!(
                "the number `{}` is too large; quote it",
                clip(text)
            ));
        }
        return Ok(Value::Number(number));
    }
    Ok(Value::String(text.to_owned()))
}

fn all(text: &str, is: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(is)
}

/// `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    digits(whole)
        && digits(part)
        && !(whole.is_empty() && part.is_empty())
        && exponent.is_none_or(|e| {
            all(e.strip_prefix(['+', '-']).unwrap_or(e), |b| {
                b.is_ascii_digit()
            })
        })
}

#[allow(clippy::cast_precision_loss)] // Not up to MAX_INTEGER.
fn integer(text: &str, negative: bool, digits: &str, radix: u32) -> Result<Value, String> {
    match u64::from_str_radix(digits, radix) {
        Ok(n) if n <= MAX_INTEGER => {
            let n = n as f64;
            Ok(Value::Number(if negative { -n } else { n }))
        }
        _ => Err(format!(
            "the integer `{}` is beyond 2^53 and would be rounded; quote it",
            clip(text)
        )),
    }
}

/// `text` is ASCII wherever this is called.
fn clip(text: &str) -> String {
    match text.get(..40) {
        Some(start) if text.len() > 40 => format!("{start}…"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_core_schema_decides_what_is_not_text() {
        for (text, want) in [
            ("", "null"),
            ("~", "null"),
            ("Null", "null"),
            ("NULL", "null"),
            ("nULL", "\"nULL\""),
            ("True", "true"),
            ("FALSE", "false"),
            ("tRue", "\"tRue\""),
            ("yes", "\"yes\""),
            ("no", "\"no\""),
            ("on", "\"on\""),
            ("Off", "\"Off\""),
            ("y", "\"y\""),
            ("0", "0"),
            ("-0", "0"),
            ("017", "17"),
            ("+12", "12"),
            ("-12", "-12"),
            ("0o17", "15"),
            ("0o18", "\"0o18\""),
            ("-0o17", "\"-0o17\""),
            ("0o", "\"0o\""),
            ("0xfF", "255"),
            ("0x-1", "\"0x-1\""),
            ("+0x1", "\"+0x1\""),
            ("0b101", "\"0b101\""),
            ("1_000", "\"1_000\""),
            ("12:30:45", "\"12:30:45\""),
            ("2026-01-29", "\"2026-01-29\""),
            ("1.10", "1.1"),
            ("1.0", "1"),
            ("1.", "1"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            (".", "\".\""),
            ("1e3", "1000"),
            ("1E-3", "0.001"),
            ("1.e+2", "100"),
            ("e3", "\"e3\""),
            ("1e", "\"1e\""),
            ("1e+", "\"1e+\""),
            (".e3", "\".e3\""),
            ("+-1", "\"+-1\""),
            ("--1", "\"--1\""),
            ("1.2.3", "\"1.2.3\""),
            ("inf", "\"inf\""),
            ("NaN", "\"NaN\""),
            ("infinity", "\"infinity\""),
            ("-.nan", "\"-.nan\""),
            ("9007199254740992", "9007199254740992"),
            ("-9007199254740992", "-9007199254740992"),
            ("0x20000000000000", "9007199254740992"),
        ] {
            assert_eq!(
                plain(text).map(|v| v.canonical()).as_deref(),
                Ok(want),
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_would_lose_its_value_is_refused() {
        for text in [
            ".inf",
            "-.Inf",
            "+.INF",
            ".nan",
            ".NaN",
            ".NAN",
            "9007199254740993",
            "-9007199254740993",
            "99999999999999999999999999999999999999999999999999",
            "0x20000000000001",
            "0o400000000000000001",
            "1e999",
            "-1e999",
        ] {
            let error = plain(text).unwrap_err();
            assert!(error.contains("quote it"), "{text}: {error}");
        }
    }
}
