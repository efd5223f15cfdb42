//! Compiled components on disk.
//!
//! A file in here is native code, so it is taken only if it is ours in every
//! respect: the directory and the file belong to this user and nobody else may
//! write them, the file's end names the component and the engine, and the code has
//! the hash that stands there. Anything else is compiled anew and replaced. Whoever
//! can write as this user can run code as this user anyway.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::facts::Facts;
use crate::kept::{self, MAX_FACTS};

/// No compiled component of an allowed size comes near it.
const MAX_FILE: u64 = 1 << 30;

/// What the directory may hold before the oldest files go.
const MAX_TOTAL: u64 = 512 << 20;

const EXTENSION: &str = "cwasm";

/// A file that is being written; only a crash leaves one.
const NEW: &str = ".new-";

/// How long a file is given to be written.
const NEW_MAX_AGE: Duration = Duration::from_secs(3600);

/// Names one component as compiled by one engine.
pub(crate) type Key = [u8; 32];

pub(crate) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Uses the directory, creating it (mode 0700) if need be. `None`, with one
    /// warning, if it isn't ours alone.
    pub(crate) fn open(dir: &Path) -> Option<Cache> {
        match prepare(dir) {
            Ok(()) => Some(Cache { dir: dir.into() }),
            Err(error) => {
                tracing::warn!(
                    "compiled plugins are not kept: {}: {error}; each start compiles them anew",
                    dir.display()
                );
                None
            }
        }
    }

    /// What the component is, if there is a file of it that seems sound: its code
    /// isn't looked at.
    pub(crate) fn facts(&self, key: &Key) -> Option<Facts> {
        self.sound(key, |file| Ok(kept::end(file, key)?.facts))
    }

    /// The compiled component, if there is a sound file of it.
    pub(crate) fn code(&self, engine: &Engine, key: &Key) -> Option<Component> {
        self.sound(key, |file| {
            let end = kept::end(file, key)?;
            if kept::hash_of(file, end.code_len)? != end.code {
                return Err(kept::damaged());
            }
            kept::load(engine, file, &end)
        })
    }

    fn sound<T>(&self, key: &Key, read: impl Fn(&File) -> io::Result<T>) -> Option<T> {
        let path = self.path(key);
        match open(&path).and_then(|file| read(&file)) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::info!("{} is not used: {error}", path.display());
                None
            }
        }
    }

    /// Keeps the compiled code. Failing to is no reason to fail.
    pub(crate) fn store(&self, key: &Key, facts: &Facts, code: &[u8]) {
        if let Err(error) = self.try_store(key, facts, code) {
            tracing::info!(
                "cannot keep a compiled plugin in {}: {error}",
                self.dir.display()
            );
        }
    }

    fn try_store(&self, key: &Key, facts: &Facts, code: &[u8]) -> io::Result<()> {
        self.prune();
        let facts = facts.to_bytes();
        if facts.len() > MAX_FACTS {
            return Err(io::Error::other("it has too many names"));
        }
        // Created with mode 0600; gone again if anything fails before the rename.
        let mut file = tempfile::Builder::new()
            .prefix(NEW)
            .tempfile_in(&self.dir)?;
        file.write_all(code)?;
        file.write_all(&facts)?;
        file.write_all(&kept::tail(key, &facts, &Sha256::digest(code).into()))?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.dir.join(hex(key)).with_extension(EXTENSION)
    }

    /// Makes room: files of engines long gone would stay for ever otherwise.
    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return;
        };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Some((modified, size)) = entry
                .metadata()
                .ok()
                .and_then(|meta| Some((meta.modified().ok()?, meta.len())))
            else {
                continue;
            };
            if name.as_encoded_bytes().starts_with(NEW.as_bytes()) {
                if modified.elapsed().is_ok_and(|age| age > NEW_MAX_AGE) {
                    let _ = fs::remove_file(path);
                }
            } else if path
                .extension()
                .is_some_and(|extension| extension == EXTENSION)
            {
                files.push((modified, size, path));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total <= MAX_TOTAL {
                return;
            }
            if fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
    }
}

/// Names this component as compiled by this engine.
pub(crate) fn key(digest: &[u8; 32], engine: &Engine) -> Key {
    struct Sink(Sha256);
    impl std::hash::Hasher for Sink {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut sink = Sink(Sha256::new());
    sink.0.update(digest);
    sink.0.update(env!("CARGO_PKG_VERSION"));
    sink.0.update(env!("RALPH_CONTRACT"));
    std::hash::Hash::hash(&engine.precompile_compatibility_hash(), &mut sink);
    sink.0.finalize().into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn prepare(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let meta = fs::metadata(dir)?;
    if !meta.is_dir() {
        return Err(io::Error::other("not a directory"));
    }
    only_ours(&meta)
}

fn only_ours(meta: &fs::Metadata) -> io::Result<()> {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("belongs to another user"));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write it"));
    }
    Ok(())
}

/// Opens a file if it is ours.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_FILE {
        return Err(io::Error::other("not a file of ours"));
    }
    only_ours(&meta)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::kept::{damaged, end, hash_of};
    use crate::kind::Kind;
    use std::os::unix::fs::{FileExt, PermissionsExt};

    fn facts() -> Facts {
        Facts {
            kinds: vec![Kind::Gate],
            imports: vec!["x".into()],
            exports: vec!["y".repeat(40)],
            slots: 1,
        }
    }

    /// The file's code, as far as it is sound.
    fn content(path: &Path, key: &Key) -> io::Result<Vec<u8>> {
        let file = open(path)?;
        let end = end(&file, key)?;
        assert_eq!(end.facts, facts());
        let mut code = vec![0; end.code_len as usize];
        file.read_exact_at(&mut code, 0)?;
        (hash_of(&file, end.code_len)? == end.code)
            .then_some(code)
            .ok_or_else(damaged)
    }

    #[test]
    fn only_whole_files_of_the_same_key_are_taken() {
        let (key, other) = ([1; 32], [2; 32]);
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("a/b")).unwrap();
        cache.store(&key, &facts(), b"code");
        let path = cache.path(&key);
        assert_eq!(content(&path, &key).unwrap(), b"code");
        assert!(content(&path, &other).is_err());
        assert_eq!(cache.facts(&key), Some(facts()));
        let bytes = fs::read(&path).unwrap();
        for end in 0..bytes.len() {
            fs::write(&path, &bytes[..end]).unwrap();
            assert!(content(&path, &key).is_err(), "cut at {end}");
        }
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(content(&path, &key).is_err(), "changed at {i}");
            // Code is looked at when it is used.
            assert_eq!(cache.facts(&key).is_some(), i < 4, "changed at {i}");
        }
    }

    #[test]
    fn a_new_directory_is_private_and_one_others_can_write_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache");
        assert!(Cache::open(&path).is_some());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        for mode in [0o770, 0o707, 0o720] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(Cache::open(&path).is_none(), "{mode:o}");
        }
    }

    #[test]
    fn old_files_make_room_and_leftovers_of_a_crash_go() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let hour = Duration::from_secs(3601);
        let make = |name: &str, len: u64, age: Duration| {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_len(len).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        make("old.cwasm", MAX_TOTAL / 2, hour * 2);
        make("newer.cwasm", MAX_TOTAL / 2 + 1, hour);
        make(".new-left", 1, hour);
        make(".new-now", 1, Duration::ZERO);
        cache.store(&[1; 32], &facts(), b"code");
        let there = |name: &str| dir.path().join(name).exists();
        assert!(!there("old.cwasm") && there("newer.cwasm"));
        assert!(!there(".new-left") && there(".new-now"));
        assert!(content(&cache.path(&[1; 32]), &[1; 32]).is_ok());
    }

    #[test]
    fn links_and_files_others_can_write_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let (key, other) = ([1; 32], [2; 32]);
        cache.store(&key, &facts(), b"code");
        std::os::unix::fs::symlink(cache.path(&key), cache.path(&other)).unwrap();
        assert!(content(&cache.path(&other), &key).is_err());
        let writable = fs::Permissions::from_mode(0o620);
        fs::set_permissions(cache.path(&key), writable).unwrap();
        assert!(content(&cache.path(&key), &key).is_err());
        cache.store(&key, &facts(), b"code");
        assert!(
            content(&cache.path(&key), &key).is_ok(),
            "replaced by one of ours"
        );
    }
}
