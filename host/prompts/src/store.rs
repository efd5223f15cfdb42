//! What is asked of files: their fingerprint, where one stands, whether the two agree.

use std::sync::Arc;
use std::time::Duration;

use ralph_workspace::{Folder, GuardError, Kind, Workspace};
use serde::{Deserialize, Serialize};

use crate::error::PromptError;
use crate::fingerprint::{Algorithm, Fingerprint};
use crate::forms::{CanonicalError, Canonicaliser, Forms};
use crate::pair::{self, Mended, Pair};
use crate::paths::{DEPTH_MAX, PROMPTS, TOO_DEEP, file};
use crate::stored::{self, Place, SIDECAR};

/// A file that is fingerprinted has no more bytes.
pub const FILE_MAX: u64 = 8 << 20;
/// A file is read again this often while others change it.
pub(crate) const TRIES: usize = 8;
/// How long the lock of a workspace's prompts is waited for; its holders do no more than a few fsyncs.
const LOCK_TRIES: u32 = 400;
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// Files of one workspace and their fingerprints. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) ws: Workspace,
    forms: Arc<Forms>,
    algorithm: Algorithm,
    canonicaliser: Arc<dyn Canonicaliser>,
    pub(crate) told: Option<Told>,
}

/// Told of an edit that was cut off and is being mended, before its last trace goes.
pub type Told = Arc<dyn Fn(&Mended) + Send + Sync>;

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
            told: None,
        }
    }

    /// The same that tells of edits which were cut off and are mended. Called on a thread that may
    /// wait, with the lock held; a death in between tells again.
    #[must_use]
    pub fn telling(self, told: Told) -> Store {
        Store {
            told: Some(told),
            ..self
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
        let (pair, _) = self.read(&path).await?;
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
        let (pair, cut_off) = self.read(&path).await?;
        if pair.content.is_none() && pair.sidecar.is_none() && !cut_off {
            return Err(PromptError::Absent(path));
        }
        let mut look = self.compare(&path, &pair).await?.0;
        if cut_off {
            look.status = Status::Tampered;
            look.problem =
                Some("an edit was cut off here; `ralph fingerprint repair` finishes it".into());
        }
        Ok(look)
    }

    /// How they stand, and the canonical form of the content, if it has one.
    pub(crate) async fn compare(
        &self,
        path: &str,
        pair: &Pair,
    ) -> Result<(Look, Option<Vec<u8>>), PromptError> {
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
                let found = found.transpose().map_err(|damaged| {
                    format!("the field `fingerprint` can't be read: {}", damaged.why)
                });
                (found, place)
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
        let mut form = None;
        if let Some(content) = &pair.content {
            match self.canonical(path, content).await {
                Ok(canonical) => {
                    look.fingerprint_computed = Some(algorithm.of(&canonical));
                    form = Some(canonical);
                }
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
        Ok((look, form))
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
            let (pair, cut_off) = self.read(&path).await?;
            if cut_off {
                self.mend(&path).await?;
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
            let usual = match &field {
                Some((_, Ok(old))) => old.algorithm(),
                Some((_, Err(damaged))) => damaged.algorithm,
                None => self.algorithm,
            };
            let made = algorithm.unwrap_or(usual).of(&canonical);
            let (name, bytes) = match &field {
                Some((text, _)) => (path.clone(), stored::with_field(text, &made)),
                None => (format!("{path}{SIDECAR}"), Some(stored::sidecar(&made))),
            };
            let bytes = bytes.unwrap_or_default();
            let of = path.clone();
            let written = self
                .on_disk(move |ws| pair::write_one(ws, &of, &pair, &name, bytes.as_bytes()))
                .await?;
            if written {
                return self.look(&path).await;
            }
        }
        Err(busy(&path))
    }

    /// Finishes edits that were cut off, and removes what was only being written in `prompts/`.
    ///
    /// # Errors
    /// The lock can't be had, or the disk refuses.
    pub async fn repair(&self) -> Result<Vec<Mended>, PromptError> {
        let told = self.told.clone();
        self.on_disk(move |ws| pair::repair(ws, told.as_ref()))
            .await
    }

    pub(crate) async fn mend(&self, path: &str) -> Result<Option<Mended>, PromptError> {
        let (path, told) = (path.to_owned(), self.told.clone());
        self.on_disk(move |ws| pair::mend(ws, &path, told.as_ref()))
            .await
    }

    /// Both files, and whether an edit was cut off.
    pub(crate) async fn read(&self, path: &str) -> Result<(Pair, bool), PromptError> {
        let path = path.to_owned();
        self.on_disk(move |ws| pair::read(ws, &path)).await
    }

    /// Does this on a thread that may wait for the disk. While somebody else holds the lock, which is
    /// taken before anything is done, it is tried again, and nobody's thread waits.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl Fn(&Workspace) -> Result<T, PromptError> + Send + Sync + 'static,
    ) -> Result<T, PromptError> {
        let work = Arc::new(work);
        for n in 0..LOCK_TRIES {
            if n > 0 {
                tokio::time::sleep(LOCK_PAUSE).await;
            }
            let (work, ws) = (work.clone(), self.ws.clone());
            let done = tokio::task::spawn_blocking(move || work(&ws)).await;
            match done.map_err(|e| PromptError::Component(e.to_string()))? {
                Err(PromptError::Guard(GuardError::Held { .. })) => {}
                done => return done,
            }
        }
        Err(PromptError::Busy(format!(
            "another process has held `{}/{}` for ten seconds; try again",
            pair::EDITS,
            pair::LOCK
        )))
    }

    /// All files below `prompts/`, and the names of those that only their sidecar is left of.
    ///
    /// # Errors
    /// A directory can't be listed.
    pub async fn files(&self) -> Result<Vec<String>, PromptError> {
        self.files_in(PROMPTS).await
    }

    /// The same of a directory, relative to the root.
    ///
    /// # Errors
    /// It can't be listed.
    pub async fn files_in(&self, dir: &str) -> Result<Vec<String>, PromptError> {
        let dir = dir.to_owned();
        self.on_disk(move |ws| {
            let mut found = Vec::new();
            collect(ws, &dir, 0, &mut found)?;
            found.sort();
            found.dedup();
            Ok(found)
        })
        .await
    }
}

fn collect(
    ws: &Workspace,
    dir: &str,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), PromptError> {
    let Some(folder) = Folder::open(ws, dir)? else {
        return Ok(());
    };
    for (name, kind) in folder.entries()? {
        let path = format!("{dir}/{name}");
        match kind {
            _ if name.starts_with('.') => {}
            Kind::Folder if depth < DEPTH_MAX => collect(ws, &path, depth + 1, found)?,
            // Named like a link, so that it is refused and not passed over.
            Kind::Folder => found.push(format!("{path}/{TOO_DEEP}")),
            Kind::File | Kind::Other => {
                found.push(path.strip_suffix(SIDECAR).unwrap_or(&path).to_owned());
            }
        }
    }
    Ok(())
}

pub(crate) fn busy(path: &str) -> PromptError {
    PromptError::Busy(format!(
        "`{path}` is being changed by others all the time; try again"
    ))
}
