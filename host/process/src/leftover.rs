//! What a host that died has left behind.

use std::collections::BTreeSet;

use crate::procfs::{self, Process};
use crate::spawn::DEFAULT_GRACE;
use crate::tree::{Deaths, Found, Purpose, descend, kill, terminate};

/// Ticks between the marker's time and the start time of the child that bears
/// it. Should another child of a dead host fit as well, it is a leftover too.
const MARKER_TOLERANCE: u64 = 200;

/// Ends what is left of a child of a host that died: the process with this pid
/// if its start time still fits, and whatever came from it, also when it is
/// itself gone. SIGTERM, [`DEFAULT_GRACE`], SIGKILL; blocks that long. True if
/// there was anything.
pub fn reap_leftover(pid: u32, start_time: u64) -> bool {
    let own = std::process::id();
    if pid == own || start_time == 0 {
        return false;
    }
    let lines = lineage(own);
    let walk = |found: &mut Found, purpose: Purpose| {
        let dead = descend(found, purpose, |p| {
            let fits = p.pid == pid && p.start == start_time;
            let member = p.session == pid && p.start >= start_time && one_fits(pid, start_time);
            (fits || member || is_leftover(p, start_time)) && !lines.contains(&p.pid)
        });
        lines.iter().for_each(|own| {
            found.remove(own);
        });
        Deaths { dead, buried: 0 }
    };
    let mut found = Found::new();
    let before = walk(&mut found, Purpose::Look);
    if found.is_empty() {
        return false;
    }
    terminate(&found, DEFAULT_GRACE);
    kill(found, Some(before), walk);
    true
}

/// This process and its ancestors.
fn lineage(own: u32) -> BTreeSet<u32> {
    let mut lines = BTreeSet::new();
    let mut next = Some(own);
    while let Some(pid) = next.filter(|pid| *pid != 0) {
        next = lines
            .insert(pid)
            .then(|| procfs::one(pid))
            .flatten()
            .map(|p| p.parent);
    }
    lines
}

fn one_fits(pid: u32, start: u64) -> bool {
    procfs::one(pid).is_some_and(|p| p.start == start)
}

/// Does it bear the marker of a child that started at that time, and is the
/// host which wrote it dead?
fn is_leftover(p: &Process, start_time: u64) -> bool {
    if p.start < start_time {
        return false;
    }
    let Some(chain) = p.marker() else {
        return false;
    };
    chain.split(',').any(|marker| {
        let mut parts = marker.split('.').map(|part| part.parse::<u64>().ok());
        let (host, born, at) = (parts.next(), parts.next(), parts.nth(1));
        let (Some(Some(host)), Some(Some(born)), Some(Some(at))) = (host, born, at) else {
            return false;
        };
        let near = at <= start_time && start_time - at <= MARKER_TOLERANCE;
        near && u32::try_from(host).is_ok_and(|host| !one_fits(host, born))
    })
}
