//! The kinds of plugin.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a component is to the loop: which interface of `ralph:plugin` it exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Describes a native agent program. Pure.
    AgentDriver,
    /// Is itself the agent, inside the sandbox.
    Agent,
    /// Checks the work of an iteration.
    Gate,
    /// Writes the question to a judge or reviewer and reads the answer. Pure.
    Judge,
    /// Brings a document into the form that is hashed. Pure.
    Canonicaliser,
    /// Offers tools to other programs.
    Tool,
    /// Is told how runs end.
    Notifier,
    /// Keeps tasks.
    Tracker,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 8] = [
        Kind::AgentDriver,
        Kind::Agent,
        Kind::Gate,
        Kind::Judge,
        Kind::Canonicaliser,
        Kind::Tool,
        Kind::Notifier,
        Kind::Tracker,
    ];

    /// Name of the interface in `wit/`, which is also how it is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::AgentDriver => "agent-driver",
            Kind::Agent => "agent",
            Kind::Gate => "gate",
            Kind::Judge => "judge",
            Kind::Canonicaliser => "canonicaliser",
            Kind::Tool => "tool",
            Kind::Notifier => "notifier",
            Kind::Tracker => "tracker",
        }
    }

    /// Pure kinds turn data into data: no files, no processes, no changes.
    pub fn is_pure(self) -> bool {
        matches!(self, Kind::AgentDriver | Kind::Judge | Kind::Canonicaliser)
    }

    /// May the host run programs for it, and may it have directories, if it is granted?
    pub(crate) fn acts(self) -> bool {
        matches!(
            self,
            Kind::Gate | Kind::Tool | Kind::Notifier | Kind::Tracker
        )
    }

    /// May it keep values of its own?
    pub(crate) fn keeps(self) -> bool {
        self.acts() || self == Kind::Agent
    }

    /// May it tell people something? Not what tells them itself.
    pub(crate) fn notifies(self) -> bool {
        self.acts() && self != Kind::Notifier
    }

    pub(crate) fn from_interface(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
