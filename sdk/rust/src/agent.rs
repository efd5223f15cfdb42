//! World `agent-plugin`.

use crate::{Error, Iteration, Outcome};

/// An agent that works inside the sandbox itself. It finds the project below
/// [`Iteration::workspace`] with `std::fs`, reports with [`events`](crate::events),
/// and should look at [`events::stop_asked`](crate::events::stop_asked) between steps.
///
/// ```
/// use ralph_plugin::{Agent, Error, Event, Iteration, Outcome, events};
///
/// struct Parrot;
/// impl Agent for Parrot {
///     fn run(it: &Iteration, prompt: &str) -> Result<Outcome, Error> {
///         // The project: all of it, unless `allow.read` and `allow.write` say less.
///         let project = std::path::Path::new(&it.workspace);
///         events::emit(Event::ToolUse("edit prompt.txt".into()));
///         std::fs::write(project.join("prompt.txt"), prompt)?;
///         if events::stop_asked() { return Ok(Outcome::Interrupted); }
///         Ok(Outcome::Finished("Written.".into()))
///     }
/// }
/// ralph_plugin::agent!(Parrot);
///
/// use ralph_plugin::testing::{Host, iteration};
/// let mut it = iteration();
/// it.workspace = std::env::temp_dir().to_str().unwrap().into();
/// let (outcome, record) = Host::new().run(|| Parrot::run(&it, "hello"));
/// assert_eq!(outcome, Ok(Outcome::Finished("Written.".into())));
/// assert_eq!(record.events.len(), 1);
/// ```
pub trait Agent {
    /// Works on the prompt until it comes to an end.
    ///
    /// # Errors
    /// The configuration is wrong or a grant is missing. A task that could not
    /// be done is no error but [`Outcome::Failed`].
    fn run(it: &Iteration, prompt: &str) -> Result<Outcome, Error>;
}

/// Exports a type that implements [`Agent`] as the component's agent.
#[macro_export]
macro_rules! agent {
    ($agent:ty) => {
        #[cfg(target_family = "wasm")]
        const _: () = {
            struct RalphComponent;
            impl $crate::__private::agent::exports::ralph::plugin::agent::Guest for RalphComponent {
                fn run(
                    it: $crate::Iteration,
                    prompt: String,
                ) -> Result<$crate::Outcome, $crate::Error> {
                    <$agent as $crate::Agent>::run(&it, &prompt)
                }
            }
            $crate::__private::agent::export!(RalphComponent with_types_in $crate::__private::agent);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_agent<T: $crate::Agent>() {}
            is_agent::<$agent>();
        };
    };
}
