//! A JSON value and its canonical text.

use crate::number;

/// Keys and values, in the order in which they were written.
pub type Object = Vec<(String, Value)>;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A finite double.
    Number(f64),
    /// Text.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// A mapping. Whoever builds it sees to it that no key stands twice.
    Object(Object),
}

impl Value {
    /// The text that RFC 8785 gives this value: no white space, keys sorted by
    /// their UTF-16 code units, numbers and strings as ECMAScript writes them,
    /// no line feed at the end. A number that isn't finite becomes `null`, as
    /// it does in ECMAScript; whoever builds a value refuses those first.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(n) => {
                if !number::write(*n, out) {
                    out.push_str("null");
                }
            }
            Value::String(s) => write_string(s, out),
            Value::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Value::Object(entries) => {
                let mut sorted: Vec<_> = entries.iter().collect();
                sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
                out.push('{');
                for (i, (key, value)) in sorted.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn write_string(s: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => {
                let code = c as usize;
                out.push_str("\\u00");
                out.push(HEX[code >> 4] as char);
                out.push(HEX[code & 15] as char);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(keys: &[&str]) -> Value {
        Value::Object(keys.iter().map(|k| ((*k).into(), Value::Null)).collect())
    }

    #[test]
    fn keys_sort_by_utf16_units_not_by_code_points() {
        // U+1F600 is the pair D83D DE00, which stands before U+FB33 though its number is higher.
        assert_eq!(
            object(&["\u{fb33}", "\u{1f600}", "10", "9", ""]).canonical(),
            "{\"\":null,\"10\":null,\"9\":null,\"\u{1f600}\":null,\"\u{fb33}\":null}"
        );
    }

    #[test]
    fn strings_escape_what_must_be_and_nothing_else() {
        let v = Value::String("\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f} \"\\/\u{7f}\u{2028}é😀".into());
        assert_eq!(
            v.canonical(),
            "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\u{7f}\u{2028}é😀\""
        );
    }

    #[test]
    fn lists_keep_their_order_and_their_nulls() {
        let v = Value::Array(vec![
            Value::Bool(true),
            Value::Null,
            Value::Number(1.10),
            Value::Array(vec![]),
        ]);
        assert_eq!(v.canonical(), "[true,null,1.1,[]]");
        assert_eq!(object(&[]).canonical(), "{}");
    }
}
