//! Where a value of the configuration was written.

use crate::error::ConfigError;
use crate::source::Source;
use crate::tree::{At, Node, Table, Value};

/// The sources, and the place of every value in them. For errors that only show when the
/// configuration is used, such as a file that isn't there.
#[derive(Debug, Clone, PartialEq)]
pub struct Origins {
    pub(crate) sources: Vec<Source>,
    pub(crate) root: Node,
}

impl Default for Origins {
    fn default() -> Self {
        Origins {
            sources: Vec::new(),
            root: Node::new(At::default(), Value::Table(Table::new())),
        }
    }
}

impl Origins {
    /// Is it written anywhere, or is it a default? `path` is keys and array indexes, as in
    /// `["gates", "0", "run"]`.
    pub fn is_set(&self, path: &[&str]) -> bool {
        self.root.find(path).is_some()
    }

    /// Which of the sources it was written in, by number; a later one has the higher.
    pub(crate) fn file_of(&self, path: &[&str]) -> Option<usize> {
        self.root.find(path).map(|node| node.at.source)
    }

    /// An error at the value of `path`, or at the nearest table above it if it is a default.
    pub fn error(
        &self,
        path: &[&str],
        message: impl Into<String>,
        hint: Option<String>,
    ) -> ConfigError {
        let found = (1..=path.len())
            .rev()
            .find_map(|n| self.root.find(&path[..n]));
        self.error_at(found.map(|n| n.at), &path.join("."), message.into(), hint)
    }

    pub(crate) fn error_at(
        &self,
        at: Option<At>,
        key: &str,
        message: String,
        hint: Option<String>,
    ) -> ConfigError {
        let source = at.map_or(self.sources.len().saturating_sub(1), |a| a.source);
        let name = self
            .sources
            .get(source)
            .map_or("ralph.toml", |s| s.name.as_str());
        let mut error = ConfigError::new(name, message);
        (error.key, error.hint) = (key.to_owned(), hint);
        match (at, self.sources.get(source)) {
            (Some(at), Some(source)) => error.at(source.position(at.offset)),
            _ => error,
        }
    }
}
