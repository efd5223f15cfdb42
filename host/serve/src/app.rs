//! What all handlers share.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::audit::Audit;
use crate::auth::Access;
use crate::guard::Names;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::runs::Runs;
use crate::settings::{Settings, Workspace};
use crate::store::{Queue, Store};

/// The service. Handlers get it as `State<Shared>`.
pub struct App {
    /// What the operator says.
    pub settings: Settings,
    /// The service's own directory: store, audit, worktrees.
    pub data: PathBuf,
    /// Who comes in.
    pub access: Access,
    /// What is recorded before it is done.
    pub audit: Audit,
    /// Numbers.
    pub metrics: Metrics,
    pub(crate) names: Names,
    /// Runs and their events.
    pub store: Arc<dyn Store>,
    /// Which run is next.
    pub queue: Arc<dyn Queue>,
    /// Runs that are on.
    pub(crate) runs: Runs,
    /// Requests that change something, until they are done.
    pub(crate) acting: TaskTracker,
    /// True once the service is about to end.
    pub draining: watch::Sender<bool>,
    /// True once it ends: streams do too.
    pub closing: watch::Sender<bool>,
    /// For `openapi.json`.
    pub version: &'static str,
}

/// See [`App`].
pub type Shared = Arc<App>;

impl App {
    /// A workspace by its name. Ask [`crate::caller::Caller::may_in`] first.
    ///
    /// # Errors
    /// 404
    pub fn workspace(&self, slug: &str) -> Result<&Workspace, Problem> {
        let found = self.settings.workspaces.get(slug);
        found.ok_or_else(|| Problem::not_found("such workspace"))
    }

    /// Is the service about to end?
    pub fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }
}
