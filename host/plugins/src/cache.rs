//! Compiled components on disk.
//!
//! A file in here is native code, so it is taken only if it is ours in every
//! respect: the directory and the file belong to this user and nobody else may
//! write them, the header names the component and the engine, and the code has
//! the hash that stands in the header. Anything else is compiled anew and
//! replaced. Whoever can write as this user can run code as this user anyway.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags, openat};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// First bytes of a file; changes with the format.
const MAGIC: &[u8; 8] = b"RALPHCW1";

/// Magic, key, checksum.
const HEADER: usize = MAGIC.len() + 32 + 32;

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

/// A larger buffer isn't kept.
const MAX_SPARE: usize = 4 << 20;

pub(crate) struct Cache {
    dir: PathBuf,
    /// Buffers to read into: memory that is new to the process costs more than
    /// the reading, and a start reads several files.
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Cache {
    /// Uses the directory, creating it (mode 0700) if need be. `None`, with one
    /// warning, if it isn't ours alone.
    pub(crate) fn open(dir: &Path) -> Option<Cache> {
        match prepare(dir) {
            Ok(()) => Some(Cache {
                dir: dir.into(),
                spare: Mutex::default(),
            }),
            Err(error) => {
                tracing::warn!(
                    "compiled plugins are not kept: {}: {error}; each start compiles them anew",
                    dir.display()
                );
                None
            }
        }
    }

    /// The compiled component, if there is a sound file of it.
    pub(crate) fn load(&self, engine: &Engine, key: &Key) -> Option<Component> {
        let mut bytes = self.spare().pop().unwrap_or_default();
        let component = self.load_by(&mut bytes, engine, key);
        if bytes.capacity() <= MAX_SPARE {
            self.spare().push(bytes);
        }
        component
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load_by(&self, bytes: &mut Vec<u8>, engine: &Engine, key: &Key) -> Option<Component> {
        let path = self.path(key);
        match read(&path, bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::info!("{} is not used: {error}", path.display());
                return None;
            }
        };
        let Some(code) = verified(bytes, key) else {
            tracing::info!(
                "{} is damaged or of something else; compiling anew",
                path.display()
            );
            return None;
        };
        match deserialize(engine, code) {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::info!("{} is not used: {error:#}", path.display());
                None
            }
        }
    }

    /// Keeps the compiled code. Failing to is no reason to fail.
    pub(crate) fn store(&self, key: &Key, code: &[u8]) {
        if let Err(error) = self.try_store(key, code) {
            tracing::info!(
                "cannot keep a compiled plugin in {}: {error}",
                self.dir.display()
            );
        }
    }

    fn try_store(&self, key: &Key, code: &[u8]) -> io::Result<()> {
        self.prune();
        // Created with mode 0600; gone again if anything fails before the rename.
        let mut file = tempfile::Builder::new()
            .prefix(NEW)
            .tempfile_in(&self.dir)?;
        file.write_all(MAGIC)?;
        file.write_all(key)?;
        file.write_all(&checksum(key, code))?;
        file.write_all(code)?;
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

/// Puts the content of a file that is ours into `bytes`, in place of what is there.
fn read(path: &Path, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(openat(CWD, path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_FILE {
        return Err(io::Error::other("not a file of ours"));
    }
    only_ours(&meta)?;
    bytes.reserve(usize::try_from(meta.len()).unwrap_or_default());
    file.read_to_end(bytes).map(drop)
}

fn checksum(key: &Key, code: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(code);
    hash.finalize().into()
}

/// The code in a file, if the file is whole and holds what was asked for.
fn verified<'a>(bytes: &'a [u8], key: &Key) -> Option<&'a [u8]> {
    let (header, code) = bytes.split_at_checked(HEADER)?;
    let (magic, rest) = header.split_at_checked(MAGIC.len())?;
    let (stored_key, sum) = rest.split_at_checked(key.len())?;
    (magic == MAGIC && stored_key == key && sum == checksum(key, code)).then_some(code)
}

#[allow(unsafe_code, reason = "the only way to use compiled code")]
fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `code` has to come from `Engine::precompile_component` unchanged.
    // `verified` found the hash that `try_store` wrote for just these bytes, which
    // were read once and are copied from here, not mapped, so nobody can change them
    // after the check. File and directory belong to this user and are writable to
    // nobody else, so that nobody else wrote that hash. That the engine fits is
    // part of the key, and checked by wasmtime again.
    unsafe { Component::deserialize(engine, code) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn content(path: &Path) -> io::Result<Vec<u8>> {
        // What was there before must not stay.
        let mut bytes = b"of another file".to_vec();
        read(path, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn only_whole_files_of_the_same_key_are_taken() {
        let (key, other) = ([1; 32], [2; 32]);
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("a/b")).unwrap();
        cache.store(&key, b"code");
        let bytes = content(&cache.path(&key)).unwrap();
        assert_eq!(verified(&bytes, &key), Some(&b"code"[..]));
        assert_eq!(verified(&bytes, &other), None);
        for end in 0..bytes.len() {
            assert_eq!(verified(&bytes[..end], &key), None, "cut at {end}");
        }
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 1;
            assert_eq!(verified(&bad, &key), None, "changed at {i}");
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
        cache.store(&[1; 32], b"code");
        let there = |name: &str| dir.path().join(name).exists();
        assert!(!there("old.cwasm") && there("newer.cwasm"));
        assert!(!there(".new-left") && there(".new-now"));
        assert!(content(&cache.path(&[1; 32])).is_ok());
    }

    #[test]
    fn links_and_files_others_can_write_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let (key, other) = ([1; 32], [2; 32]);
        cache.store(&key, b"code");
        std::os::unix::fs::symlink(cache.path(&key), cache.path(&other)).unwrap();
        assert!(content(&cache.path(&other)).is_err());
        let writable = fs::Permissions::from_mode(0o620);
        fs::set_permissions(cache.path(&key), writable).unwrap();
        assert!(content(&cache.path(&key)).is_err());
        cache.store(&key, b"code");
        assert!(
            content(&cache.path(&key)).is_ok(),
            "replaced by one of ours"
        );
    }
}
