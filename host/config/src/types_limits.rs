//! What a component may use, as types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Size, Span};

/// `[plugins.<name>.limits]`. Beside them there are fixed ones: 512 KiB of stack, 64 memories and
/// tables, 4096 handles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Computing time of one call, waiting for the host left out.
    pub time: Span,
    /// Computing time of a start: there is one before each call.
    pub start: Span,
    /// Waiting for the host (programs, changes, files) in one call. Without it a gate has its
    /// `timeout` and 30 s, an agent its `timeout`, and others have 15 minutes.
    pub wait: Option<Span>,
    /// All linear memories together.
    pub memory: Size,
    /// Everything one call gives back.
    pub output: Size,
    /// What it may log in one call, and print as much again; what is over is dropped, and said.
    pub log: Size,
    /// What it may hand over to the host in one call of a host's function.
    pub crossing: Size,
    /// Elements of all its tables together.
    #[schemars(range(min = 1, max = 100_000))]
    pub table_elements: u32,
    /// Core instances that it is made of.
    #[schemars(range(min = 1, max = 10_000))]
    pub instances: u32,
    /// The component's file.
    pub artifact: Size,
    /// Time to compile it, which happens once for each content.
    pub compile: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            time: Span::from_secs(5),
            start: Span::from_secs(5),
            wait: None,
            memory: Size::from_mib(128),
            output: Size::from_mib(1),
            log: Size::from_kib(64),
            crossing: Size::from_mib(16),
            table_elements: 100_000,
            instances: 256,
            artifact: Size::from_mib(64),
            compile: Span::from_secs(300),
        }
    }
}
