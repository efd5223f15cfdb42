//! The thread that advances the engine's epoch, so that guests can be interrupted.
//!
//! It ticks while some guest is computing and for a moment after, since waking it up
//! costs the next call more than that, and sleeps without waking otherwise: a `ralph`
//! that waits for an agent costs nothing.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// Time between two looks at whether a guest has computed for too long.
const TICK: Duration = Duration::from_millis(10);

/// So many ticks pass without a guest before the thread goes to sleep.
const LINGER: u32 = 10;

/// Name of the thread, as `/proc` and debuggers show it.
const NAME: &str = "ralph-epoch";

/// Ends its thread when dropped.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Guests that are computing right now.
    computing: usize,
    /// The thread waits without a timeout.
    parked: bool,
    stop: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticker {
    /// Starts the thread. It holds the engine weakly.
    pub(crate) fn start(engine: &Engine) -> io::Result<Ticker> {
        let shared = Arc::new(Shared::default());
        let (theirs, engine) = (shared.clone(), engine.weak());
        let thread = Builder::new()
            .name(NAME.into())
            .spawn(move || tick(&theirs, &engine))?;
        Ok(Ticker {
            shared,
            thread: Some(thread),
        })
    }

    /// A guest begins to compute on this thread.
    pub(crate) fn enter(&self) {
        let mut state = self.shared.lock();
        state.computing += 1;
        if state.parked {
            state.parked = false;
            self.shared.changed.notify_one();
        }
    }

    /// It stopped computing, for good or to wait.
    pub(crate) fn leave(&self) {
        let mut state = self.shared.lock();
        state.computing = state.computing.saturating_sub(1);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It only fails if the thread panicked, and then it is gone as well.
            let _ = thread.join();
        }
    }
}

fn tick(shared: &Shared, engine: &EngineWeak) {
    let mut quiet = 0;
    loop {
        let mut state = shared.lock();
        quiet = if state.computing == 0 { quiet + 1 } else { 0 };
        if quiet > LINGER {
            quiet = 0;
            state.parked = true;
            state = shared
                .changed
                .wait_while(state, |state| state.parked && !state.stop)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let (state, _) = shared
            .changed
            .wait_timeout_while(state, TICK, |state| !state.stop)
            .unwrap_or_else(PoisonError::into_inner);
        if state.stop {
            return;
        }
        drop(state);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}
