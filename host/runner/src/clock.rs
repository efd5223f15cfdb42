//! Times as records and file names show them.

use jiff::Timestamp;

/// RFC 3339, UTC, microseconds.
pub fn now() -> String {
    format!("{:.6}", Timestamp::now())
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
