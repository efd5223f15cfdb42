//! The clocks of a plugin that was not granted the real one.
//!
//! The wall clock stands at the iteration's start. The monotonic clock moves by
//! 1 µs each time it is read, and a wait moves it by as long as it was to last and
//! is over at once. So the same guest reads the same times, one that waits for a
//! time to pass comes to it, and none can hold up the loop by sleeping.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wasmtime::component::Resource;
use wasmtime_wasi::clocks::WasiClocksView;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::Host;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};
use wasmtime_wasi::{HostWallClock, async_trait};

use crate::state::State;

/// What one reading takes, in nanoseconds.
const STEP: u64 = 1_000;

/// A wall clock that never moves.
pub(crate) struct StandingClock(Duration);

impl StandingClock {
    pub(crate) fn new(time: SystemTime) -> Self {
        StandingClock(time.duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

impl HostWallClock for StandingClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

/// A wait that is over.
struct Over;

#[async_trait]
impl Pollable for Over {
    async fn ready(&mut self) {}
}

impl State {
    fn wait_over(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let over = self.table.push(Over)?;
        subscribe(&mut self.table, over)
    }
}

/// Takes the place of wasmtime-wasi's own, and hands on to it if the real clock is granted.
impl Host for State {
    fn now(&mut self) -> wasmtime::Result<u64> {
        match &mut self.virtual_ns {
            None => Host::now(&mut self.clocks()),
            Some(now) => {
                *now = now.saturating_add(STEP);
                Ok(*now)
            }
        }
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        match self.virtual_ns {
            None => Host::resolution(&mut self.clocks()),
            Some(_) => Ok(STEP),
        }
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        match &mut self.virtual_ns {
            None => Host::subscribe_instant(&mut self.clocks(), when),
            Some(now) => {
                *now = when.max(*now);
                self.wait_over()
            }
        }
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        match &mut self.virtual_ns {
            None => Host::subscribe_duration(&mut self.clocks(), duration),
            Some(now) => {
                *now = now.saturating_add(duration);
                self.wait_over()
            }
        }
    }
}
