//! Runs: from a submission over the queue to their end.
//!
//! A run's state changes under one lock ([`Runs::changing`]), so that whoever cancels it and whoever
//! begins it agree on which came first.

mod execute;
mod finish;
pub mod steer;
pub mod submit;
mod tidy;
mod tree;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use ralph_engine::state::Stop;
use ralph_runner::{Control, Desk};
use ralph_workspace::{Git, Workspace};
use tokio::sync::{Semaphore, watch};

use crate::app::{App, Shared};
use crate::events::live::Live;
use crate::problem::Problem;
use crate::store::{Run, Status, StoreError};

/// What the disk refuses is tried again after this time.
const AGAIN: Duration = Duration::from_secs(2);

/// See the module.
pub struct Runs {
    /// Of runs that haven't ended.
    lives: Mutex<HashMap<String, Arc<Live>>>,
    active: Mutex<HashMap<String, Active>>,
    /// How many are on.
    count: watch::Sender<usize>,
    changing: tokio::sync::Mutex<()>,
    /// git makes one worktree at a time.
    git: tokio::sync::Mutex<()>,
    /// Held while a run's records are moved, and while they are opened.
    moving: RwLock<()>,
    places: Arc<Semaphore>,
}

/// A run that is on here.
#[derive(Clone)]
struct Active {
    control: Control,
    /// Once it has begun.
    desk: Option<Desk>,
}

impl Runs {
    /// With so many at a time.
    pub fn new(max: u16) -> Runs {
        Runs {
            lives: Mutex::default(),
            active: Mutex::default(),
            count: watch::channel(0).0,
            changing: tokio::sync::Mutex::default(),
            git: tokio::sync::Mutex::default(),
            moving: RwLock::default(),
            places: Arc::new(Semaphore::new(usize::from(max))),
        }
    }

    /// What follows a run that hasn't ended.
    pub fn live(&self, run: &str) -> Option<Arc<Live>> {
        self.lives().get(run).cloned()
    }

    /// How many are on.
    pub fn on(&self) -> usize {
        *self.count.borrow()
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn active(&self) -> MutexGuard<'_, HashMap<String, Active>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn desk(&self, run: &str) -> Option<Desk> {
        self.active().get(run).and_then(|a| a.desk.clone())
    }

    fn stop(&self, how: Stop) {
        for active in self.active().values() {
            active.control.stop(how);
        }
    }
}

impl From<StoreError> for Problem {
    fn from(e: StoreError) -> Problem {
        Problem::internal(e)
    }
}

impl App {
    /// A run as it stands now.
    ///
    /// # Errors
    /// 404
    pub async fn run(&self, id: &str) -> Result<Run, Problem> {
        let found = self.store.run(id).await?;
        let mut run = found.ok_or_else(|| Problem::not_found("such run"))?;
        self.look(&mut run);
        Ok(run)
    }

    /// Brings in what only the run at work knows.
    pub(crate) fn look(&self, run: &mut Run) {
        if run.status != Status::Running {
            return;
        }
        if let Some(now) = self.runs.desk(&run.run_id).map(|desk| desk.now()) {
            run.attempts = run.attempts.max(now.iterations);
            if now.pause.is_some() && now.end.is_none() {
                run.status = Status::Paused;
            }
        }
    }
}

/// What a service that died has left is taken up: what ran goes on, what waited waits.
///
/// # Errors
/// The store can't be read.
pub async fn recover(app: &Shared) -> Result<(), StoreError> {
    app.queue.recover().await?;
    let unfinished = app.store.unfinished().await?;
    for run in &unfinished {
        let (_, last) = app.store.bounds(&run.run_id).await?;
        let live = Arc::new(Live::new(last));
        app.runs.lives().insert(run.run_id.clone(), live);
    }
    let told = finish::told(app, &unfinished).await?;
    for run in unfinished.iter().filter(|r| !told.contains(&r.run_id)) {
        waits(app, run).await?;
        app.queue.push(&run.run_id).await?;
    }
    tidy::never_submitted(app).await;
    tidy::tidy(app).await;
    Ok(())
}

/// Until its turn has come.
async fn waits(app: &Shared, run: &Run) -> Result<(), StoreError> {
    if run.status == Status::Queued {
        return Ok(());
    }
    let mut run = run.clone();
    run.status = Status::Queued;
    let (shared, id) = (app.clone(), run.run_id.clone());
    let past = tokio::task::spawn_blocking(move || tree::past_of(&shared, &id)).await;
    run.attempts = past.ok().flatten().unwrap_or_default().ended;
    app.store.update(&run).await
}

/// Waits a little with what the disk has refused. False: the service ends, leave it to the next one.
pub(crate) async fn again(app: &App) -> bool {
    let mut draining = app.draining.subscribe();
    let ending = draining.wait_for(|draining| *draining);
    tokio::time::timeout(AGAIN, ending).await.is_err()
}

/// What a service that died has left of git's writing in the workspaces comes to its end.
pub async fn settle(app: &Shared) {
    let app = app.clone();
    let settling = tokio::task::spawn_blocking(move || {
        for workspace in app.settings.workspaces.values() {
            let git = Workspace::open(&workspace.path)
                .ok()
                .and_then(|ws| Git::open(&ws).ok());
            if let Some(git) = git {
                git.settle();
            }
        }
    });
    if let Err(e) = settling.await {
        tracing::error!("{e}");
    }
}

/// Begins runs as there are places for them, until the service is about to end.
pub async fn dispatch(app: Shared) {
    let mut draining = app.draining.subscribe();
    loop {
        let Ok(place) = app.runs.places.clone().acquire_owned().await else {
            return;
        };
        let id = loop {
            if *draining.borrow() {
                return;
            }
            let taken = tokio::select! {
                taken = app.queue.take() => taken,
                _ = draining.changed() => continue,
            };
            match taken {
                Ok(id) => break id,
                Err(e) => {
                    tracing::error!("{e}");
                    again(&app).await;
                }
            }
        };
        app.runs.count.send_modify(|n| *n += 1);
        let app = app.clone();
        tokio::spawn(async move {
            execute::execute(&app, &id).await;
            app.runs.count.send_modify(|n| *n -= 1);
            drop(place);
        });
    }
}

/// Ends runs so that the next service takes them up: after their iteration if that ends in time.
pub async fn drain(app: &App) {
    let mut count = app.runs.count.subscribe();
    app.runs.stop(Stop::Graceful);
    let limit = app.settings.serve.drain.get();
    if tokio::time::timeout(limit, count.wait_for(|n| *n == 0))
        .await
        .is_err()
    {
        app.runs.stop(Stop::Force);
        let _ = count.wait_for(|n| *n == 0).await;
    }
}

/// The service's own directory of a run; its patch is there.
pub fn own_dir(app: &App, run: &str) -> std::path::PathBuf {
    tree::dir(app, run)
}

/// The run's records: receipts, logs, attempts, context. They may be moved while they are read.
pub fn records(app: &App, run: &str) -> Option<Workspace> {
    let _still = app
        .runs
        .moving
        .read()
        .unwrap_or_else(PoisonError::into_inner);
    Workspace::open(&tidy::records(&tree::dir(app, run), &tree::root(app, run))).ok()
}
