//! What can go wrong with a prompt.

use ralph_workspace::GuardError;

use crate::fingerprint::Fingerprint;
use crate::forms::CanonicalError;

/// Every failure of this crate. Where one is given, nothing on disk has changed,
/// but for [`PromptError::CutOff`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The path may not be used.
    #[error("`{}` is refused: {why}", path.escape_debug())]
    Path {
        /// As it was asked for.
        path: String,
        /// Which rule it breaks, and what is right.
        why: &'static str,
    },
    /// There is no such file.
    #[error("`{}` isn't there", .0.escape_debug())]
    Absent(String),
    /// It can't be read as what it is, or isn't a prompt-set.
    #[error("{0}")]
    Invalid(String),
    /// The component that makes the form isn't trusted yet.
    #[error("{0}")]
    Untrusted(String),
    /// The component that makes the form failed.
    #[error("{0}")]
    Component(String),
    /// Somebody else has changed the file.
    #[error(
        "`{path}` isn't what was expected: its stored fingerprint is {}, that of its content {}, expected was {}{}",
        or_none(stored.as_ref()), or_none(computed.as_ref()), or_none(expected.as_ref()), unreadable(problem.as_deref())
    )]
    Conflict {
        /// Relative to `prompts/`.
        path: String,
        /// In the sidecar or the field.
        stored: Option<Fingerprint>,
        /// Of the content as it is; `None` if there is no file, or it can't be read as what it is.
        computed: Option<Fingerprint>,
        /// What the caller expected.
        expected: Option<Fingerprint>,
        /// Why what is there has no fingerprint, if it has none.
        problem: Option<String>,
    },
    /// The event that has to be on disk before the change can't be written.
    #[error("nothing was changed, for the audit event can't be written: {0}")]
    Audit(String),
    /// The change was begun and couldn't be brought to its end.
    #[error(
        "the change of `{path}` was begun and couldn't be brought to its end: {why}. `ralph fingerprint repair` finishes it"
    )]
    CutOff {
        /// Relative to the root.
        path: String,
        /// What stood in the way.
        why: String,
    },
    /// Another process holds the lock and doesn't let go of it.
    #[error("{0}")]
    Busy(String),
    /// The guard or the system refuses.
    #[error(transparent)]
    Guard(#[from] GuardError),
}

fn or_none(fingerprint: Option<&Fingerprint>) -> String {
    fingerprint.map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn unreadable(problem: Option<&str>) -> String {
    let said = |why: &str| {
        format!(
            ". What is there can't be read ({why}), so nothing can be expected of it: delete it first, without an expectation"
        )
    };
    problem.map(said).unwrap_or_default()
}

impl From<CanonicalError> for PromptError {
    fn from(e: CanonicalError) -> PromptError {
        match e {
            CanonicalError::Refused(why) => PromptError::Invalid(why),
            CanonicalError::Untrusted(why) => PromptError::Untrusted(why),
            CanonicalError::Failed(why) => PromptError::Component(why),
        }
    }
}
