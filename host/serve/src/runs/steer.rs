//! What somebody wants of a run that is there: each wish in the audit first.

use ralph_engine::state::Stop;
use ralph_runner::Control;
use ralph_runner::steer::Refused;
use schemars::JsonSchema;
use serde::Deserialize;

use super::finish::{self, End};
use super::{Active, execute};
use crate::app::Shared;
use crate::audit::{Event, kinds};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::store::Run;

/// Why it is cancelled.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CancelRun {
    /// For the audit.
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}

/// A text for the next prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inject {
    /// What the agent is to know.
    #[serde(alias = "prompt")]
    #[schemars(length(min = 1))]
    pub text: String,
}

/// Nothing to say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// What is wanted.
pub enum Wish {
    /// No new iteration.
    Pause,
    /// Iterations again.
    Resume,
    /// A text for the next prompt.
    Inject(String),
}

/// Ends a run, whether it waits or is on. Asked again, it says how the run stands.
///
/// # Errors
/// It is over.
pub async fn cancel(
    app: &Shared,
    caller: &Caller,
    id: &str,
    why: CancelRun,
) -> Result<Run, Problem> {
    let reason = why.reason.unwrap_or_else(|| "cancelled".to_owned());
    if reason.chars().count() > 500 {
        return Err(Problem::unprocessable(
            "invalid",
            "the reason has at most 500 characters",
        ));
    }
    let changing = app.runs.changing.lock().await;
    let mut run = app.run(id).await?;
    over(&run)?;
    let active = app.runs.active().get(id).map(|a| a.control.clone());
    if run.cancel_reason.is_some() {
        if let Some(control) = active {
            control.stop(Stop::Force);
        }
        return Ok(run);
    }
    let event = Event::new(kinds::CANCELLED, &run.workspace)
        .by(&caller.actor)
        .with("run_id", id)
        .with("reason", reason.clone());
    let intent = app.audit.intend(event).await?;
    run.cancel_reason = Some(reason);
    let kept = app.store.update(&run).await.map_err(Problem::from);
    app.audit.outcome(intent, kept.as_ref().err()).await;
    kept?;
    if let Some(control) = active {
        control.stop(Stop::Force);
        return Ok(run);
    }
    if run.started_at.is_none() {
        drop(changing);
        finish::finish(app, run, End::cancelled()).await;
        return app.run(id).await;
    }
    // It waits to go on. What it has done so far is wound up here, whoever takes it from the queue.
    let (control, stopping) = Control::new();
    app.runs.active().insert(
        id.to_owned(),
        Active {
            control,
            desk: None,
        },
    );
    drop(changing);
    execute::to_its_end(app, run, stopping).await;
    app.run(id).await
}

/// Tells a run that is on what is wanted of it.
///
/// # Errors
/// It isn't on, or can't do that.
pub async fn steer(app: &Shared, caller: &Caller, id: &str, wish: Wish) -> Result<Run, Problem> {
    let run = app.run(id).await?;
    over(&run)?;
    let desk = app.runs.desk(id).ok_or_else(|| {
        Problem::conflict("not-running", "the run isn't at work; it can be cancelled")
    })?;
    let (name, bytes) = match &wish {
        Wish::Pause => ("pause", None),
        Wish::Resume => ("resume", None),
        Wish::Inject(text) => ("inject", Some(text.len())),
    };
    let event = Event::new(kinds::STEERED, &run.workspace)
        .by(&caller.actor)
        .with("run_id", id)
        .with("action", name)
        .maybe("bytes", bytes);
    let intent = app.audit.intend(event).await?;
    // The journal is written and synced meanwhile.
    let done = tokio::task::spawn_blocking(move || match wish {
        Wish::Pause => desk.pause().map(drop),
        Wish::Resume => desk.resume().map(drop),
        Wish::Inject(text) => desk.inject(&text).map(drop),
    });
    let done = done.await.map_err(Problem::internal)?;
    let done = done.map_err(|refused| match refused {
        Refused::NoRun => Problem::conflict("not-running", "the run isn't on"),
        Refused::Bad(why) => Problem::unprocessable("invalid", why),
        Refused::Failed(why) => Problem::internal(why),
    });
    app.audit.outcome(intent, done.as_ref().err()).await;
    done?;
    app.run(id).await
}

fn over(run: &Run) -> Result<(), Problem> {
    if run.status.is_terminal() {
        let detail = format!("the run is over: {}", run.status.word());
        return Err(Problem::conflict("run-over", detail).with("run_status", run.status.word()));
    }
    Ok(())
}
