//! A task file.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ralph_engine::tasks::{Ids, NewTask, Reader, TaskFile, TaskFileError};
use ralph_workspace::Workspace;

use super::{Claimed, Outcome, Source, Tasks, guard};
use crate::error::Error;
use crate::names::Places;

/// A task file may be this big.
pub(super) const MAX: u64 = 64 << 20;

/// A task file below a root.
pub struct FileSource {
    pub(super) ws: Workspace,
    pub(super) path: String,
    /// The bytes are read anew for every call; what they say is worked out when they have changed.
    reader: Mutex<Reader>,
}

impl FileSource {
    /// `path` is relative to the root.
    pub fn new(ws: &Workspace, path: String) -> FileSource {
        FileSource {
            ws: ws.clone(),
            path,
            reader: Mutex::default(),
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        self.ws
            .read(&self.path, MAX)?
            .ok_or_else(|| Error::Usage(format!("the task file {} is gone", self.path)))
    }

    fn read(&self, ids: &Ids) -> Result<Arc<TaskFile>, Error> {
        Ok(self.parse(&self.bytes()?, ids)?)
    }

    pub(super) fn parse(&self, bytes: &[u8], ids: &Ids) -> Result<Arc<TaskFile>, TaskFileError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.read(&self.path, bytes, ids)
    }
}

#[async_trait]
impl Source for FileSource {
    fn describe(&self) -> String {
        self.path.clone()
    }

    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn own(&self) -> Vec<String> {
        vec![self.path.clone()]
    }

    async fn load(&self, ids: &Ids) -> Result<Tasks, Error> {
        let file = self.read(ids)?;
        Ok(Tasks {
            ids: file.ids().clone(),
            list: file.shared_list(),
        })
    }

    /// Only the bytes that say so are changed.
    async fn apply(&self, ids: &Ids, id: &str, outcome: &Outcome) -> Result<bool, Error> {
        let file = self.read(ids)?;
        let to = outcome.state();
        match file.get(id) {
            None => Ok(false),
            Some(e) if e.state == to => Ok(true),
            Some(_) => {
                self.ws.write(&self.path, &file.set_state(id, to)?)?;
                Ok(true)
            }
        }
    }

    async fn add(&self, ids: &Ids, new: &NewTask, after: Option<&str>) -> Result<String, Error> {
        let (bytes, id) = self.read(ids)?.add(new, after)?;
        self.ws.write(&self.path, &bytes)?;
        Ok(id)
    }

    async fn begin(&self, _id: &str, places: &Places) -> Result<(), Error> {
        guard::keep(&self.ws, &self.bytes()?, places)
    }

    async fn claimed(&self, ids: &Ids, id: &str, places: &Places) -> Result<Claimed, Error> {
        guard::after_agent(self, places, id, ids)
    }

    fn beside(self: Arc<Self>, ws: &Workspace) -> Arc<dyn Source> {
        Arc::new(FileSource::new(ws, self.path.clone()))
    }
}
