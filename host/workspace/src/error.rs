//! What the guard refuses, and what the system refuses the guard.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file below the root could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The path isn't one below the root, or a link on the way leads out of it.
    #[error("`{}` is refused: {why}. Only relative paths that stay below {} are allowed", path.escape_debug(), root.display())]
    Escapes {
        /// As it was asked for.
        path: String,
        /// The project's root.
        root: PathBuf,
        /// Which rule it breaks.
        why: &'static str,
    },
    /// No space (or quota) is left; what was there before is untouched.
    #[error("cannot write `{}` below {}: the disk or the quota is full. Free some space and start again; the file's former content is intact", path.escape_debug(), root.display())]
    DiskFull {
        /// As it was asked for.
        path: String,
        /// The project's root.
        root: PathBuf,
    },
    /// The file is longer than the caller wants to read.
    #[error("`{}` is longer than the {max} bytes that are read of it", path.escape_debug())]
    TooLarge {
        /// As it was asked for.
        path: String,
        /// The limit, in bytes.
        max: u64,
    },
    /// A directory, a pipe, a socket or a device stands where a file should.
    #[error("`{}` below {} is {what}, not a file", path.escape_debug(), root.display())]
    NotAFile {
        /// As it was asked for.
        path: String,
        /// The project's root.
        root: PathBuf,
        /// "a directory", "a pipe"…
        what: &'static str,
    },
    /// Another process holds the lock that this file stands for.
    #[error("another process holds `{}`; try again", path.escape_debug())]
    Held {
        /// As it was asked for.
        path: String,
    },
    /// The root itself is missing or no directory.
    #[error("{} cannot be the project's root: {source}", root.display())]
    Root {
        /// As it was given.
        root: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Anything else the system said.
    #[error("cannot {action} `{}` below {}: {source}", path.escape_debug(), root.display())]
    Io {
        /// "read", "write"…
        action: &'static str,
        /// As it was asked for.
        path: String,
        /// The project's root.
        root: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl GuardError {
    /// Sorts an I/O error into the variants a caller tells apart.
    pub(crate) fn from_io(
        action: &'static str,
        path: &str,
        root: &Path,
        source: io::Error,
    ) -> Self {
        let (path, root) = (path.to_owned(), root.to_owned());
        if is_escape(&source) {
            return GuardError::Escapes {
                path,
                root,
                why: "a link on the way leads out",
            };
        }
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                GuardError::DiskFull { path, root }
            }
            io::ErrorKind::IsADirectory => GuardError::NotAFile {
                path,
                root,
                what: "a directory",
            },
            _ => GuardError::Io {
                action,
                path,
                root,
                source,
            },
        }
    }
}

/// cap-std reports an attempt to leave a directory as a `PermissionDenied` of
/// its own making; one of the system's has a number.
fn is_escape(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}
