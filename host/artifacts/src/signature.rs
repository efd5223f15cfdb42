//! minisign signatures: a text beside the artefact, made by a key that the user trusts.

use minisign_verify::{Error as Minisign, PublicKey, Signature};

use crate::error::ArtifactError;

/// No signature is longer, in bytes.
pub const SIGNATURE_MAX: u64 = 8 << 10;

/// The keys that the user trusts.
#[derive(Default)]
pub struct Keys(Vec<PublicKey>);

/// What a signature is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signed {
    /// A trusted key made it.
    Trusted,
    /// There is none, or nobody who is trusted made it.
    No,
}

impl Keys {
    /// Reads public keys: the base64 line, or the whole of a `.pub` file.
    ///
    /// # Errors
    /// One that is no key: then none counts.
    pub fn parse(texts: &[String]) -> Result<Keys, ArtifactError> {
        let key = |text: &String| {
            let text = text.trim();
            let read = if text.contains('\n') {
                PublicKey::decode(text)
            } else {
                PublicKey::from_base64(text)
            };
            read.map_err(|e| {
                ArtifactError::Signature(format!(
                    "`trusted_keys`: {text:?} is no minisign public key: {e}"
                ))
            })
        };
        texts.iter().map(key).collect::<Result<_, _>>().map(Keys)
    }

    /// Is there any?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks a signature over these bytes. A signature that claims to be by a trusted key and
    /// isn't is an error, whether one is needed or not.
    ///
    /// # Errors
    /// That, and with `required` also one that is missing or by somebody else.
    pub fn check(
        &self,
        what: &str,
        bytes: &[u8],
        signature: Option<&str>,
        required: bool,
    ) -> Result<Signed, ArtifactError> {
        let refused = |why: String| ArtifactError::Signature(format!("{what}: {why}"));
        if required && self.is_empty() {
            return Err(refused(
                "a signature is required, and no key is trusted: `trusted_keys` in the user's config.toml names them"
                    .into(),
            ));
        }
        let Some(text) = signature else {
            return match required {
                true => Err(refused("a signature is required, and it has none".into())),
                false => Ok(Signed::No),
            };
        };
        let signature = match Signature::decode(text) {
            Ok(signature) => signature,
            Err(_) if !required && self.is_empty() => return Ok(Signed::No),
            Err(e) => return Err(refused(format!("its signature can't be read: {e}"))),
        };
        for key in &self.0 {
            match key.verify(bytes, &signature, false) {
                Ok(()) => return Ok(Signed::Trusted),
                Err(Minisign::UnexpectedKeyId) => {}
                Err(e) => {
                    return Err(refused(format!(
                        "its signature is wrong ({e}): the file was changed after it was signed, or the signature is of something else"
                    )));
                }
            }
        }
        match required {
            true => Err(refused(
                "its signature is by a key that isn't among `trusted_keys` in the user's config.toml".into(),
            )),
            false => Ok(Signed::No),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use minisign::KeyPair;
    use std::io::Cursor;

    fn sign(pair: &KeyPair, bytes: &[u8]) -> String {
        let signed = minisign::sign(None, &pair.sk, Cursor::new(bytes), Some("x"), None);
        signed.unwrap().into_string()
    }

    fn keys(pairs: &[&KeyPair]) -> Keys {
        let texts: Vec<String> = pairs.iter().map(|p| p.pk.to_base64()).collect();
        Keys::parse(&texts).unwrap()
    }

    #[test]
    fn only_a_right_signature_by_a_trusted_key_counts() {
        let own = KeyPair::generate_unencrypted_keypair().unwrap();
        let other = KeyPair::generate_unencrypted_keypair().unwrap();
        let good = sign(&own, b"bytes");
        let foreign = sign(&other, b"bytes");
        let trusted = keys(&[&other, &own]);
        for required in [false, true] {
            let check = |keys: &Keys, bytes: &[u8], sig: Option<&str>| {
                keys.check("it", bytes, sig, required)
                    .map_err(|e| e.to_string())
            };
            assert_eq!(check(&trusted, b"bytes", Some(&good)), Ok(Signed::Trusted));
            let changed = check(&trusted, b"bytez", Some(&good)).unwrap_err();
            assert!(changed.contains("it: its signature is wrong"), "{changed}");
            assert_eq!(
                check(&keys(&[&own]), b"bytes", Some(&foreign)).is_ok(),
                !required
            );
            assert_eq!(check(&trusted, b"bytes", None).is_ok(), !required);
            assert_eq!(
                check(&Keys::default(), b"bytes", Some(&good)).is_ok(),
                !required
            );
            assert!(check(&trusted, b"bytes", Some("rubbish")).is_err());
            let comment = good.replace("trusted comment: x", "trusted comment: y");
            assert!(check(&trusted, b"bytes", Some(&comment)).is_err());
        }
    }

    #[test]
    fn one_bad_key_spoils_the_list() {
        let own = KeyPair::generate_unencrypted_keypair().unwrap();
        let file = own.pk.to_box().unwrap().into_string();
        assert!(Keys::parse(std::slice::from_ref(&file)).is_ok());
        assert!(Keys::parse(&[file, "RW".into()]).is_err());
    }
}
