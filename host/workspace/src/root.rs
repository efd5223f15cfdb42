//! Where a project begins.

use std::io;
use std::path::{Path, PathBuf};

/// Why no project was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// Nothing on the way up looks like a project.
    #[error(
        "no project here: neither {} nor any directory above it has a `ralph.toml`, a `.ralph/ralph.toml` or a `.git`. Run `ralph init` in the project's root, or name the root",
        start.display()
    )]
    NotFound {
        /// Where the search began.
        start: PathBuf,
    },
    /// The start doesn't exist or cannot be read.
    #[error("cannot look for a project from {}: {source}", start.display())]
    Io {
        /// Where the search began.
        start: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// The nearest ancestor of `start` (itself included) that has a `ralph.toml`,
/// a `.ralph/ralph.toml` or a `.git` (directory or file), as an absolute path
/// without links. Starts no process.
///
/// # Errors
/// [`RootError::NotFound`] if there is none.
pub fn find_root(start: &Path) -> Result<PathBuf, RootError> {
    let canonical = start.canonicalize().map_err(|source| RootError::Io {
        start: start.to_owned(),
        source,
    })?;
    canonical
        .ancestors()
        .find(|dir| {
            dir.join("ralph.toml").is_file()
                || dir.join(".ralph/ralph.toml").is_file()
                || dir.join(".git").exists()
        })
        .map(Path::to_owned)
        .ok_or(RootError::NotFound { start: canonical })
}
