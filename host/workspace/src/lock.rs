//! One ralph per project.
//!
//! The kernel's `flock` on `.ralph/lock` decides, and it ends with its holder
//! however that dies. What stands in the file is only for people and for
//! messages: a stale file that names a living stranger is simply taken over.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::time::Duration;

use cap_std::fs::{MetadataExt, OpenOptions, OpenOptionsExt};
use jiff::{Timestamp, Unit};
use rustix::fs::{FlockOperation, OFlags, flock};
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
        "another ralph (process {pid}, since {since}) works in this project. Wait for it, or end it with `ralph stop`"
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
struct Signature {
    pid: u32,
    since: Timestamp,
}

/// [`ProjectLock::holder`] has the lock for microseconds, and what a host that was killed had just begun to
/// start until it is another program; that long a wait tells them from a run.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(5);

/// Held as long as this lives, and never longer than the process.
#[derive(Debug)]
pub struct ProjectLock {
    file: File,
    before: Vec<u8>,
}

/// Nobody had the lock; see [`ProjectLock::free`].
#[derive(Debug)]
pub struct Free {
    signed: Vec<u8>,
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
            let file = open(ws, true)?;
            let opened = file
                .metadata()
                .map_err(|e| ws.error("look at", LOCK_PATH, e))?;
            let mut file = file.into_std();
            let mut tries = 0;
            while let Err(e) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
                tries += 1;
                if e != rustix::io::Errno::WOULDBLOCK {
                    return Err(io::Error::from(e).into());
                }
                if tries == TRIES {
                    let (pid, since) = signed(&mut file);
                    return Err(LockError::Held { pid, since });
                }
                std::thread::sleep(PAUSE);
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
            let before = read(&mut file);
            let mut lock = ProjectLock { file, before };
            lock.sign()?;
            return Ok(lock);
        }
    }

    /// The process that has the lock at this moment, without taking it; 0 if it
    /// has not yet written its number. `None` if nobody has the lock, or if
    /// that cannot be found out.
    pub fn holder(ws: &Workspace) -> Option<u32> {
        let mut file = open(ws, false).ok()?.into_std();
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => Some(signed(&mut file).0),
            _ => None,
        }
    }

    /// Nobody has the lock at this moment. `None` if somebody has it, or if that cannot be found out.
    pub fn free(ws: &Workspace) -> Option<Free> {
        if !ws.exists(LOCK_PATH) {
            return Some(Free { signed: Vec::new() });
        }
        let mut file = open(ws, false).ok()?.into_std();
        flock(&file, FlockOperation::NonBlockingLockShared).ok()?;
        Some(Free {
            signed: read(&mut file),
        })
    }

    /// Has no other ralph had the lock since it was free?
    pub fn is_next_after(&self, free: &Free) -> bool {
        self.before == free.signed
    }

    fn sign(&mut self) -> io::Result<()> {
        // Not rounded: no two who had the lock sign alike.
        let mut text = serde_json::to_vec(&Signature {
            pid: std::process::id(),
            since: Timestamp::now(),
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

fn open(ws: &Workspace, write: bool) -> Result<cap_std::fs::File, GuardError> {
    let mut options = OpenOptions::new();
    options.read(true).write(write).create(write);
    // A pipe in its place must not hold us up.
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = ws
        .dir()
        .open_with(LOCK_PATH, &options)
        .map_err(|e| ws.error("open", LOCK_PATH, e))?;
    ws.regular(LOCK_PATH, &file)?;
    Ok(file)
}

/// Process number and time, as [`LockError::Held`] shows them.
fn signed(file: &mut File) -> (u32, String) {
    match serde_json::from_slice(&read(file)) {
        Ok(Signature { pid, since }) => {
            let since = since.round(Unit::Second).unwrap_or(since);
            (pid, since.to_string())
        }
        Err(_) => (0, "an unknown time".to_owned()),
    }
}

/// What stands in it; nothing, if that cannot be read.
fn read(file: &mut File) -> Vec<u8> {
    let mut text = Vec::new();
    match file.take(1024).read_to_end(&mut text) {
        Ok(_) => text,
        Err(_) => Vec::new(),
    }
}
