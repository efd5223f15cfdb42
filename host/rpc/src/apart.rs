//! A thread of its own for clients: what one sends and is sent takes no change of threads. The run that they
//! watch goes before them: when all processors are at work it is they who wait, and what they can't be told in time they are told to have missed. At the
//! run's end nothing goes before them any more.

use std::sync::mpsc;
use std::thread;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

/// Less than the run's own threads get.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The thread; it ends when this is dropped.
pub(crate) struct Apart {
    handle: Handle,
    /// The thread that is at work goes on until this is dropped.
    end: Option<oneshot::Sender<()>>,
    /// The work, when the first thread has let go of it.
    handed: Option<mpsc::Receiver<Runtime>>,
}

impl Apart {
    /// Starts it, behind the others if it is to let them go first. Where that fails, their own threads do
    /// its work too.
    pub(crate) fn start(behind: bool) -> Apart {
        let (end, ended) = oneshot::channel::<()>();
        let (hand, handed) = mpsc::channel();
        let runtime = Builder::new_current_thread().enable_all().build();
        let handle = runtime.and_then(|runtime| {
            let handle = runtime.handle().clone();
            let work = move || {
                // Linux has a priority for each thread.
                #[cfg(target_os = "linux")]
                if behind {
                    let _ = rustix::process::setpriority_process(None, NICENESS);
                }
                runtime.block_on(async { drop(ended.await) });
                if let Err(mpsc::SendError(runtime)) = hand.send(runtime) {
                    // Whoever is asked something by a thread of its own isn't waited for.
                    runtime.shutdown_background();
                }
            };
            thread::Builder::new().name("clients".into()).spawn(work)?;
            Ok(handle)
        });
        let handle = handle.unwrap_or_else(|e| {
            tracing::warn!("clients have no thread of their own: {e}");
            Handle::current()
        });
        Apart {
            handle,
            end: Some(end),
            handed: Some(handed),
        }
    }

    /// Where its tasks are spawned.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Its work goes on with the priority of this thread. A priority that was given up can't be had
    /// back, so another thread takes over.
    pub(crate) fn hurry(&mut self) {
        let Some(handed) = self.handed.take() else {
            return;
        };
        let (end, ended) = oneshot::channel::<()>();
        let work = move || {
            if let Ok(runtime) = handed.recv() {
                runtime.block_on(async { drop(ended.await) });
                runtime.shutdown_background();
            }
        };
        if thread::Builder::new()
            .name("clients".into())
            .spawn(work)
            .is_ok()
        {
            self.end = Some(end);
        }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // Before the end, or the first thread would hand its work to nobody.
        self.handed.take();
        self.end.take();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn priority() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    #[tokio::test]
    async fn what_is_at_work_goes_on_elsewhere_when_it_hurries() {
        let mut apart = Apart::start(true);
        let handle = apart.handle().clone();
        let (go, wait) = oneshot::channel::<()>();
        let began = handle.spawn(async move {
            let first = thread::current().id();
            wait.await.unwrap();
            (first, thread::current().id())
        });
        let first = handle.spawn(async { thread::current().id() });
        let first = first.await.unwrap();
        apart.hurry();
        apart.hurry();
        while handle
            .spawn(async { thread::current().id() })
            .await
            .unwrap()
            == first
        {}
        go.send(()).unwrap();
        let (before, after) = began.await.unwrap();
        assert!(before == first && after != first);
        let hurried = handle.spawn(async { priority() }).await.unwrap();
        assert_eq!(hurried, priority());
    }
}
