//! Which canonicaliser a file gets, by what its name ends in.

use std::collections::BTreeMap;

use async_trait::async_trait;

/// Why there is no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// The document can't be read as what it is to be.
    #[error("{0}")]
    Refused(String),
    /// The component isn't trusted yet.
    #[error("{0}")]
    Untrusted(String),
    /// The component failed, or there is none.
    #[error("{0}")]
    Failed(String),
}

/// Brings documents into canonical forms.
#[async_trait]
pub trait Canonicaliser: Send + Sync {
    /// `content` in the form that the canonicaliser by this name makes. `path` is for messages.
    ///
    /// # Errors
    /// Both.
    async fn canonical(
        &self,
        name: &str,
        path: &str,
        content: &[u8],
    ) -> Result<Vec<u8>, CanonicalError>;
}

/// Names of canonicalisers by ending, lower case and without the dot.
#[derive(Debug, Clone, Default)]
pub struct Forms(BTreeMap<String, String>);

impl Forms {
    /// The built-in ones, and before them what is configured.
    pub fn new(configured: impl IntoIterator<Item = (String, String)>) -> Forms {
        let lower = |(ending, name): (String, String)| (ending.to_ascii_lowercase(), name);
        Forms(configured.into_iter().map(lower).collect())
    }

    /// The canonicaliser of a file.
    pub fn of(&self, path: &str) -> &str {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = match name.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => ending.to_ascii_lowercase(),
            _ => String::new(),
        };
        match self.0.get(&ending) {
            Some(name) => name,
            None => match ending.as_str() {
                "yaml" | "yml" => "yaml-prompt",
                "json" => "json",
                "md" | "markdown" => "markdown",
                _ => "text",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides_and_the_configuration_before_it() {
        let forms = Forms::new([("TOML".into(), "mine".into()), ("md".into(), "text".into())]);
        for (path, want) in [
            ("prompts/a.yaml", "yaml-prompt"),
            ("a.YML", "yaml-prompt"),
            ("a.json", "json"),
            ("a.b/markdown", "text"),
            ("a.markdown", "markdown"),
            ("README.md", "text"),
            ("a.toml", "mine"),
            (".yaml", "text"),
            ("a.txt", "text"),
        ] {
            assert_eq!(forms.of(path), want, "{path}");
        }
    }
}
