//! Opens the directories a plugin is granted, without following any link on the
//! way down from the project's root: a link could lead out of the project, or
//! into `.git`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

use crate::grants::GrantedDir;

/// Where a guest finds the project.
pub(crate) const GUEST_ROOT: &str = "/workspace";

/// Gives the directory to the guest as `/workspace/<path>`. On an error, the path
/// it is about comes with it.
pub(crate) fn preopen(
    builder: &mut WasiCtxBuilder,
    root: &Path,
    dir: &GrantedDir,
) -> Result<(), (PathBuf, String)> {
    let host_path = root.join(&dir.path);
    let failed = |reason: String| (host_path.clone(), reason);
    let fd = open(root, &dir.path).map_err(|error| failed(reason(error)))?;
    let by_fd = path_of(&fd).map_err(|error| failed(error.to_string()))?;
    let guest_path = match dir.path.to_str() {
        Some("") => GUEST_ROOT.to_string(),
        Some(path) => format!("{GUEST_ROOT}/{path}"),
        None => return Err(failed("the path is not UTF-8".into())),
    };
    let perms = if dir.write {
        FsPerms::ReadWrite
    } else {
        FsPerms::ReadOnly
    };
    builder
        .preopened_dir(by_fd, guest_path, perms)
        .map_err(|error| failed(format!("{error:#}")))?;
    Ok(())
}

fn open(root: &Path, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, root, flags, Mode::empty())?;
    for name in path {
        dir = openat(dir.as_fd(), name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(dir)
}

fn reason(error: Errno) -> String {
    match error {
        Errno::NOTDIR | Errno::LOOP => {
            "not a directory; a symbolic link is not followed, name what it points to".into()
        }
        Errno::NOENT => "there is no such directory; one that is granted has to be there".into(),
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
