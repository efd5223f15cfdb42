//! Measures how long a guest computes.
//!
//! What counts is the processor time of the thread while it polls the guest: not
//! waiting for the host, not waiting for a turn on a busy machine.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Sleep, sleep};

use crate::ticker::Ticker;

/// Limits below are measured exactly from the start.
const SHORT_LIMIT: Duration = Duration::from_millis(200);

/// So much of a call is measured by the clock on the wall; twice as much is the
/// most that waiting for a turn can add.
const ROUGH: Duration = Duration::from_millis(5);

pub(crate) struct Meter {
    ticker: Arc<Ticker>,
    reading: Mutex<Reading>,
}

#[derive(Default)]
struct Reading {
    /// Sum over what is over.
    spent: Duration,
    /// When the current poll, or what is measured of it, began.
    since: Option<Since>,
    /// The thread's own time is asked for from now on.
    exact: bool,
    limit: Duration,
}

enum Since {
    Wall(Instant),
    Thread(Duration),
}

impl Reading {
    fn enter(&mut self) {
        self.since = Some(if self.exact {
            Since::Thread(now())
        } else {
            Since::Wall(Instant::now())
        });
    }

    fn leave(&mut self) {
        let spent = match self.since.take() {
            Some(Since::Thread(since)) => now().saturating_sub(since),
            Some(Since::Wall(since)) => since.elapsed().min(ROUGH),
            None => Duration::ZERO,
        };
        self.spent = self.spent.saturating_add(spent);
        self.exact |= self.spent >= ROUGH;
    }
}

/// The guest ran over its limit; travels through wasmtime as an error.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the time limit is over")]
pub(crate) struct Overtime;

/// The guest waited for too long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waited;

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
            exact: limit < SHORT_LIMIT,
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
        let mut reading = self.lock();
        // Who is looked at has computed for a tick, and gets the exact clock.
        reading.exact = true;
        if reading.since.is_some() {
            reading.leave();
            reading.enter();
        }
        if reading.spent > reading.limit {
            Err(Overtime)
        } else {
            Ok(())
        }
    }

    /// Drives a future in which a guest runs, and counts its time. What is not spent in
    /// the future is waiting, and may take so long.
    pub(crate) async fn inside<F: Future>(
        &self,
        wait: Duration,
        future: F,
    ) -> Result<F::Output, Waited> {
        let mut future = pin!(future);
        let (begun, mut worked) = (Instant::now(), Duration::ZERO);
        // Most calls never wait, and need no timer.
        let mut timer: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|cx| {
            let entered = Instant::now();
            let polled = {
                let _turn = Inside::new(self);
                future.as_mut().poll(cx)
            };
            worked += entered.elapsed();
            if let Poll::Ready(value) = polled {
                return Poll::Ready(Ok(value));
            }
            let timer = timer.get_or_insert_with(|| Box::pin(sleep(wait)));
            while timer.as_mut().poll(cx).is_ready() {
                let waited = begun.elapsed().saturating_sub(worked);
                match wait.checked_sub(waited) {
                    Some(left) if !left.is_zero() => {
                        timer.as_mut().reset(tokio::time::Instant::now() + left);
                    }
                    _ => return Poll::Ready(Err(Waited)),
                }
            }
            Poll::Pending
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
        self.lock().enter();
    }

    fn leave(&self) {
        self.lock().leave();
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
