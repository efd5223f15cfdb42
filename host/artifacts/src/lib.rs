//! Plugins from elsewhere: fetched over HTTPS or from OCI registries, kept by their
//! SHA-256, checked against it at each use, and against the user's trusted keys.
//! Everything blocks; callers have a thread to spare.
//!
//! - [`Fetcher`]: what a reference stands for, from the store or from its source
//! - [`Store`]: files by their digest
//! - [`Keys`]: minisign signatures
//! - `http`, `oci`: how it's fetched, and pushed

mod error;
mod fetch;
mod http;
mod oci;
mod signature;
mod store;

pub use error::ArtifactError;
pub use fetch::{Fetched, Fetcher, Wanted};
pub use signature::{Keys, SIGNATURE_MAX, Signed};
pub use store::{Found, Store};

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
