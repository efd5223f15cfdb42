//! Runs that were read or written last, so that asking for one again costs no look at the disk. The
//! store is this process's alone, so nobody else can have changed them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Run;

const MAX: usize = 1024;

#[derive(Default)]
pub(super) struct Recent(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    runs: HashMap<String, Run>,
    /// Their ids, the oldest first.
    order: VecDeque<String>,
    /// How often one was written.
    writes: u64,
}

impl Recent {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run, or what [`Recent::read`] is to be told once it was read elsewhere.
    pub(super) fn get(&self, id: &str) -> Result<Run, u64> {
        let inner = self.inner();
        inner.runs.get(id).cloned().ok_or(inner.writes)
    }

    /// It was read. Should one have been written since, this may be what it was before.
    pub(super) fn read(&self, run: &Run, writes: u64) {
        let mut inner = self.inner();
        if inner.writes == writes {
            inner.put(run);
        }
    }

    /// It was written. To be called while nobody else writes.
    pub(super) fn written(&self, run: &Run) {
        let mut inner = self.inner();
        inner.writes += 1;
        inner.put(run);
    }

    /// Nobody knows how it is now.
    pub(super) fn forget(&self, id: &str) {
        let mut inner = self.inner();
        inner.writes += 1;
        inner.runs.remove(id);
        inner.order.retain(|known| known != id);
    }
}

impl Inner {
    fn put(&mut self, run: &Run) {
        if self.runs.insert(run.run_id.clone(), run.clone()).is_none() {
            self.order.push_back(run.run_id.clone());
        }
        if self.order.len() > MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.runs.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::store::{RunConfig, Status};

    fn run(id: &str, attempts: u32) -> Run {
        Run {
            run_id: id.to_owned(),
            workspace: "w".to_owned(),
            status: Status::Running,
            actor: "a".to_owned(),
            prompt_path: None,
            prompt_fingerprint: None,
            config: RunConfig::default(),
            created_at: String::new(),
            started_at: None,
            ended_at: None,
            duration_s: None,
            reason: None,
            error: None,
            early_stop_reason: None,
            convergence_score: None,
            attempts,
            branch: None,
            base: None,
            cancel_reason: None,
            prompt_changed: None,
        }
    }

    #[test]
    fn what_was_read_before_a_write_isn_t_kept_behind_it() {
        let recent = Recent::default();
        let writes = recent.get("r").unwrap_err();
        recent.written(&run("r", 2));
        recent.read(&run("r", 1), writes);
        assert_eq!(recent.get("r").unwrap().attempts, 2);
        recent.forget("r");
        let writes = recent.get("r").unwrap_err();
        recent.read(&run("r", 3), writes);
        assert_eq!(recent.get("r").unwrap().attempts, 3);
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let recent = Recent::default();
        for n in 0..=MAX {
            recent.written(&run(&n.to_string(), 1));
        }
        assert!(recent.get("0").is_err() && recent.get("1").is_ok());
        assert_eq!(recent.inner().runs.len(), MAX);
    }
}
