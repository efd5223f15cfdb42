//! The first snapshot of a run, begun before it is asked for: git looks at the files while the journal is
//! read and the run's start is recorded.

use std::time::{Duration, Instant};

use ralph_workspace::{Git, GitError, Snapshot};
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::setup::Setup;

/// What was begun longer ago isn't taken: somebody may have worked in the files since.
const AHEAD_MAX: Duration = Duration::from_millis(250);

/// One that is being taken, or none.
#[derive(Default)]
pub(crate) struct Ahead(Option<(Instant, JoinHandle<Result<Snapshot, GitError>>)>);

impl Ahead {
    /// To be called once the project is this process's own. Nothing is begun where the run itself
    /// changes files before its first iteration.
    pub(crate) fn begin(setup: &Setup) -> Ahead {
        let alone = setup.workers.is_none() && setup.worker.is_none();
        let changes = setup.rules.mark_last || setup.project.config.git.branch.is_some();
        let runtime = tokio::runtime::Handle::try_current();
        let (Ok(runtime), true, false) = (runtime, alone, changes) else {
            return Ahead::default();
        };
        let git = setup.git.clone();
        let taken = runtime.spawn(async move { git.snapshot().await });
        Ahead(Some((Instant::now(), taken)))
    }

    /// That one if it is young enough, else a new one.
    pub(crate) async fn or_now(mut self, git: &Git) -> Result<Snapshot, Error> {
        if let Some((since, taken)) = &mut self.0
            && since.elapsed() < AHEAD_MAX
            && let Ok(taken) = taken.await
        {
            return Ok(taken?);
        }
        Ok(git.snapshot().await?)
    }
}

impl Drop for Ahead {
    /// Its git ends with it.
    fn drop(&mut self) {
        if let Some((_, taken)) = &self.0 {
            taken.abort();
        }
    }
}
