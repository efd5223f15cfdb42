//! `[tasks]`, as types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Span;

/// Where tasks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TaskSource {
    /// The task file, see `[files] tasks`.
    File,
    /// GitHub issues, through the program `gh`.
    Github,
    /// Issues of Beads, through the program `bd`.
    Beads,
    /// A tracker component, see `plugin`.
    Plugin,
}

/// `[tasks]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tasks {
    /// Where they come from.
    pub source: TaskSource,
    /// github: the repository, `OWNER/NAME` or `HOST/OWNER/NAME`; empty: the one that `gh` takes itself.
    pub repo: String,
    /// github: only issues with this label; empty: all open ones, whoever wrote them.
    pub label: String,
    /// github: no issue with one of these labels.
    pub exclude_labels: Vec<String>,
    /// github: so many open issues, and so many closed ones, are read; the newest.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: u32,
    /// plugin: the tracker, a name from `[plugins]`.
    pub plugin: String,
    /// One call of `gh`, `bd` or the tracker may take this long.
    pub timeout: Span,
}

impl Default for Tasks {
    fn default() -> Self {
        Tasks {
            source: TaskSource::File,
            repo: String::new(),
            label: String::new(),
            exclude_labels: Vec::new(),
            limit: 500,
            plugin: String::new(),
            timeout: Span::from_secs(60),
        }
    }
}
