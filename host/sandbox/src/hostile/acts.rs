//! What is done to files.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, RenameFlags};

pub(super) fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

pub(super) fn read(path: &Path) -> io::Result<()> {
    let mut byte = [0];
    match File::open(path)?.read(&mut byte)? {
        0 => Err(io::Error::other("it is empty")),
        _ => Ok(()),
    }
}

pub(super) fn read_descriptor(fd: i32) -> io::Result<()> {
    read(format!("/proc/self/fd/{fd}").as_ref())
}

pub(super) fn read_disk() -> io::Result<()> {
    // In a view there is no such name to begin with.
    let disk = super::stage::disk().ok_or(io::ErrorKind::NotFound)?;
    read(&disk)
}

pub(super) fn create(path: &Path) -> io::Result<()> {
    File::create_new(path)?.write_all(b"evil\n")
}

pub(super) fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .open(path)?
        .write_all(b"evil\n")
}

pub(super) fn overwrite(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all(b"evil\n")
}

/// By path, without opening it.
pub(super) fn truncate(path: &Path) -> io::Result<()> {
    let path = c(path);
    // SAFETY: the path ends with a NUL and lives through the call.
    #[allow(unsafe_code)]
    match unsafe { libc::truncate(path.as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub(super) fn opens_for_writing(path: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path).map(drop)
}

pub(super) fn finds(dir: &Path, name: &str) -> io::Result<()> {
    let found = std::fs::read_dir(dir)?
        .flatten()
        .any(|e| e.file_name() == name);
    found
        .then_some(())
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(
        CWD,
        one,
        CWD,
        other,
        RenameFlags::EXCHANGE,
    )?)
}

pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from, to)
}

pub(super) fn fifo(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mknodat(
        CWD,
        path,
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )?)
}

/// The first disk, as a file of one's own.
pub(super) fn device(path: &Path) -> io::Result<()> {
    let number = rustix::fs::makedev(8, 0);
    Ok(rustix::fs::mknodat(
        CWD,
        path,
        FileType::BlockDevice,
        Mode::RUSR | Mode::WUSR,
        number,
    )?)
}

pub(super) fn chmod(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// To the same owner, which is a change of the file all the same.
pub(super) fn chown(path: &Path) -> io::Result<()> {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    std::os::unix::fs::chown(path, Some(uid.as_raw()), Some(gid.as_raw()))
}

pub(super) fn touch(path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, Timespec, Timestamps};
    let long_ago = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: long_ago,
        last_modification: long_ago,
    };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::empty())?)
}

pub(super) fn run(program: &str) -> io::Result<()> {
    let status = std::process::Command::new(program).status()?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| io::Error::other(status.to_string()))
}
