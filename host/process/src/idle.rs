//! Signs of life, and what happens without them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::keeper::{EndedBy, Stopper};

/// When a child last gave a sign of life. Clones speak of the same child.
#[derive(Debug, Clone)]
pub(crate) struct Alive {
    started: Instant,
    /// Milliseconds since `started`.
    last: Arc<AtomicU64>,
}

impl Alive {
    pub(crate) fn since(started: Instant) -> Self {
        Alive {
            started,
            last: Arc::default(),
        }
    }

    pub(crate) fn sign(&self) {
        let now = self.started.elapsed().as_millis() as u64;
        self.last.store(now, Ordering::Relaxed);
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
    alive: Alive,
    stopper: Stopper,
}

impl Idle {
    /// A limit of zero is none.
    pub(crate) fn new(limit: Option<Duration>, alive: Alive, stopper: Stopper) -> Self {
        Idle {
            limit: limit.filter(|limit| !limit.is_zero()),
            alive,
            stopper,
        }
    }

    /// When to call [`Self::check`]; None if there is no limit or its end was asked for.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let limit = self.limit.filter(|_| !self.stopper.asked())?;
        self.alive.last().checked_add(limit)
    }

    /// Asks for the child's end if the deadline is over; there may have been a
    /// sign of life since it was set.
    pub(crate) fn check(&self) {
        if self
            .deadline()
            .is_some_and(|deadline| deadline <= Instant::now())
        {
            self.stopper.end(EndedBy::Idle);
        }
    }
}
