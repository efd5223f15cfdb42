//! How long to wait before something is tried again.

use std::time::Duration;

/// What a wait between two attempts is at most.
pub const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// The wait before the attempt after `failures` that failed in a row: doubled each time, up to
/// [`BACKOFF_MAX`].
pub fn backoff(failures: u32, first: Duration) -> Duration {
    let doubled = first.saturating_mul(1 << failures.min(20));
    doubled.min(BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use super::{BACKOFF_MAX, backoff};
    use std::time::Duration;

    #[test]
    fn waits_grow_and_are_capped() {
        let waits = [0, 1, 2, 3].map(|n| backoff(n, Duration::from_millis(250)).as_millis());
        assert_eq!(waits, [250, 500, 1000, 2000]);
        for n in [7, 20, u32::MAX] {
            assert_eq!(backoff(n, Duration::from_millis(250)), BACKOFF_MAX);
        }
        assert_eq!(backoff(3, Duration::MAX), BACKOFF_MAX);
        assert_eq!(backoff(u32::MAX, Duration::ZERO), Duration::ZERO);
    }
}
