//! What an [`Agent`](crate::Agent) lets others see while it works.

use crate::Event;

/// Reports one event.
pub fn emit(event: Event) {
    #[cfg(target_family = "wasm")]
    crate::bindings::imports::ralph::plugin::events::emit(&event);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::with(|h| h.record.events.push(event));
}

/// True once somebody wants the run to end: come to an end and report
/// [`Outcome::Interrupted`](crate::Outcome::Interrupted).
pub fn stop_asked() -> bool {
    #[cfg(target_family = "wasm")]
    return crate::bindings::imports::ralph::plugin::events::stop_asked();
    #[cfg(not(target_family = "wasm"))]
    crate::testing::stop_asked()
}
