//! What was fetched, kept under its SHA-256: whoever finds a file here by its digest and
//! hashes it again has what was fetched, or nothing.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::error::ArtifactError;
use crate::sha256_hex;

/// All files together. Those that were used least lately make room for a new one, and are
/// fetched again when they are needed.
const MAX_TOTAL: u64 = 2 << 30;

/// Such an old file of a write that never ended is removed.
const NEW_MAX_AGE: Duration = Duration::from_secs(3600);

/// A use is noted so exactly.
const USED: Duration = Duration::from_secs(3600);

/// The directory; made when the first file comes.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// What is kept under a digest.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The bytes, which have the digest.
    Whole(Vec<u8>),
    /// Nothing.
    Absent,
    /// A file that can't be used, and why. It is replaced when it is fetched again.
    Spoilt(String),
}

impl Store {
    /// Below a directory of the user's, usually the cache's `artifacts`.
    pub fn new(dir: &Path) -> Store {
        Store {
            dir: dir.join("sha256"),
        }
    }

    /// The file's bytes, if they have that digest. `sha256` has to be one.
    pub fn get(&self, sha256: &str, limit: u64) -> Found {
        match self.read(sha256, limit) {
            Ok(bytes) if sha256_hex(&bytes) == sha256 => Found::Whole(bytes),
            Ok(_) => self.spoilt(sha256, "it was changed"),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Found::Absent,
            Err(e) => self.spoilt(sha256, &e.to_string()),
        }
    }

    fn spoilt(&self, sha256: &str, why: &str) -> Found {
        let why = format!("{}: {why}", self.dir.join(sha256).display());
        tracing::warn!("{why}; it is not used");
        Found::Spoilt(why)
    }

    /// Keeps bytes under their digest, which is given back.
    ///
    /// # Errors
    /// The directory isn't the user's alone, or the disk refuses.
    pub fn put(&self, bytes: &[u8]) -> Result<String, ArtifactError> {
        let sha256 = sha256_hex(bytes);
        self.write(&sha256, bytes)?;
        self.make_room(&sha256, MAX_TOTAL);
        Ok(sha256)
    }

    /// The signature that was kept beside a file.
    pub fn signature(&self, sha256: &str) -> Option<String> {
        let bytes = self.read(&beside(sha256), crate::SIGNATURE_MAX).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// Keeps a signature beside a file. It says itself what it is of.
    ///
    /// # Errors
    /// As [`put`](Store::put).
    pub fn put_signature(&self, sha256: &str, text: &str) -> Result<(), ArtifactError> {
        self.write(&beside(sha256), text.as_bytes())
    }

    fn read(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        only_ours(&fs::metadata(&self.dir)?)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(CWD, self.dir.join(name), flags, Mode::empty())?);
        let meta = file.metadata()?;
        only_ours(&meta)?;
        if !meta.is_file() || meta.len() > limit {
            return Err(io::Error::other("it is no file of an allowed size"));
        }
        let now = SystemTime::now();
        if meta.modified()?.elapsed().is_ok_and(|age| age > USED) {
            // Only for the order in which files make room.
            let _ = file.set_modified(now);
        }
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Keeps the bound. What can't be looked at or removed is left.
    fn make_room(&self, new: &str, most: u64) {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        let mut kept = Vec::new();
        for entry in entries.flatten() {
            let (Ok(meta), Ok(name)) = (entry.metadata(), entry.file_name().into_string()) else {
                continue;
            };
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.starts_with(".new-") {
                if used.elapsed().is_ok_and(|age| age > NEW_MAX_AGE) {
                    let _ = fs::remove_file(entry.path());
                }
            } else if !name.starts_with(new) {
                kept.push((used, meta.len(), entry.path()));
            } else {
                kept.push((SystemTime::now(), meta.len(), entry.path()));
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in &kept {
            if total <= most {
                return;
            }
            if !path.ends_with(new) && fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ArtifactError> {
        let path = self.dir.join(name);
        let failed = |source| ArtifactError::Store {
            path: path.display().to_string(),
            source,
        };
        let write = || {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(&self.dir)?;
            only_ours(&fs::metadata(&self.dir)?)?;
            // Mode 0600; gone again if anything fails before the rename.
            let mut file = tempfile::Builder::new()
                .prefix(".new-")
                .tempfile_in(&self.dir)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|e| e.error)?;
            Ok(())
        };
        write().map_err(failed)
    }
}

fn beside(sha256: &str) -> String {
    format!("{sha256}.minisig")
}

fn only_ours(meta: &fs::Metadata) -> io::Result<()> {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_was_used_least_lately_makes_room() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path());
        let hours = |n: u64| SystemTime::now() - Duration::from_secs(n * 3600 + 60);
        let aged = |name: &str, age: SystemTime| {
            let path = dir.path().join("sha256").join(name);
            File::open(path).unwrap().set_modified(age).unwrap();
        };
        let old = store.put(&[1; 400]).unwrap();
        let used = store.put(&[2; 400]).unwrap();
        fs::write(dir.path().join("sha256/.new-left"), "x").unwrap();
        aged(&old, hours(2));
        aged(&used, hours(3));
        aged(".new-left", hours(2));
        assert!(matches!(store.get(&used, 1000), Found::Whole(_)));
        let new = store.put(&[3; 400]).unwrap();
        store.make_room(&new, 900);
        assert_eq!(store.get(&old, 1000), Found::Absent);
        for kept in [&used, &new] {
            assert!(matches!(store.get(kept, 1000), Found::Whole(_)));
        }
        assert!(!dir.path().join("sha256/.new-left").exists());
        store.make_room(&new, 1);
        assert!(
            matches!(store.get(&new, 1000), Found::Whole(_)),
            "the new one stays"
        );
    }

    #[test]
    fn only_what_has_its_digest_comes_out() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(&dir.path().join("a/b"));
        let sha256 = sha256_hex(b"bytes");
        assert_eq!(store.get(&sha256, 100), Found::Absent);
        assert_eq!(store.put(b"bytes").unwrap(), sha256);
        assert_eq!(store.get(&sha256, 100), Found::Whole(b"bytes".to_vec()));
        let path = dir.path().join("a/b/sha256").join(&sha256);
        assert_eq!(
            fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777,
            0o700
        );
        assert!(
            matches!(store.get(&sha256, 4), Found::Spoilt(_)),
            "too large"
        );
        fs::write(&path, b"bytez").unwrap();
        assert!(
            matches!(store.get(&sha256, 100), Found::Spoilt(_)),
            "changed"
        );
        store.put(b"bytes").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(
            matches!(store.get(&sha256, 100), Found::Spoilt(_)),
            "others may write"
        );
        store.put(b"bytes").unwrap();
        assert!(
            matches!(store.get(&sha256, 100), Found::Whole(_)),
            "replaced"
        );
        let other = path.with_file_name(sha256_hex(b"x"));
        std::os::unix::fs::symlink(&path, &other).unwrap();
        assert!(
            matches!(store.get(&sha256_hex(b"x"), 100), Found::Spoilt(_)),
            "a link"
        );
        assert_eq!(store.signature(&sha256), None);
        store.put_signature(&sha256, "sig").unwrap();
        assert_eq!(store.signature(&sha256).unwrap(), "sig");
        fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(store.put(b"y").is_err() && store.signature(&sha256).is_none());
    }
}
