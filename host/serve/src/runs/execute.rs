//! One run, carried out by the same engine as on the command line.

use std::sync::Arc;

use ralph_engine::fact::EndReason;
use ralph_runner::{
    Bus, Control, Error, Opened, RunOptions, Setup, Stopping, Trust, clock, each_of_workers,
    journal,
};
use serde_json::json;

use super::finish::{self, End};
use super::{Active, tidy, tree};
use crate::app::Shared;
use crate::events::recorder::Recorder;
use crate::events::told::Told;
use crate::store::{Run, Status};

/// Carries a run out that was taken from the queue.
pub(super) async fn execute(app: &Shared, id: &str) {
    let (control, stopping) = Control::new();
    let run = loop {
        match begin(app, id, &control).await {
            Ok(Some(run)) => break run,
            // It has ended, or is just being ended.
            Ok(None) => return,
            Err(e) => tracing::error!("{id} can't be begun: {}", e.detail),
        }
        if !super::again(app).await {
            // It stays in the queue, and the next service takes it up.
            return;
        }
    };
    to_its_end(app, run, stopping).await;
}

/// One whose control is known to all.
pub(super) async fn to_its_end(app: &Shared, run: Run, stopping: Stopping) {
    let id = run.run_id.clone();
    let carried = tokio::spawn(carry_out(app.clone(), run, stopping));
    let (run, end) = match carried.await {
        Ok(done) => done,
        Err(e) => {
            let Ok(run) = app.run(&id).await else {
                app.runs.active().remove(&id);
                return;
            };
            (run, End::failed(format!("the run has panicked: {e}")))
        }
    };
    match end {
        // The service ends, and the next one goes on with it.
        End::Parked => tracing::info!("{id} stands; the next service goes on with it"),
        end => {
            finish::finish(app, run, end).await;
            // Not before it is over for everybody: the next service would look into its journal.
            let over = app.store.run(&id).await;
            if matches!(over, Ok(Some(run)) if run.status.is_terminal()) {
                tidy::tidy(app).await;
            }
        }
    }
    app.runs.active().remove(&id);
}

/// It is this process's from here on, and can be cancelled.
async fn begin(
    app: &Shared,
    id: &str,
    control: &Control,
) -> Result<Option<Run>, crate::problem::Problem> {
    let changing = app.runs.changing.lock().await;
    let Some(mut run) = app.store.run(id).await? else {
        app.queue.done(id).await?;
        return Ok(None);
    };
    if run.status.is_terminal() {
        app.queue.done(id).await?;
        return Ok(None);
    }
    if app.runs.active().contains_key(id) {
        return Ok(None);
    }
    if run.cancel_reason.is_some() && run.started_at.is_none() {
        drop(changing);
        finish::finish(app, run, End::cancelled()).await;
        return Ok(None);
    }
    run.status = Status::Running;
    // Why it would have ended, had its service not died.
    run.error = None;
    run.started_at.get_or_insert_with(clock::now);
    app.store.update(&run).await?;
    let active = Active {
        control: control.clone(),
        desk: None,
    };
    app.runs.active().insert(id.to_owned(), active);
    if app.is_draining() {
        control.stop(ralph_engine::state::Stop::Graceful);
    }
    Ok(Some(run))
}

async fn carry_out(app: Shared, mut run: Run, stopping: Stopping) -> (Run, End) {
    let Some(live) = app.runs.live(&run.run_id) else {
        return (run, End::failed("nobody can follow it".to_owned()));
    };
    let recorder = Arc::new(Recorder::new(&run.run_id));
    let writing = tokio::spawn(
        recorder
            .clone()
            .write(app.clone(), run.run_id.clone(), live),
    );
    let done = Box::pin(work(&app, &mut run, stopping, &recorder)).await;
    recorder.close();
    let written = match writing.await {
        Ok(written) => written.map_err(|e| e.to_string()),
        Err(e) => Err(e.to_string()),
    };
    if let Err(e) = written {
        tracing::error!("events of {} are missing: {e}", run.run_id);
    }
    let cancelled = match app.store.run(&run.run_id).await {
        Ok(now) => now.and_then(|now| now.cancel_reason),
        Err(_) => None,
    };
    run.cancel_reason = cancelled;
    run.attempts = tree::past_of(&app, &run.run_id).unwrap_or_default().ended;
    let end = match done {
        _ if run.cancel_reason.is_some() => End::cancelled(),
        Ok(EndReason::Stopped) if app.is_draining() => End::Parked,
        Ok(end) => End::Ended(end),
        Err(Error::Stopped) if app.is_draining() => End::Parked,
        Err(e) => End::failed(e.with_advice()),
    };
    (run, end)
}

async fn work(
    app: &Shared,
    run: &mut Run,
    stopping: Stopping,
    recorder: &Arc<Recorder>,
) -> Result<EndReason, Error> {
    let tree = tree::ready(app, run).await?;
    known(app, run).await?;
    let mut project = tree.project.clone();
    let failed = |e: crate::store::StoreError| Error::Internal(e.to_string());
    let start = json!({
        "type": "start", "workspace": run.workspace, "actor": run.actor,
        "prompt_path": run.prompt_path, "prompt_fingerprint": run.prompt_fingerprint,
        "branch": run.branch, "base": run.base,
    });
    let mut past = tree::past(&project.ws)?;
    let told = Told::of(app.store.as_ref(), &run.run_id, past.workers).await;
    let told = told.map_err(failed)?;
    recorder.know(&told);
    if past.begun && told.is_empty() {
        recorder.tell(start.clone());
    }
    journal::each(&project.ws, |line| recorder.past(&line, &told))?;
    if past.workers {
        each_of_workers(&project.ws, tree.prefix(), |task, line| {
            recorder.past_of_worker(task, &line, &told);
        })?;
    }
    match past.end.take() {
        // The service died after the run's end.
        Some(end) if end != EndReason::Stopped => return Ok(end),
        _ => {}
    }
    // Its service died, or it waited for its turn to go on.
    if run.cancel_reason.is_some() {
        patch(app, &tree, run, recorder).await;
        return Ok(EndReason::Stopped);
    }
    // What the commit holds may be another configuration than the one in the workspace.
    Trust::at(&project, &tree.origin)?.demand()?;
    project.accepted = true;
    recorder.tell(match past.begun || !told.is_empty() {
        true => json!({ "type": "resumed" }),
        false => start,
    });
    let config = run.config.clone();
    let options = RunOptions {
        agent: config.agent,
        max_iterations: config.max_iterations,
        spent: past.spent,
        task: config.task,
        no_commit: config.no_commit,
        parallel: config.parallel,
        mode: config.mode,
        at_once: true,
    };
    let setup = Setup::new(project, ralph_runner::host()?, options).await?;
    setup.foresee().await;
    let opened = Opened::new(setup, Bus::new(vec![recorder.clone()]), stopping)?;
    let begun = opened.start().await?;
    if let Some(active) = app.runs.active().get_mut(&run.run_id) {
        active.desk = Some(begun.desk());
    }
    if past.paused {
        let desk = begun.desk();
        let paused = tokio::task::spawn_blocking(move || desk.pause().map(drop)).await;
        let paused = paused.map_err(|e| Error::Internal(e.to_string()))?;
        paused.map_err(|e| Error::Internal(e.to_string()))?;
    }
    let ended = begun.to_its_end().await;
    patch(app, &tree, run, recorder).await;
    Ok(ended?.end)
}

async fn patch(app: &Shared, tree: &tree::Tree, run: &Run, recorder: &Recorder) {
    if let Err(e) = tree.patch(&tree::dir(app, &run.run_id)).await {
        recorder.tell(json!({ "type": "notice", "text": format!("no diff.patch: {e}") }));
    }
}

/// Where its work is can be asked from now on.
async fn known(app: &Shared, run: &Run) -> Result<(), Error> {
    let _changing = app.runs.changing.lock().await;
    let failed = |e: crate::store::StoreError| Error::Internal(e.to_string());
    if let Some(mut now) = app.store.run(&run.run_id).await.map_err(failed)? {
        now.branch.clone_from(&run.branch);
        now.base.clone_from(&run.base);
        app.store.update(&now).await.map_err(failed)?;
    }
    Ok(())
}
