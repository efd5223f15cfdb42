//! A thread of its own for those who watch a run. The run goes before them: when all processors are at
//! work it is they who wait, and what they can't be told in time they are told to have missed.

use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Less than the run's own threads get.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The thread; it ends when this is dropped.
pub(crate) struct Apart {
    handle: Handle,
    _end: oneshot::Sender<()>,
}

impl Apart {
    /// Starts it. Where that fails, the run's own threads do its work too.
    pub(crate) fn start() -> Apart {
        let (end, ended) = oneshot::channel::<()>();
        let runtime = Builder::new_current_thread().enable_all().build();
        let handle = runtime.and_then(|runtime| {
            let handle = runtime.handle().clone();
            let work = move || {
                // Linux has a priority for each thread.
                #[cfg(target_os = "linux")]
                let _ = rustix::process::setpriority_process(None, NICENESS);
                runtime.block_on(async { drop(ended.await) });
                // Whoever is asked something by a thread of its own isn't waited for.
                runtime.shutdown_background();
            };
            thread::Builder::new().name("clients".into()).spawn(work)?;
            Ok(handle)
        });
        let handle = handle.unwrap_or_else(|e| {
            tracing::warn!("clients have no thread of their own: {e}");
            Handle::current()
        });
        Apart { handle, _end: end }
    }

    /// Where its tasks are spawned.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}
