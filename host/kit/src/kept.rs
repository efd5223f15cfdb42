//! What a run has kept of a call, whatever the component's kind.

use std::path::Path;

use ralph_plugins::Kind;

use crate::error::Error;
use crate::input::{Given, Input};
use crate::recorded::Recorded;
use crate::streamed;

/// A recorded call.
pub enum Kept {
    /// Of a gate, judge or reviewer.
    Call(Box<Recorded>),
    /// Of a driver.
    Stream(Box<Input>),
}

impl Kept {
    /// That of an attempt: a gate's that is called `gate`, or `name` unless that is said.
    ///
    /// # Errors
    /// There is none, it isn't clear which, or not all of it was kept.
    pub fn find(
        dir: &Path,
        attempt: &str,
        kind: Kind,
        name: &str,
        gate: Option<&str>,
    ) -> Result<Kept, Error> {
        if kind == Kind::AgentDriver {
            return Ok(Kept::Stream(Box::new(streamed::find(dir, attempt, gate)?)));
        }
        let recorded = Recorded::find(dir, attempt, gate.unwrap_or(name))?;
        Ok(Kept::Call(Box::new(recorded)))
    }

    /// As a call's input.
    pub fn given(&self) -> Given {
        match self {
            Kept::Call(recorded) => recorded.given(),
            Kept::Stream(input) => Given {
                input: Input::clone(input),
                ..Given::default()
            },
        }
    }

    /// Keeps it in a case's folder.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn keep(&self, case: &Path) -> Result<(), Error> {
        match self {
            Kept::Call(recorded) => recorded.keep(case),
            Kept::Stream(input) => streamed::keep(input, case),
        }
    }
}
