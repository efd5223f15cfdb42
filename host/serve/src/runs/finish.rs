//! A run's end: in the audit, then in the store together with the event that tells it. Where a
//! service died in between, the audit has said it, and the next one does the rest.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use ralph_engine::fact::EndReason;
use ralph_runner::clock;
use serde_json::json;

use crate::app::{App, Shared};
use crate::audit::{self, Event, kinds};
use crate::metrics::ENDS;
use crate::problem::Problem;
use crate::store::{Run, Status, StoreError, StoredEvent};

/// How a run ended here.
pub(super) enum End {
    /// By itself.
    Ended(EndReason),
    /// It could not go on.
    Failed(String),
    /// Somebody ended it.
    Cancelled,
    /// It goes on with the next service.
    Parked,
}

impl End {
    pub(super) fn failed(why: String) -> End {
        End::Failed(why)
    }

    pub(super) fn cancelled() -> End {
        End::Cancelled
    }
}

/// Tells the end to everybody. A disk that refuses is asked again.
pub(super) async fn finish(app: &Shared, mut run: Run, end: End) {
    let now = clock::now();
    run.status = match &end {
        End::Ended(end) => Status::of(end),
        End::Failed(_) => Status::Failed,
        End::Cancelled => Status::Cancelled,
        End::Parked => return,
    };
    let (reason, error) = match end {
        End::Ended(EndReason::Error { message } | EndReason::Unauthenticated { message }) => {
            ("error", Some(message))
        }
        End::Ended(end) => {
            let early = matches!(
                end,
                EndReason::NoProgress
                    | EndReason::RepeatedFailure { .. }
                    | EndReason::Budget { .. }
                    | EndReason::Limited { .. }
            );
            run.early_stop_reason = early.then(|| end.word().to_owned());
            (end.word(), None)
        }
        End::Failed(why) => ("error", Some(why)),
        End::Cancelled | End::Parked => ("cancelled", None),
    };
    run.reason = Some(reason.to_owned());
    run.error = error;
    let seconds = run.started_at.as_ref().map(|s| clock::seconds(s, &now));
    run.duration_s = seconds;
    run.ended_at = Some(now);
    let id = run.run_id.clone();
    let mut recorded = false;
    while let Err(problem) = tell(app, &run, &mut recorded).await {
        tracing::error!("the end of {id} can't be kept: {}", problem.detail);
        if !super::again(app).await {
            // Its journal or the audit says it to the next service.
            return;
        }
    }
    if let Some(at) = ENDS.iter().position(|e| *e == run.status.word()) {
        app.metrics.ended[at].fetch_add(1, Relaxed);
    }
    if let Err(e) = app.queue.done(&id).await {
        tracing::error!("{e}");
    }
}

async fn tell(app: &Shared, run: &Run, recorded: &mut bool) -> Result<(), Problem> {
    let _changing = app.runs.changing.lock().await;
    // Cancelled and begun at once, it may have been told already.
    let known = app.store.run(&run.run_id).await?;
    if known
        .as_ref()
        .is_none_or(|known| known.status.is_terminal())
    {
        return Ok(());
    }
    if !*recorded {
        // The audit has nothing of what programs say: should this be all, the next service finds it here.
        if let (Some(error), Some(mut known)) = (&run.error, known) {
            known.error = Some(error.clone());
            app.store.update(&known).await?;
        }
        let event = Event::new(kinds::TERMINAL, &run.workspace)
            .with("run_id", run.run_id.clone())
            .with("status", run.status.word())
            .with("reason", run.reason.clone())
            .with("duration_s", run.duration_s)
            .with("attempts", run.attempts)
            .maybe("early_stop_reason", run.early_stop_reason.clone());
        app.audit.happened(event).await?;
        *recorded = true;
    }
    Ok(keep(app, run).await?)
}

async fn keep(app: &App, run: &Run) -> Result<(), StoreError> {
    let Some(live) = app.runs.live(&run.run_id) else {
        return Ok(());
    };
    let mut data = json!({
        "type": "terminal", "status": run.status, "reason": run.reason, "error": run.error,
        "attempts": run.attempts, "duration_s": run.duration_s,
        "run_id": run.run_id, "at": run.ended_at,
    });
    if let Some(early) = &run.early_stop_reason {
        data["early_stop_reason"] = early.clone().into();
    }
    let event = StoredEvent {
        id: live.last() + 1,
        kind: "terminal".into(),
        data: data.to_string(),
    };
    app.store.finish(run, &event).await?;
    app.metrics.events.fetch_add(1, Relaxed);
    live.push(vec![event]);
    live.close();
    app.runs.lives().remove(&run.run_id);
    Ok(())
}

/// Runs that ended for the audit, and for the store not yet.
///
/// # Errors
/// Store or audit can't be read.
pub(super) async fn told(app: &App, unfinished: &[Run]) -> Result<BTreeSet<String>, StoreError> {
    let ids: BTreeSet<String> = unfinished.iter().map(|run| run.run_id.clone()).collect();
    if ids.is_empty() {
        return Ok(ids);
    }
    let dir = app.data.clone();
    let read = tokio::task::spawn_blocking(move || audit::ends(&dir, &ids)).await;
    let read = read.unwrap_or_else(|e| Err(std::io::Error::other(e)));
    let ends = read.map_err(|e| StoreError(format!("the audit can't be read: {e}")))?;
    let mut told = BTreeSet::new();
    for run in unfinished {
        let Some(line) = ends.get(&run.run_id) else {
            continue;
        };
        let Ok(status) = serde_json::from_value::<Status>(line["status"].clone()) else {
            continue;
        };
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        let error = || "why is in the log of the service, which died while it told this".to_owned();
        let run = Run {
            status,
            reason: text("reason"),
            error: (status == Status::Failed).then(|| run.error.clone().unwrap_or_else(error)),
            early_stop_reason: text("early_stop_reason"),
            attempts: serde_json::from_value(line["attempts"].clone()).unwrap_or(run.attempts),
            duration_s: line["duration_s"].as_f64(),
            ended_at: text("at"),
            ..run.clone()
        };
        keep(app, &run).await?;
        app.queue.done(&run.run_id).await?;
        told.insert(run.run_id);
    }
    Ok(told)
}
