//! `ralph check` and `ralph watch`: the gates, without a run.

use std::path::Path;
use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_engine::types::Status;
use ralph_runner::watch::{self, Checked};
use ralph_runner::{Bus, Control, Error, Project, RunOptions, Setup, Trust};
use serde_json::json;

use crate::args::WatchArgs;
use crate::out::{Out, note};

pub async fn check(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let setup = setup(dir).await?;
    let (control, stopping) = Control::new();
    let signals = tokio::spawn(super::run::watch_signals(control, None));
    let checked = watch::check(&setup, &Bus::default(), &stopping).await;
    signals.abort();
    let checked = checked?;
    show(&checked, out);
    Ok(out.done(
        u8::from(!checked.passed),
        &json!({ "files": checked.files, "gates": checked.results }),
    ))
}

pub async fn watch(dir: &Path, args: &WatchArgs, out: &Out) -> Result<ExitCode, Error> {
    let setup = setup(dir).await?;
    let (control, stopping) = Control::new();
    let signals = tokio::spawn(super::run::watch_signals(control, None));
    let mut passed = None;
    let ended = watch::watch(
        &setup,
        &Bus::default(),
        &stopping,
        args.debounce.get(),
        |checked| {
            passed = Some(checked.passed);
            if out.json {
                out.line(&json!({ "files": checked.files, "gates": checked.results }));
            } else {
                show(checked, out);
                note("waiting for changes; ctrl-c ends");
            }
        },
    )
    .await;
    signals.abort();
    ended?;
    Ok(ExitCode::from(u8::from(passed == Some(false))))
}

async fn setup(dir: &Path) -> Result<Setup, Error> {
    let project = Project::open(dir)?;
    Trust::of(&project)?.demand()?;
    if project.config.gates.is_empty() {
        return Err(Error::Usage(
            "there are no gates to ask; [[gates]] in ralph.toml adds one".into(),
        ));
    }
    Setup::new(project, super::host()?, RunOptions::default()).await
}

fn show(checked: &Checked, out: &Out) {
    for result in &checked.results {
        let (color, word) = match result.verdict.status {
            Status::Pass => (AnsiColor::Green, "pass"),
            Status::Skip => (AnsiColor::BrightBlack, "skip"),
            Status::Fail if !result.severity.blocks() => (AnsiColor::Yellow, "warn"),
            Status::Fail => (AnsiColor::Red, "fail"),
        };
        let summary = ralph_engine::text::one_line(&result.verdict.summary, 160);
        out.text(format!(
            "{:<18} {}  {summary}",
            result.name,
            out.paint(color, word)
        ));
        if result.verdict.passed() {
            continue;
        }
        for finding in &result.verdict.findings {
            for line in ralph_engine::text::strip_escapes(&finding.message).lines() {
                out.text(format!("    {line}"));
            }
        }
    }
    for group in &checked.groups {
        out.text(format!(
            "{group:<18} {}  not enough of its gates passed",
            out.paint(AnsiColor::Red, "fail")
        ));
    }
}
