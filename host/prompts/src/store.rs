//! What is asked of files: their fingerprint, where one stands, whether the two agree.

use std::sync::Arc;

use ralph_workspace::{Folder, Kind, Workspace, is_own_record, is_temporary};
use serde::{Deserialize, Serialize};

use crate::error::PromptError;
use crate::fingerprint::{Algorithm, Fingerprint};
use crate::forms::{CanonicalError, Canonicaliser, Forms};
use crate::pair::{self, Mended, Pair};
use crate::stored::{self, Place, SIDECAR};

/// Where a workspace has its prompts.
pub const PROMPTS: &str = "prompts";
/// A file that is fingerprinted has no more bytes.
pub const FILE_MAX: u64 = 8 << 20;
/// Directories below `prompts/` are looked into this deep.
const DEPTH_MAX: usize = 16;
/// A file is read again this often while others change it.
pub(crate) const TRIES: usize = 8;

/// Files of one workspace and their fingerprints. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) ws: Workspace,
    forms: Arc<Forms>,
    algorithm: Algorithm,
    canonicaliser: Arc<dyn Canonicaliser>,
}

/// How a file and its fingerprint stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// They agree.
    Verified,
    /// They don't.
    Tampered,
    /// It has none.
    Missing,
}

/// A file as it stands.
#[derive(Debug, Clone, Serialize)]
pub struct Look {
    /// Relative to the root.
    pub path: String,
    /// The canonicaliser's name.
    pub form: String,
    /// How they stand to each other.
    pub status: Status,
    /// What stands in the sidecar or in the field.
    pub fingerprint_stored: Option<Fingerprint>,
    /// Where.
    pub place: Option<Place>,
    /// Of the content as it is, by the same hash as the stored one.
    pub fingerprint_computed: Option<Fingerprint>,
    /// Why they don't agree, or can't be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Store {
    /// Of a workspace. `algorithm` is what is written where nothing else is asked for.
    pub fn new(
        ws: Workspace,
        forms: Forms,
        algorithm: Algorithm,
        canonicaliser: Arc<dyn Canonicaliser>,
    ) -> Store {
        Store {
            ws,
            forms: Arc::new(forms),
            algorithm,
            canonicaliser,
        }
    }

    /// The canonicaliser of a file.
    pub fn form(&self, path: &str) -> &str {
        self.forms.of(path)
    }

    /// What is written where nothing else is asked for.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(crate) async fn canonical(
        &self,
        path: &str,
        content: &[u8],
    ) -> Result<Vec<u8>, CanonicalError> {
        let name = self.forms.of(path);
        self.canonicaliser.canonical(name, path, content).await
    }

    /// The fingerprint of a file's content, whatever is stored.
    ///
    /// # Errors
    /// The file isn't there, may not be named or can't be read as what it is.
    pub async fn compute(
        &self,
        path: &str,
        algorithm: Option<Algorithm>,
    ) -> Result<Fingerprint, PromptError> {
        let path = file(path)?;
        let (pair, _) = pair::read(&self.ws, &path)?;
        let content = pair.content.ok_or(PromptError::Absent(path.clone()))?;
        let canonical = self.canonical(&path, &content).await?;
        Ok(algorithm.unwrap_or(self.algorithm).of(&canonical))
    }

    /// How a file stands. Changes nothing, not even what an edit that was cut off has left.
    ///
    /// # Errors
    /// The file isn't there or may not be named; one that can't be read as what it is, if it
    /// has no fingerprint.
    pub async fn look(&self, path: &str) -> Result<Look, PromptError> {
        let path = file(path)?;
        let (pair, cut_off) = pair::read(&self.ws, &path)?;
        if pair.content.is_none() && pair.sidecar.is_none() && !cut_off {
            return Err(PromptError::Absent(path));
        }
        let mut look = self.compare(&path, &pair).await?;
        if cut_off {
            look.status = Status::Tampered;
            look.problem =
                Some("an edit was cut off here; `ralph fingerprint repair` finishes it".into());
        }
        Ok(look)
    }

    pub(crate) async fn compare(&self, path: &str, pair: &Pair) -> Result<Look, PromptError> {
        let form = self.forms.of(path);
        let mut look = Look {
            path: path.to_owned(),
            form: form.to_owned(),
            status: Status::Missing,
            fingerprint_stored: None,
            place: None,
            fingerprint_computed: None,
            problem: None,
        };
        let (stored, place) = match (&pair.sidecar, &pair.content) {
            (Some(bytes), _) => (stored::read_sidecar(bytes).map(Some), Some(Place::Sidecar)),
            (None, Some(content)) if form == "yaml-prompt" => {
                let found = std::str::from_utf8(content).ok().and_then(stored::field);
                let place = found.is_some().then_some(Place::Field);
                (Ok(found), place)
            }
            _ => (Ok(None), None),
        };
        look.place = place;
        let stored = match stored {
            Ok(stored) => stored,
            Err(why) => {
                look.problem = Some(why);
                None
            }
        };
        let algorithm = stored
            .as_ref()
            .map_or(self.algorithm, Fingerprint::algorithm);
        if let Some(content) = &pair.content {
            match self.canonical(path, content).await {
                Ok(canonical) => look.fingerprint_computed = Some(algorithm.of(&canonical)),
                Err(CanonicalError::Refused(why)) if place.is_some() => look.problem = Some(why),
                Err(e) => return Err(e.into()),
            }
        } else if place.is_some() {
            look.problem = Some("the sidecar's file is gone".into());
        }
        look.status = match (&stored, &look.fingerprint_computed) {
            (Some(stored), Some(computed)) if stored == computed => Status::Verified,
            (None, _) if place.is_none() => Status::Missing,
            _ => Status::Tampered,
        };
        look.fingerprint_stored = stored;
        Ok(look)
    }

    /// Writes a file's fingerprint: into the field, if it has one there and no sidecar, and
    /// otherwise into the sidecar. The hash is the one asked for, that of the former
    /// fingerprint in a field, or the usual one.
    ///
    /// # Errors
    /// As [`Store::compute`]; nothing has changed then.
    pub async fn write(
        &self,
        path: &str,
        algorithm: Option<Algorithm>,
    ) -> Result<Look, PromptError> {
        let path = file(path)?;
        for _ in 0..TRIES {
            let (pair, cut_off) = pair::read(&self.ws, &path)?;
            if cut_off {
                self.mend(&path)?;
                continue;
            }
            let content = pair.content.as_ref();
            let content = content.ok_or_else(|| PromptError::Absent(path.clone()))?;
            let canonical = self.canonical(&path, content).await?;
            let field = match (
                &pair.sidecar,
                self.form(&path),
                std::str::from_utf8(content),
            ) {
                (None, "yaml-prompt", Ok(text)) => stored::field(text).map(|old| (text, old)),
                _ => None,
            };
            let usual = field
                .as_ref()
                .map_or(self.algorithm, |(_, old)| old.algorithm());
            let made = algorithm.unwrap_or(usual).of(&canonical);
            let (name, bytes) = match &field {
                Some((text, _)) => (path.clone(), stored::with_field(text, &made)),
                None => (format!("{path}{SIDECAR}"), Some(stored::sidecar(&made))),
            };
            let bytes = bytes.unwrap_or_default();
            if pair::write_one(&self.ws, &path, &pair, &name, bytes.as_bytes())? {
                return self.look(&path).await;
            }
        }
        Err(busy(&path))
    }

    /// Finishes edits that were cut off, and removes what was only being written in `prompts/`.
    ///
    /// # Errors
    /// The lock can't be had, or the disk refuses.
    pub fn repair(&self) -> Result<Vec<Mended>, PromptError> {
        pair::repair(&self.ws)
    }

    pub(crate) fn mend(&self, path: &str) -> Result<Option<Mended>, PromptError> {
        pair::mend(&self.ws, path)
    }

    /// All files below `prompts/`, and the names of those that only their sidecar is left of.
    ///
    /// # Errors
    /// A directory can't be listed.
    pub fn files(&self) -> Result<Vec<String>, PromptError> {
        let mut found = Vec::new();
        self.collect(PROMPTS, 0, &mut found)?;
        found.sort();
        found.dedup();
        Ok(found)
    }

    fn collect(&self, dir: &str, depth: usize, found: &mut Vec<String>) -> Result<(), PromptError> {
        let Some(folder) = Folder::open(&self.ws, dir)? else {
            return Ok(());
        };
        for (name, kind) in folder.entries()? {
            let path = format!("{dir}/{name}");
            match kind {
                _ if name.starts_with('.') => {}
                Kind::Folder if depth < DEPTH_MAX => self.collect(&path, depth + 1, found)?,
                Kind::Folder => {}
                // A link is named, so that it is refused and not passed over.
                Kind::File | Kind::Other => {
                    found.push(path.strip_suffix(SIDECAR).unwrap_or(&path).to_owned());
                }
            }
        }
        Ok(())
    }
}

pub(crate) fn busy(path: &str) -> PromptError {
    PromptError::Busy(format!(
        "`{path}` is being changed by others all the time; try again"
    ))
}

/// A path that may be fingerprinted, relative to the root.
fn file(path: &str) -> Result<String, PromptError> {
    let refused = |why| {
        Err(PromptError::Path {
            path: path.to_owned(),
            why,
        })
    };
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".git" {
            return refused("what git keeps has no fingerprint");
        }
        parts.push(part);
    }
    if path.starts_with('/') || parts.contains(&"..") {
        return refused("only relative paths below the root are allowed");
    }
    let normal = parts.join("/");
    if normal.is_empty() {
        return refused("it names no file");
    }
    if normal.ends_with(SIDECAR) {
        return refused("it is a sidecar; name the file it belongs to");
    }
    if is_own_record(&normal) || is_temporary(parts.last().copied().unwrap_or_default()) {
        return refused("it is ralph's own record");
    }
    Ok(normal)
}
