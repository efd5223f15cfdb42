//! What a repository's configuration can make run, and whether a person has looked at it.
//!
//! Trust is given to a content hash over everything that could run or be
//! reached, the bytes of the components included, and to one root. It is kept
//! outside the repository: `${XDG_STATE_HOME:-~/.local/state}/ralph/trusted/<hash>`.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ralph_config::Power;
use ralph_workspace::sha256_hex;

use crate::clock;
use crate::error::Error;
use crate::project::Project;
use crate::sourcing::Pins;

/// A project's powers and their hash.
pub struct Trust {
    /// Everything the configuration can make run or reach.
    pub powers: Vec<Power>,
    /// What trust is given to.
    pub digest: String,
    /// Was it given?
    pub given: bool,
}

impl Trust {
    /// Looks at a project. Changes nothing.
    pub fn of(project: &Project) -> Result<Trust, Error> {
        Trust::at(project, project.ws.root())
    }

    /// The same of a worktree of the project at `root`, to which trust was given.
    ///
    /// # Errors
    /// Its files can't be read.
    pub fn at(project: &Project, root: &Path) -> Result<Trust, Error> {
        let pins = Pins::of(&project.ws)?;
        let mut digests = Vec::new();
        let mut pinned_by_lock = Vec::new();
        for (name, plugin) in &project.config.plugins {
            if let Some(pinned) = pins.remote(name, plugin)? {
                if plugin.sha256.is_none() {
                    pinned_by_lock.push(Power {
                        what: format!("plugin `{name}` is pinned to"),
                        detail: pinned.clone(),
                    });
                }
                digests.push((name.clone(), pinned));
            } else if plugin.builtin().is_none() {
                let bytes = project
                    .ws
                    .read(&plugin.source, plugin.limits.artifact.bytes())?
                    .unwrap_or_default();
                digests.push((name.clone(), sha256_hex(&bytes)));
            }
        }
        let mut powers = ralph_config::powers(&project.config);
        powers.extend(pinned_by_lock);
        let digest = ralph_config::digest(&powers, &root.to_string_lossy(), &digests);
        let given = !project.configured || powers.is_empty() || file(&digest)?.exists();
        Ok(Trust {
            powers,
            digest,
            given,
        })
    }

    /// Gives it.
    pub fn give(&self, project: &Project) -> Result<(), Error> {
        let path = file(&self.digest)?;
        let dir = path.parent().unwrap_or(&path);
        let text = format!("{}\n{}\n", project.ws.root().display(), clock::now());
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| Error::io(&path.display().to_string(), e))
    }

    /// Takes it back. Says whether it had been given.
    pub fn revoke(&self) -> Result<bool, Error> {
        let path = file(&self.digest)?;
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io(&path.display().to_string(), e)),
        }
    }

    /// An error unless it was given.
    pub fn demand(&self) -> Result<(), Error> {
        if self.given {
            Ok(())
        } else {
            Err(Error::Untrusted(self.powers.len()))
        }
    }
}

fn file(digest: &str) -> Result<PathBuf, Error> {
    Ok(user_dir("XDG_STATE_HOME", ".local/state")?
        .join("trusted")
        .join(digest))
}

/// `$<variable>/ralph`, or `~/<fallback>/ralph`.
pub fn user_dir(variable: &str, fallback: &str) -> Result<PathBuf, Error> {
    let absolute = |v| Some(PathBuf::from(v)).filter(|p: &PathBuf| p.is_absolute());
    std::env::var_os(variable)
        .and_then(absolute)
        .or_else(|| {
            std::env::var_os("HOME")
                .and_then(absolute)
                .map(|h| h.join(fallback))
        })
        .map(|d| d.join("ralph"))
        .ok_or_else(|| {
            Error::Usage(format!(
                "neither {variable} nor HOME is an absolute path; set one of them"
            ))
        })
}
