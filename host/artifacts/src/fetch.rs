//! What a reference stands for: out of the store if its digest is known and it is there, else
//! from its source and then into the store.

use std::path::Path;
use std::sync::OnceLock;

use ralph_config::{OciName, Reference};

use crate::error::ArtifactError;
use crate::http::Http;
use crate::oci::{Image, Registry};
use crate::sha256_hex;
use crate::signature::SIGNATURE_MAX;
use crate::store::{Found, Store};

/// Gets artefacts.
pub struct Fetcher {
    store: Store,
    offline: bool,
    /// Set up when it is first needed.
    http: OnceLock<Http>,
}

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `https://…` or `oci://…`
    pub reference: &'a Reference,
    /// Nothing but a component of this digest.
    pub sha256: Option<&'a str>,
    /// And not a longer one.
    pub limit: u64,
    /// With its signature, if it has one.
    pub signature: bool,
}

/// What was got.
#[derive(Debug)]
pub struct Fetched {
    /// The component.
    pub bytes: Vec<u8>,
    /// Its digest.
    pub sha256: String,
    /// What the reference stood for.
    pub resolved: String,
    /// A signature, unchecked.
    pub signature: Option<String>,
}

impl Fetcher {
    /// With a store below this directory.
    pub fn new(dir: &Path, offline: bool) -> Fetcher {
        Fetcher {
            store: Store::new(dir),
            offline,
            http: OnceLock::new(),
        }
    }

    /// Gets an artifact. Without a digest, in `sha256` or in an OCI reference, its source is
    /// asked what it stands for now.
    ///
    /// # Errors
    /// It can't be had, or it isn't what was wanted. The store then has nothing new.
    pub fn fetch(&self, wanted: &Wanted) -> Result<Fetched, ArtifactError> {
        match wanted.reference {
            Reference::Https(url) => self.https(wanted, url),
            Reference::Oci(name) => self.oci(wanted, name),
            other => Err(ArtifactError::fetch(other, "it isn't elsewhere")),
        }
    }

    /// Is it in the store, whole?
    pub fn has(&self, sha256: &str, limit: u64) -> bool {
        matches!(self.store.get(sha256, limit), Found::Whole(_))
    }

    fn https(&self, wanted: &Wanted, url: &str) -> Result<Fetched, ArtifactError> {
        let kept = self.kept(wanted, wanted.sha256, url)?;
        let (bytes, sha256) = match kept {
            Some(kept) => kept,
            None => {
                let bytes = self.http(url)?.get(url)?.good()?.bytes(wanted.limit)?;
                expected(url, wanted.sha256, sha256_hex(&bytes))?;
                let sha256 = self.store.put(&bytes)?;
                (bytes, sha256)
            }
        };
        let signature = match wanted.signature {
            false => None,
            true => match self.store.signature(&sha256) {
                None if !self.offline => self.https_signature(url, &sha256)?,
                kept => kept,
            },
        };
        Ok(Fetched {
            bytes,
            sha256,
            resolved: url.to_owned(),
            signature,
        })
    }

    /// The text beside the file; none if the server has none.
    fn https_signature(&self, url: &str, sha256: &str) -> Result<Option<String>, ArtifactError> {
        let (path, query) = match url.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (url, String::new()),
        };
        let url = format!("{path}.minisig{query}");
        let answer = self.http(&url)?.get(&url)?;
        if matches!(answer.status, 403 | 404 | 410) {
            return Ok(None);
        }
        let bytes = answer.good()?.bytes(SIGNATURE_MAX)?;
        let text =
            String::from_utf8(bytes).map_err(|_| ArtifactError::fetch(&url, "it is no text"))?;
        self.store.put_signature(sha256, &text)?;
        Ok(Some(text))
    }

    fn oci(&self, wanted: &Wanted, name: &OciName) -> Result<Fetched, ArtifactError> {
        let registry = || Ok(Registry::new(self.http(name)?, name));
        // A manifest that is known by its digest may be here already, and names the component's.
        let known = name.digest.as_ref().and_then(|digest| {
            let Found::Whole(bytes) = self.store.get(digest, Image::MAX) else {
                return None;
            };
            Some((digest.clone(), Image::parse(name, &bytes).ok()?))
        });
        let sha256 = wanted
            .sha256
            .or(known.as_ref().map(|(_, image)| image.sha256.as_str()));
        let kept = self.kept(wanted, sha256, name)?;
        let needs_image = kept.is_none() || name.digest.is_none() || wanted.signature;
        let image = match known {
            Some(known) => Some(known),
            None if needs_image && !self.offline => {
                let bytes = registry()?.manifest()?;
                let image = Image::parse(name, &bytes)?;
                expected(name, wanted.sha256, image.sha256.clone())?;
                Some((self.store.put(&bytes)?, image))
            }
            None => None,
        };
        let (bytes, sha256) = match (kept, &image) {
            (Some(kept), _) => kept,
            (None, Some((_, image))) => {
                let bytes = registry()?.blob(image, wanted.limit)?;
                expected(name, Some(&image.sha256), sha256_hex(&bytes))?;
                expected(name, wanted.sha256, image.sha256.clone())?;
                let sha256 = self.store.put(&bytes)?;
                (bytes, sha256)
            }
            (None, None) => return Err(self.offline(name, None)),
        };
        let (resolved, signature) = match image {
            Some((digest, image)) => (name.at(&digest).to_string(), image.signature),
            None => (name.to_string(), None),
        };
        if let Some(text) = &signature {
            self.store.put_signature(&sha256, text)?;
        }
        Ok(Fetched {
            signature: signature.or_else(|| self.store.signature(&sha256)),
            bytes,
            sha256,
            resolved,
        })
    }

    /// From the store. What is spoilt there counts as absent, unless nothing may be fetched.
    fn kept(
        &self,
        wanted: &Wanted,
        sha256: Option<&str>,
        from: impl ToString,
    ) -> Result<Option<(Vec<u8>, String)>, ArtifactError> {
        let found = sha256.map_or(Found::Absent, |sha256| self.store.get(sha256, wanted.limit));
        match (found, sha256) {
            (Found::Whole(bytes), Some(sha256)) => Ok(Some((bytes, sha256.to_owned()))),
            (Found::Spoilt(why), _) if self.offline => Err(self.offline(from, Some(why))),
            (Found::Absent, _) if self.offline => Err(self.offline(from, None)),
            _ => Ok(None),
        }
    }

    /// Puts an artifact of this machine into a registry; its reference, with the manifest's digest.
    ///
    /// # Errors
    /// The registry doesn't take it, or isn't there.
    pub fn push(
        &self,
        to: &OciName,
        bytes: &[u8],
        version: Option<&str>,
        signature: Option<&str>,
    ) -> Result<String, ArtifactError> {
        let digest = Registry::new(self.http(to)?, to).push(bytes, version, signature)?;
        Ok(to.at(&digest).to_string())
    }

    fn http(&self, from: impl ToString) -> Result<&Http, ArtifactError> {
        if self.offline {
            return Err(self.offline(from, None));
        }
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let http = Http::new()?;
        Ok(self.http.get_or_init(|| http))
    }

    fn offline(&self, from: impl ToString, why: Option<String>) -> ArtifactError {
        ArtifactError::Offline {
            from: from.to_string(),
            why,
        }
    }
}

/// The digest, if it is the one that is wanted.
fn expected(from: impl ToString, wanted: Option<&str>, found: String) -> Result<(), ArtifactError> {
    match wanted {
        Some(wanted) if wanted != found => Err(ArtifactError::Digest {
            from: from.to_string(),
            expected: wanted.to_owned(),
            found,
        }),
        _ => Ok(()),
    }
}
