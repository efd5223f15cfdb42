//! When a limit ends, read out of a provider's words: `resets 5pm (Europe/Vilnius)`.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// A time of day that passed this many minutes ago has just passed, and isn't tomorrow's.
const JUST_PASSED: i64 = 15;

/// Seconds since 1970. `None` without a time of day and a time zone behind the word
/// "reset": a guess would be hours off.
pub(crate) fn read(message: &str, now: u64) -> Option<u64> {
    let lower = message.to_ascii_lowercase();
    let after = lower.find("reset")?;
    let rest = message.get(after..)?;
    let zone = rest.split_once('(')?.1.split_once(')')?.0.trim();
    let zone = TimeZone::get(zone).ok()?;
    let words = rest.split_once('(')?.0;
    let time = time_of_day(words)?;
    let now = Timestamp::from_second(i64::try_from(now).ok()?).ok()?;
    let here = now.to_zoned(zone);
    // A time that the clocks skip or have twice is taken as clocks commonly do.
    let today: Zoned = here
        .date()
        .to_datetime(time)
        .to_zoned(here.time_zone().clone())
        .ok()?;
    let recent = here.checked_sub(Span::new().minutes(JUST_PASSED)).ok()?;
    let next = if today >= recent {
        today
    } else {
        let tomorrow = here.date().tomorrow().ok()?;
        tomorrow
            .to_datetime(time)
            .to_zoned(here.time_zone().clone())
            .ok()?
    };
    u64::try_from(next.timestamp().as_second()).ok()
}

/// `5pm`, `5:30 pm`, `17:00`, the first there is.
fn time_of_day(words: &str) -> Option<Time> {
    let start = words.find(|c: char| c.is_ascii_digit())?;
    let text = words.get(start..)?;
    let digits = |t: &str| t.find(|c: char| !c.is_ascii_digit()).unwrap_or(t.len());
    let (hour, rest) = text.split_at(digits(text));
    let hour: i8 = hour.parse().ok()?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => {
            let (minute, rest) = rest.split_at(digits(rest));
            (minute.parse().ok()?, rest)
        }
        None => (0, rest),
    };
    let half = rest.trim_start().to_ascii_lowercase();
    let hour = match (hour, half.get(..2)) {
        (12, Some("am")) => 0,
        (1..=11, Some("pm")) => hour + 12,
        (1..=12, Some("am" | "pm")) => hour,
        // "in 5 hours" is no time of day.
        (_, _) if text.contains(':') => hour,
        _ => return None,
    };
    Time::new(hour, minute, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(text: &str) -> u64 {
        let t: Timestamp = text.parse().unwrap();
        u64::try_from(t.as_second()).unwrap()
    }

    /// B06
    #[test]
    fn a_time_of_day_is_the_next_one_in_its_zone() {
        for (message, now, until) in [
            (
                "You've hit your limit · resets 5pm (Europe/Vilnius)",
                "2026-11-28T10:00:00Z",
                "2026-11-28T15:00:00Z",
            ),
            (
                "resets 10am (Europe/Zurich)",
                "2026-11-28T09:03:00Z",
                "2026-11-28T09:00:00Z",
            ),
            (
                "resets 10am (Europe/Zurich)",
                "2026-11-28T09:30:00Z",
                "2026-11-29T09:00:00Z",
            ),
            (
                "Resets 12am (UTC)",
                "2026-11-28T10:00:00Z",
                "2026-11-29T00:00:00Z",
            ),
            (
                "resets 12pm (UTC)",
                "2026-11-28T10:00:00Z",
                "2026-11-28T12:00:00Z",
            ),
            (
                "resets at 17:30 (UTC)",
                "2026-11-28T10:00:00Z",
                "2026-11-28T17:30:00Z",
            ),
            // The clocks skip 02:30 there on that day.
            (
                "resets 2:30am (Europe/Berlin)",
                "2026-03-29T00:00:00Z",
                "2026-03-29T01:30:00Z",
            ),
            // And have it twice on this one.
            (
                "resets 2:30am (Europe/Berlin)",
                "2026-10-25T00:00:00Z",
                "2026-10-25T00:30:00Z",
            ),
        ] {
            assert_eq!(
                read(message, at(now)),
                Some(at(until)),
                "{message} at {now}"
            );
        }
    }

    #[test]
    fn without_a_zone_or_a_time_nothing_is_guessed() {
        for message in [
            "resets 5pm",
            "resets (Europe/Vilnius)",
            "resets 25pm (UTC)",
            "resets in 5 hours (UTC)",
            "5pm (UTC)",
            "resets 5pm (Nowhere/At_All)",
            "",
        ] {
            assert_eq!(read(message, at("2026-11-28T10:00:00Z")), None, "{message}");
        }
    }
}
