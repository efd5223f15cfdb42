//! How often somebody may ask: a bucket for each, that fills by itself.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Names that are remembered; beyond that, those with full buckets are forgotten.
const NAMES_MAX: usize = 10_000;

pub(super) struct Rates {
    per_second: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(super) fn new(per_second: u32) -> Rates {
        Rates {
            per_second: f64::from(per_second),
            buckets: Mutex::default(),
        }
    }

    /// One request; or so many seconds to wait.
    pub(super) fn take(&self, name: &str) -> Result<(), u64> {
        self.take_at(name, Instant::now())
    }

    fn take_at(&self, name: &str, now: Instant) -> Result<(), u64> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let (rate, full) = (self.per_second, self.per_second * 2.0);
        let filled = |b: &Bucket| {
            let since = now.saturating_duration_since(b.at).as_secs_f64();
            (b.left + since * rate).min(full)
        };
        if buckets.len() >= NAMES_MAX && !buckets.contains_key(name) {
            buckets.retain(|_, b| filled(b) < full);
        }
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket {
            left: full,
            at: now,
        });
        bucket.left = filled(bucket);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(((1.0 - bucket.left) / rate).ceil() as u64);
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_of_two_seconds_then_one_by_one_and_each_for_themselves() {
        let (rates, now) = (Rates::new(5), Instant::now());
        for _ in 0..10 {
            rates.take_at("a", now).unwrap();
        }
        assert_eq!(rates.take_at("a", now), Err(1));
        rates.take_at("b", now).unwrap();
        let later = now + Duration::from_millis(200);
        rates.take_at("a", later).unwrap();
        assert!(rates.take_at("a", later).is_err());
    }
}
