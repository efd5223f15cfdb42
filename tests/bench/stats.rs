//! Samples, and what is told of them: the median, and the quartiles as its spread.

/// Measurements of one thing, in seconds or bytes.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds one.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The middle one; NaN if there is none.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The middle half of them: from the first to the third quartile.
    pub fn middle(&self) -> (f64, f64) {
        (self.quantile(0.25), self.quantile(0.75))
    }

    /// Pair by pair. Both sides were measured one after the other, so that what
    /// slows the machine down for a while slows both.
    pub fn zip(&self, other: &Samples, join: impl Fn(f64, f64) -> f64) -> Samples {
        let pairs = self.0.iter().zip(&other.0);
        Samples(pairs.map(|(a, b)| join(*a, *b)).collect())
    }

    fn quantile(&self, at: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else {
            return f64::NAN;
        };
        let exact = at * last as f64;
        let (below, above) = (exact.floor() as usize, exact.ceil() as usize);
        let share = exact - exact.floor();
        sorted[below] * (1.0 - share) + sorted[above] * share
    }
}

/// One side of a comparison: measures once.
pub type Side<'a> = Box<dyn FnMut() -> Result<f64, String> + 'a>;

/// Measures all sides in turn, A B B A A B …, after one round that doesn't count: each finds the
/// processor's caches as often as another leaves them to it.
pub fn interleave(rounds: usize, sides: &mut [Side<'_>]) -> Result<Vec<Samples>, String> {
    let mut samples = vec![Samples::default(); sides.len()];
    for round in 0..=rounds {
        let mut turn: Vec<_> = sides.iter_mut().zip(&mut samples).collect();
        if round % 2 == 1 {
            turn.reverse();
        }
        for (side, samples) in turn {
            let value = side()?;
            if round > 0 {
                samples.push(value);
            }
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_and_quartiles_lie_between_the_samples() {
        let samples = Samples(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(samples.median(), 2.5);
        assert_eq!(samples.middle(), (1.75, 3.25));
        assert!(Samples::default().median().is_nan());
    }

    #[test]
    fn a_round_to_warm_up_does_not_count() {
        let (mut a, mut b) = (0.0, 10.0);
        let mut next = [
            Box::new(|| {
                a += 1.0;
                Ok(a)
            }) as Side<'_>,
            Box::new(|| {
                b += 1.0;
                Ok(b)
            }),
        ];
        let samples = interleave(2, &mut next);
        drop(next);
        let samples: Vec<_> = samples.into_iter().flatten().map(|s| s.0).collect();
        assert_eq!(samples, [[2.0, 3.0], [12.0, 13.0]]);
    }
}
