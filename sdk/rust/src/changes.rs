//! What the iteration changed so far. Needs `allow.changes = true` in
//! `ralph.toml`; a gate that calls nothing of this module needs no such grant.

use crate::FileChange;
pub use crate::bindings::imports::ralph::plugin::changes::DiffText;

/// The changed paths, sorted.
pub fn files() -> Vec<FileChange> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::imports::ralph::plugin::changes::files();
    #[cfg(not(target_family = "wasm"))]
    crate::testing::with(|h| h.files.clone())
}

/// A unified diff of at most `max_bytes`; whole files are left out at its end if it gets too long.
pub fn diff(max_bytes: u64) -> DiffText {
    #[cfg(target_family = "wasm")]
    return crate::bindings::imports::ralph::plugin::changes::diff(max_bytes);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::with(|h| h.diff_within(max_bytes))
}
