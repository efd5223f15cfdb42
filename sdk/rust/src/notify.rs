//! Telling people something while the plugin works. Needs `allow.notify = true` in
//! `ralph.toml`, and contract 0.2.1. At most five times in one call.

use crate::Error;
pub use crate::bindings::imports::ralph::plugin::notify::{Level, NotifyError};

/// Tells people this: a title in one line, and more of it, which may be empty.
///
/// # Errors
/// Too long, one too many, or some of those who are to be told were not.
pub fn send(level: Level, title: &str, text: &str) -> Result<(), NotifyError> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::imports::ralph::plugin::notify::send(level, title, text);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::with(|h| {
        h.record
            .notifications
            .push((level, title.into(), text.into()));
        Ok(())
    })
}

impl From<NotifyError> for Error {
    fn from(e: NotifyError) -> Self {
        match e {
            NotifyError::Invalid(m) | NotifyError::TooMany(m) | NotifyError::Failed(m) => {
                Error::Failed(m)
            }
        }
    }
}
