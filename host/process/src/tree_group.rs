//! Unix without `/proc`: the child's process group, which is its session, is
//! ended as a whole. A descendant that made a session of its own gets away.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// There is no adoption here.
pub(crate) fn adopt_orphans() {}

/// A child of this process and its process group.
#[derive(Debug)]
pub(crate) struct Root {
    pid: u32,
}

impl Root {
    pub(crate) fn register<T>(
        spawn: impl FnOnce(&str, Option<u64>) -> io::Result<(T, u32)>,
    ) -> io::Result<(T, Root)> {
        let (child, pid) = spawn(&std::process::id().to_string(), None)?;
        Ok((child, Root { pid }))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// There is no such number here.
    pub(crate) fn start_time(&self) -> u64 {
        0
    }

    fn group(&self) -> Option<Pid> {
        Pid::from_raw(self.pid as i32)
    }

    pub(crate) fn has_strays(&self) -> bool {
        self.group()
            .is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    pub(crate) fn end(&self, grace: Duration) {
        let Some(group) = self.group() else { return };
        let _ = kill_process_group(group, Signal::TERM);
        let deadline = Instant::now() + grace;
        // There is no event for the end of a group.
        while self.has_strays() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.kill();
    }

    pub(crate) fn kill(&self) {
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Without start times a leftover cannot be told from a stranger: always false.
pub fn reap_leftover(_pid: u32, _start_time: u64) -> bool {
    false
}

/// The same holds for these.
pub fn signature(_of: &std::ffi::OsStr) -> Option<std::ffi::OsString> {
    None
}

/// None are found: see [`signature`].
pub fn settle(
    _program: &str,
    _variable: &str,
    _of: &std::ffi::OsStr,
    _patience: std::time::Duration,
) -> usize {
    0
}

/// There are no wardens here: their marks are Linux's.
///
/// # Errors
/// None.
pub fn post_warden() -> std::io::Result<()> {
    Ok(())
}

/// See [`post_warden`].
pub fn dismiss_warden() {}
