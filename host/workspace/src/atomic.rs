//! A file is replaced as a whole or not at all.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{Gid, Mode, OFlags, Uid, fchmod, fchown};

use crate::error::GuardError;
use crate::guard::{Workspace, kind_in_words};
use crate::path::{self, TEMP_PREFIX};

/// Whether a power cut may lose the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// fsync of the file before, and of its directory after the rename.
    Synced,
    /// Neither.
    Relaxed,
}

/// Puts `bytes` in the place of `rel`. The directory is opened once; the
/// temporary file and the rename are relative to that handle and never follow
/// a link, so nothing that is swapped meanwhile can lead them elsewhere.
pub(crate) fn replace(
    ws: &Workspace,
    rel: &str,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), GuardError> {
    let asked = ws.check(rel)?;
    if asked == "." {
        return Err(ws.error("write", rel, io::ErrorKind::IsADirectory.into()));
    }
    let target = through_links(ws, rel, &asked)?;
    let (parent, name) = path::split(&target);
    let dir = open_parent(ws, rel, &target, parent)?;
    let failed = |e| ws.error("write", rel, e);

    let former = match dir.symlink_metadata(name) {
        Ok(meta) => match kind_in_words(meta.file_type()) {
            Some(what) if !meta.file_type().is_symlink() => {
                let (path, root) = (rel.to_owned(), ws.root().to_owned());
                return Err(GuardError::NotAFile { path, root, what });
            }
            _ => Some(meta),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(failed(e)),
    };

    let (temp, mut file) = create_temp(&dir).map_err(failed)?;
    let written = (|| {
        file.write_all(bytes)?;
        if let Some(meta) = former.filter(|meta| meta.file_type().is_file()) {
            keep_owner_and_mode(&file, &meta)?;
        }
        if durability == Durability::Synced {
            file.sync_all()?;
        }
        dir.rename(&temp, &dir, name)
    })();
    if let Err(e) = written {
        let _ = dir.remove_file(&temp);
        return Err(failed(e));
    }
    if durability == Durability::Synced {
        sync_dir(&dir).map_err(failed)?;
    }
    Ok(())
}

/// Where a link that stays inside leads; a rename onto the link would cut it.
fn through_links(ws: &Workspace, rel: &str, path: &str) -> Result<String, GuardError> {
    match ws.dir().symlink_metadata(path) {
        Ok(meta) if meta.file_type().is_symlink() => {
            let target = ws
                .dir()
                .canonicalize(path)
                .map_err(|e| ws.error("follow", rel, e))?;
            let target = target.to_str().ok_or_else(|| {
                ws.error(
                    "follow",
                    rel,
                    io::Error::other("the link's target isn't UTF-8"),
                )
            })?;
            path::normal(target).map_err(|why| ws.refuse(rel, why))
        }
        Ok(_) => Ok(path.to_owned()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(e) => Err(ws.error("look at", rel, e)),
    }
}

fn open_parent(ws: &Workspace, rel: &str, path: &str, parent: &str) -> Result<Dir, GuardError> {
    let opened = match ws.dir().open_dir(parent) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            ws.make_parents(rel, path)?;
            ws.dir().open_dir(parent)
        }
        other => other,
    };
    opened.map_err(|e| ws.error("open the directory of", rel, e))
}

/// cap-std's handle is good for resolving only; fsync wants one that was opened for reading.
fn sync_dir(dir: &Dir) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = rustix::fs::openat(dir.as_fd(), ".", flags, Mode::empty())?;
    Ok(rustix::fs::fsync(readable)?)
}

pub(crate) fn create_temp(dir: &Dir) -> io::Result<(String, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TEMP_PREFIX}{}-{n}", std::process::id());
        match dir.open_with(
            &name,
            OpenOptions::new().write(true).create_new(true).mode(0o666),
        ) {
            Ok(file) => return Ok((name, file)),
            // Left by a process of the same number that was killed in between.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// The owner only as far as we may; the mode after it, as a change of owner clears bits.
pub(crate) fn keep_owner_and_mode(file: &File, former: &cap_std::fs::Metadata) -> io::Result<()> {
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (former.uid(), former.gid()) {
        let _ = fchown(
            file.as_fd(),
            Some(Uid::from_raw(former.uid())),
            Some(Gid::from_raw(former.gid())),
        );
    }
    if ours.mode() & 0o7777 != former.mode() & 0o7777 {
        fchmod(file.as_fd(), Mode::from_raw_mode(former.mode() & 0o7777))?;
    }
    Ok(())
}
