//! What the service must not lose, and the order in which runs are begun. Nothing above these two
//! traits knows where that is kept.

mod lent;
mod recent;
pub mod run;
pub mod sqlite;

use async_trait::async_trait;

use crate::auth::Scope;
pub use run::{Run, RunConfig, Status};

/// The store can't do what it should.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store: {0}")]
pub struct StoreError(pub String);

/// One event of a run, as clients get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Counts from 1 in each run, without gaps.
    pub id: u64,
    /// The event's type.
    pub kind: String,
    /// JSON, passed on byte for byte.
    pub data: String,
}

/// A client's own key for one submission.
#[derive(Debug, Clone)]
pub struct Idempotency {
    /// Whose key: the token's name.
    pub whose: String,
    /// The key.
    pub key: String,
    /// What was asked for, hashed.
    pub digest: String,
}

/// What came of a submission.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// It is new.
    New,
    /// The same was submitted under this key before.
    Repeated(Box<Run>),
    /// Something else was submitted under this key before.
    Differs,
}

/// Which runs are wanted, newest first.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Of these workspaces.
    pub scope: Scope,
    /// Of this workspace.
    pub workspace: Option<String>,
    /// In this state.
    pub status: Option<Status>,
    /// Submitted at this time or later, RFC 3339 in UTC.
    pub since: Option<String>,
    /// Submitted before this time, RFC 3339 in UTC.
    pub until: Option<String>,
    /// Older than this one: what a page gave as its cursor.
    pub before: Option<u64>,
    /// So many.
    pub limit: usize,
}

/// Keeps runs and their events. What was said to be kept is there after a power cut.
#[async_trait]
pub trait Store: Send + Sync {
    /// Keeps a new run, unless its key was used before. One step: both or neither.
    async fn submit(&self, run: &Run, key: Option<&Idempotency>) -> Result<Submitted, StoreError>;
    /// What was submitted under this key before.
    async fn submitted(&self, key: &Idempotency) -> Result<Option<Submitted>, StoreError>;
    /// One run.
    async fn run(&self, id: &str) -> Result<Option<Run>, StoreError>;
    /// Keeps what a run is now.
    async fn update(&self, run: &Run) -> Result<(), StoreError>;
    /// Keeps a run's end and the event that tells it, in one step.
    async fn finish(&self, run: &Run, event: &StoredEvent) -> Result<(), StoreError>;
    /// Runs, newest first, and the cursor of the next page.
    async fn runs(&self, wanted: &Wanted) -> Result<(Vec<Run>, Option<u64>), StoreError>;
    /// Those that haven't come to an end, oldest first.
    async fn unfinished(&self) -> Result<Vec<Run>, StoreError>;
    /// Keeps events, of which the newest `kept` stay.
    async fn append(&self, run: &str, events: &[StoredEvent], kept: u64) -> Result<(), StoreError>;
    /// Events after this one, oldest first: so many, fewer if they have more than so many bytes.
    async fn events(
        &self,
        run: &str,
        after: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<StoredEvent>, StoreError>;
    /// Ids of the first and the last event that are kept; zeros if there are none.
    async fn bounds(&self, run: &str) -> Result<(u64, u64), StoreError>;
}

/// Gives each run that waits to one worker.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Puts a run at the end; nothing if it is there already.
    async fn push(&self, run: &str) -> Result<(), StoreError>;
    /// The run that has waited longest, as soon as there is one: taken by the caller until it is done.
    async fn take(&self) -> Result<String, StoreError>;
    /// It needn't be done any more.
    async fn done(&self, run: &str) -> Result<(), StoreError>;
    /// What workers that are gone had taken waits again, in its former place.
    async fn recover(&self) -> Result<(), StoreError>;
    /// How many wait.
    async fn waiting(&self) -> Result<u64, StoreError>;
}
