//! One event type, many views: journal, log, terminal, and every transport.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::types::{AgentEvent, Role};

/// Something a view may want to show.
#[allow(
    clippy::large_enum_variant,
    reason = "most events are facts, and none is kept"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A fact, as it went into the journal.
    Fact(Fact),
    /// Something an agent let be seen.
    Agent {
        /// On whose behalf it runs.
        role: Role,
        /// What.
        what: AgentEvent,
    },
    /// A gate was started.
    GateStarted {
        /// Its name.
        name: String,
    },
    /// Something that happened to a worker of a parallel run.
    Worker {
        /// Its task.
        task: String,
        /// What.
        what: Box<Event>,
    },
    /// Something a person should know that changes nothing.
    Notice {
        /// What.
        text: String,
    },
}
