//! What a driver and the host tell each other about a native agent program.

use ralph_engine::types::{AgentEvent, AgentOutcome};
use wasmtime::component::ResourceAny;

use crate::bindings::exports::ralph::plugin::agent_driver;
use crate::call::Live;
use crate::error::{PluginError, Who};
use crate::world::f;

/// What to launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Looked up in PATH unless it has a `/`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Laid over the environment which the host gives.
    pub env: Vec<(String, String)>,
    /// Written to its standard input; `None` means an empty one.
    pub stdin: Option<Vec<u8>>,
    /// Leave standard input open after `stdin`, for [`Reaction::stdin`].
    pub keep_stdin: bool,
    /// Run it on a pseudo-terminal.
    pub pty: bool,
    /// Names of files in the scratch directory to hand to [`Session::finish`].
    pub collect: Vec<String>,
}

/// What a driver makes of a piece of output.
#[derive(Debug, Clone, PartialEq)]
pub struct Reaction {
    /// What there is to see.
    pub events: Vec<AgentEvent>,
    /// Bytes for the program's standard input, if it was kept open.
    pub stdin: Vec<u8>,
    /// Close the program's standard input now.
    pub close_stdin: bool,
}

/// How the program ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The last 64 KiB of standard error.
    pub stderr_tail: Vec<u8>,
    /// The files named in [`Launch::collect`] that were there, with their content.
    pub collected: Vec<(String, Vec<u8>)>,
}

/// One agent call, as a driver follows it. After an error, or a `feed` whose future
/// was dropped, it is over: every further call is
/// [`SessionOver`](PluginError::SessionOver).
pub struct Session {
    who: Who,
    /// Taken out while a call runs, so that a call that is given up ends it.
    live: Option<Live>,
    handle: ResourceAny,
}

impl Session {
    pub(crate) fn new(who: Who, live: Live, handle: ResourceAny) -> Session {
        Session {
            who,
            live: Some(live),
            handle,
        }
    }

    /// Hands on a piece of the program's standard output, cut anywhere.
    pub async fn feed(&mut self, chunk: &[u8]) -> Result<Reaction, PluginError> {
        let mut live = self.take()?;
        let reaction: agent_driver::Reaction = live.call(f::FEED, (self.handle, chunk)).await?;
        self.live = Some(live);
        Ok(reaction.into())
    }

    /// Tells the end and asks what came of it. The events are those that only
    /// showed at the end, e.g. usage from a collected file.
    pub async fn finish(
        mut self,
        exit: Exit,
    ) -> Result<(AgentOutcome, Vec<AgentEvent>), PluginError> {
        let mut live = self.take()?;
        let exit: agent_driver::Exit = exit.into();
        let ending: agent_driver::Ending = live.call(f::FINISH, (self.handle, &exit)).await?;
        Ok((
            ending.outcome.into(),
            ending.events.into_iter().map(Into::into).collect(),
        ))
    }

    fn take(&mut self) -> Result<Live, PluginError> {
        self.live.take().ok_or_else(|| PluginError::SessionOver {
            who: self.who.clone(),
        })
    }
}
