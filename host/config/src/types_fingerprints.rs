//! `[fingerprints]`, as types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which hash a new fingerprint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FingerprintHash {
    /// SHA-256.
    Sha256,
    /// BLAKE3.
    Blake3,
}

/// `[fingerprints]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fingerprints {
    /// The hash that is written; both are verified.
    pub hash: FingerprintHash,
    /// Canonicalisers by files' endings, without the dot: names from `[plugins]` or built-in ones.
    pub forms: BTreeMap<String, String>,
}

impl Default for Fingerprints {
    fn default() -> Self {
        Fingerprints {
            hash: FingerprintHash::Sha256,
            forms: BTreeMap::new(),
        }
    }
}
