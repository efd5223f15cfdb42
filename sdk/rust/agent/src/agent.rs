//! World `agent-plugin`.

#[cfg(target_family = "wasm")]
use crate::Event;
use crate::bindings::ralph::plugin::agent_driver as wit;
use crate::{Error, Iteration, Outcome};

/// An agent that works inside the sandbox itself. It finds the project below
/// [`Iteration::workspace`] with `std::fs`, reports with [`events`](crate::events),
/// and should look at [`events::stop_asked`](crate::events::stop_asked) between steps.
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
            impl $crate::__private::exports::ralph::plugin::agent::Guest for RalphComponent {
                fn run(
                    it: $crate::Iteration,
                    prompt: String,
                ) -> Result<
                    $crate::__private::exports::ralph::plugin::agent::Outcome,
                    $crate::Error,
                > {
                    $crate::__private::agent_adapter::<$agent>(&it, &prompt)
                }
            }
            $crate::__private::export!(RalphComponent with_types_in $crate::__private);
        };
        #[cfg(not(target_family = "wasm"))]
        const _: fn() = || {
            fn is_agent<T: $crate::Agent>() {}
            is_agent::<$agent>();
        };
    };
}

/// What the exported function of [`agent!`] does.
#[doc(hidden)]
pub fn agent_adapter<A: Agent>(it: &Iteration, prompt: &str) -> Result<wit::Outcome, Error> {
    A::run(it, prompt).map(outcome_to_wit)
}

// A world that exports the interface `agent-driver` and one that imports its
// types get distinct Rust types for them; these functions bridge the two.

fn outcome_to_wit(outcome: Outcome) -> wit::Outcome {
    match outcome {
        Outcome::Finished(text) => wit::Outcome::Finished(text),
        Outcome::Limited(l) => wit::Outcome::Limited(wit::Limit {
            message: l.message,
            resets_at: l.resets_at,
        }),
        Outcome::Unauthenticated(m) => wit::Outcome::Unauthenticated(m),
        Outcome::Failed(m) => wit::Outcome::Failed(m),
        Outcome::Interrupted => wit::Outcome::Interrupted,
    }
}

#[cfg(target_family = "wasm")]
pub(crate) fn event_to_wit(event: Event) -> wit::Event {
    match event {
        Event::Text(s) => wit::Event::Text(s),
        Event::Thinking(s) => wit::Event::Thinking(s),
        Event::ToolUse(s) => wit::Event::ToolUse(s),
        Event::ToolResult(s) => wit::Event::ToolResult(s),
        Event::Usage(u) => wit::Event::Usage(wit::Usage {
            input_tokens: u.input_tokens,
            output_tokens: u.output_tokens,
            cached_tokens: u.cached_tokens,
            cost_usd: u.cost_usd,
        }),
        Event::Notice(s) => wit::Event::Notice(s),
    }
}
