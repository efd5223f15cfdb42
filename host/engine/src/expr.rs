//! Boolean expressions over names: `lint && (unit || smoke)`.
//!
//! There is no `!`: a gate that could not rule counts as failed, and must never turn out to be
//! what an acceptance rests on. So with more gates passing, no expression is worse off.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::types::Status;

/// Deeper nesting is refused: reading and weighing go down into it.
const DEPTH_MAX: usize = 32;

/// Longer ones are refused.
const LENGTH_MAX: usize = 4096;

/// An expression. Written and kept as its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expr(Node);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Name(String),
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at character {}", .at + 1)]
pub struct ExprError {
    /// Characters before the place.
    pub at: usize,
    /// What is wrong there.
    pub message: String,
}

impl Expr {
    /// Reads one: names, `&&` (binds more tightly), `||`, parentheses. A name of other characters
    /// than letters, digits, `-`, `_`, `.`, `:` and `/` stands in double quotes.
    ///
    /// # Errors
    /// The first place that can't be read.
    pub fn parse(text: &str) -> Result<Expr, ExprError> {
        let chars: Vec<char> = text.chars().take(LENGTH_MAX + 1).collect();
        let mut reader = Reader { chars, at: 0 };
        if reader.chars.len() > LENGTH_MAX {
            return Err(reader.wrong(format!("is longer than {LENGTH_MAX} characters")));
        }
        let node = reader.any(0)?;
        reader.blanks();
        match reader.peek() {
            None => Ok(Expr(node)),
            Some(')') => Err(reader.wrong("there is a `)` without a `(`")),
            Some(_) => Err(reader.wrong("expected `&&`, `||` or the end")),
        }
    }

    /// The names in it, each as often as it stands there.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.0.names(&mut names);
        names
    }

    /// What it comes to. What is skipped drops out: the rest decides, and if nothing is left the
    /// whole is skipped.
    pub fn weigh(&self, of: &dyn Fn(&str) -> Status) -> Status {
        self.0.weigh(of)
    }
}

impl Node {
    fn names<'a>(&'a self, out: &mut Vec<&'a str>) {
        match self {
            Node::Name(name) => out.push(name),
            Node::All(parts) | Node::Any(parts) => parts.iter().for_each(|p| p.names(out)),
        }
    }

    fn weigh(&self, of: &dyn Fn(&str) -> Status) -> Status {
        // The first of these that any part comes to is what the whole comes to.
        let (parts, order) = match self {
            Node::Name(name) => return of(name),
            Node::All(parts) => (parts, [Status::Fail, Status::Pass]),
            Node::Any(parts) => (parts, [Status::Pass, Status::Fail]),
        };
        let parts: Vec<Status> = parts.iter().map(|p| p.weigh(of)).collect();
        let found = order.into_iter().find(|status| parts.contains(status));
        found.unwrap_or(Status::Skip)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, inside: bool) -> fmt::Result {
        let (parts, word) = match self {
            Node::Name(name) if name.chars().all(is_bare) && !name.is_empty() => {
                return f.write_str(name);
            }
            Node::Name(name) => {
                f.write_str("\"")?;
                for c in name.chars() {
                    if matches!(c, '"' | '\\') {
                        f.write_str("\\")?;
                    }
                    write!(f, "{c}")?;
                }
                return f.write_str("\"");
            }
            Node::All(parts) => (parts, " && "),
            Node::Any(parts) => (parts, " || "),
        };
        f.write_str(if inside { "(" } else { "" })?;
        for (i, part) in parts.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { word })?;
            part.write(f, true)?;
        }
        f.write_str(if inside { ")" } else { "" })
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, false)
    }
}

impl TryFrom<String> for Expr {
    type Error = ExprError;

    fn try_from(text: String) -> Result<Expr, ExprError> {
        Expr::parse(&text)
    }
}

impl From<Expr> for String {
    fn from(expr: Expr) -> String {
        expr.to_string()
    }
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/')
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn wrong(&self, message: impl Into<String>) -> ExprError {
        ExprError {
            at: self.at,
            message: message.into(),
        }
    }

    /// Takes `&&` or `||` if it is next.
    fn joined(&mut self, by: char) -> Result<bool, ExprError> {
        self.blanks();
        if self.peek() != Some(by) {
            return Ok(false);
        }
        if self.chars.get(self.at + 1) != Some(&by) {
            return Err(self.wrong(format!("a single `{by}`; write `{by}{by}`")));
        }
        self.at += 2;
        Ok(true)
    }

    fn any(&mut self, depth: usize) -> Result<Node, ExprError> {
        let mut parts = vec![self.all(depth)?];
        while self.joined('|')? {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Node::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Node, ExprError> {
        let mut parts = vec![self.unit(depth)?];
        while self.joined('&')? {
            parts.push(self.unit(depth)?);
        }
        Ok(one_or(parts, Node::All))
    }

    fn unit(&mut self, depth: usize) -> Result<Node, ExprError> {
        self.blanks();
        match self.peek() {
            Some('(') if depth == DEPTH_MAX => {
                Err(self.wrong(format!("more than {DEPTH_MAX} parentheses in one another")))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.any(depth + 1)?;
                self.blanks();
                if self.peek() != Some(')') {
                    return Err(self.wrong("expected `&&`, `||` or `)`"));
                }
                self.at += 1;
                Ok(inner)
            }
            Some('"') => self.quoted(),
            Some(c) if is_bare(c) => {
                let from = self.at;
                while self.peek().is_some_and(is_bare) {
                    self.at += 1;
                }
                let name = self.chars.get(from..self.at).unwrap_or_default();
                Ok(Node::Name(name.iter().collect()))
            }
            Some('!') => Err(self.wrong(
                "`!` can't be used: a gate that could not rule counts as failed, and would then speak for the work",
            )),
            _ => Err(self.wrong("expected the name of a gate or group, or `(`")),
        }
    }

    fn quoted(&mut self) -> Result<Node, ExprError> {
        let from = self.at;
        let mut name = String::new();
        loop {
            self.at += 1;
            match self.peek() {
                Some('"') => break,
                Some('\\') => {
                    self.at += 1;
                    name.extend(self.peek());
                }
                Some(c) => name.push(c),
                None => {
                    self.at = from;
                    return Err(self.wrong("a `\"` that is never closed"));
                }
            }
        }
        self.at += 1;
        Ok(Node::Name(name))
    }
}

fn one_or(mut parts: Vec<Node>, several: fn(Vec<Node>) -> Node) -> Node {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            several(parts)
        }
        None => several(parts),
    }
}
