//! How often one may ask: a bucket that fills steadily, so that a short burst passes.

use std::time::Instant;

/// So many a second go through for ever.
pub(super) const PER_SECOND: u32 = 10;
/// So many at once go through after a rest.
const BURST: f64 = 30.0;

/// What is left of the allowance.
#[derive(Debug)]
pub(super) struct Bucket {
    left: f64,
    at: Instant,
}

impl Bucket {
    pub(super) fn full() -> Bucket {
        Bucket {
            left: BURST,
            at: Instant::now(),
        }
    }

    /// May one more go through?
    pub(super) fn take(&mut self) -> bool {
        self.take_at(Instant::now())
    }

    fn take_at(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * f64::from(PER_SECOND)).min(BURST);
        self.at = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_and_a_flood_is_cut_to_its_rate() {
        let mut bucket = Bucket::full();
        let begun = bucket.at;
        let through = |bucket: &mut Bucket, at| (0..1000).filter(|_| bucket.take_at(at)).count();
        assert_eq!(through(&mut bucket, begun), 30);
        let second = begun + Duration::from_secs(1);
        assert_eq!(through(&mut bucket, second), 10);
        assert_eq!(through(&mut bucket, begun + Duration::from_secs(3600)), 30);
    }
}
