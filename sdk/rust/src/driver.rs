//! World `agent-driver-plugin`.

use crate::bindings::agent_driver::exports::ralph::plugin::agent_driver::GuestSession;
pub use crate::bindings::agent_driver::exports::ralph::plugin::agent_driver::{
    Ending, Exit, Launch, Reaction,
};
use crate::{Error, Event, Iteration, Outcome};
use std::cell::RefCell;

/// Describes a native agent program: says what to launch and reads what comes
/// back. The host launches it. Must be pure: same input, same answer.
pub trait AgentDriver {
    /// Reads the output of one agent call.
    type Session: Session;

    /// Says what to launch.
    ///
    /// # Errors
    /// The configuration is wrong.
    fn prepare(it: &Iteration, prompt: &str) -> Result<Launch, Error>;
}

/// One agent call.
pub trait Session: Sized + 'static {
    /// Before the first byte of output.
    fn start(it: &Iteration) -> Self;

    /// A piece of standard output, cut anywhere, also inside a character. What
    /// comes back over all pieces must not depend on where they were cut;
    /// [`lines`](crate::lines) and [`json_lines`](crate::json_lines) see to that.
    fn feed(&mut self, chunk: &[u8]) -> Reaction;

    /// The program has ended and its output was fed.
    fn finish(self, exit: &Exit) -> Ending;
}

impl From<Outcome> for Ending {
    fn from(outcome: Outcome) -> Self {
        Ending {
            events: Vec::new(),
            outcome,
        }
    }
}

/// Exports a type that implements [`AgentDriver`] as the component's driver.
#[macro_export]
macro_rules! agent_driver {
    ($driver:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphComponent;
            impl $crate::__private::agent_driver::exports::ralph::plugin::agent_driver::Guest
                for RalphComponent
            {
                type Session =
                    $crate::__private::SessionCell<<$driver as $crate::AgentDriver>::Session>;
                fn prepare(
                    it: $crate::Iteration,
                    prompt: String,
                ) -> Result<$crate::Launch, $crate::Error> {
                    <$driver as $crate::AgentDriver>::prepare(&it, &prompt)
                }
            }
            $crate::__private::agent_driver::export!(
                RalphComponent with_types_in $crate::__private::agent_driver
            );
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_agent_driver<T: $crate::AgentDriver>() {}
            is_agent_driver::<$driver>();
        };
    };
}

/// The exported resource; empty once `finish` was called.
#[doc(hidden)]
pub struct SessionCell<S>(RefCell<Option<S>>);

impl<S: Session> GuestSession for SessionCell<S> {
    fn new(it: Iteration) -> Self {
        SessionCell(RefCell::new(Some(S::start(&it))))
    }

    fn feed(&self, chunk: Vec<u8>) -> Reaction {
        match self.0.borrow_mut().as_mut() {
            Some(session) => session.feed(&chunk),
            None => Reaction::default(),
        }
    }

    fn finish(&self, exit: Exit) -> Ending {
        match self.0.borrow_mut().take() {
            Some(session) => session.finish(&exit),
            None => Outcome::Failed("`finish` was called twice".into()).into(),
        }
    }
}

/// How the prompt reaches the program: `agents.<name>.prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptBy {
    /// On standard input, which is then closed.
    #[default]
    Stdin,
    /// In `prompt.md` in the scratch directory.
    File,
    /// As an argument.
    Argument,
}

/// What the program itself may do: `agents.<name>.sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Its own restrictions are switched off.
    Off,
    /// It may write below the workspace.
    #[default]
    WorkspaceWrite,
    /// It may not write.
    ReadOnly,
    /// Its own restrictions would fail inside those that the host has laid around it,
    /// which hold the same: they are switched off in every role. Only the host says so.
    Held,
}

impl Sandbox {
    /// What holds for this call: an agent that judges or reviews never writes.
    pub fn for_role(self, role: crate::Role) -> Self {
        match role {
            crate::Role::Judge | crate::Role::Review if self != Sandbox::Held => Sandbox::ReadOnly,
            _ => self,
        }
    }
}

impl Launch {
    /// A name that is looked up in `PATH`, or a path. Standard input is empty.
    pub fn new(program: impl Into<String>) -> Self {
        Launch {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: None,
            keep_stdin: false,
            pty: false,
            collect: Vec::new(),
        }
    }

    /// Adds arguments.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// What the program reads on standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// A file of the scratch directory to be handed to [`Session::finish`].
    pub fn collect(mut self, name: impl Into<String>) -> Self {
        self.collect.push(name.into());
        self
    }
}

// The type is generated: nothing can be derived for it here.
#[allow(clippy::derivable_impls)]
impl Default for Reaction {
    fn default() -> Self {
        Reaction {
            events: Vec::new(),
            stdin: Vec::new(),
            close_stdin: false,
        }
    }
}

impl From<Vec<Event>> for Reaction {
    fn from(events: Vec<Event>) -> Self {
        Reaction {
            events,
            ..Reaction::default()
        }
    }
}

impl Exit {
    /// A program that ended by itself, silently.
    pub fn with_code(code: i32) -> Self {
        Exit {
            code: Some(code),
            signal: None,
            stderr_tail: Vec::new(),
            collected: Vec::new(),
        }
    }

    /// Ended by a signal, or by itself in the way a shell reports SIGINT and SIGTERM.
    pub fn interrupted(&self) -> bool {
        self.signal.is_some() || matches!(self.code, Some(130 | 143))
    }

    /// How it ended, with the last lines of standard error, for a message.
    pub fn describe(&self) -> String {
        let how = match (self.code, self.signal) {
            (_, Some(signal)) => format!("ended by signal {signal}"),
            (Some(code), None) => format!("exit code {code}"),
            (None, None) => "no exit code".to_owned(),
        };
        match crate::text::last_lines(&self.stderr_tail, 8) {
            tail if tail.is_empty() => how,
            tail => format!("{how}; standard error ended with:\n{tail}"),
        }
    }

    /// One of the files that [`Launch::collect`] asked for.
    pub fn collected(&self, name: &str) -> Option<&[u8]> {
        self.collected
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, bytes)| bytes.as_slice())
    }
}
