//! How a run is asked to end, from a signal or another thread.

use ralph_engine::state::Stop;
use tokio::sync::watch;

use crate::console::Console;

/// The asking side.
#[derive(Clone)]
pub struct Control {
    tx: watch::Sender<Option<Stop>>,
    console: Console,
}

/// The listening side.
#[derive(Clone)]
pub struct Stopping {
    rx: watch::Receiver<Option<Stop>>,
    console: Console,
}

impl Control {
    /// A pair of both sides.
    pub fn new() -> (Control, Stopping) {
        let (tx, rx) = watch::channel(None);
        let console = Console::default();
        let listening = Stopping {
            rx,
            console: console.clone(),
        };
        (Control { tx, console }, listening)
    }

    /// Where a person works with the agents of the run.
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// Asks. A weaker wish never takes back a stronger one.
    pub fn stop(&self, how: Stop) {
        self.tx.send_modify(|now| *now = (*now).max(Some(how)));
    }
}

impl Stopping {
    /// See [`Control::console`].
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// What is wished.
    pub fn asked(&self) -> Option<Stop> {
        *self.rx.borrow()
    }

    /// At once?
    pub fn forced(&self) -> bool {
        self.asked() == Some(Stop::Force)
    }

    /// Waits until the run is to end at once; for ever if nobody can ask any more.
    pub async fn force(&self) {
        let mut rx = self.rx.clone();
        if rx.wait_for(|s| *s == Some(Stop::Force)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the run is to end in any way.
    pub async fn any(&self) {
        let mut rx = self.rx.clone();
        if rx.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
