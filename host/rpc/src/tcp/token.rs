//! The secret that lets a client in.

use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A shorter one could be tried out.
const MIN: usize = 16;
/// Failures within this time slow down the next.
const MEMORY: Duration = Duration::from_secs(60);
/// The longest that one waits.
const SLOWEST: Duration = Duration::from_secs(3);

/// A secret, of which only a hash is kept.
pub struct Token([u8; 32]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// # Errors
    /// It is too short to be a secret.
    pub fn new(text: &str) -> Result<Token, String> {
        if text.len() < MIN {
            return Err(format!(
                "a token has at least {MIN} characters, for instance those of `openssl rand -hex 32`"
            ));
        }
        Ok(Token(Sha256::digest(text.as_bytes()).into()))
    }

    /// Takes as long whatever is wrong with it.
    pub(super) fn is(&self, given: &str) -> bool {
        bool::from(
            self.0
                .ct_eq(&<[u8; 32]>::from(Sha256::digest(given.as_bytes()))),
        )
    }
}

/// Remembers wrong tokens, so that the next one waits.
#[derive(Debug, Default)]
pub(super) struct Failures(Mutex<Option<(u32, Instant)>>);

impl Failures {
    /// One more; so long its sender waits for the answer.
    pub(super) fn one_more(&self) -> Duration {
        self.at(Instant::now())
    }

    fn at(&self, now: Instant) -> Duration {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match *inner {
            Some((count, last)) if now.saturating_duration_since(last) < MEMORY => {
                count.saturating_add(1)
            }
            _ => 1,
        };
        *inner = Some((count, now));
        let factor = 2u32.saturating_pow(count.min(16) - 1);
        Duration::from_millis(50)
            .saturating_mul(factor)
            .min(SLOWEST)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn only_the_same_text_is_the_token() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in [
            "",
            "0123456789abcde",
            "0123456789abcdef ",
            "0123456789abcdeF",
        ] {
            assert!(!token.is(other), "{other}");
        }
        assert!(Token::new("short").is_err());
        assert!(!format!("{token:?}").contains('0'));
    }

    #[test]
    fn each_failure_waits_longer_until_a_minute_is_quiet() {
        let (failures, now) = (Failures::default(), Instant::now());
        let waits: Vec<u128> = (0..9).map(|_| failures.at(now).as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1600, 3000, 3000, 3000]);
        assert_eq!(failures.at(now + MEMORY).as_millis(), 50);
    }
}
