//! The languages for which there are templates and tool chains.

use std::fmt;
use std::str::FromStr;

use ralph_plugins::Kind;
use serde::{Deserialize, Serialize};

/// A plugin's language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// The crate `ralph-plugin`.
    Rust,
    /// QuickJS within the component.
    Js,
    /// The same, with types.
    Ts,
    /// CPython within the component.
    Python,
    /// clang or zig.
    C,
    /// The standard Go.
    Go,
}

impl Lang {
    /// All of them.
    pub const ALL: [Lang; 6] = [
        Lang::Rust,
        Lang::Js,
        Lang::Ts,
        Lang::Python,
        Lang::C,
        Lang::Go,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Lang::Rust => "rust",
            Lang::Js => "js",
            Lang::Ts => "ts",
            Lang::Python => "python",
            Lang::C => "c",
            Lang::Go => "go",
        }
    }

    /// The kinds of plugin for which there is a template.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Lang::Rust => &Kind::ALL,
            // It has no files, so it can't keep tasks.
            Lang::Js | Lang::Ts => &[
                Kind::Gate,
                Kind::Judge,
                Kind::Canonicaliser,
                Kind::Tool,
                Kind::Notifier,
            ],
            Lang::Python => &[
                Kind::Gate,
                Kind::Judge,
                Kind::Canonicaliser,
                Kind::Tool,
                Kind::Notifier,
                Kind::Tracker,
            ],
            // Their SDKs speak the gate's part of the contract.
            Lang::C | Lang::Go => &[Kind::Gate],
        }
    }

    /// Does what makes components of it, and its SDK, let a plugin send HTTP requests?
    pub fn sends_requests(self) -> bool {
        // componentize-qjs can't start the component for its snapshot: its own stubs of `wasi:http`
        // don't fit together. The SDKs for C and Go don't speak it.
        matches!(self, Lang::Rust | Lang::Python)
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Lang {
    type Err = String;

    fn from_str(text: &str) -> Result<Lang, String> {
        let found = match text {
            "javascript" => Some(Lang::Js),
            "typescript" => Some(Lang::Ts),
            "py" => Some(Lang::Python),
            _ => Lang::ALL.into_iter().find(|lang| lang.as_str() == text),
        };
        found.ok_or_else(|| {
            let all: Vec<_> = Lang::ALL.iter().map(|lang| lang.as_str()).collect();
            format!("one of {}", all.join(", "))
        })
    }
}
