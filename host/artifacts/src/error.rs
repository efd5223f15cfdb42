//! Why an artefact can't be had.

/// Every failure of this crate. Texts name the source and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Nothing may be fetched, and it isn't here.
    #[error("{from} isn't in the store{}, and nothing is fetched with --offline; `ralph plugin pull` fetches it", why.as_ref().map(|w| format!(" ({w})")).unwrap_or_default())]
    Offline {
        /// The source.
        from: String,
        /// What is wrong with what is in the store.
        why: Option<String>,
    },
    /// Other bytes than were promised.
    #[error(
        "{from} has the SHA-256 {found}, but {expected} is expected; it was changed, or the pin is out of date"
    )]
    Digest {
        /// The source.
        from: String,
        /// What it should have.
        expected: String,
        /// What it has.
        found: String,
    },
    /// More bytes than are taken.
    #[error(
        "{from} has more than {limit} bytes; if that is right, raise `artifact` in the plugin's limits"
    )]
    TooLarge {
        /// The source.
        from: String,
        /// The limit.
        limit: u64,
    },
    /// The source, or the way to it.
    #[error("{from} can't be fetched: {why}")]
    Fetch {
        /// The source.
        from: String,
        /// What went wrong.
        why: String,
    },
    /// The registry doesn't take it.
    #[error("{to} doesn't take it: {why}")]
    Push {
        /// The reference.
        to: String,
        /// What went wrong.
        why: String,
    },
    /// A signature is missing or wrong, or the keys are.
    #[error("{0}")]
    Signature(String),
    /// The store on disk.
    #[error("{path}: {source}")]
    Store {
        /// Which file or directory.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

impl ArtifactError {
    pub(crate) fn fetch(from: impl ToString, why: impl ToString) -> ArtifactError {
        ArtifactError::Fetch {
            from: from.to_string(),
            why: why.to_string(),
        }
    }
}
