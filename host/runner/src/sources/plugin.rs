//! Tasks that a component keeps.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ralph_engine::tasks::{Entry, Ids, NewTask, TaskList};
use ralph_engine::types::TaskState;
use ralph_plugins::{Kind, Tracked};
use ralph_workspace::Workspace;
use tokio::sync::OnceCell;

use super::held::Held;
use super::{Claimed, Outcome, Source, Tasks};
use crate::acting::{Acting, host};
use crate::error::Error;
use crate::names::Places;
use crate::project::Project;

/// What the tracker says of a task that it shouldn't is shown to this length.
const SHOWN: usize = 300;

/// The tasks of a tracker component.
pub struct PluginSource {
    project: Project,
    name: String,
    patience: Duration,
    acting: OnceCell<Acting>,
}

impl PluginSource {
    /// The plugin that `[tasks] plugin` names. It is loaded when it is first asked.
    pub fn new(project: &Project) -> PluginSource {
        let tasks = &project.config.tasks;
        PluginSource {
            name: tasks.plugin.clone(),
            patience: tasks.timeout.get(),
            project: project.clone(),
            acting: OnceCell::new(),
        }
    }

    async fn acting(&self) -> Result<&Acting, Error> {
        let made = || async {
            Acting::new(
                &self.project,
                host()?,
                Kind::Tracker,
                &self.name,
                self.patience,
            )
            .await
        };
        self.acting.get_or_try_init(made).await
    }

    /// Within `[tasks] timeout`, waiting for the host included.
    async fn timely<T>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, ralph_plugins::PluginError>>,
    ) -> Result<T, Error> {
        match tokio::time::timeout(self.patience, call).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(Error::Usage(format!(
                "tracker {:?}: `{what}` gave no answer within {} s; raise `timeout` in [tasks]",
                self.name,
                self.patience.as_secs()
            ))),
        }
    }
}

#[async_trait]
impl Source for PluginSource {
    fn describe(&self) -> String {
        format!("the tracker {}", self.name)
    }

    fn file(&self) -> Option<&str> {
        None
    }

    /// Directories that it may write are where it keeps what it knows.
    fn own(&self) -> Vec<String> {
        let table = self.project.config.plugins.get(&self.name);
        let write = table.map(|t| t.allow.write.as_slice()).unwrap_or_default();
        let plain = |dir: &String| {
            dir.trim_start_matches("./")
                .trim_end_matches('/')
                .to_owned()
        };
        let own = write
            .iter()
            .map(plain)
            .filter(|dir| !dir.is_empty() && dir != ".");
        own.collect()
    }

    async fn load(&self, ids: &Ids) -> Result<Tasks, Error> {
        let acting = self.acting().await?;
        let ctx = acting.context();
        let found = self.timely("load", acting.plugin().tracked(&ctx)).await?;
        let entry = |(task, state)| Entry {
            task,
            state,
            line: 0,
            notes: String::new(),
        };
        let entries: Vec<Entry> = found.into_iter().map(entry).collect();
        let name = self.describe();
        let list = TaskList::of(&name, entries, Vec::new()).map_err(|why| {
            Error::Usage(format!(
                "{name}: {}",
                ralph_engine::text::one_line(&why, SHOWN)
            ))
        })?;
        Ok(Tasks {
            list: Arc::new(list),
            ids: ids.clone(),
        })
    }

    async fn apply(&self, _ids: &Ids, id: &str, outcome: &Outcome) -> Result<bool, Error> {
        let became = match outcome.clone() {
            Outcome::Open => Tracked::Open,
            Outcome::Done { commit, attempt } => Tracked::Done { commit, attempt },
            Outcome::Blocked { reason, attempt } => Tracked::Blocked { reason, attempt },
        };
        let acting = self.acting().await?;
        let ctx = acting.context();
        self.timely("apply", acting.plugin().track(&ctx, id, &became))
            .await
    }

    async fn add(&self, _ids: &Ids, new: &NewTask, after: Option<&str>) -> Result<String, Error> {
        super::plain(new, after)?;
        let new = ralph_plugins::NewTask {
            title: new.title.clone(),
            acceptance: new.acceptance.clone(),
            depends_on: new.depends_on.clone(),
        };
        let acting = self.acting().await?;
        let ctx = acting.context();
        self.timely("add", acting.plugin().track_new(&ctx, &new))
            .await
    }

    async fn begin(&self, id: &str, _places: &Places) -> Result<(), Error> {
        let acting = self.acting().await?;
        let ctx = acting.context();
        self.timely("begin", acting.plugin().track_begin(&ctx, id))
            .await
    }

    /// What the agent did to its task there is its claim.
    async fn claimed(&self, ids: &Ids, id: &str, _places: &Places) -> Result<Claimed, Error> {
        let tasks = self.load(ids).await?;
        let state = match tasks.list.get(id).map(|entry| entry.state) {
            // Somebody's word meanwhile; the next choice will heed it.
            Some(TaskState::Blocked) | None => TaskState::Open,
            Some(state) => state,
        };
        Ok(Claimed {
            state,
            problems: Vec::new(),
        })
    }

    fn beside(self: Arc<Self>, _ws: &Workspace) -> Arc<dyn Source> {
        Arc::new(Held::new(self))
    }
}
