//! One ralph per project.
//!
//! The kernel's `flock` on `.ralph/lock` decides, and it ends with its holder
//! however that dies. What stands in the file is only for people and for
//! messages: a stale file that names a living stranger is simply taken over.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

use cap_std::fs::{MetadataExt, OpenOptions};
use jiff::{Timestamp, Unit};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::GuardError;
use crate::guard::Workspace;

/// Where the lock is, relative to the root.
pub const LOCK_PATH: &str = ".ralph/lock";

/// Why the project could not be locked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another ralph works here.
    #[error(
        "another ralph (process {pid}, since {since}) works in this project. Wait for it, or stop it with `kill {pid}`"
    )]
    Held {
        /// Its process number; 0 if it has only just taken the lock and not yet written it.
        pid: u32,
        /// When it took the lock, RFC 3339, UTC; "an unknown time" if not yet written.
        since: String,
    },
    /// The lock file cannot be had.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The file system has no locks, or reading or writing the file failed.
    #[error("cannot lock {LOCK_PATH}: {0}")]
    Io(#[from] io::Error),
}

#[derive(Serialize, Deserialize)]
struct Holder {
    pid: u32,
    since: Timestamp,
}

/// Held as long as this lives, and never longer than the process.
#[derive(Debug)]
pub struct ProjectLock {
    file: File,
}

impl ProjectLock {
    /// Takes the lock without waiting. Not re-entrant: a second call in the
    /// same process is refused like any other.
    ///
    /// # Errors
    /// [`LockError::Held`] if a living process has it.
    pub fn acquire(ws: &Workspace) -> Result<ProjectLock, LockError> {
        ws.create_dir_all(".ralph")?;
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true);
            let file = ws
                .dir()
                .open_with(LOCK_PATH, &options)
                .map_err(|e| ws.error("open", LOCK_PATH, e))?;
            ws.regular(LOCK_PATH, &file)?;
            let opened = file.metadata()?;
            let mut file = file.into_std();
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(held(&mut file)),
                Err(e) => return Err(io::Error::from(e).into()),
            }
            // Somebody may have removed the file between opening and locking;
            // a lock on what no path leads to would keep nobody out.
            let same = ws
                .dir()
                .metadata(LOCK_PATH)
                .is_ok_and(|now| (now.dev(), now.ino()) == (opened.dev(), opened.ino()));
            if !same {
                continue;
            }
            let mut lock = ProjectLock { file };
            lock.sign()?;
            return Ok(lock);
        }
    }

    /// The process that holds it now; `None` if none does. Takes nothing and writes nothing.
    pub fn holder(ws: &Workspace) -> Option<u32> {
        let mut file = ws.dir().open(LOCK_PATH).ok()?.into_std();
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => match held(&mut file) {
                LockError::Held { pid, .. } => Some(pid),
                _ => Some(0),
            },
            _ => None,
        }
    }

    fn sign(&mut self) -> io::Result<()> {
        let now = Timestamp::now();
        let since = now.round(Unit::Second).unwrap_or(now);
        let mut text = serde_json::to_vec(&Holder {
            pid: std::process::id(),
            since,
        })?;
        text.push(b'\n');
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)
    }
}

impl Drop for ProjectLock {
    fn drop(&mut self) {
        // Explicit, in case a child inherited the descriptor.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

fn held(file: &mut File) -> LockError {
    let mut text = Vec::new();
    let read = file.take(1024).read_to_end(&mut text);
    let holder = read
        .ok()
        .and_then(|_| serde_json::from_slice::<Holder>(&text).ok());
    match holder {
        Some(Holder { pid, since }) => LockError::Held {
            pid,
            since: since.to_string(),
        },
        None => LockError::Held {
            pid: 0,
            since: "an unknown time".to_owned(),
        },
    }
}
