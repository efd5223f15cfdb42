//! Programs that a dead host has left at work though nobody keeps a record of them: git, above all,
//! which is started too often for one. They bear their host in their environment.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, Instant};

use crate::leftover::reap_leftover;
use crate::procfs::{self, Process};

/// What a program bears that may be waited for by [`settle`]: this process, and `of`, what it works at.
pub fn signature(of: &OsStr) -> Option<OsString> {
    let own = procfs::one(std::process::id())?;
    let mut value = format!("{}.{}:", own.pid, own.start).into_bytes();
    value.extend_from_slice(of.as_bytes());
    Some(OsString::from_vec(value))
}

/// Processes of this program whose variable is the [`signature`] of a host that is dead are given
/// `patience` to end, and then ended with what they have started (SIGTERM,
/// [`DEFAULT_GRACE`](crate::DEFAULT_GRACE), SIGKILL). Only leaders of a process group within a session are
/// looked for, as the host has started them. Blocks that long. Says how many there were.
pub fn settle(program: &str, variable: &str, of: &OsStr, patience: Duration) -> usize {
    let found: Vec<Process> = procfs::all()
        .filter(|p| p.is_called(program) && is_orphan(p, variable, of))
        .collect();
    let deadline = Instant::now() + patience;
    for orphan in &found {
        if !orphan.wait(deadline) {
            reap_leftover(orphan.pid, orphan.start);
        }
    }
    found.len()
}

fn is_orphan(p: &Process, variable: &str, of: &OsStr) -> bool {
    if p.dead || p.group != p.pid || p.session == p.pid {
        return false;
    }
    let Some(value) = p.variable(variable) else {
        return false;
    };
    let Some(host) = value.strip_suffix(of.as_bytes()) else {
        return false;
    };
    let host = std::str::from_utf8(host)
        .ok()
        .and_then(|h| h.strip_suffix(':'));
    let Some((Ok(pid), Ok(start))) = host
        .and_then(|h| h.split_once('.'))
        .map(|(pid, start)| (pid.parse::<u32>(), start.parse::<u64>()))
    else {
        return false;
    };
    // In a container inside of ours the host has another number there than here.
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let dead = procfs::one(pid).is_none_or(|host| host.start != start || host.dead);
    dead && namespace(&p.pid.to_string()) == namespace("self")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    use super::*;

    const VARIABLE: &str = "RALPH_TEST_ORPHAN";
    const LONG: Duration = Duration::from_secs(60);

    fn at_work(value: &OsStr, group: i32) -> Child {
        let mut command = Command::new("sleep");
        command
            .arg("60")
            .env(VARIABLE, value)
            .process_group(group)
            .spawn()
            .unwrap()
    }

    fn of_a_dead_host(of: &str) -> OsString {
        let mut host = Command::new("sleep").arg("60").spawn().unwrap();
        let start = procfs::one(host.id()).unwrap().start;
        host.kill().unwrap();
        host.wait().unwrap();
        format!("{}.{start}:{of}", host.id()).into()
    }

    #[test]
    fn only_a_dead_hosts_programs_at_the_same_work_are_ended() {
        let dead = of_a_dead_host("/a");
        let mut orphan = at_work(&dead, 0);
        let mut other = Command::new("tail");
        other
            .args(["-f", "/dev/null"])
            .env(VARIABLE, &dead)
            .process_group(0);
        let mut others = [
            at_work(&signature(OsStr::new("/a")).unwrap(), 0),
            at_work(&of_a_dead_host("/b"), 0),
            at_work(OsStr::new("nonsense:/a"), 0),
            other.spawn().unwrap(),
            // Part of another's group.
            at_work(&dead, rustix::process::getpgrp().as_raw_nonzero().get()),
        ];
        assert_eq!(
            settle("sleep", VARIABLE, OsStr::new("/a"), Duration::ZERO),
            1
        );
        assert!(!orphan.wait().unwrap().success());
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }

    #[test]
    fn one_that_ends_in_time_is_let_be() {
        let mut orphan = Command::new("sh")
            .args(["-c", "read go; exit 7"])
            .env(VARIABLE, of_a_dead_host("/c"))
            .stdin(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let stdin = orphan.stdin.take();
        let settling = std::thread::spawn(|| settle("sh", VARIABLE, OsStr::new("/c"), LONG));
        drop(stdin);
        assert_eq!(orphan.wait().unwrap().code(), Some(7));
        // It may have been looked for after its end.
        assert!(settling.join().unwrap() <= 1);
    }
}
