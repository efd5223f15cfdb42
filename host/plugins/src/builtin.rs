//! The components that ship inside the binary.

use crate::kind::Kind;

// `BUILTINS`, by `build.rs`, from target/components.
include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// All built-in components: kind, name, bytes. Sorted by kind and name.
pub fn builtins() -> &'static [(Kind, &'static str, &'static [u8])] {
    BUILTINS
}

/// The built-in component of this kind and name.
pub fn builtin(kind: Kind, name: &str) -> Option<&'static [u8]> {
    BUILTINS
        .iter()
        .find(|(k, n, _)| *k == kind && *n == name)
        .map(|(_, _, bytes)| *bytes)
}
