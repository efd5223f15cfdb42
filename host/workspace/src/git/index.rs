//! Temporary indexes, so that the user's is never touched half-way.
//!
//! They are copies of the real one, so that git knows from it which files it
//! need not read again, and live in `<git dir>/ralph/`: git itself keeps its
//! own temporary indexes next to the real one, and `git status` does not see them.

use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, test_kill_process};

use super::GitError;
use super::repo::Repo;

/// Tells whether a file was written since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) inode: (u64, u64),
    /// Seconds, nanoseconds.
    pub(super) modified: (i64, i64),
    /// Cannot be set back by whoever writes.
    pub(super) changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(meta: &fs::Metadata) -> Stamp {
        Stamp {
            mode: meta.mode(),
            size: meta.size(),
            inode: (meta.dev(), meta.ino()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

pub(super) fn real_path(repo: &Repo) -> PathBuf {
    repo.git_dir.join("index")
}

/// `None` if there is no index yet.
pub(super) fn real_stamp(repo: &Repo) -> Option<Stamp> {
    fs::metadata(real_path(repo))
        .ok()
        .map(|meta| Stamp::of(&meta))
}

/// A file of our own, in most cases an index; removed when dropped, a lock on it too.
#[derive(Debug)]
pub(super) struct TempFile {
    pub(super) path: PathBuf,
}

impl TempFile {
    /// A name without a file: git takes that for an empty index.
    pub(super) fn new(repo: &Repo) -> Result<TempFile, GitError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let dir = dir(repo);
        fs::create_dir_all(&dir).map_err(|e| GitError::io("make", &dir, e))?;
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = TempFile {
            path: dir.join(format!("{}-{n}", std::process::id())),
        };
        file.remove();
        Ok(file)
    }

    /// A copy of the real index, or an empty one if there is none.
    pub(super) fn copy_of_index(repo: &Repo) -> Result<TempFile, GitError> {
        let (real, copy) = (real_path(repo), TempFile::new(repo)?);
        match fs::copy(&real, &copy.path) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(copy),
            Err(e) => return Err(GitError::io("copy", real, e)),
        }
        // git compares a file's time with the index's to know whether the file
        // may have changed in the same tick: the copy must not look younger.
        let keep_time = || {
            let modified = fs::metadata(&real)?.modified()?;
            let file = File::options().write(true).open(&copy.path)?;
            file.set_times(FileTimes::new().set_modified(modified))
        };
        keep_time().map_err(|e| GitError::io("set the time of", &copy.path, e))?;
        Ok(copy)
    }

    /// Puts this in the place of the real index, under git's own lock and only
    /// if that is still as it was at `expected`. `false`: it was not done.
    pub(super) fn install(&self, repo: &Repo, expected: Option<Stamp>) -> bool {
        let (real, lock) = (real_path(repo), lock_path(repo));
        // A link is made only if there is no lock yet, and brings the content and its time along.
        if fs::hard_link(&self.path, &lock).is_err() {
            return false;
        }
        if real_stamp(repo) == expected && fs::rename(&lock, &real).is_ok() {
            return true;
        }
        let _ = fs::remove_file(&lock);
        false
    }

    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension("lock"));
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        self.remove();
    }
}

pub(super) fn lock_path(repo: &Repo) -> PathBuf {
    repo.git_dir.join("index.lock")
}

/// For temporary files next to the index.
pub(super) fn dir(repo: &Repo) -> PathBuf {
    repo.git_dir.join("ralph")
}

/// Removes what processes left that were killed.
pub(super) fn sweep(repo: &Repo) {
    let Ok(entries) = fs::read_dir(dir(repo)) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|n| n.split(['-', '.']).next()?.parse::<i32>().ok());
        let alive = owner.and_then(Pid::from_raw).is_some_and(|pid| {
            // A stranger's process may not be asked, but is there.
            test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
        });
        if !alive {
            remove_any(&entry.path());
        }
    }
}

fn remove_any(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}
