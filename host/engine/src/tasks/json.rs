//! JSON with places: a strict parser (RFC 8259) that keeps the byte range of every value, so that
//! a story can be edited in place and an error can point at it. Duplicate keys are errors.

use std::collections::HashSet;

use super::error::{Fault, quoted};

/// Deeper nesting is refused; `serde_json` draws the line at the same depth.
const DEPTH_MAX: usize = 128;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<Member>),
    /// YAML's `*name`. Nothing that is read may be one.
    Alias,
}

impl Kind {
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
            Kind::Alias => "an alias",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub key: String,
    /// Offset of the key's opening quote.
    pub start: usize,
    /// Offset behind the key's closing quote.
    pub key_end: usize,
    pub value: Value,
}

/// Parses one value that fills `text` but for blanks. Offsets count from `base`.
pub(super) fn parse(text: &str, base: usize) -> Result<Value, Fault> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let parsed = parser.document();
    parsed
        .map(|value| shift(value, base))
        .map_err(|fault| Fault {
            at: fault.at + base,
            ..fault
        })
}

/// A byte order mark is rare; so offsets are moved once, not at every step.
fn shift(mut value: Value, base: usize) -> Value {
    fn walk(value: &mut Value, base: usize) {
        value.start += base;
        value.end += base;
        match &mut value.kind {
            Kind::Array(items) => items.iter_mut().for_each(|v| walk(v, base)),
            Kind::Object(members) => members.iter_mut().for_each(|m| {
                m.start += base;
                m.key_end += base;
                walk(&mut m.value, base);
            }),
            _ => {}
        }
    }
    if base > 0 {
        walk(&mut value, base);
    }
    value
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Value, Fault> {
        let value = self.value()?;
        self.blanks();
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.fault("something follows the end of the JSON value")),
        }
    }

    fn value(&mut self) -> Result<Value, Fault> {
        self.blanks();
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Kind::Number(self.number()?),
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(b',' | b']' | b'}') => return Err(self.fault("a value is missing here")),
            Some(_) => return Err(self.fault("this is no JSON value")),
            None => return Err(self.fault("the file ends where a value should be")),
        };
        Ok(Value {
            start,
            end: self.at,
            kind,
        })
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Kind, Fault>) -> Result<Kind, Fault> {
        if self.depth >= DEPTH_MAX {
            return Err(self.fault(format!("nested more than {DEPTH_MAX} deep")));
        }
        self.depth += 1;
        self.at += 1;
        let kind = inner(self)?;
        self.depth -= 1;
        Ok(kind)
    }

    fn array(&mut self) -> Result<Kind, Fault> {
        let mut items = Vec::new();
        self.blanks();
        if self.eat(b']') {
            return Ok(Kind::Array(items));
        }
        loop {
            items.push(self.value()?);
            if self.more(b']', "`,` or `]`")? {
                return Ok(Kind::Array(items));
            }
        }
    }

    fn object(&mut self) -> Result<Kind, Fault> {
        let mut members = Vec::new();
        self.blanks();
        if self.eat(b'}') {
            return Ok(Kind::Object(members));
        }
        loop {
            self.blanks();
            let start = self.at;
            match self.peek() {
                Some(b'"') => {}
                Some(b'}') => return Err(self.fault("a comma too many before `}`")),
                Some(_) => return Err(self.fault("a key in double quotes should stand here")),
                None => return Err(self.fault("the file ends inside an object")),
            }
            let key = self.string()?;
            let key_end = self.at;
            self.blanks();
            if !self.eat(b':') {
                return Err(self.fault("`:` is missing after the key"));
            }
            let value = self.value()?;
            members.push(Member {
                key,
                start,
                key_end,
                value,
            });
            if self.more(b'}', "`,` or `}`")? {
                no_duplicates(&members)?;
                return Ok(Kind::Object(members));
            }
        }
    }

    /// After an element: true at the closing bracket, false at a comma.
    fn more(&mut self, close: u8, wanted: &str) -> Result<bool, Fault> {
        self.blanks();
        if self.eat(close) {
            return Ok(true);
        }
        if !self.eat(b',') {
            let what = if self.peek().is_none() {
                "the file ends where"
            } else {
                "here"
            };
            return Err(self.fault(format!("{what} {wanted} should stand")));
        }
        self.blanks();
        if close == b']' && self.peek() == Some(b']') {
            return Err(self.fault("a comma too many before `]`"));
        }
        Ok(false)
    }

    fn string(&mut self) -> Result<String, Fault> {
        let open = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let from = self.at;
            while self
                .peek()
                .is_some_and(|b| b != b'"' && b != b'\\' && b >= 0x20)
            {
                self.at += 1;
            }
            out.push_str(&self.text[from..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => {
                    return Err(
                        self.fault("a raw control character in a string; write it as an escape")
                    );
                }
                None => {
                    return Err(Fault::new(
                        open,
                        "the file ends inside the string that begins here",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.at += 1;
        let c = self.peek();
        self.at += usize::from(c.is_some_and(|c| c.is_ascii()));
        Ok(match c {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let half = || Fault::new(start, "half of a surrogate pair");
                let first = self.hex4(start)?;
                let code = match first {
                    0xd800..=0xdbff => {
                        if !self.text[self.at..].starts_with("\\u") {
                            return Err(half());
                        }
                        self.at += 2;
                        let second = self.hex4(start)?;
                        if !(0xdc00..=0xdfff).contains(&second) {
                            return Err(half());
                        }
                        0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    code => code,
                };
                char::from_u32(code).ok_or_else(half)?
            }
            _ => return Err(Fault::new(start, "there is no such escape in JSON")),
        })
    }

    fn hex4(&mut self, start: usize) -> Result<u32, Fault> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|d| u32::from_str_radix(std::str::from_utf8(d).ok()?, 16).ok());
        self.at += 4;
        code.ok_or_else(|| Fault::new(start, "`\\u` needs four hexadecimal digits"))
    }

    fn number(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits(start)?;
        }
        if self.eat(b'.') {
            self.digits(start)?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits(start)?;
        }
        if self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.')
        {
            return Err(Fault::new(start, "this is no JSON number"));
        }
        Ok(self.text[start..self.at].to_owned())
    }

    fn digits(&mut self, start: usize) -> Result<(), Fault> {
        let from = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if from == self.at {
            Err(Fault::new(start, "this is no JSON number"))
        } else {
            Ok(())
        }
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind, Fault> {
        let rest = &self.text.as_bytes()[self.at..];
        if !rest.starts_with(word.as_bytes())
            || rest.get(word.len()).is_some_and(u8::is_ascii_alphanumeric)
        {
            return Err(self.fault("this is no JSON value"));
        }
        self.at += word.len();
        Ok(kind)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.at += usize::from(hit);
        hit
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.at, message)
    }
}

pub(super) fn no_duplicates(members: &[Member]) -> Result<(), Fault> {
    let fault = |m: &Member| {
        Fault::new(
            m.start,
            format!("the key {} stands twice in this object", quoted(&m.key)),
        )
    };
    if members.len() <= 16 {
        // The usual story has ten keys: comparing them all is quicker than hashing.
        let twice = |(i, m): (usize, &Member)| members[..i].iter().any(|o| o.key == m.key);
        return match (0..members.len()).find(|&i| twice((i, &members[i]))) {
            Some(i) => Err(fault(&members[i])),
            None => Ok(()),
        };
    }
    let mut seen = HashSet::with_capacity(members.len());
    members.iter().try_for_each(|m| {
        if seen.insert(m.key.as_str()) {
            Ok(())
        } else {
            Err(fault(m))
        }
    })
}
