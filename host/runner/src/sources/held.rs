//! A tracker as a worker in a worktree sees it: what it says of its task holds in there, until its
//! work is merged. Only that a task is open (again) is said at once, so that nothing an agent did to it
//! stands.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ralph_engine::tasks::{Ids, NewTask};
use ralph_engine::types::TaskState;
use ralph_workspace::Workspace;

use super::{Claimed, Outcome, Source, Tasks};
use crate::error::Error;
use crate::names::Places;

/// Another source, with marks of its own over it.
pub struct Held {
    inner: Arc<dyn Source>,
    marks: Mutex<BTreeMap<String, TaskState>>,
}

impl Held {
    /// Without any mark yet.
    pub fn new(inner: Arc<dyn Source>) -> Held {
        Held {
            inner,
            marks: Mutex::default(),
        }
    }

    fn marks(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, TaskState>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Source for Held {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn file(&self) -> Option<&str> {
        None
    }

    fn own(&self) -> Vec<String> {
        self.inner.own()
    }

    async fn load(&self, ids: &Ids) -> Result<Tasks, Error> {
        let mut tasks = self.inner.load(ids).await?;
        for (id, state) in self.marks().iter() {
            Arc::make_mut(&mut tasks.list).set(id, *state);
        }
        Ok(tasks)
    }

    async fn apply(&self, ids: &Ids, id: &str, outcome: &Outcome) -> Result<bool, Error> {
        if *outcome == Outcome::Open {
            self.marks().remove(id);
            return self.inner.apply(ids, id, outcome).await;
        }
        self.marks().insert(id.to_owned(), outcome.state());
        Ok(true)
    }

    async fn add(&self, ids: &Ids, new: &NewTask, after: Option<&str>) -> Result<String, Error> {
        self.inner.add(ids, new, after).await
    }

    async fn begin(&self, id: &str, places: &Places) -> Result<(), Error> {
        self.inner.begin(id, places).await
    }

    async fn claimed(&self, ids: &Ids, id: &str, places: &Places) -> Result<Claimed, Error> {
        self.inner.claimed(ids, id, places).await
    }

    fn beside(self: Arc<Self>, _ws: &Workspace) -> Arc<dyn Source> {
        self
    }
}
