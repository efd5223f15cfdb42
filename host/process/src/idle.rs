//! Signs of life, and what happens without them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::keeper::{EndedBy, Stopper};

/// When a child last gave a sign of life. Clones speak of the same child.
#[derive(Debug, Clone)]
pub(crate) struct Alive {
    started: Instant,
    /// Milliseconds since `started`.
    last: Arc<AtomicU64>,
    heard: Arc<AtomicBool>,
}

impl Alive {
    pub(crate) fn since(started: Instant) -> Self {
        Alive {
            started,
            last: Arc::default(),
            heard: Arc::default(),
        }
    }

    pub(crate) fn sign(&self) {
        let now = self.started.elapsed().as_millis() as u64;
        self.last.store(now, Ordering::Relaxed);
        self.heard.store(true, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.started + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

/// Ends a child that was silent for too long. Counts only while it is asked,
/// so that a slow reader isn't taken for a silent child.
#[derive(Debug)]
pub(crate) struct Idle {
    limit: Option<Duration>,
    startup: Option<Duration>,
    alive: Alive,
    stopper: Stopper,
    held: bool,
}

impl Idle {
    /// Without a byte for `limit`, or without a first one for `startup`. A limit of zero is none.
    pub(crate) fn new(
        limit: Option<Duration>,
        startup: Option<Duration>,
        alive: Alive,
        stopper: Stopper,
    ) -> Self {
        Idle {
            limit: limit.filter(|limit| !limit.is_zero()),
            startup: startup.filter(|limit| !limit.is_zero()),
            alive,
            stopper,
            held: false,
        }
    }

    /// Somebody else looks after it, and it may be silent; until then silence counts anew.
    pub(crate) fn hold(&mut self, held: bool) {
        if self.held && !held {
            self.alive.sign();
        }
        self.held = held;
    }

    /// When to call [`Self::check`]; None if there is no limit or its end was asked for.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.next().map(|(at, _)| at)
    }

    fn next(&self) -> Option<(Instant, EndedBy)> {
        if self.held || self.stopper.asked() {
            return None;
        }
        let idle = self.limit.and_then(|l| self.alive.last().checked_add(l));
        let unheard = self
            .startup
            .filter(|_| !self.alive.heard.load(Ordering::Relaxed));
        let startup = unheard.and_then(|l| self.alive.started.checked_add(l));
        let both = [
            startup.map(|at| (at, EndedBy::Startup)),
            idle.map(|at| (at, EndedBy::Idle)),
        ];
        both.into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Asks for the child's end if the deadline is over; there may have been a
    /// sign of life since it was set.
    pub(crate) fn check(&self) {
        if let Some((at, why)) = self.next()
            && at <= Instant::now()
        {
            self.stopper.end(why);
        }
    }
}
