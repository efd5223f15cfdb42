//! The hash over a canonical form, and how it is written: `sha256:` or `blake3:` and 64
//! lower-case hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The hash that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// SHA-256.
    #[default]
    Sha256,
    /// BLAKE3 with its usual 256 bits.
    Blake3,
}

impl Algorithm {
    /// As it stands before the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Algorithm::Sha256 => "sha256",
            Algorithm::Blake3 => "blake3",
        }
    }

    /// The fingerprint of a canonical form.
    pub fn of(self, canonical: &[u8]) -> Fingerprint {
        let hex = match self {
            Algorithm::Sha256 => ralph_workspace::sha256_hex(canonical),
            Algorithm::Blake3 => blake3::hash(canonical).to_hex().to_string(),
        };
        Fingerprint {
            algorithm: self,
            hex: hex.into(),
        }
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        match text {
            "sha256" => Ok(Algorithm::Sha256),
            "blake3" => Ok(Algorithm::Blake3),
            _ => Err("sha256 or blake3".to_owned()),
        }
    }
}

/// A fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    algorithm: Algorithm,
    hex: Box<str>,
}

impl Fingerprint {
    /// Which hash it is.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.as_str(), self.hex)
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Fingerprint, String> {
        let digit = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
        match text.split_once(':') {
            Some((name, hex)) if hex.len() == 64 && hex.bytes().all(digit) => Ok(Fingerprint {
                algorithm: name.parse()?,
                hex: hex.into(),
            }),
            _ => Err(
                "a fingerprint is `sha256:` or `blake3:` and 64 lower-case hexadecimal digits"
                    .to_owned(),
            ),
        }
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Fingerprint, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn both_hashes_give_their_published_values_and_read_back() {
        for (algorithm, want) in [
            (
                Algorithm::Sha256,
                "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                Algorithm::Blake3,
                "blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
            ),
        ] {
            let made = algorithm.of(b"");
            assert_eq!(made.to_string(), want);
            assert_eq!(want.parse::<Fingerprint>().unwrap(), made);
        }
    }

    #[test]
    fn anything_else_is_no_fingerprint() {
        let hex = "a".repeat(64);
        for text in [
            String::new(),
            hex.clone(),
            format!("md5:{hex}"),
            format!("SHA256:{hex}"),
            format!("sha256:{}", "A".repeat(64)),
            format!("sha256:{}", "a".repeat(63)),
            format!("sha256:{}", "é".repeat(32)),
            format!("sha256:{hex}\n"),
            format!("sha256: {hex}"),
        ] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text:?}");
        }
    }
}
