//! The components that ship inside the binary.

use crate::kind::Kind;

// `BUILTINS`, and `DIGESTS` in the same order, by `build.rs`, from target/components.
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

/// The same with its SHA-256.
pub(crate) fn with_digest(kind: Kind, name: &str) -> Option<(&'static [u8], [u8; 32])> {
    BUILTINS
        .iter()
        .zip(DIGESTS)
        .find(|((k, n, _), _)| *k == kind && *n == name)
        .map(|((_, _, bytes), digest)| (*bytes, *digest))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_hashes_are_those_of_the_components() {
        assert_eq!(BUILTINS.len(), DIGESTS.len());
        for (kind, name, bytes) in builtins() {
            let digest = <[u8; 32]>::from(Sha256::digest(bytes));
            assert_eq!(with_digest(*kind, name), Some((*bytes, digest)), "{name}");
        }
    }
}
