//! What the words of an error mean: codex gives no codes in its events.

use ralph_plugin::{Limit, Outcome, limits};

/// A kind of error which is not the agent's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The provider wants a pause.
    Limit,
    /// No valid login.
    Login,
}

/// Parts of error messages, lower case; the first that is found decides.
/// Extend this table when the wording changes.
const PATTERNS: &[(&str, Kind)] = &[
    ("usage limit", Kind::Limit),
    ("rate limit", Kind::Limit),
    ("rate_limit", Kind::Limit),
    ("quota exceeded", Kind::Limit),
    ("exceeded your current quota", Kind::Limit),
    ("insufficient_quota", Kind::Limit),
    ("429 too many requests", Kind::Limit),
    ("experiencing high demand", Kind::Limit),
    ("at capacity", Kind::Limit),
    ("status 401", Kind::Login),
    ("status 403", Kind::Login),
    ("401 unauthorized", Kind::Login),
    ("403 forbidden", Kind::Login),
    ("missing environment variable", Kind::Login),
    ("not logged in", Kind::Login),
    ("codex login", Kind::Login),
    ("log in again", Kind::Login),
    ("sign in again", Kind::Login),
    ("incorrect api key", Kind::Login),
    ("invalid_api_key", Kind::Login),
];

/// What the final error of a turn comes to.
pub fn classify(message: &str) -> Outcome {
    let words = message.to_lowercase();
    match PATTERNS
        .iter()
        .find(|(part, _)| words.contains(part))
        .map(|(_, kind)| *kind)
    {
        Some(Kind::Limit) => Outcome::Limited(Limit {
            message: message.into(),
            resets_at: None,
        }),
        Some(Kind::Login) => Outcome::Unauthenticated(message.into()),
        None => match limits::unreachable(message) {
            Some(limit) => Outcome::Limited(limit),
            None => Outcome::Failed(message.into()),
        },
    }
}
