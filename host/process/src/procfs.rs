//! What `/proc` tells about processes, and signals that cannot hit a stranger
//! who got a pid anew.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::spawn::MARKER;

/// One line of `/proc/<pid>/stat`, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// Clock ticks since the machine's start.
    pub(crate) start: u64,
    pub(crate) dead: bool,
}

/// All processes this one may see, the highest pid first. Each is read when it
/// is asked for.
pub(crate) fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.as_bytes().first().filter(|b| b.is_ascii_digit())?;
        name.to_str()?.parse().ok()
    });
    let mut pids: Vec<u32> = numbers.collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    pids.into_iter().filter_map(one)
}

/// The process with this pid now.
pub(crate) fn one(pid: u32) -> Option<Process> {
    parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(pid: u32, stat: &[u8]) -> Option<Process> {
    // The name in parentheses may hold anything, further parentheses included.
    let name_end = stat.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        // `state` is field 3 in proc(5), and the first one here.
        dead: matches!(*fields.first()?, "Z" | "X" | "x"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

/// This process's session. 0, here as in every `stat`, is one whose leader is
/// outside of our pid namespace: a container's first process made none.
/// (`getsid` says 0 then too, which rustix holds for impossible.)
pub(crate) fn own_session() -> u32 {
    one(std::process::id()).map_or(0, |own| own.session)
}

impl Process {
    /// Still there and not dead?
    pub(crate) fn lives(&self) -> bool {
        one(self.pid).is_some_and(|now| now.start == self.start && !now.dead)
    }

    /// Is this the name of its program (its first 15 bytes)?
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let comm = fs::read(format!("/proc/{}/comm", self.pid));
        comm.is_ok_and(|comm| comm.strip_suffix(b"\n") == Some(name.as_bytes()))
    }

    /// The value of [`MARKER`] in its environment; None if it has none or
    /// doesn't let us look.
    pub(crate) fn marker(&self) -> Option<String> {
        String::from_utf8(self.variable(MARKER)?).ok()
    }

    /// A variable of its environment; None if it has none such or doesn't let us look.
    pub(crate) fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let environ = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        environ.split(|b| *b == 0).find_map(|variable| {
            let value = variable.strip_prefix(name.as_bytes())?;
            Some(value.strip_prefix(b"=")?.to_vec())
        })
    }

    /// Sends a signal to this process, and to nobody if it is gone.
    pub(crate) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid as i32) else {
            return;
        };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if one(self.pid).is_some_and(|now| now.start == self.start) => {
                let _ = pidfd_send_signal(handle, signal);
            }
            // Linux before 5.3: a moment remains in which the pid may change hands.
            Err(rustix::io::Errno::NOSYS) if self.lives() => {
                let _ = rustix::process::kill_process(pid, signal);
            }
            _ => {}
        }
    }

    /// Waits until it is dead; false if it still lives at the deadline.
    pub(crate) fn wait(&self, deadline: Instant) -> bool {
        let Some(pid) = Pid::from_raw(self.pid as i32) else {
            return true;
        };
        let handle = pidfd_open(pid, PidfdFlags::empty());
        if !self.lives() {
            return true;
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match &handle {
                Ok(handle) => {
                    let mut fds = [PollFd::new(handle, PollFlags::IN)];
                    let limit = Timespec::try_from(left).ok();
                    match poll(&mut fds, limit.as_ref()) {
                        Ok(0) | Err(rustix::io::Errno::INTR) => {}
                        _ => return true,
                    }
                }
                // Linux before 5.3 has no event for this.
                Err(_) => std::thread::sleep(left.min(Duration::from_millis(10))),
            }
            if !self.lives() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
        }
    }
}

/// Now, in clock ticks since the machine's start.
pub(crate) fn ticks() -> u64 {
    // Hundredths of a second, which is what a tick is to all of user space.
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds = uptime.split_ascii_whitespace().next().unwrap_or_default();
    seconds.replace('.', "").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let stat = b"7 (a) b (c) R) S 3 7 9 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4711 1 2";
        let want = Process {
            pid: 7,
            parent: 3,
            group: 7,
            session: 9,
            start: 4711,
            dead: false,
        };
        assert_eq!(parse(7, stat), Some(want));
    }

    #[test]
    fn a_cut_line_is_no_process() {
        assert_eq!(parse(7, b"7 (a) S 3 7"), None);
        assert_eq!(parse(7, b""), None);
    }

    #[test]
    fn this_process_is_among_all_and_ticks_are_later_than_its_start() {
        let own = all().find(|p| p.pid == std::process::id()).unwrap();
        assert!(!own.dead && own.lives());
        assert!(own.start > 0 && own.start <= ticks());
    }
}
