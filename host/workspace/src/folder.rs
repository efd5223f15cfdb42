//! A directory that no link leads to, and files in it that are no links.
//!
//! [`Workspace`] follows links that stay below the root. Where a name has to be
//! the file itself, as with prompts that others edit, each part of the way is
//! opened without following any, and what is in the directory is reached by its
//! bare name relative to that handle: nothing that is swapped meanwhile leads elsewhere.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::atomic;
use crate::error::GuardError;
use crate::guard::Workspace;
use crate::path;

/// The directory. Its files are named by their bare names.
#[derive(Debug)]
pub struct Folder {
    ws: Workspace,
    rel: String,
    dir: Dir,
}

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// A link, a pipe, a socket, a device.
    Other,
}

const LINK: &str = "a link stands on the way";
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Folder {
    /// Opens it; `None` if it isn't there.
    ///
    /// # Errors
    /// [`GuardError::Escapes`] for a path that isn't below the root and for a link on the way,
    /// [`GuardError::NotAFile`] where something else than a directory stands.
    pub fn open(ws: &Workspace, rel: &str) -> Result<Option<Folder>, GuardError> {
        Folder::reach(ws, rel, false)
    }

    /// Opens it, made along with its parents if need be.
    ///
    /// # Errors
    /// As [`Folder::open`], and what the system says.
    pub fn make(ws: &Workspace, rel: &str) -> Result<Folder, GuardError> {
        Folder::reach(ws, rel, true)?
            .ok_or_else(|| ws.error("open", rel, io::ErrorKind::NotFound.into()))
    }

    fn reach(ws: &Workspace, rel: &str, make: bool) -> Result<Option<Folder>, GuardError> {
        let normal = ws.check(rel)?;
        let failed = |e: Errno| ws.error("open", rel, e.into());
        let mut dir: OwnedFd =
            rustix::fs::openat(ws.dir().as_fd(), ".", FOLDER, Mode::empty()).map_err(failed)?;
        for part in normal.split('/').filter(|part| *part != ".") {
            let next = match rustix::fs::openat(&dir, part, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match rustix::fs::mkdirat(&dir, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(e) => return Err(ws.error("make the directory", rel, e.into())),
                    }
                    rustix::fs::openat(&dir, part, FOLDER, Mode::empty())
                }
                other => other,
            };
            dir = match next {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    return Err(match kind(dir.as_fd(), part) {
                        Some(FileType::Symlink) => ws.refuse(rel, LINK),
                        _ => GuardError::NotAFile {
                            path: rel.to_owned(),
                            root: ws.root().to_owned(),
                            what: "no directory on its way",
                        },
                    });
                }
                Err(e) => return Err(failed(e)),
            };
        }
        Ok(Some(Folder {
            ws: ws.clone(),
            rel: normal,
            dir: Dir::from_std_file(dir.into()),
        }))
    }

    /// The path of a file in it, relative to the root, for messages.
    pub fn path_of(&self, name: &str) -> String {
        match self.rel.as_str() {
            "." => name.to_owned(),
            rel => format!("{rel}/{name}"),
        }
    }

    /// The whole content of a file; `None` if it isn't there.
    ///
    /// # Errors
    /// [`GuardError::Escapes`] for a link, [`GuardError::TooLarge`], [`GuardError::NotAFile`].
    pub fn read(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, GuardError> {
        let shown = self.bare(name)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(self.dir.as_fd(), name, flags, Mode::empty()) {
            Ok(file) => std::fs::File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(self.ws.refuse(&shown, LINK)),
            // A socket; the rest can be opened.
            Err(Errno::NXIO) => return Err(self.not_a_file(shown, FileType::Socket)),
            Err(e) => return Err(self.ws.error("read", &shown, e.into())),
        };
        let failed = |e| self.ws.error("read", &shown, e);
        let stat = rustix::fs::fstat(&file).map_err(|e| failed(e.into()))?;
        let found = FileType::from_raw_mode(stat.st_mode);
        if found != FileType::RegularFile {
            return Err(self.not_a_file(shown, found));
        }
        let mut bytes = Vec::new();
        file.take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if bytes.len() as u64 > max {
            return Err(GuardError::TooLarge { path: shown, max });
        }
        Ok(Some(bytes))
    }

    /// What is in it, by name. A name that isn't UTF-8 is left out.
    ///
    /// # Errors
    /// What the system says.
    pub fn entries(&self) -> Result<Vec<(String, Kind)>, GuardError> {
        let failed = |e| self.ws.error("list", &self.rel, e);
        let mut found = Vec::new();
        for entry in self.dir.entries().map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = match entry.file_type().map_err(failed)? {
                kind if kind.is_file() => Kind::File,
                kind if kind.is_dir() => Kind::Folder,
                _ => Kind::Other,
            };
            found.extend(
                entry
                    .file_name()
                    .into_string()
                    .ok()
                    .map(|name| (name, kind)),
            );
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Writes a file's next content beside it and brings that onto the disk.
    /// [`Staged::place`] puts it in the file's place; until then nothing has changed.
    ///
    /// # Errors
    /// [`GuardError::Escapes`] if a link has the file's name, [`GuardError::DiskFull`] and others.
    pub fn stage(&self, name: &str, bytes: &[u8]) -> Result<Staged<'_>, GuardError> {
        let shown = self.bare(name)?;
        let failed = |e| self.ws.error("write", &shown, e);
        match kind(self.dir.as_fd(), name) {
            None | Some(FileType::RegularFile) => {}
            Some(FileType::Symlink) => return Err(self.ws.refuse(&shown, LINK)),
            Some(other) => return Err(self.not_a_file(shown, other)),
        }
        let former = self.dir.symlink_metadata(name).ok().filter(|m| m.is_file());
        let (temp, mut file) = atomic::create_temp(&self.dir).map_err(failed)?;
        let staged = Staged {
            folder: self,
            name: name.to_owned(),
            temp: Some(temp),
        };
        let written = file.write_all(bytes).and_then(|()| match &former {
            Some(former) => atomic::keep_owner_and_mode(&file, former),
            None => Ok(()),
        });
        written.and_then(|()| file.sync_all()).map_err(failed)?;
        Ok(staged)
    }

    /// Removes a file, or a link itself; fine if it isn't there.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &str) -> Result<(), GuardError> {
        let shown = self.bare(name)?;
        match rustix::fs::unlinkat(self.dir.as_fd(), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(self.ws.error("remove", &shown, e.into())),
        }
    }

    /// Removes a directory in it that is empty.
    ///
    /// # Errors
    /// It isn't empty, or what the system says.
    pub fn remove_empty(&self, name: &str) -> Result<(), GuardError> {
        let shown = self.bare(name)?;
        rustix::fs::unlinkat(self.dir.as_fd(), name, AtFlags::REMOVEDIR)
            .map_err(|e| self.ws.error("remove", &shown, e.into()))
    }

    /// The lock that a file in it stands for, held until it is dropped. To hold it alone the
    /// file is made; to share it, `None` where there is no such file: nobody has ever held it.
    /// Nobody is waited for.
    ///
    /// # Errors
    /// [`GuardError::Held`], or what the system says.
    pub fn lock(&self, name: &str, alone: bool) -> Result<Option<Held>, GuardError> {
        let shown = self.bare(name)?;
        let failed = |e: Errno| self.ws.error("lock", &shown, e.into());
        let (flags, how) = match alone {
            true => (
                OFlags::RDWR | OFlags::CREATE,
                FlockOperation::NonBlockingLockExclusive,
            ),
            false => (OFlags::RDONLY, FlockOperation::NonBlockingLockShared),
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let file = match rustix::fs::openat(self.dir.as_fd(), name, flags, mode) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(failed(e)),
        };
        match flock(&file, how) {
            Ok(()) => Ok(Some(Held(file))),
            Err(Errno::WOULDBLOCK) => Err(GuardError::Held { path: shown }),
            Err(e) => Err(failed(e)),
        }
    }

    /// Brings what was placed and removed onto the disk.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> Result<(), GuardError> {
        rustix::fs::fsync(self.dir.as_fd())
            .map_err(|e| self.ws.error("bring onto the disk", &self.rel, e.into()))
    }

    /// The path for messages, if this is a bare name.
    fn bare(&self, name: &str) -> Result<String, GuardError> {
        let shown = self.path_of(name);
        match path::normal(name) {
            Ok(normal) if normal == name && name != "." && !name.contains('/') => Ok(shown),
            Ok(_) => Err(self.ws.refuse(&shown, "it is no bare name")),
            Err(why) => Err(self.ws.refuse(&shown, why)),
        }
    }

    fn not_a_file(&self, path: String, found: FileType) -> GuardError {
        GuardError::NotAFile {
            path,
            root: self.ws.root().to_owned(),
            what: match found {
                FileType::Directory => "a directory",
                FileType::Fifo => "a pipe",
                FileType::Socket => "a socket",
                _ => "a device",
            },
        }
    }
}

/// A lock that is held.
#[derive(Debug)]
pub struct Held(OwnedFd);

impl Drop for Held {
    fn drop(&mut self) {
        // Explicit, in case a child inherited the descriptor.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

fn kind(dir: impl AsFd, name: &str) -> Option<FileType> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .ok()
        .map(|stat| FileType::from_raw_mode(stat.st_mode))
}

/// A file's next content, beside it. Dropped, it goes.
#[derive(Debug)]
pub struct Staged<'a> {
    folder: &'a Folder,
    name: String,
    temp: Option<String>,
}

impl Staged<'_> {
    /// Puts it in the file's place, in one step. [`Folder::sync`] makes that last.
    ///
    /// # Errors
    /// What the system says; the former content is then intact.
    pub fn place(mut self) -> Result<(), GuardError> {
        let Some(temp) = &self.temp else {
            return Ok(());
        };
        let dir = &self.folder.dir;
        dir.rename(temp, dir, &self.name).map_err(|e| {
            let shown = self.folder.path_of(&self.name);
            self.folder.ws.error("write", &shown, e)
        })?;
        self.temp = None;
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if let Some(temp) = &self.temp {
            let _ = self.folder.dir.remove_file(temp);
        }
    }
}
