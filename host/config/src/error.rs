//! What is wrong with a configuration, and where.

use std::fmt;

/// One problem at one place, and the others that were found with it.
///
/// Shown as `ralph.toml:12:3: message; hint`, one problem per line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The source's name.
    pub file: String,
    /// Counts from 1; 0 if the problem is in no line.
    pub line: usize,
    /// Counts characters, from 1; 0 if the problem is in no line.
    pub column: usize,
    /// The key with its tables, as in `loop.max_iterations`; empty if the text is no TOML.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    more: Option<Box<More>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct More(Vec<ConfigError>);

impl ConfigError {
    /// A problem in a file as a whole.
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigError {
            file: file.into(),
            line: 0,
            column: 0,
            key: String::new(),
            message: message.into(),
            hint: None,
            more: None,
        }
    }

    /// At this line and column, both from 1.
    pub fn at(self, (line, column): (usize, usize)) -> Self {
        ConfigError {
            line,
            column,
            ..self
        }
    }

    /// All problems, this one first, in the order of their places.
    pub fn all(&self) -> impl Iterator<Item = &ConfigError> {
        std::iter::once(self).chain(self.more.iter().flat_map(|m| m.0.iter()))
    }

    /// Makes one error of several; `None` if there are none.
    pub fn join(errors: Vec<ConfigError>) -> Option<ConfigError> {
        let mut errors = errors.into_iter();
        let mut first = errors.next()?;
        let mut rest: Vec<ConfigError> = first.more.take().map(|m| m.0).unwrap_or_default();
        for mut error in errors {
            let inner = error.more.take();
            rest.push(error);
            rest.extend(inner.into_iter().flat_map(|m| m.0));
        }
        first.more = (!rest.is_empty()).then(|| Box::new(More(rest)));
        Some(first)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.all().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{}:", error.file)?;
            if error.line > 0 {
                write!(f, "{}:{}:", error.line, error.column)?;
            }
            write!(f, " {}", error.message)?;
            if let Some(hint) = &error.hint {
                write!(f, "; {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
