//! Times as records and file names show them.

use jiff::Timestamp;

/// RFC 3339, UTC, microseconds.
pub fn now() -> String {
    format!("{:.6}", Timestamp::now())
}

/// Seconds since 1970.
pub fn unix() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or(0)
}

/// The same of an RFC 3339 time; `None` if it can't be read or lies before 1970.
pub fn unix_of(rfc3339: &str) -> Option<u64> {
    u64::try_from(rfc3339.parse::<Timestamp>().ok()?.as_second()).ok()
}

/// What time it is, for the engine.
pub(crate) fn fact() -> ralph_engine::Fact {
    ralph_engine::Fact::Clock { now: unix() }
}

/// A moment as people read it, in the machine's own time zone.
pub fn local(unix: u64) -> String {
    let at = i64::try_from(unix)
        .ok()
        .and_then(|s| Timestamp::from_second(s).ok());
    at.map_or_else(String::new, |t| {
        let zoned = t.to_zoned(jiff::tz::TimeZone::system());
        zoned.strftime("%Y-%m-%d %H:%M:%S").to_string()
    })
}

/// `YYYYmmdd-HHMMSS`, UTC.
pub fn compact() -> String {
    Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string()
}

/// `YYYYmmddTHHMMSSZ`, as the older records have it.
pub fn stamp(rfc3339: &str) -> String {
    rfc3339.parse::<Timestamp>().map_or_else(
        |_| rfc3339.to_owned(),
        |t| t.strftime("%Y%m%dT%H%M%SZ").to_string(),
    )
}

/// Seconds between two RFC 3339 times; 0 if either can't be read.
pub fn seconds(from: &str, to: &str) -> f64 {
    match (from.parse::<Timestamp>(), to.parse::<Timestamp>()) {
        (Ok(a), Ok(b)) => (b.as_microsecond() - a.as_microsecond()).max(0) as f64 / 1e6,
        _ => 0.0,
    }
}
