//! What can go wrong for an author.

use ralph_plugins::PluginError;

/// Why a command of the kit came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for can't be, or a file of the author's can't be used.
    #[error("{0}")]
    Usage(String),
    /// A tool isn't there: which one, and the commands that bring it.
    #[error("{what}\n{commands}")]
    Missing {
        /// Which one, and what for.
        what: String,
        /// One a line, each with two spaces before it.
        commands: String,
    },
    /// A tool refuses.
    #[error("{0}")]
    Tool(String),
    /// The disk refuses.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The component can't be used.
    #[error(transparent)]
    Plugin(#[from] PluginError),
}

impl Error {
    pub(crate) fn io(path: impl AsRef<std::path::Path>, source: std::io::Error) -> Error {
        Error::Io {
            path: path.as_ref().display().to_string(),
            source,
        }
    }

    /// 3 for what a person wrote or has to install, 2 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::Missing { .. } | Error::Plugin(_) => 3,
            Error::Tool(_) | Error::Io { .. } => 2,
        }
    }
}
