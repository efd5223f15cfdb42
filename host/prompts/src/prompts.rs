//! `prompts/` of a workspace: read, put, delete. The gates of an edit stand in this order, and
//! until the last is passed nothing on disk has changed: the path, the schema, the fingerprint
//! that the caller expects, the audit event.

use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::error::PromptError;
use crate::fingerprint::{Algorithm, Fingerprint};
use crate::pair::{self, Pair, Step};
use crate::paths::below_prompts;
use crate::store::{Look, Status, Store, TRIES, busy};
use crate::stored;
use crate::summary::{self, Side, Summary};
use crate::unit;

/// A prompt may have this many bytes.
pub const PROMPT_MAX: usize = 1 << 20;

/// A prompt as it stands.
#[derive(Debug, Clone, Serialize)]
pub struct Read {
    /// What it says.
    pub content: String,
    /// In the sidecar or the field.
    pub fingerprint_stored: Option<Fingerprint>,
    /// Of the content; `None` if it can't be read as what it is, for the reason in `problem`.
    pub fingerprint_computed: Option<Fingerprint>,
    /// How the two stand to each other.
    pub status: Status,
    /// Why they don't agree, or can't be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Relative to the root.
    #[serde(skip)]
    path: String,
    #[serde(skip)]
    canonical: Option<Vec<u8>>,
}

impl Read {
    /// Is this the content's fingerprint, by whichever hash?
    pub fn is(&self, fingerprint: &Fingerprint) -> bool {
        let canonical = self.canonical.as_ref();
        canonical.is_some_and(|canonical| fingerprint.algorithm().of(canonical) == *fingerprint)
    }

    /// Can a run be given it? It has to be a prompt-set, if its name says that it is one.
    ///
    /// # Errors
    /// [`PromptError::Invalid`] with the reason.
    pub fn fit(&self) -> Result<(), PromptError> {
        match &self.canonical {
            None => {
                let why = self.problem.clone();
                let why = why.unwrap_or_else(|| format!("{}: it can't be read", self.path));
                Err(PromptError::Invalid(why))
            }
            Some(canonical) if unit::named(&self.path) => unit::check(&self.path, canonical),
            Some(_) => Ok(()),
        }
    }
}

/// Both files and how they stand.
struct Standing {
    pair: Pair,
    look: Look,
    /// Of the content; `None` if it can't be read as what it is.
    canonical: Option<Vec<u8>>,
}

impl Standing {
    /// Is what is there what was expected? It has to be the content's own fingerprint: a stored one
    /// alone says nothing of content that was changed beside it. Of content that can't be read nothing
    /// can be expected, for nothing would tell it from any other.
    fn agrees(&self, expected: Option<&Fingerprint>) -> bool {
        match (&self.pair.content, &self.canonical, expected) {
            (None, _, expected) => expected.is_none(),
            (Some(_), Some(canonical), Some(expected)) => {
                expected.algorithm().of(canonical) == *expected
            }
            (Some(_), ..) => false,
        }
    }

    fn conflict(self, path: &str, expected: Option<Fingerprint>) -> PromptError {
        let unreadable = self.pair.content.is_some() && self.canonical.is_none();
        PromptError::Conflict {
            path: path.to_owned(),
            stored: self.look.fingerprint_stored,
            computed: self.look.fingerprint_computed,
            expected,
            problem: self.look.problem.filter(|_| unreadable),
        }
    }
}

/// What is to be saved.
#[derive(Debug, Clone)]
pub struct Put {
    /// Relative to `prompts/`.
    pub path: String,
    /// What it is to say.
    pub content: String,
    /// The fingerprint of what is there now; `None`: nothing is.
    pub expected: Option<Fingerprint>,
    /// The hash of the new fingerprint, if it isn't the usual one.
    pub algorithm: Option<Algorithm>,
}

/// What an edit changes. The event of it has to be on disk first.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// Relative to the root.
    pub prompt_path: String,
    /// The fingerprint before: the stored one, else that of the content.
    pub old_fp: Option<Fingerprint>,
    /// The fingerprint after; `None`: it is deleted.
    pub new_fp: Option<Fingerprint>,
    /// By counts.
    pub diff_summary: Summary,
}

/// Told what is about to be changed. If it fails, nothing is.
pub type Audit = Box<dyn FnMut(&Change) -> Result<(), String> + Send>;

/// What was saved.
#[derive(Debug, Clone, Serialize)]
pub struct Saved {
    /// The new fingerprint.
    pub fingerprint: Fingerprint,
    /// What was changed.
    #[serde(flatten)]
    pub change: Change,
}

/// What was deleted.
#[derive(Debug, Clone, Serialize)]
pub struct Deleted {
    /// What was changed.
    #[serde(flatten)]
    pub change: Change,
}

impl Store {
    /// A prompt as it stands. What an edit that was cut off has left is mended first.
    ///
    /// # Errors
    /// [`PromptError::Path`], [`PromptError::Absent`], and what the disk says.
    pub async fn read_prompt(&self, path: &str) -> Result<Read, PromptError> {
        let path = below_prompts(path)?;
        let now = self.standing(&path).await?;
        let Some(content) = now.pair.content else {
            return Err(PromptError::Absent(path));
        };
        Ok(Read {
            content: String::from_utf8_lossy(&content).into_owned(),
            fingerprint_stored: now.look.fingerprint_stored,
            fingerprint_computed: now.look.fingerprint_computed,
            status: now.look.status,
            problem: now.look.problem,
            path,
            canonical: now.canonical,
        })
    }

    /// Saves a prompt-set and its fingerprint as one.
    ///
    /// # Errors
    /// In the order of the gates [`PromptError::Path`], [`PromptError::Invalid`],
    /// [`PromptError::Conflict`], [`PromptError::Audit`]; [`PromptError::CutOff`] if the disk
    /// fails in between.
    pub async fn put_prompt(&self, put: Put, audit: Audit) -> Result<Saved, PromptError> {
        let path = below_prompts(&put.path)?;
        if !unit::named(&path) {
            return Err(PromptError::Path {
                path: put.path,
                why: "a prompt-set's name ends in .yaml, .yml or .json",
            });
        }
        if put.content.len() > PROMPT_MAX {
            return Err(PromptError::Invalid(format!(
                "{path}: it has {} bytes; a prompt may have {PROMPT_MAX}",
                put.content.len()
            )));
        }
        let canonical = self.canonical(&path, put.content.as_bytes()).await?;
        unit::check(&path, &canonical).map_err(|e| self.in_the_form(&path, e))?;
        let made = put.algorithm.unwrap_or(self.algorithm()).of(&canonical);
        let side = Side {
            text: put.content.as_bytes(),
            canonical: &canonical,
        };
        let after = (put.content.clone(), stored::sidecar(&made));
        let audit = Arc::new(Mutex::new(audit));
        for _ in 0..TRIES {
            let now = self.standing(&path).await?;
            if !now.agrees(put.expected.as_ref()) {
                return Err(now.conflict(&put.path, put.expected));
            }
            let change = self.changed(&path, &now, Some(&made), side);
            let after = Some(after.clone());
            if self.swap(&path, now.pair, after, &change, &audit).await? {
                return Ok(Saved {
                    fingerprint: made,
                    change,
                });
            }
        }
        Err(busy(&path))
    }

    /// Removes a prompt and its sidecar. Without an expected fingerprint whatever is there goes.
    ///
    /// # Errors
    /// [`PromptError::Path`], [`PromptError::Absent`], [`PromptError::Conflict`],
    /// [`PromptError::Audit`], [`PromptError::CutOff`].
    pub async fn delete_prompt(
        &self,
        asked: &str,
        expected: Option<Fingerprint>,
        audit: Audit,
    ) -> Result<Deleted, PromptError> {
        let path = below_prompts(asked)?;
        let audit = Arc::new(Mutex::new(audit));
        for _ in 0..TRIES {
            let now = self.standing(&path).await?;
            if now.pair.content.is_none() {
                return Err(PromptError::Absent(path));
            }
            if expected.is_some() && !now.agrees(expected.as_ref()) {
                return Err(now.conflict(asked, expected));
            }
            let change = self.changed(&path, &now, None, Side::default());
            if self.swap(&path, now.pair, None, &change, &audit).await? {
                return Ok(Deleted { change });
            }
        }
        Err(busy(&path))
    }

    /// Both files and how they stand, with no edit cut off.
    async fn standing(&self, path: &str) -> Result<Standing, PromptError> {
        for _ in 0..TRIES {
            let (pair, cut_off) = self.read(path).await?;
            if cut_off {
                self.mend(path).await?;
                continue;
            }
            let (look, canonical) = match self.compare(path, &pair).await {
                // Without a fingerprint either; it can be read and deleted all the same.
                Err(PromptError::Invalid(why)) => {
                    let look = Look {
                        path: path.to_owned(),
                        form: self.form(path).to_owned(),
                        status: Status::Missing,
                        fingerprint_stored: None,
                        place: None,
                        fingerprint_computed: None,
                        problem: Some(why),
                    };
                    (look, None)
                }
                other => other?,
            };
            return Ok(Standing {
                pair,
                look,
                canonical,
            });
        }
        Err(busy(path))
    }

    /// A canonicaliser that the workspace has given the ending need not make JSON.
    fn in_the_form(&self, path: &str, e: PromptError) -> PromptError {
        match (self.form(path), e) {
            ("yaml-prompt" | "json", e) => e,
            (form, PromptError::Invalid(why)) => PromptError::Invalid(format!(
                "{why} (in the form that the canonicaliser `{form}` of [fingerprints.forms] makes)"
            )),
            (_, e) => e,
        }
    }

    fn changed(
        &self,
        path: &str,
        now: &Standing,
        made: Option<&Fingerprint>,
        new: Side<'_>,
    ) -> Change {
        let old = Side {
            text: now.pair.content.as_deref().unwrap_or_default(),
            canonical: now.canonical.as_deref().unwrap_or_default(),
        };
        let look = &now.look;
        let before = look.fingerprint_stored.as_ref();
        let before = before.or(look.fingerprint_computed.as_ref());
        Change {
            prompt_path: path.to_owned(),
            old_fp: before.cloned(),
            new_fp: made.cloned(),
            diff_summary: summary::of(self.form(path), old, new),
        }
    }

    /// On a thread that may wait for the disk.
    async fn swap(
        &self,
        path: &str,
        before: Pair,
        after: Option<(String, String)>,
        change: &Change,
        audit: &Arc<Mutex<Audit>>,
    ) -> Result<bool, PromptError> {
        let path = path.to_owned();
        let (change, audit) = (change.clone(), audit.clone());
        self.on_disk(move |ws| {
            let mut tell = || match audit.lock() {
                Ok(mut audit) => (*audit)(&change).map_err(PromptError::Audit),
                Err(e) => Err(PromptError::Audit(e.to_string())),
            };
            let after = after
                .as_ref()
                .map(|(content, sidecar)| (content.as_str(), sidecar.as_str()));
            let mut on = |_: Step| ();
            pair::change(ws, &path, &before, after, &mut tell, &mut on)
        })
        .await
    }
}

#[cfg(test)]
#[path = "prompts_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "edges_tests.rs"]
mod edges;
