//! The way to a service that is killed and comes again, at another port each time.

use std::io;
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex};
use std::time::Instant;

use crate::LIMIT;

/// Where the service is, while it is there.
#[derive(Default)]
pub struct Door {
    open: Mutex<Option<SocketAddr>>,
    changed: Condvar,
}

impl Door {
    /// It is there now, or gone.
    pub fn set(&self, at: Option<SocketAddr>) {
        *self.open.lock().unwrap() = at;
        self.changed.notify_all();
    }

    /// Waits until there is a service.
    pub fn wait(&self) -> SocketAddr {
        let open = self.open.lock().unwrap();
        let (open, late) = self
            .changed
            .wait_timeout_while(open, LIMIT, |open| open.is_none())
            .unwrap();
        assert!(!late.timed_out(), "no service comes any more");
        open.unwrap()
    }

    /// Asks until somebody answers.
    pub fn insist<T>(&self, mut ask: impl FnMut(SocketAddr) -> io::Result<T>) -> T {
        let until = Instant::now() + 2 * LIMIT;
        loop {
            match ask(self.wait()) {
                Ok(done) => return done,
                // Dead, and nobody has noticed it yet.
                Err(e) => assert!(Instant::now() < until, "{e}"),
            }
            std::thread::yield_now();
        }
    }
}
