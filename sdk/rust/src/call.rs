//! The agent call that a driver's session follows.

/// Its prompt, as [`AgentDriver::prepare`](crate::AgentDriver::prepare) was given
/// it: for programs that are told it in the course of a conversation. Empty
/// outside a session.
pub fn prompt() -> String {
    #[cfg(target_family = "wasm")]
    return crate::bindings::imports::ralph::plugin::call::prompt();
    #[cfg(not(target_family = "wasm"))]
    crate::testing::with(|h| h.prompt.clone())
}
