//! Finding and ending everything that came from one child.
//!
//! This process makes itself the one that adopts orphans. So a descendant is
//! always found by going down from the child itself or from one of this
//! process's own children. Which of several children an adopted orphan came
//! from shows in its session, in the mark that it bears ([`crate::mark`]) or in
//! the marker in its environment. Where a kernel has no marks, one that has shed
//! the rest is ended with the last child that was alive beside it. (So a program
//! that other code of this process starts *in a session of its own* while a
//! child runs would be taken there for such an orphan. What it starts in our own
//! session is never touched.)

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::mark;
use crate::procfs::{self, Process};
use crate::spawn::MARKER;
use crate::warden;

/// Rounds of stop, walk and kill; each catches what was forked in the one before.
const ROUNDS: usize = 64;

/// How long the kernel may take to carry out SIGKILL.
const KILL_WAIT: Duration = Duration::from_secs(1);

/// The children that are running.
#[derive(Debug, Default)]
struct Registry {
    /// Marker by pid.
    roots: BTreeMap<u32, String>,
    /// [`order`] of the oldest of those that were alive side by side.
    since: (u64, u32),
    /// Adopted orphans, dead, that were waited for.
    buried: u64,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    roots: BTreeMap::new(),
    since: (0, 0),
    buried: 0,
});

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has orphaned descendants adopted by this process instead of by init.
pub(crate) fn adopt_orphans() {
    warden::settle();
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%error, "orphans of agents will not be adopted");
    }
}

/// A child of this process and all that comes from it.
#[derive(Debug)]
pub(crate) struct Root {
    pid: u32,
    start: u64,
    marker: String,
    /// Not there if the kernel refused it.
    mark: Option<u64>,
    /// [`Registry::buried`] when it started.
    buried: u64,
}

/// Those found so far, by pid.
pub(crate) type Found = BTreeMap<u32, Process>;

/// This process's dead children, and how many there were before.
#[derive(Debug)]
pub(crate) struct Deaths {
    pub(crate) dead: BTreeSet<u32>,
    pub(crate) buried: u64,
}

impl Deaths {
    /// Has anything died meanwhile? It may have forked before.
    fn are_new_since(&self, before: &Deaths) -> bool {
        !self.dead.is_subset(&before.dead) || self.buried != before.buried
    }
}

impl Root {
    /// Starts a child and enters it in the registry. `spawn` is given the value
    /// for [`MARKER`], and the mark to bear.
    pub(crate) fn register<T>(
        spawn: impl FnOnce(&str, Option<u64>) -> io::Result<(T, u32)>,
    ) -> io::Result<(T, Root)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let host = std::process::id();
        let host_start = procfs::one(host).map_or(0, |p| p.start);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let marker = format!("{host}.{host_start}.{number}.{}", procfs::ticks());
        // A ralph inside an agent of another ralph is still found by the outer one.
        let chain = match std::env::var(MARKER) {
            Ok(outer) => format!("{outer},{marker}"),
            Err(_) => marker.clone(),
        };
        // Held over the fork: before its exec a child looks like an orphan of nobody.
        let mut registry = registry();
        let mark = mark::child();
        let (child, pid) = spawn(&chain, mark)?;
        let mark = mark.filter(|mark| mark::on(pid) == Some(*mark));
        let start = procfs::one(pid).map_or(0, |p| p.start);
        if registry.roots.is_empty() {
            registry.since = (start, pid);
        }
        registry.roots.insert(pid, marker.clone());
        let buried = registry.buried;
        let root = Root {
            pid,
            start,
            marker,
            mark,
            buried,
        };
        Ok((child, root))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn start_time(&self) -> u64 {
        self.start
    }

    /// Can there be anything left? One system call; false is certain, and the
    /// usual answer after the child's end.
    pub(crate) fn has_strays(&self) -> bool {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(
            rustix::process::waitid(WaitId::All, peek),
            Err(rustix::io::Errno::CHILD)
        )
    }

    /// SIGTERM to all, then SIGKILL to those that live after `grace`. Blocks.
    pub(crate) fn end(&self, grace: Duration) {
        let mut found = Found::new();
        let before = self.walk(&mut found, Purpose::Look);
        // The usual case beside other children: nobody there, and no trace of
        // anybody who may have forked before the walk came by.
        if found.is_empty() && before.dead.is_empty() && before.buried == self.buried {
            return;
        }
        terminate(&found, grace);
        self.kill_found(found, Some(before));
    }

    /// SIGKILL to all. Blocks for some milliseconds.
    pub(crate) fn kill(&self) {
        self.kill_found(Found::new(), None);
    }

    fn kill_found(&self, found: Found, before: Option<Deaths>) {
        kill(found, before, |found, purpose| self.walk(found, purpose));
        reap(&mut registry());
    }

    /// See [`descend`].
    fn walk(&self, found: &mut Found, purpose: Purpose) -> Deaths {
        // Held, so that a child that is being forked meanwhile isn't taken for a stray.
        let registry = registry();
        let host = std::process::id();
        let session = procfs::own_session();
        let dead = descend(found, purpose, |p| {
            (p.pid == self.pid && p.start == self.start)
                || (p.parent == host && p.session != session && self.owns(p, &registry))
        });
        found.remove(&host);
        Deaths {
            dead,
            buried: registry.buried,
        }
    }

    /// Is this child of our process, not started as a root itself, from this root?
    fn owns(&self, p: &Process, registry: &Registry) -> bool {
        if registry.roots.contains_key(&p.pid) || order(p) < (self.start, self.pid) {
            return false;
        }
        if p.session == self.pid {
            return true;
        }
        let marks = (self.mark, mark::on(p.pid));
        if let (Some(mark), Some(found)) = marks
            && mark == found
        {
            return true;
        }
        // One that bears another's mark is that other's, whatever it has shed.
        let unmarked = marks.0.is_none() || marks.1.is_none();
        let last = unmarked && registry.roots.keys().all(|pid| *pid == self.pid);
        match p.marker() {
            Some(chain) if bears(&chain, &self.marker) => true,
            Some(chain) if registry.roots.values().any(|marker| bears(&chain, marker)) => false,
            _ => last && order(p) >= registry.since,
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        registry().roots.remove(&self.pid);
    }
}

/// Which came first: start times are hundredths of a second, and within one
/// pids are given in order.
fn order(p: &Process) -> (u64, u32) {
    (p.start, p.pid)
}

fn bears(chain: &str, marker: &str) -> bool {
    chain.split(',').any(|one| one == marker)
}

/// What a walk is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Look,
    /// Those from which the walk starts are stopped the moment they are seen:
    /// one that hands on its life from process to process is elsewhere later.
    Stop,
}

/// Adds to `found` all live processes for which `first` holds and all that come
/// from them or from those found before; takes out the dead. Returns this
/// process's dead children.
pub(crate) fn descend(
    found: &mut Found,
    purpose: Purpose,
    first: impl Fn(&Process) -> bool,
) -> BTreeSet<u32> {
    let host = std::process::id();
    let mut dead = BTreeSet::new();
    let mut begin = BTreeSet::new();
    let mut living = BTreeMap::new();
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for p in procfs::all() {
        if p.dead {
            dead.extend((p.parent == host).then_some(p.pid));
            continue;
        }
        if first(&p) {
            begin.insert(p.pid);
            if purpose == Purpose::Stop && !found.contains_key(&p.pid) {
                p.signal(Signal::STOP);
            }
        }
        children.entry(p.parent).or_default().push(p.pid);
        living.insert(p.pid, p);
    }
    found.retain(|pid, p| living.get(pid).is_some_and(|now| now.start == p.start));
    let mut next: Vec<u32> = found.keys().copied().chain(begin).collect();
    let mut seen = BTreeSet::new();
    while let Some(pid) = next.pop() {
        if seen.insert(pid) {
            next.extend(children.get(&pid).into_iter().flatten());
            found.extend(living.get(&pid).map(|p| (pid, *p)));
        }
    }
    dead
}

/// SIGTERM, and the grace.
pub(crate) fn terminate(found: &Found, grace: Duration) {
    for p in found.values() {
        p.signal(Signal::TERM);
        // One that is stopped would not see the other signal.
        p.signal(Signal::CONT);
    }
    let deadline = Instant::now() + grace;
    let _ = found.values().all(|p| p.wait(deadline));
}

/// Stops all, walks again until nobody new turns up and nobody has died since
/// the walk before, kills them, and looks whether it is true.
pub(crate) fn kill(
    mut found: Found,
    mut before: Option<Deaths>,
    walk: impl Fn(&mut Found, Purpose) -> Deaths,
) {
    for _ in 0..ROUNDS {
        let mut stopped = BTreeSet::new();
        for _ in 0..ROUNDS {
            let deaths = walk(&mut found, Purpose::Stop);
            let restless = before
                .as_ref()
                .is_none_or(|before| deaths.are_new_since(before));
            before = Some(deaths);
            let fresh: Vec<_> = found.values().filter(|p| stopped.insert(p.pid)).collect();
            if fresh.is_empty() && !restless {
                break;
            }
            // What is stopped doesn't fork while the others are being found.
            fresh.iter().for_each(|p| p.signal(Signal::STOP));
        }
        if found.is_empty() {
            return;
        }
        found.values().for_each(|p| p.signal(Signal::KILL));
        let deadline = Instant::now() + KILL_WAIT;
        if !found.values().all(|p| p.wait(deadline)) {
            break;
        }
    }
    found.retain(|_, p| p.lives());
    if !found.is_empty() {
        let pids: Vec<_> = found.keys().collect();
        tracing::warn!(?pids, "these processes do not end when killed");
    }
}

/// Buries adopted orphans. A root is left to the one who waits for it, and
/// what is in our own session to whoever started it.
fn reap(registry: &mut Registry) {
    let host = std::process::id();
    let session = procfs::own_session();
    let orphans = procfs::all().filter(|p| {
        p.parent == host && p.dead && p.session != session && !registry.roots.contains_key(&p.pid)
    });
    let orphans: Vec<_> = orphans
        .filter_map(|p| Pid::from_raw(p.pid as i32))
        .collect();
    for pid in orphans {
        if let Ok(Some(_)) = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) {
            registry.buried += 1;
        }
    }
}
