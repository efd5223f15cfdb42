//! One task per child that waits for its end, and brings it about when the
//! time is over or somebody asks.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::tree::Root;

/// What brought about the end of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// It came to its own end, a signal from elsewhere included.
    Itself,
    /// [`crate::Spawn::timeout`].
    Timeout,
    /// [`crate::Spawn::idle_timeout`].
    Idle,
    /// [`crate::Spawn::startup_timeout`].
    Startup,
    /// [`Stopper::stop`].
    Stopped,
}

/// Asks for the end of a child and all its descendants: SIGTERM, the grace,
/// SIGKILL. Can be cloned, sent, and used at any time, also after the end.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<Option<EndedBy>>>);

impl Stopper {
    pub(crate) fn new() -> Self {
        Stopper(Arc::new(watch::Sender::new(None)))
    }

    /// Returns at once; [`crate::Running::finish`] tells when it is done.
    pub fn stop(&self) {
        self.end(EndedBy::Stopped);
    }

    pub(crate) fn asked(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// The first reason stays.
    pub(crate) fn end(&self, reason: EndedBy) {
        self.0.send_if_modified(|asked| {
            let first = asked.is_none();
            if first {
                *asked = Some(reason);
            }
            first
        });
    }
}

/// A child's end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) at: Instant,
    /// None if the system could not tell.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) by: EndedBy,
}

/// Owns the child until it has ended and says so on the channel it returns.
pub(crate) fn keep(
    mut child: Child,
    root: Arc<Root>,
    stopper: &Stopper,
    timeout: Option<Duration>,
    grace: Duration,
) -> watch::Receiver<Option<End>> {
    let (told, ended) = watch::channel(None);
    let mut asked = stopper.0.subscribe();
    let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
    tokio::spawn(async move {
        let by = tokio::select! {
            biased;
            status = child.wait() => {
                let _ = told.send(Some(End { at: Instant::now(), status: known(status), by: EndedBy::Itself }));
                return;
            }
            reason = asked.wait_for(Option::is_some) => match reason {
                Ok(reason) => reason.unwrap_or(EndedBy::Stopped),
                // Nobody is left who could ask or would listen.
                Err(_) => EndedBy::Stopped,
            },
            () = at(deadline) => EndedBy::Timeout,
        };
        // Walking /proc and waiting on pidfds blocks; it also goes on to its
        // end if this task is dropped with its runtime.
        let ending = root.clone();
        let end = tokio::task::spawn_blocking(move || ending.end(grace));
        if let Err(error) = end.await {
            tracing::error!(%error, "ending an agent's processes failed; only the first is killed");
            let _ = child.start_kill();
        }
        let status = known(child.wait().await);
        // Not before: a child that nobody registered is an orphan to others, who would bury it.
        drop(root);
        let _ = told.send(Some(End {
            at: Instant::now(),
            status,
            by,
        }));
    });
    ended
}

fn known(status: std::io::Result<ExitStatus>) -> Option<ExitStatus> {
    status
        .inspect_err(|error| tracing::warn!(%error, "a child's exit code is lost"))
        .ok()
}

/// Never, if there is no deadline.
pub(crate) async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
