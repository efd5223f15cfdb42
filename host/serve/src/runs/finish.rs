//! A run's end: in the audit, then in the store together with the event that tells it.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ralph_engine::fact::EndReason;
use ralph_runner::clock;
use serde_json::json;

use crate::app::Shared;
use crate::audit::{Event, kinds};
use crate::metrics::ENDS;
use crate::problem::Problem;
use crate::store::{Run, Status, StoredEvent};

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
        let mut closing = app.closing.subscribe();
        let again = tokio::time::timeout(Duration::from_secs(2), closing.wait_for(|c| *c)).await;
        if again.is_ok() {
            // Its journal says it to the next service.
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
    if known.is_none_or(|known| known.status.is_terminal()) {
        return Ok(());
    }
    if !*recorded {
        let event = Event::new(kinds::TERMINAL, &run.workspace)
            .with("run_id", run.run_id.clone())
            .with("status", run.status.word())
            .with("duration_s", run.duration_s)
            .with("attempts", run.attempts)
            .maybe("early_stop_reason", run.early_stop_reason.clone());
        app.audit.happened(event).await?;
        *recorded = true;
    }
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
    live.push(vec![event]);
    live.close();
    app.runs.lives().remove(&run.run_id);
    Ok(())
}
