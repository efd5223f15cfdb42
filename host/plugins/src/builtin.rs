//! The components that ship inside the binary, deflated: most starts find the compiled
//! code in the cache and need none of them.

use std::sync::OnceLock;

use crate::cache::hex;
use crate::kind::Kind;

// `BUILTINS`, by `build.rs`, from target/components.
include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// A component of the binary.
#[derive(Debug)]
pub struct BuiltIn {
    /// What it is.
    pub kind: Kind,
    /// By what name it is known.
    pub name: &'static str,
    /// How many bytes it has.
    pub size: usize,
    sha256: [u8; 32],
    deflated: &'static [u8],
    bytes: OnceLock<Vec<u8>>,
}

impl BuiltIn {
    /// Its SHA-256.
    pub(crate) fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// Its SHA-256, in lower-case hexadecimal digits.
    pub fn digest(&self) -> String {
        hex(&self.sha256)
    }

    /// Its bytes. The first to ask has them inflated.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get_or_init(|| {
            // What doesn't inflate (the binary is damaged) is no component, as whoever
            // loads it will say.
            miniz_oxide::inflate::decompress_to_vec_with_limit(self.deflated, self.size)
                .unwrap_or_default()
        })
    }
}

/// All built-in components, sorted by kind and name.
pub fn builtins() -> &'static [BuiltIn] {
    &BUILTINS
}

/// The built-in component of this kind and name.
pub fn builtin(kind: Kind, name: &str) -> Option<&'static BuiltIn> {
    BUILTINS
        .iter()
        .find(|found| found.kind == kind && found.name == name)
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn each_inflates_to_the_bytes_of_its_size_and_hash() {
        for found in builtins() {
            let bytes = found.bytes();
            assert_eq!(bytes.len(), found.size, "{}", found.name);
            let digest = <[u8; 32]>::from(Sha256::digest(bytes));
            assert_eq!(digest, found.sha256, "{}", found.name);
        }
    }
}
