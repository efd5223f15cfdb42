//! What a plugin keeps from one call to the next: a few values under keys of its own, in
//! one file below `.ralph/plugin-state/`. The file is replaced as a whole, so a death, a
//! power cut or a full disk leaves the former or the new values; who changes it holds a
//! lock that ends with its holder, so two at once lose nothing of each other's.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::guard::Workspace;
use crate::hash::sha256_hex;

/// Where they are, relative to the project's root.
pub const DIR: &str = ".ralph/plugin-state";
/// Longest key, in bytes.
pub const KEY_MAX: usize = 256;
/// Longest value, in bytes.
pub const VALUE_MAX: usize = 64 << 10;
/// All keys and values together, in bytes.
pub const TOTAL_MAX: usize = 1 << 20;
/// Keys.
pub const KEYS_MAX: usize = 1024;

/// A file has no more bytes: each byte of a value takes two at most.
const FILE_MAX: u64 = 4 << 20;
/// How long others are waited for, who hold the lock for as long as two fsyncs take.
const TRIES: u32 = 400;
const PAUSE: Duration = Duration::from_millis(25);

/// Why a value could not be read or kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A key or value that can't be.
    #[error("{0}")]
    Invalid(String),
    /// There is no room for it.
    #[error("{0}")]
    Full(String),
    /// The file can't be read or written.
    #[error("{0}")]
    Failed(String),
}

/// One plugin's values.
#[derive(Debug, Clone)]
pub struct Values {
    ws: Workspace,
    file: String,
    lock: String,
}

#[derive(Serialize, Deserialize, Default)]
struct Kept {
    #[serde(rename = "_schema")]
    schema: String,
    values: BTreeMap<String, Value>,
}

/// Bytes as JSON can hold them in at most twice their length.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Hex { hex: String },
}

const SCHEMA: &str = "ralph.plugin-state.v1";

impl Values {
    /// Those of the plugin by this name. Workers in worktrees have them in common with
    /// their project.
    ///
    /// # Errors
    /// [`ValueError::Failed`] if the project of a worktree can't be opened.
    pub fn of(ws: &Workspace, plugin: &str) -> Result<Values, ValueError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let short = !plugin.is_empty() && plugin.len() <= 64;
        let name = if short && plugin.chars().all(plain) {
            plugin.to_owned()
        } else {
            // With a dot, which no plain name has: no two plugins share a file.
            format!("plugin.{}", &sha256_hex(plugin.as_bytes())[..32])
        };
        let ws = match project_of(ws.root()) {
            None => ws.clone(),
            Some(root) => Workspace::open(root).map_err(|e| ValueError::Failed(e.to_string()))?,
        };
        Ok(Values {
            ws,
            file: format!("{DIR}/{name}.json"),
            lock: format!("{DIR}/{name}.lock"),
        })
    }

    /// The value under a key.
    ///
    /// # Errors
    /// [`ValueError::Invalid`], [`ValueError::Failed`].
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, ValueError> {
        check_key(key)?;
        let mut kept = self.read()?;
        kept.values.remove(key).map(|v| self.bytes(v)).transpose()
    }

    /// Keys that begin so, sorted.
    ///
    /// # Errors
    /// [`ValueError::Failed`].
    pub fn keys(&self, prefix: &str) -> Result<Vec<String>, ValueError> {
        let keys = self.read()?.values.into_keys();
        Ok(keys.filter(|key| key.starts_with(prefix)).collect())
    }

    /// Puts a value under a key, whatever was there before.
    ///
    /// # Errors
    /// All; nothing has changed then.
    pub fn set(&self, key: &str, value: &[u8]) -> Result<(), ValueError> {
        check_key(key)?;
        if value.len() > VALUE_MAX {
            return Err(ValueError::Invalid(format!(
                "the value has {} bytes; at most {VALUE_MAX} are kept",
                value.len()
            )));
        }
        self.change(|kept| {
            kept.values.insert(key.to_owned(), Value::of(value));
            let sizes = kept.values.iter().map(|(key, value)| key.len() + value.len());
            let (keys, total) = (kept.values.len(), sizes.sum::<usize>());
            if keys > KEYS_MAX || total > TOTAL_MAX {
                return Err(ValueError::Full(format!(
                    "there would be {keys} keys and {total} bytes; at most {KEYS_MAX} and {TOTAL_MAX} are kept"
                )));
            }
            Ok(true)
        })
    }

    /// Removes a key; fine if it isn't there.
    ///
    /// # Errors
    /// [`ValueError::Invalid`], [`ValueError::Failed`].
    pub fn delete(&self, key: &str) -> Result<(), ValueError> {
        check_key(key)?;
        self.change(|kept| Ok(kept.values.remove(key).is_some()))
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Kept) -> Result<bool, ValueError>,
    ) -> Result<(), ValueError> {
        let failed = |e: &dyn std::fmt::Display| ValueError::Failed(e.to_string());
        let lock = self.ws.open_append(&self.lock).map_err(|e| failed(&e))?;
        let mut tries = 0;
        while let Err(e) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            tries += 1;
            if e != rustix::io::Errno::WOULDBLOCK || tries == TRIES {
                return Err(ValueError::Failed(format!(
                    "{} can't be locked: {e}",
                    self.lock
                )));
            }
            std::thread::sleep(PAUSE);
        }
        let mut kept = self.read()?;
        let changed = change(&mut kept).and_then(|changed| {
            if changed {
                kept.schema = SCHEMA.to_owned();
                let bytes = serde_json::to_vec(&kept).map_err(|e| failed(&e))?;
                self.ws.write(&self.file, &bytes).map_err(|e| failed(&e))?;
            }
            Ok(())
        });
        // Explicit, in case a child inherited the descriptor.
        let _ = flock(&lock, FlockOperation::Unlock);
        changed
    }

    fn read(&self) -> Result<Kept, ValueError> {
        let bytes = self.ws.read(&self.file, FILE_MAX);
        match bytes.map_err(|e| ValueError::Failed(e.to_string()))? {
            None => Ok(Kept::default()),
            Some(bytes) => match serde_json::from_slice::<Kept>(&bytes) {
                Ok(kept) if kept.schema == SCHEMA => Ok(kept),
                _ => Err(self.damaged()),
            },
        }
    }

    fn bytes(&self, value: Value) -> Result<Vec<u8>, ValueError> {
        let hex = match value {
            Value::Text(text) => return Ok(text.into_bytes()),
            Value::Hex { hex } => hex,
        };
        let digit = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        let pairs = hex.as_bytes().chunks(2).map(|pair| match pair {
            [a, b] => Some(digit(*a)? << 4 | digit(*b)?),
            _ => None,
        });
        pairs.collect::<Option<_>>().ok_or_else(|| self.damaged())
    }

    fn damaged(&self) -> ValueError {
        ValueError::Failed(format!(
            "{} isn't as ralph wrote it; put it right, or remove it, and what it held is gone",
            self.file
        ))
    }
}

impl Value {
    fn of(bytes: &[u8]) -> Value {
        match std::str::from_utf8(bytes) {
            // Control characters would take six bytes each.
            Ok(text) if !text.chars().any(|c| c.is_ascii_control()) => Value::Text(text.to_owned()),
            _ => Value::Hex {
                hex: bytes.iter().map(|b| format!("{b:02x}")).collect(),
            },
        }
    }

    fn len(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Hex { hex } => hex.len() / 2,
        }
    }
}

/// The project of which this is a worker's worktree.
fn project_of(root: &std::path::Path) -> Option<&std::path::Path> {
    let dir = root.parent()?;
    if !root.join(".ralph/worker.json").exists() {
        return None;
    }
    dir.ends_with(".ralph/worktrees")
        .then(|| dir.parent()?.parent())
        .flatten()
}

fn check_key(key: &str) -> Result<(), ValueError> {
    if key.is_empty() || key.len() > KEY_MAX || key.chars().any(char::is_control) {
        return Err(ValueError::Invalid(format!(
            "a key has 1 to {KEY_MAX} bytes and no control characters"
        )));
    }
    Ok(())
}

#[cfg(test)]
#[path = "values_tests.rs"]
mod tests;
