//! Measures how long a guest computes.
//!
//! What counts is the processor time of the thread while it polls the guest: not
//! waiting for the host, not waiting for a turn on a busy machine.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::ticker::Ticker;

pub(crate) struct Meter {
    ticker: Arc<Ticker>,
    reading: Mutex<Reading>,
}

#[derive(Default)]
struct Reading {
    /// Sum over the polls that are over.
    spent: Duration,
    /// The thread's clock when the current poll began.
    since: Option<Duration>,
    limit: Duration,
}

/// The guest ran over its limit; travels through wasmtime as an error.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the time limit is over")]
pub(crate) struct Overtime;

impl Meter {
    pub(crate) fn new(ticker: Arc<Ticker>) -> Meter {
        Meter {
            ticker,
            reading: Mutex::default(),
        }
    }

    /// Starts from zero with a new limit.
    pub(crate) fn begin(&self, limit: Duration) {
        *self.lock() = Reading {
            limit,
            ..Reading::default()
        };
    }

    /// The limit of the call that is measured.
    pub(crate) fn limit(&self) -> Duration {
        self.lock().limit
    }

    /// To be called on the guest's thread.
    pub(crate) fn check(&self) -> Result<(), Overtime> {
        let reading = self.lock();
        let current = reading
            .since
            .map_or(Duration::ZERO, |since| now().saturating_sub(since));
        if reading.spent.saturating_add(current) > reading.limit {
            Err(Overtime)
        } else {
            Ok(())
        }
    }

    /// Drives a future in which a guest runs, and counts its time.
    pub(crate) async fn inside<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            let _turn = Inside::new(self);
            future.as_mut().poll(cx)
        })
        .await
    }

    /// Drives a future of the host from inside of a guest's; its time isn't counted.
    pub(crate) async fn outside<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            let _pause = Outside::new(self);
            future.as_mut().poll(cx)
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self) {
        self.ticker.enter();
        self.lock().since = Some(now());
    }

    fn leave(&self) {
        let mut reading = self.lock();
        if let Some(since) = reading.since.take() {
            reading.spent = reading.spent.saturating_add(now().saturating_sub(since));
        }
        drop(reading);
        self.ticker.leave();
    }
}

/// Guards, so that a panic in the host cannot leave the count wrong.
struct Inside<'a>(&'a Meter);

impl<'a> Inside<'a> {
    fn new(meter: &'a Meter) -> Self {
        meter.enter();
        Inside(meter)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

struct Outside<'a>(&'a Meter);

impl<'a> Outside<'a> {
    fn new(meter: &'a Meter) -> Self {
        meter.leave();
        Outside(meter)
    }
}

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.enter();
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
