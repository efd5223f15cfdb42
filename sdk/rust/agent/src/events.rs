//! What an [`Agent`](crate::Agent) lets others see while it works.

use ralph_plugin::Event;

/// Reports one event.
pub fn emit(event: Event) {
    #[cfg(target_family = "wasm")]
    crate::bindings::ralph::plugin::events::emit(&crate::agent::event_to_wit(event));
    #[cfg(not(target_family = "wasm"))]
    ralph_plugin::testing::emit(event);
}

/// True once somebody wants the run to end: come to an end and report
/// [`Outcome::Interrupted`](crate::Outcome::Interrupted).
pub fn stop_asked() -> bool {
    #[cfg(target_family = "wasm")]
    return crate::bindings::ralph::plugin::events::stop_asked();
    #[cfg(not(target_family = "wasm"))]
    ralph_plugin::testing::stop_asked()
}
