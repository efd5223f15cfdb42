//! What ships with ralph and needs no table in `ralph.toml`.

/// Agents that are there without an `[agents]` table.
pub const AGENTS: [&str; 4] = ["codex", "claude", "copilot", "scripted"];

/// Components that drive a native program.
pub const DRIVERS: [&str; 5] = ["codex", "claude", "copilot", "command", "acp"];

/// Components that are the agent themselves.
pub const SANDBOXED_AGENTS: [&str; 1] = ["scripted"];

/// Gate components.
pub const GATES: [&str; 3] = ["command", "diff-scope", "no-secrets"];

/// Components that write a question and read its answer.
pub const JUDGES: [&str; 2] = ["judge", "review"];

/// Components that bring a prompt into one form.
pub const CANONICALISERS: [&str; 4] = ["yaml-prompt", "json", "markdown", "text"];

/// What an agent's `plugin` may name.
pub fn agent_plugins() -> Vec<&'static str> {
    [DRIVERS.as_slice(), &SANDBOXED_AGENTS].concat()
}

/// Every name that may follow `builtin:`. `command` is both a driver and a gate; the place it is
/// used in tells which.
pub fn all() -> Vec<&'static str> {
    let mut names = [
        DRIVERS.as_slice(),
        &SANDBOXED_AGENTS,
        &GATES,
        &JUDGES,
        &CANONICALISERS,
    ]
    .concat();
    names.sort_unstable();
    names.dedup();
    names
}
