//! Values that the plugin keeps from one call to the next. Needs `allow.state = true` in
//! `ralph.toml`, and contract 0.2.1.
//!
//! ```
//! use ralph_plugin::{state, testing::Host};
//! let (seen, record) = Host::new().kept("last", "7").run(|| {
//!     state::set("count", "1").unwrap();
//!     state::get("last").unwrap()
//! });
//! assert_eq!(seen.as_deref(), Some(&b"7"[..]));
//! assert_eq!(record.state["count"], b"1");
//! ```

use crate::Error;
#[cfg(target_family = "wasm")]
use crate::bindings::imports::ralph::plugin::state as host;
pub use crate::bindings::imports::ralph::plugin::state::StateError;
#[cfg(not(target_family = "wasm"))]
use crate::testing as host;

/// The value under a key.
///
/// # Errors
/// The key can't be, or the value could not be read.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, StateError> {
    host::get(key)
}

/// Puts a value under a key, whatever was there before.
///
/// # Errors
/// Too long, no more room, or it could not be written; what was there before is then still there.
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<(), StateError> {
    host::set(key, value.as_ref())
}

/// Removes a key; fine if it isn't there.
///
/// # Errors
/// The key can't be, or it could not be written.
pub fn delete(key: &str) -> Result<(), StateError> {
    host::delete(key)
}

/// The keys that begin so, sorted.
///
/// # Errors
/// They could not be read.
pub fn keys(prefix: &str) -> Result<Vec<String>, StateError> {
    host::keys(prefix)
}

impl From<StateError> for Error {
    fn from(e: StateError) -> Self {
        match e {
            StateError::Invalid(m) | StateError::Full(m) | StateError::Failed(m) => {
                Error::Failed(m)
            }
        }
    }
}
