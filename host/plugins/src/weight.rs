//! How many bytes a guest gave back, for `limits.output`.

use crate::bindings::exports::ralph::plugin::agent_driver as driver;
use crate::bindings::ralph::plugin::types;

/// Bytes of every string and byte list, and what each element of a list takes in
/// the guest's memory at least.
pub(crate) trait Weight {
    fn weight(&self) -> u64;
}

const ELEMENT: u64 = 8;

impl Weight for String {
    fn weight(&self) -> u64 {
        self.len() as u64
    }
}

pub(crate) fn list<T: Weight>(list: &[T]) -> u64 {
    list.iter().fold(0, |sum: u64, item| {
        sum.saturating_add(ELEMENT + item.weight())
    })
}

/// Of byte strings. Lists of anything else go through their elements.
impl Weight for Vec<u8> {
    fn weight(&self) -> u64 {
        self.len() as u64
    }
}

impl<T: Weight> Weight for Option<T> {
    fn weight(&self) -> u64 {
        self.as_ref().map_or(0, Weight::weight)
    }
}

impl<A: Weight, B: Weight> Weight for (A, B) {
    fn weight(&self) -> u64 {
        self.0.weight().saturating_add(self.1.weight())
    }
}

impl<T: Weight> Weight for Result<T, types::PluginError> {
    fn weight(&self) -> u64 {
        match self {
            Ok(value) => value.weight(),
            Err(error) => error.weight(),
        }
    }
}

impl Weight for types::PluginError {
    fn weight(&self) -> u64 {
        match self {
            types::PluginError::InvalidConfig(text)
            | types::PluginError::Denied(text)
            | types::PluginError::Failed(text) => text.weight(),
        }
    }
}

impl Weight for types::Finding {
    fn weight(&self) -> u64 {
        self.message.weight() + self.path.weight() + self.rule.weight()
    }
}

impl Weight for types::Verdict {
    fn weight(&self) -> u64 {
        self.summary.weight() + list(&self.findings)
    }
}

impl Weight for driver::Launch {
    fn weight(&self) -> u64 {
        self.program.weight()
            + list(&self.args)
            + list(&self.env)
            + self.stdin.weight()
            + list(&self.collect)
    }
}

impl Weight for driver::Reaction {
    fn weight(&self) -> u64 {
        list(&self.events) + self.stdin.weight()
    }
}

impl Weight for types::Event {
    fn weight(&self) -> u64 {
        match self {
            types::Event::Text(text)
            | types::Event::Thinking(text)
            | types::Event::ToolUse(text)
            | types::Event::ToolResult(text)
            | types::Event::Notice(text) => text.weight(),
            types::Event::Usage(_) => 0,
        }
    }
}

impl Weight for types::Outcome {
    fn weight(&self) -> u64 {
        match self {
            types::Outcome::Finished(text)
            | types::Outcome::Unauthenticated(text)
            | types::Outcome::Failed(text) => text.weight(),
            types::Outcome::Limited(limit) => limit.message.weight() + limit.resets_at.weight(),
            types::Outcome::Interrupted => 0,
        }
    }
}

impl Weight for driver::Ending {
    fn weight(&self) -> u64 {
        self.outcome.weight() + list(&self.events)
    }
}

impl Weight for () {
    fn weight(&self) -> u64 {
        0
    }
}

impl Weight for bool {
    fn weight(&self) -> u64 {
        1
    }
}

/// A resource weighs nothing: it stays in the guest.
impl Weight for wasmtime::component::ResourceAny {
    fn weight(&self) -> u64 {
        0
    }
}
