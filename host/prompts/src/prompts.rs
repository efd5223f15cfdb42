//! `prompts/` of a workspace: read, put, delete. The gates of an edit stand in this order, and
//! until the last is passed nothing on disk has changed: the path, the schema, the fingerprint
//! that the caller expects, the audit event.

use std::sync::{Arc, Mutex};

use serde::Serialize;

use crate::error::PromptError;
use crate::fingerprint::{Algorithm, Fingerprint};
use crate::pair::{self, Pair, Step};
use crate::store::{Look, PROMPTS, Status, Store, TRIES, busy};
use crate::stored::{self, SIDECAR};
use crate::summary::{self, Side, Summary};
use crate::unit;

/// A prompt may have this many bytes.
pub const PROMPT_MAX: usize = 1 << 20;
/// A path below `prompts/` has no more bytes.
const PATH_MAX: usize = 512;

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
        let (pair, look) = self.standing(&path).await?;
        let content = pair.content.ok_or(PromptError::Absent(path))?;
        Ok(Read {
            content: String::from_utf8_lossy(&content).into_owned(),
            fingerprint_stored: look.fingerprint_stored,
            fingerprint_computed: look.fingerprint_computed,
            status: look.status,
            problem: look.problem,
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
        if !matches!(self.form(&path), "yaml-prompt" | "json") {
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
        unit::check(&path, &canonical)?;
        let made = put.algorithm.unwrap_or(self.algorithm()).of(&canonical);
        let side = Side {
            text: put.content.as_bytes(),
            canonical: &canonical,
        };
        let after = (put.content.clone(), stored::sidecar(&made));
        let audit = Arc::new(Mutex::new(audit));
        for _ in 0..TRIES {
            let (pair, look) = self.standing(&path).await?;
            if !agrees(&look, pair.content.is_some(), put.expected.as_ref()) {
                return Err(conflict(&put.path, look, put.expected));
            }
            let change = self.changed(&path, &pair, look, Some(&made), side).await;
            if self
                .swap(&path, pair, Some(after.clone()), &change, &audit)
                .await?
            {
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
            let (pair, look) = self.standing(&path).await?;
            if pair.content.is_none() {
                return Err(PromptError::Absent(path));
            }
            if expected.is_some() && !agrees(&look, true, expected.as_ref()) {
                return Err(conflict(asked, look, expected));
            }
            let change = self
                .changed(&path, &pair, look, None, Side::default())
                .await;
            if self.swap(&path, pair, None, &change, &audit).await? {
                return Ok(Deleted { change });
            }
        }
        Err(busy(&path))
    }

    /// Both files and how they stand, with no edit cut off.
    async fn standing(&self, path: &str) -> Result<(Pair, Look), PromptError> {
        for _ in 0..TRIES {
            let (pair, cut_off) = pair::read(&self.ws, path)?;
            if cut_off {
                self.mend(path)?;
                continue;
            }
            let look = match self.compare(path, &pair).await {
                // Without a fingerprint either; it can be read and replaced all the same.
                Err(PromptError::Invalid(why)) => Look {
                    path: path.to_owned(),
                    form: self.form(path).to_owned(),
                    status: Status::Missing,
                    fingerprint_stored: None,
                    place: None,
                    fingerprint_computed: None,
                    problem: Some(why),
                },
                other => other?,
            };
            return Ok((pair, look));
        }
        Err(busy(path))
    }

    async fn changed(
        &self,
        path: &str,
        pair: &Pair,
        look: Look,
        made: Option<&Fingerprint>,
        new: Side<'_>,
    ) -> Change {
        let text = pair.content.as_deref().unwrap_or_default();
        let canonical = match pair.content {
            Some(_) => self.canonical(path, text).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let old = Side {
            text,
            canonical: &canonical,
        };
        Change {
            prompt_path: path.to_owned(),
            old_fp: look.fingerprint_stored.or(look.fingerprint_computed),
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
        let (ws, path) = (self.ws.clone(), path.to_owned());
        let (change, audit) = (change.clone(), audit.clone());
        let done = tokio::task::spawn_blocking(move || {
            let mut tell = || match audit.lock() {
                Ok(mut audit) => (*audit)(&change).map_err(PromptError::Audit),
                Err(e) => Err(PromptError::Audit(e.to_string())),
            };
            let after = after
                .as_ref()
                .map(|(content, sidecar)| (content.as_str(), sidecar.as_str()));
            let mut on = |_: Step| ();
            pair::change(&ws, &path, &before, after, &mut tell, &mut on)
        });
        done.await
            .map_err(|e| PromptError::Component(e.to_string()))?
    }
}

/// Is what is there what was expected? It has to be the content's own fingerprint: a stored one
/// alone says nothing of content that was changed beside it. Content that can't be read any more
/// has none; there the stored one counts.
fn agrees(look: &Look, there: bool, expected: Option<&Fingerprint>) -> bool {
    match (there, &look.fingerprint_computed, expected) {
        (false, _, expected) => expected.is_none(),
        (true, Some(computed), Some(expected)) => computed == expected,
        (true, Some(_), None) => false,
        (true, None, expected) => look.fingerprint_stored.as_ref() == expected,
    }
}

fn conflict(path: &str, look: Look, expected: Option<Fingerprint>) -> PromptError {
    PromptError::Conflict {
        path: path.to_owned(),
        stored: look.fingerprint_stored,
        computed: look.fingerprint_computed,
        expected,
    }
}

/// A path below `prompts/`, made relative to the root. Nothing is put right: what isn't
/// written plainly is refused.
///
/// # Errors
/// [`PromptError::Path`] with the rule that it breaks.
pub fn below_prompts(path: &str) -> Result<String, PromptError> {
    let refused = |why| {
        Err(PromptError::Path {
            path: path.to_owned(),
            why,
        })
    };
    if path.is_empty() || path.len() > PATH_MAX {
        return refused("a prompt's path has 1 to 512 bytes");
    }
    if path
        .chars()
        .any(|c| c.is_control() || c == '\\' || c == '%')
    {
        return refused("a prompt's path has no backslash, percent sign or control character");
    }
    if path.starts_with('/') {
        return refused("it is absolute");
    }
    for part in path.split('/') {
        match part {
            "" => return refused("a part of it is empty"),
            ".." | "." => return refused("it has `.` or `..` in it"),
            part if part.starts_with('.') => return refused("a part of it begins with a dot"),
            part if part.ends_with(SIDECAR) => return refused("sidecars are written along"),
            part if part.trim() != part => return refused("a part of it has white space around"),
            _ => {}
        }
    }
    Ok(format!("{PROMPTS}/{path}"))
}

#[cfg(test)]
#[path = "prompts_tests.rs"]
mod tests;
