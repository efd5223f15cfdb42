//! Recognises a provider's "not now" in words that are not marked as such.
//!
//! Words are weak evidence: an agent that works on a rate limiter talks of
//! limits all day. So a text counts only if it is the *whole* message, short,
//! and *begins* with one of the known wordings. What a driver knows from a
//! structured field (a status code, an error type) needs nothing of this.

use crate::{Limit, text};

/// Wordings which a limit message begins with; lower case, straight apostrophes.
/// Extend this list when a provider finds a new one.
pub const LIMIT_WORDINGS: &[&str] = &[
    "you've hit your",
    "you have hit your",
    "you've reached your",
    "you have reached your",
    "you're out of extra usage",
    "you are out of extra usage",
    "out of extra usage",
    "claude ai usage limit reached",
    "claude usage limit reached",
    "usage limit reached",
    "session limit reached",
    "weekly limit reached",
    "monthly limit reached",
    "5-hour limit reached",
    "hit your limit",
    "hit your session limit",
    "hit your usage limit",
    "rate limit reached",
    "rate limit exceeded",
    "quota exceeded",
    "you exceeded your current quota",
];

/// What must follow somewhere behind `you've hit your` and `you've reached your`.
const NOUNS: &[&str] = &["limit", "quota"];

/// Longer messages are no limit messages.
const MAX_MESSAGE: usize = 300;

/// The limit that `message` tells of, if it is nothing but a limit message.
pub fn limit_message(message: &str) -> Option<Limit> {
    let plain = text::plain(message);
    let plain = plain.trim();
    if plain.is_empty() || plain.len() > MAX_MESSAGE || plain.lines().count() > 3 {
        return None;
    }
    let words = plain
        .to_lowercase()
        .replace(['\u{2019}', '\u{2018}', '\u{2bc}'], "'");
    let words = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = LIMIT_WORDINGS.iter().any(|w| {
        words.starts_with(w)
            && (!w.ends_with("your") || NOUNS.iter().any(|noun| words.contains(noun)))
    });
    begins.then(|| Limit {
        message: plain.to_owned(),
        resets_at: reset_time(words),
    })
}

/// Parts of the errors by which a CLI or its HTTP client says that it cannot reach its
/// provider; lower case. Extend this list when another is found.
pub const NETWORK_WORDINGS: &[&str] = &[
    "econnrefused",
    "econnreset",
    "enotfound",
    "eai_again",
    "etimedout",
    "enetunreach",
    "ehostunreach",
    "connection refused",
    "connection reset by peer",
    "network is unreachable",
    "no route to host",
    "could not resolve host",
    "temporary failure in name resolution",
    "dns error",
    "error sending request for url",
    "unable to connect to api",
    "connection dropped",
    "stream disconnected before completion",
    "error reading a body from connection",
    "waiting for network",
    "connection error.",
    "fetch failed",
];

/// Is this HTTP status an error of the provider's own? Then it is a pause, as a limit is one:
/// no attempt at a task can be blamed for it, and the program has tried again already.
pub fn provider_fault(status: u64) -> bool {
    (500..=599).contains(&status)
}

/// What an error comes to that says the provider can't be reached, or hangs up in the middle of
/// an answer: a pause, as a limit is one, which costs no attempt. Only for what a driver knows to
/// be an *error* of the CLI, never for what an agent says.
pub fn unreachable(error: &str) -> Option<Limit> {
    let words = text::plain(error).to_lowercase();
    let found = NETWORK_WORDINGS.iter().any(|w| words.contains(w));
    found.then(|| Limit {
        message: format!("the provider can't be reached: {}", error.trim()),
        resets_at: None,
    })
}

/// As [`limit_message`], for the last line that isn't blank.
pub fn limit_in_last_line(output: &str) -> Option<Limit> {
    limit_message(output.lines().rev().find(|l| !l.trim().is_empty())?)
}

/// `…limit reached|1764280000`: seconds since 1970 behind a bar, as the CLI of
/// Claude prints them. A time of day without a date is left to whoever knows
/// what day it is; it stands in the message.
fn reset_time(words: &str) -> Option<String> {
    let seconds: u64 = words.rsplit_once('|')?.1.trim().parse().ok()?;
    rfc3339(seconds)
}

/// Seconds since 1970 as RFC 3339 in UTC; none outside the years 2001 to 9999.
pub fn rfc3339(seconds: u64) -> Option<String> {
    if !(1_000_000_000..253_402_300_800).contains(&seconds) {
        return None;
    }
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Howard Hinnant's civil_from_days, for days after 1970.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn every_known_wording_is_a_limit() {
        // B04, B05
        for message in [
            "You've hit your limit · resets 5pm (Europe/Vilnius)",
            "You’ve hit your session limit",
            "You've hit your weekly limit.",
            "You're out of extra usage · resets Dec 1",
            "\u{1b}[31mClaude AI usage limit reached\u{1b}[0m",
            "⚠ Usage limit reached",
            "5-hour limit reached ∙ resets 3am",
            "Quota exceeded. Check your plan and billing details.",
        ] {
            assert!(limit_message(message).is_some(), "{message}");
        }
    }

    #[test]
    fn talk_about_limits_is_no_limit() {
        // B01, B03
        for message in [
            "I added @upstash/ratelimit and set X-RateLimit-Reset.",
            "429 Elm Street",
            "error at line 529",
            "port 5290",
            "The usage limit reached message is now shown.",
            "You've hit your stride",
            "You've hit your limit\nand\nso\non",
            "",
        ] {
            assert_eq!(limit_message(message), None, "{message}");
        }
        let long = format!("You've hit your limit {}", "x".repeat(400));
        assert_eq!(limit_message(&long), None);
    }

    #[test]
    fn an_error_of_the_network_is_a_pause() {
        for error in [
            "API Error: Unable to connect to API (ECONNREFUSED)",
            "stream disconnected before completion: error sending request for url (http://x/)",
            "TypeError: fetch failed",
        ] {
            let limit = unreachable(error).unwrap();
            assert!(limit.message.contains(error), "{}", limit.message);
        }
        assert_eq!(unreachable("the model refused: connect the cable"), None);
    }

    #[test]
    fn seconds_behind_a_bar_become_a_time() {
        for (seconds, expected) in [
            ("1764280000", Some("2025-11-27T21:46:40Z")),
            ("1709164800", Some("2024-02-29T00:00:00Z")),
            ("1735689599", Some("2024-12-31T23:59:59Z")),
            ("7", None),
            ("soon", None),
        ] {
            let limit = limit_message(&format!("Claude AI usage limit reached|{seconds}")).unwrap();
            assert_eq!(limit.resets_at.as_deref(), expected, "{seconds}");
        }
    }
}
