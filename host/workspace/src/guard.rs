//! Files relative to a directory handle, never out of it.
//!
//! Each call resolves its path below the handle of the root, in one step of
//! the kernel where it can (`openat2` with `RESOLVE_BENEATH`). A link is
//! followed as long as it stays inside; what leads out is
//! [`GuardError::Escapes`], also when the link was put there after a check,
//! because there is no check that is separate from the opening.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use crate::atomic::{self, Durability};
use crate::error::GuardError;
use crate::path;

/// The project's directory. Cheap to clone.
///
/// All paths are relative, UTF-8, with `/`. An empty one, an absolute one, one
/// with `..` or NUL in it is refused; `.` components and a closing `/` do no harm.
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    dir: Dir,
}

impl Workspace {
    /// Opens `root`, which must be a directory. Links on the way to it are followed once, now.
    ///
    /// # Errors
    /// [`GuardError::Root`].
    pub fn open(root: &Path) -> Result<Workspace, GuardError> {
        let bad = |source| GuardError::Root {
            root: root.to_owned(),
            source,
        };
        let canonical = root.canonicalize().map_err(bad)?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(bad)?;
        Ok(Workspace {
            inner: Arc::new(Inner {
                root: canonical,
                dir,
            }),
        })
    }

    /// The root, absolute and without links. For messages and for children's
    /// working directory, not to be joined and opened.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// The handle everything is relative to.
    pub fn dir(&self) -> &Dir {
        &self.inner.dir
    }

    /// The whole content of a file; `None` if it isn't there.
    ///
    /// # Errors
    /// [`GuardError::TooLarge`] beyond `max` bytes, [`GuardError::NotAFile`]
    /// for a directory, pipe, socket or device (never blocks on one).
    pub fn read(&self, rel: &str, max: u64) -> Result<Option<Vec<u8>>, GuardError> {
        let Some((file, len)) = self.open_read(rel)? else {
            return Ok(None);
        };
        let too_large = || GuardError::TooLarge {
            path: rel.to_owned(),
            max,
        };
        if len > max {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
        file.take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| self.error("read", rel, e))?;
        // It may have grown since.
        if bytes.len() as u64 > max {
            Err(too_large())
        } else {
            Ok(Some(bytes))
        }
    }

    /// The first `max` bytes of a file, all of it if it is shorter; `None` if it
    /// isn't there.
    ///
    /// # Errors
    /// [`GuardError::NotAFile`] as with [`Workspace::read`].
    pub fn read_start(&self, rel: &str, max: u64) -> Result<Option<Vec<u8>>, GuardError> {
        let Some((file, _)) = self.open_read(rel)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(max)
            .read_to_end(&mut bytes)
            .map_err(|e| self.error("read", rel, e))?;
        Ok(Some(bytes))
    }

    /// The last `max` bytes of a file, all of it if it is shorter; `None` if it
    /// isn't there. For files that grow for ever.
    ///
    /// # Errors
    /// [`GuardError::NotAFile`] as with [`Workspace::read`].
    pub fn read_end(&self, rel: &str, max: u64) -> Result<Option<Vec<u8>>, GuardError> {
        let Some((mut file, len)) = self.open_read(rel)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(len.saturating_sub(max)))
            .and_then(|_| file.take(max).read_to_end(&mut bytes))
            .map_err(|e| self.error("read", rel, e))?;
        Ok(Some(bytes))
    }

    /// Replaces a file as a whole, or makes it and its parent directories:
    /// a temporary file in the same directory, fsync, rename, fsync of the
    /// directory. The mode of a replaced file is kept; a link that stays
    /// inside is written through, one that leads out is refused.
    ///
    /// # Errors
    /// [`GuardError::DiskFull`] and others; the former content is then intact.
    pub fn write(&self, rel: &str, bytes: &[u8]) -> Result<(), GuardError> {
        atomic::replace(self, rel, bytes, Durability::Synced)
    }

    /// [`Workspace::write`] without the fsyncs, for what can be rebuilt: a
    /// reader never sees half a file, but a power cut may lose it.
    ///
    /// # Errors
    /// As [`Workspace::write`].
    pub fn write_relaxed(&self, rel: &str, bytes: &[u8]) -> Result<(), GuardError> {
        atomic::replace(self, rel, bytes, Durability::Relaxed)
    }

    /// Adds to the end of a file, which is made along with its parents if need be. No fsync.
    ///
    /// # Errors
    /// As [`Workspace::open_append`]; on [`GuardError::DiskFull`] a part may have been written.
    pub fn append(&self, rel: &str, bytes: &[u8]) -> Result<(), GuardError> {
        self.open_append(rel)?
            .write_all(bytes)
            .map_err(|e| self.error("append to", rel, e))
    }

    /// A file to append to (journal, logs), made along with its parents if need be.
    ///
    /// # Errors
    /// [`GuardError::NotAFile`], [`GuardError::Escapes`] and what the system says.
    pub fn open_append(&self, rel: &str) -> Result<std::fs::File, GuardError> {
        let path = self.check(rel)?;
        let mut options = OpenOptions::new();
        // With O_NONBLOCK a pipe that was put in the file's place cannot hold us up.
        options
            .append(true)
            .create(true)
            .custom_flags(nonblocking());
        let opened = match self.dir().open_with(&path, &options) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                self.make_parents(rel, &path)?;
                self.dir().open_with(&path, &options)
            }
            other => other,
        };
        let file = opened.map_err(|e| self.error("open", rel, e))?;
        self.regular(rel, &file)?;
        Ok(file.into_std())
    }

    /// Makes a directory and its parents; fine if it is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn create_dir_all(&self, rel: &str) -> Result<(), GuardError> {
        let path = self.check(rel)?;
        if path == "." {
            return Ok(());
        }
        self.dir()
            .create_dir_all(&path)
            .map_err(|e| self.error("make the directory", rel, e))
    }

    /// Whether something is there, links followed. What cannot be looked at isn't.
    pub fn exists(&self, rel: &str) -> bool {
        self.check(rel)
            .is_ok_and(|path| self.dir().metadata(path).is_ok())
    }

    /// Removes a file or a link (not what it points to); fine if it isn't there.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_file(&self, rel: &str) -> Result<(), GuardError> {
        let path = self.check(rel)?;
        match self.dir().remove_file(&path) {
            Err(e) if !is_absent(&e) => Err(self.error("remove", rel, e)),
            _ => Ok(()),
        }
    }

    /// Removes a directory and all below it, links not followed; fine if it isn't there.
    ///
    /// # Errors
    /// [`GuardError::Escapes`] for the root itself, and what the system says.
    pub fn remove_dir_all(&self, rel: &str) -> Result<(), GuardError> {
        let path = self.check(rel)?;
        if path == "." {
            return Err(self.refuse(rel, "it is the root itself"));
        }
        match self.dir().remove_dir_all(&path) {
            Err(e) if !is_absent(&e) => Err(self.error("remove", rel, e)),
            _ => Ok(()),
        }
    }

    /// The names in a directory (`.` for the root), sorted; none if it isn't
    /// there. A name that isn't UTF-8 is left out: no path of ours could name it.
    ///
    /// # Errors
    /// What the system says.
    pub fn list(&self, rel: &str) -> Result<Vec<String>, GuardError> {
        let path = self.check(rel)?;
        let entries = match self.dir().read_dir(&path) {
            Ok(entries) => entries,
            Err(e) if is_absent(&e) => return Ok(Vec::new()),
            Err(e) => return Err(self.error("list", rel, e)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| self.error("list", rel, e))?;
            names.extend(entry.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A regular file and its length; `None` if it isn't there.
    fn open_read(&self, rel: &str) -> Result<Option<(File, u64)>, GuardError> {
        let path = self.check(rel)?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(nonblocking());
        match self.dir().open_with(&path, &options) {
            Ok(file) => {
                let len = self.regular(rel, &file)?;
                Ok(Some((file, len)))
            }
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(self.error("read", rel, e)),
        }
    }

    pub(crate) fn check(&self, rel: &str) -> Result<String, GuardError> {
        path::normal(rel).map_err(|why| self.refuse(rel, why))
    }

    pub(crate) fn refuse(&self, rel: &str, why: &'static str) -> GuardError {
        GuardError::Escapes {
            path: rel.to_owned(),
            root: self.root().to_owned(),
            why,
        }
    }

    pub(crate) fn error(&self, action: &'static str, rel: &str, source: io::Error) -> GuardError {
        GuardError::from_io(action, rel, self.root(), source)
    }

    /// Makes the directories above `path`, which is normal.
    pub(crate) fn make_parents(&self, rel: &str, path: &str) -> Result<(), GuardError> {
        match path::split(path) {
            (".", _) => Ok(()),
            (parent, _) => self
                .dir()
                .create_dir_all(parent)
                .map_err(|e| self.error("make the directory of", rel, e)),
        }
    }

    /// The file's length, if it is a file at all.
    pub(crate) fn regular(&self, rel: &str, file: &File) -> Result<u64, GuardError> {
        let meta = file.metadata().map_err(|e| self.error("look at", rel, e))?;
        match kind_in_words(meta.file_type()) {
            None => Ok(meta.len()),
            Some(what) => Err(GuardError::NotAFile {
                path: rel.to_owned(),
                root: self.root().to_owned(),
                what,
            }),
        }
    }
}

/// `None` for a regular file.
pub(crate) fn kind_in_words(kind: FileType) -> Option<&'static str> {
    use cap_std::fs::FileTypeExt;
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a directory")
    } else if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

/// Not there, or something that isn't a directory stands on the way.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn nonblocking() -> i32 {
    OFlags::NONBLOCK.bits().cast_signed()
}
