//! Opens the directories and files a plugin is granted, without following any link on
//! the way down from the project's root: a link could lead out of the project, or
//! into `.git`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use tempfile::TempDir;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::grants::GrantedPlace;
use crate::single::{Single, Singles};

/// Where a guest finds the project.
pub(crate) const GUEST_ROOT: &str = "/workspace";

type Failed = (PathBuf, String);

/// What stands at a granted path.
enum Found {
    Directory(OwnedFd),
    /// Its directory and its name.
    File(OwnedFd, String),
}

/// Gives a directory to the guest as `/workspace/<path>`; a file under that name, in a
/// directory where nothing else is, unless the plugin is granted that one too. On an
/// error, the path it is about comes with it.
pub(crate) fn preopen(
    builder: &mut WasiCtxBuilder,
    root: &Path,
    places: &[GrantedPlace],
) -> Result<Singles, Failed> {
    let mut singles = Singles::default();
    let (mut dirs, mut files) = (Vec::new(), Vec::new());
    for place in places {
        let failed = |reason: String| (root.join(&place.path), reason);
        match open(root, &place.path).map_err(|error| failed(reason(error)))? {
            Found::Directory(fd) => dirs.push((place, fd)),
            Found::File(parent, name) => files.push((place, parent, name)),
        }
    }
    for (place, fd) in &dirs {
        give(builder, root, &place.path, fd, place.write)?;
    }
    let mut empty = None;
    let mut views: Vec<PathBuf> = Vec::new();
    for (place, parent, name) in files {
        let within = |dir: &&(&GrantedPlace, OwnedFd)| place.path.starts_with(&dir.0.path);
        // The innermost is the one a guest's library takes.
        let around = dirs
            .iter()
            .filter(within)
            .max_by_key(|(dir, _)| dir.path.iter().count());
        let above = place.path.parent().unwrap_or(Path::new(""));
        match around {
            Some((dir, _)) if dir.write || !place.write => continue,
            Some(_) => {}
            None if views.iter().any(|view| view == above) => {}
            None => {
                let (_, fd) = match &empty {
                    Some(made) => made,
                    None => empty.insert(nothing().map_err(|e| (root.join(above), e.to_string()))?),
                };
                give(builder, root, above, fd, false)?;
                views.push(above.to_owned());
            }
        }
        let parent = Arc::new(parent);
        let write = place.write;
        let guest_path = guest_path(root, &place.path)?;
        singles.add(
            guest_path,
            Single {
                parent,
                name,
                write,
            },
        );
    }
    Ok(singles)
}

fn give(
    builder: &mut WasiCtxBuilder,
    root: &Path,
    path: &Path,
    fd: &OwnedFd,
    write: bool,
) -> Result<(), Failed> {
    let failed = |reason: String| (root.join(path), reason);
    let by_fd = path_of(fd).map_err(|error| failed(error.to_string()))?;
    let perms = if write {
        FsPerms::ReadWrite
    } else {
        FsPerms::ReadOnly
    };
    builder
        .preopened_dir(by_fd, guest_path(root, path)?, perms)
        .map_err(|error| failed(format!("{error:#}")))?;
    Ok(())
}

fn guest_path(root: &Path, path: &Path) -> Result<String, Failed> {
    match path.to_str() {
        Some("") => Ok(GUEST_ROOT.to_string()),
        Some(path) => Ok(format!("{GUEST_ROOT}/{path}")),
        None => Err((root.join(path), "the path is not UTF-8".into())),
    }
}

/// A directory with nothing in it; once it is dropped, no path leads to it any more.
fn nothing() -> io::Result<(TempDir, OwnedFd)> {
    let dir = tempfile::tempdir()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let fd = openat(CWD, dir.path(), flags, Mode::empty())?;
    Ok((dir, fd))
}

fn open(root: &Path, path: &Path) -> Result<Found, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, root, flags, Mode::empty())?;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        match openat(dir.as_fd(), name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(inner) => dir = inner,
            Err(Errno::NOTDIR) if names.peek().is_none() => {
                let stat = statat(dir.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)?;
                return match (FileType::from_raw_mode(stat.st_mode), name.to_str()) {
                    (FileType::RegularFile, Some(name)) => Ok(Found::File(dir, name.to_owned())),
                    _ => Err(Errno::NOTDIR),
                };
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Found::Directory(dir))
}

fn reason(error: Errno) -> String {
    match error {
        Errno::NOTDIR | Errno::LOOP => {
            "neither a directory nor a file; a symbolic link is not followed, name what it points to"
                .into()
        }
        Errno::NOENT => {
            "there is no such directory or file; one that is granted has to be there".into()
        }
        other => io::Error::from(other).to_string(),
    }
}

/// wasmtime-wasi takes a path only; this one names the very directory we opened.
#[cfg(target_os = "linux")]
fn path_of(fd: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    Ok(PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd())))
}

#[cfg(target_vendor = "apple")]
fn path_of(fd: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(fd)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(
        path.into_bytes(),
    )))
}
