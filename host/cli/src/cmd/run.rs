//! `ralph run` and `ralph step`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use ralph_engine::fact::EndReason;
use ralph_engine::state::Stop;
use ralph_rpc::hosted::Hosted;
use ralph_runner::{
    Control, Error, Project, RunOptions, Setup, Stopping, Summary, Trust, View, host_soon,
};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::interactive::{self, Person};
use crate::args::{RunArgs, StepArgs};
use crate::out::{Out, note};
use crate::view::{Live, Plain, Queued};

pub async fn run(dir: &Path, args: RunArgs, out: &Out) -> Result<ExitCode, Error> {
    if args.dry_run {
        return super::preview::dry_run(dir, args, out).await;
    }
    host_soon();
    // The configuration of the run's start: an agent may have changed the file since.
    let project = Project::open(dir)?;
    if args.interactive {
        interactive::refuse(out.json)?;
        if project.config.parallel.workers > 1 {
            return Err(Error::Usage(
                "--interactive takes one task at a time; leave it out, or set `workers = 1` in [parallel]".into(),
            ));
        }
    }
    let how = How {
        max: args.max_iterations,
        parallel: args.parallel,
        interactive: args.interactive,
    };
    let (summary, signal) = go(&project, args.step, how, out).await?;
    super::supervise::tell(&project, Some(summary.end.clone()), out.json).await;
    Ok(finish(&summary, signal, summary.end.exit_code(), out))
}

pub async fn step(dir: &Path, args: StepArgs, out: &Out) -> Result<ExitCode, Error> {
    host_soon();
    let project = Project::open(dir)?;
    let (summary, signal) = go(
        &project,
        args,
        How {
            max: Some(1),
            ..How::default()
        },
        out,
    )
    .await?;
    // One iteration is all that was asked for: it is done if its work was accepted.
    let code = match summary.end {
        EndReason::MaxIterations => u8::from(summary.accepted == 0),
        ref end => end.exit_code(),
    };
    Ok(finish(&summary, signal, code, out))
}

#[derive(Default)]
struct How {
    max: Option<u32>,
    parallel: Option<u32>,
    interactive: bool,
}

async fn go(
    project: &Project,
    args: StepArgs,
    how: How,
    out: &Out,
) -> Result<(Summary, Option<i32>), Error> {
    for warning in &project.warnings {
        note(&format!("warning: {warning}"));
    }
    let trust = Trust::of(project)?;
    if args.trust && !trust.given {
        note("This project's configuration can run or reach:");
        for power in &trust.powers {
            note(&format!("  {}: {}", power.what, power.detail));
        }
    } else {
        trust.demand()?;
    }
    let options = RunOptions {
        agent: args.agent,
        max_iterations: how.max,
        spent: 0,
        task: args.task,
        no_commit: args.no_commit,
        parallel: how.parallel,
        mode: args.mode,
        at_once: true,
    };
    let mut seen = project.clone();
    seen.accepted = true;
    let setup = patiently(Setup::new(seen, super::host()?, options)).await?;
    for warning in &setup.warnings {
        note(&format!("warning: {}: {warning}", setup.source.describe()));
    }
    if args.trust && !trust.given {
        trust.give(project)?;
    }
    let (control, stopping) = Control::new();
    let person = match how.interactive {
        true => Some(Person::new(&control)?),
        false => None,
    };
    let queued = match &person {
        Some(_) => None,
        None if out.json || !Live::fits() => Some(Queued::new(Plain::new(out.json))),
        None => Some(Queued::new(Live::new())),
    }
    .map(Arc::new);
    let view: Option<Arc<dyn View>> = match (&person, &queued) {
        (Some(person), _) => Some(person.view.clone()),
        (None, Some(queued)) => Some(queued.clone()),
        (None, None) => None,
    };
    if let Some(person) = &person {
        person.attach();
    }
    let caught = Arc::new(AtomicI32::new(0));
    let watch = tokio::spawn(watch_signals(control.clone(), Some(caught.clone())));
    let ran = hosted(setup, view.into_iter().collect(), &control, stopping).await;
    watch.abort();
    // The feed has the desk, which has the bus: the end of all of them is the process's.
    if let Some(queued) = &queued {
        queued.finish();
    }
    let signal = Some(caught.load(Ordering::SeqCst)).filter(|s| *s != 0);
    Ok((ran?, signal))
}

async fn hosted(
    setup: Setup,
    views: Vec<Arc<dyn View>>,
    control: &Control,
    stopping: Stopping,
) -> Result<Summary, Error> {
    let run = Hosted::begin(setup, views, control, stopping).await?;
    if let Some(why) = &run.unsteered {
        note(&format!(
            "warning: this run can't be steered from elsewhere: {why}"
        ));
    }
    run.to_its_end().await
}

/// Says what takes so long, if it takes long.
pub async fn patiently<T>(setup: impl Future<Output = T>) -> T {
    let mut setup = std::pin::pin!(setup);
    tokio::select! {
        done = &mut setup => return done,
        () = tokio::time::sleep(Duration::from_millis(400)) => {
            note("compiling components for this machine; kept for the next start");
        }
    }
    setup.await
}

/// The first signal ends the run at once, in good order; its state stays, and the next run takes it up.
pub async fn watch_signals(control: Control, caught: Option<Arc<AtomicI32>>) {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let [Ok(mut int), Ok(mut term), Ok(mut hup)] = kinds.map(signal) else {
        note(
            "warning: signals can't be watched; ending this process ends the run without its last records",
        );
        return;
    };
    loop {
        let kind = tokio::select! {
            _ = int.recv() => kinds[0],
            _ = term.recv() => kinds[1],
            _ = hup.recv() => kinds[2],
        };
        if let Some(caught) = &caught {
            let signal = kind.as_raw_value();
            let _ = caught.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        }
        control.stop(Stop::Force);
    }
}

fn finish(summary: &Summary, signal: Option<i32>, code: u8, out: &Out) -> ExitCode {
    let code = match (&summary.end, signal) {
        (EndReason::Stopped, Some(signal)) => u8::try_from(128 + signal).unwrap_or(1),
        _ => code,
    };
    out.done(
        code,
        &json!({
            "run_id": summary.run,
            "end": summary.end,
            "iterations": summary.iterations,
            "accepted": summary.accepted,
            "done": summary.tasks.0,
            "total": summary.tasks.1,
            "usage": summary.usage,
        }),
    )
}
