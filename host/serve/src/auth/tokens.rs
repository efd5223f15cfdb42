//! Static tokens: those of `serve.toml`, or the one of `RALPH_SERVE_TOKEN`.

use hmac::{Hmac, Mac};
use ralph_runner::Error;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Identity, Role, Scope, Verifier};
use crate::settings::{Settings, secret};

/// The one that needs no file.
const VARIABLE: &str = "RALPH_SERVE_TOKEN";
/// By which name its bearer goes.
const ITS_NAME: &str = "env";

/// All static tokens. Of each only a keyed hash is kept, and the key is this process's.
pub struct Tokens {
    key: [u8; 32],
    known: Vec<([u8; 32], Identity)>,
}

impl Tokens {
    /// Reads them.
    ///
    /// # Errors
    /// One can't be read or is too short, or two are the same.
    pub fn read(settings: &Settings) -> Result<Tokens, Error> {
        let mut key = [0; 32];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
            .map_err(|e| Error::Usage(format!("the system gives no random numbers: {e}")))?;
        let mut tokens = Tokens {
            key,
            known: Vec::new(),
        };
        for (name, token) in &settings.tokens {
            let table = format!("[tokens.{}]", name.as_str());
            let text = secret(&table, token.file.as_deref(), token.env.as_deref())?;
            let only = token.workspaces.as_ref();
            let scope = only.map_or(Scope::All, |slugs| {
                Scope::Only(slugs.iter().map(|s| s.as_str().to_owned()).collect())
            });
            tokens.add(&table, &text, name.as_str(), token.role, scope)?;
        }
        if std::env::var_os(VARIABLE).is_some() {
            if settings.tokens.contains_key(ITS_NAME) {
                return Err(Error::Usage(format!(
                    "[tokens.{ITS_NAME}]: whoever bears {VARIABLE}, which is set, goes by that name; choose another one"
                )));
            }
            let text = secret(VARIABLE, None, Some(VARIABLE))?;
            tokens.add(VARIABLE, &text, ITS_NAME, Role::Admin, Scope::All)?;
        }
        Ok(tokens)
    }

    fn add(
        &mut self,
        place: &str,
        text: &str,
        name: &str,
        role: Role,
        scope: Scope,
    ) -> Result<(), Error> {
        if !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::Usage(format!(
                "{place}: the token has something else in it than visible ASCII characters (a blank, a line break, an umlaut), which no client could send"
            )));
        }
        let hash = self.hash(text);
        if self.known.iter().any(|(known, _)| *known == hash) {
            return Err(Error::Usage(format!(
                "{place}: the same token is another's already; each has one of its own"
            )));
        }
        let identity = Identity {
            name: name.to_owned(),
            role,
            scope,
            until: None,
        };
        self.known.push((hash, identity));
        Ok(())
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    fn hash(&self, text: &str) -> [u8; 32] {
        let Ok(mut mac) = <Hmac<Sha256> as Mac>::new_from_slice(&self.key) else {
            return [0; 32];
        };
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

impl Verifier for Tokens {
    fn verify(&self, bearer: &str) -> Result<Option<Identity>, String> {
        let given = self.hash(bearer);
        // All of them, whichever it is.
        let mut found = None;
        for (hash, identity) in &self.known {
            if bool::from(hash.ct_eq(&given)) {
                found = Some(identity);
            }
        }
        Ok(found.cloned())
    }
}
