//! How gates count, as types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a gate's failure does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It refuses the work.
    #[default]
    Block,
    /// It is told, also to the next attempt, and refuses nothing.
    Warn,
}

/// `[[gates]] when`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// Patterns of paths, as the built-in gates take them. The gate is asked only if the iteration
    /// changed one of these files, in whatever way: new, staged, committed, deleted or moved. Else
    /// it is skipped. Empty: it is always asked.
    pub changed: Vec<String>,
}

/// `[[gate_groups]]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateGroup {
    /// Unique among gates and groups.
    pub name: String,
    /// Names of gates and groups with `&&`, `||` and parentheses: what has to hold. Who stands in a
    /// group doesn't count by itself any more. A skipped gate drops out of the expression: the rest
    /// decides, and if nothing is left, the group is skipped and refuses nothing.
    pub expr: String,
}

/// `[plugins.<name>] on_failure`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The gate has failed.
    #[default]
    Closed,
    /// It is told as a warning.
    Open,
}
