//! A number that everything a host has started bears and cannot shed.
//!
//! An environment can be emptied, a session and a parent left. A resource
//! limit is inherited by every process and can only be lowered, and one of
//! them, on file locks, means nothing to any kernel since Linux 2.4.25. So a
//! host picks a number at random, and each of its children gets one a little
//! below it as that limit. A ralph inside a ralph picks one below what it bears.

use std::fs;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// So many children have numbers of their own; then they are given again.
const CHILDREN: u64 = 1 << 20;

/// This host's number; None if what it bears itself leaves no room below.
pub(crate) fn host() -> Option<u64> {
    static HOST: OnceLock<Option<u64>> = OnceLock::new();
    *HOST.get_or_init(|| {
        let most = getrlimit(Resource::Locks).maximum.unwrap_or(u64::MAX);
        let half = most.min(1 << 62) / 2;
        let mut bytes = [0; 8];
        let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let random = u64::from_le_bytes(bytes);
        (filled == Ok(8) && half > 4 * CHILDREN).then(|| half + random % half)
    })
}

/// The number for the next child.
pub(crate) fn child() -> Option<u64> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed) % CHILDREN;
    host().map(|host| host - 1 - nth)
}

/// All that a host with this number and its children bear.
pub(crate) fn of_host(host: u64) -> RangeInclusive<u64> {
    host.saturating_sub(CHILDREN)..=host
}

/// Has this process bear it; only a system call. A kernel that refuses leaves
/// it unmarked, and then the other signs have to do.
pub(crate) fn bear(mark: u64) {
    let limit = Rlimit {
        current: Some(mark),
        maximum: Some(mark),
    };
    let _ = setrlimit(Resource::Locks, limit);
}

/// What a process bears; None if it is unmarked or doesn't let us look.
pub(crate) fn on(pid: u32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max file locks"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_bear_different_numbers_of_their_host_s() {
        let host = host();
        let (one, two) = (child(), child());
        assert!(host.is_some() && one != two);
        for mark in [host, one, two] {
            let all = host.map(of_host);
            assert!(mark.zip(all).is_some_and(|(mark, all)| all.contains(&mark)));
        }
    }
}
