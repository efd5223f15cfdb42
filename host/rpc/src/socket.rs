//! Where a run's socket is, and who may take it.
//!
//! `${XDG_DATA_HOME:-~/.local/share}/ralph/sockets/<task>.sock`, with the name
//! of the project's directory for `<task>`; `<task>-<8 digits>.sock` if a run in
//! another project of that name is on. Where such a path has more than the 107 bytes
//! a socket's may have: `${XDG_RUNTIME_DIR:-/tmp}/ralph-<uid>/`.
//!
//! An flock beside it says whose it is. Only a socket that refuses connections
//! is stale and removed; a live one never is, and neither is anything else that stands there.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_runner::names::task_dir;
use ralph_runner::trust::user_dir;
use ralph_workspace::sha256_hex;
use rustix::fs::{FlockOperation, flock};
use tokio::net::{UnixListener, UnixStream};

/// A socket's path may have this many bytes.
const PATH_MAX: usize = 107;
/// Whoever doesn't refuse a connection within this time is there.
const PROBE: Duration = Duration::from_secs(1);

/// Why the socket can't be had.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Somebody serves there, under both names.
    #[error("{path} is served by process {pid} already")]
    Live {
        /// Where.
        path: String,
        /// Who; 0 if that isn't known.
        pid: u32,
    },
    /// Something else stands there.
    #[error("{path} isn't a socket; move it away")]
    NotASocket {
        /// Where.
        path: String,
    },
    /// The directory isn't the user's own.
    #[error("{path} must be a directory of yours that nobody else can write in")]
    Unsafe {
        /// Where.
        path: String,
    },
    /// The system refuses.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Neither directory has a short enough path.
    #[error("{path} is longer than the {PATH_MAX} bytes that a socket's path may have")]
    TooLong {
        /// The shortest there was.
        path: String,
    },
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> SocketError {
    let path = path.display().to_string();
    move |source| SocketError::Io { path, source }
}

/// The name of a project's run.
pub fn task_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str());
    task_dir(&name.to_string_lossy())
}

/// Both names a project's socket may have.
fn names(root: &Path) -> [String; 2] {
    let name = task_name(root);
    let hash = sha256_hex(root.as_os_str().as_encoded_bytes());
    let other = format!("{name}-{}", &hash[..8]);
    [name, other]
}

/// The directories sockets may be in, the usual one first.
pub fn directories() -> Vec<PathBuf> {
    let usual = user_dir("XDG_DATA_HOME", ".local/share").map(|d| d.join("sockets"));
    let uid = rustix::process::geteuid().as_raw();
    let short = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute())
        .unwrap_or_else(|| PathBuf::from("/tmp"))
        .join(format!("ralph-{uid}"));
    usual.into_iter().chain([short]).collect()
}

/// Every socket that lies in them, stale ones too.
pub fn all() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for dir in directories() {
        let Ok(entries) = fs::read_dir(&dir) else {
            continue;
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "sock"));
        paths.sort();
        all.extend(paths);
    }
    all
}

/// The name of the run whose socket that is.
pub fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Every path a project's socket may have.
pub fn candidates(root: &Path) -> Vec<PathBuf> {
    directories()
        .iter()
        .flat_map(|dir| names(root).map(|name| dir.join(format!("{name}.sock"))))
        .collect()
}

/// A socket that is taken. Its file goes when this is dropped.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    /// Device and inode of the file.
    made: (u64, u64),
    _lock: File,
}

impl Socket {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Only what was made here goes.
        let same = fs::symlink_metadata(&self.path).is_ok_and(|m| (m.dev(), m.ino()) == self.made);
        if same {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes the socket for a run in the project at `root`.
pub(crate) async fn bind(root: &Path) -> Result<(Socket, UnixListener), SocketError> {
    let names = names(root);
    let longest = format!("{}.sock", names[1]);
    let mut too_long = None;
    for dir in directories() {
        let path = dir.join(&longest);
        if path.as_os_str().len() > PATH_MAX {
            too_long = Some(path.display().to_string());
            continue;
        }
        own(&dir)?;
        let mut live = None;
        for name in &names {
            match take(&dir, name).await {
                Err(e @ SocketError::Live { .. }) => live = Some(e),
                other => return other,
            }
        }
        if let Some(e) = live {
            return Err(e);
        }
    }
    Err(SocketError::TooLong {
        path: too_long.unwrap_or_default(),
    })
}

/// Makes the directory, for nobody but the user.
fn own(dir: &Path) -> Result<(), SocketError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(io_at(dir))?;
    let meta = fs::symlink_metadata(dir).map_err(io_at(dir))?;
    if !meta.is_dir() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(SocketError::Unsafe {
            path: dir.display().to_string(),
        });
    }
    if meta.mode() & 0o077 != 0 {
        fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(io_at(dir))?;
    }
    Ok(())
}

async fn take(dir: &Path, name: &str) -> Result<(Socket, UnixListener), SocketError> {
    let path = dir.join(format!("{name}.sock"));
    let beside = dir.join(format!("{name}.lock"));
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(&beside)
        .map_err(io_at(&beside))?;
    let live = |pid| SocketError::Live {
        path: path.display().to_string(),
        pid,
    };
    if let Err(e) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        if e != rustix::io::Errno::WOULDBLOCK {
            return Err(io_at(&beside)(e.into()));
        }
        let mut pid = String::new();
        let _ = (&lock).take(32).read_to_string(&mut pid);
        return Err(live(pid.trim().parse().unwrap_or(0)));
    }
    match fs::symlink_metadata(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(io_at(&path)(e)),
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(SocketError::NotASocket {
                path: path.display().to_string(),
            });
        }
        Ok(_) => {
            let refused = matches!(
                tokio::time::timeout(PROBE, UnixStream::connect(&path)).await,
                Ok(Err(e)) if e.kind() == io::ErrorKind::ConnectionRefused
            );
            if !refused {
                return Err(live(0));
            }
            fs::remove_file(&path).map_err(io_at(&path))?;
        }
    }
    // Nobody else can enter the directory, so there is no moment at which the mode is wider.
    let listener = UnixListener::bind(&path).map_err(io_at(&path))?;
    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(io_at(&path))?;
    let meta = fs::symlink_metadata(&path).map_err(io_at(&path))?;
    lock.set_len(0)
        .and_then(|()| lock.rewind())
        .and_then(|()| writeln!(lock, "{}", std::process::id()))
        .map_err(io_at(&beside))?;
    let socket = Socket {
        made: (meta.dev(), meta.ino()),
        path,
        _lock: lock,
    };
    Ok((socket, listener))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn there(dir: &Path) -> PathBuf {
        own(dir).unwrap();
        dir.join("t.sock")
    }

    /// F10
    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_never_unlinked() {
        let dir = tempfile::tempdir().unwrap();
        let path = there(dir.path());
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let (socket, _listener) = take(dir.path(), "t").await.unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(dir.path()).unwrap().mode() & 0o777, 0o700);
        let second = take(dir.path(), "t").await.unwrap_err();
        let me = std::process::id();
        assert!(
            matches!(second, SocketError::Live { pid, .. } if pid == me),
            "{second}"
        );
        drop(socket);
        assert!(!path.exists());
        // One that answers, whoever it is, and holds no lock of ours.
        let _foreign = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let e = take(dir.path(), "t").await.unwrap_err();
        assert!(matches!(e, SocketError::Live { pid: 0, .. }), "{e}");
        assert!(path.exists());
    }

    /// F10
    #[tokio::test]
    async fn what_is_no_socket_is_refused_and_left_alone() {
        for kind in ["file", "link", "directory"] {
            let dir = tempfile::tempdir().unwrap();
            let path = there(dir.path());
            match kind {
                "file" => fs::write(&path, "mine").unwrap(),
                "link" => std::os::unix::fs::symlink("/nowhere", &path).unwrap(),
                _ => fs::create_dir(&path).unwrap(),
            }
            let e = take(dir.path(), "t").await.unwrap_err();
            assert!(matches!(e, SocketError::NotASocket { .. }), "{kind}: {e}");
            assert!(fs::symlink_metadata(&path).is_ok(), "{kind}");
        }
    }

    #[test]
    fn two_projects_of_one_name_have_names_of_their_own() {
        let (a, b) = (names(Path::new("/a/app")), names(Path::new("/b/app")));
        assert_eq!(a[0], b[0]);
        assert_ne!(a[1], b[1]);
    }
}
