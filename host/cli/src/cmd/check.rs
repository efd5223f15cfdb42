//! `ralph check`, `ralph gates run` and `ralph watch`: the gates, without a run.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use anstyle::AnsiColor;
use ralph_engine::types::Status;
use ralph_runner::report::report;
use ralph_runner::watch::{self, Checked};
use ralph_runner::{Bus, Control, Error, Project, RunOptions, Setup, Trust};
use serde_json::json;

use crate::args::{GatesArgs, GatesCommand, WatchArgs};
use crate::out::{Out, note};

pub async fn check(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    Ok(match ask(&setup(dir).await?, None).await? {
        Asked::Whole(checked) => {
            show(&checked, out);
            done(&checked, out)
        }
        Asked::CutOff(code) => code,
    })
}

pub async fn gates(dir: &Path, args: GatesArgs, out: &Out) -> Result<ExitCode, Error> {
    let GatesCommand::Run(args) = args.command;
    let mut setup = setup(dir).await?;
    if !args.gates.is_empty() {
        let known = |name: &&String| setup.gates.contains_key(*name);
        if let Some(name) = args.gates.iter().find(|name| !known(name)) {
            let names: Vec<_> = setup.gates.keys().map(String::as_str).collect();
            let names = names.join(", ");
            return Err(Error::Usage(format!(
                "there is no gate `{name}`; there are {names}"
            )));
        }
        setup.gates.retain(|name, _| args.gates.contains(name));
        setup.rules.groups = Default::default();
    }
    let checked = match ask(&setup, args.against.as_deref()).await? {
        Asked::Whole(checked) => checked,
        Asked::CutOff(code) => return Ok(code),
    };
    match (
        args.format.map(|format| report(format.into(), &checked)),
        args.output,
    ) {
        (Some(text), Some(path)) => {
            let path = dir.join(path);
            std::fs::write(&path, text)
                .map_err(|e| Error::Usage(format!("{} can't be written: {e}", path.display())))?;
            show(&checked, out);
        }
        (Some(text), None) => out.raw(text.as_bytes()),
        (None, _) => show(&checked, out),
    }
    Ok(done(&checked, out))
}

/// What came of asking.
enum Asked {
    Whole(Checked),
    /// A signal came first: not all gates have answered, so nothing is said.
    CutOff(ExitCode),
}

async fn ask(setup: &Setup, against: Option<&str>) -> Result<Asked, Error> {
    let (control, stopping) = Control::new();
    let caught = Arc::new(AtomicI32::new(0));
    let signals = tokio::spawn(super::run::watch_signals(control, Some(caught.clone())));
    let checked = watch::check(setup, &Bus::default(), &stopping, against).await;
    signals.abort();
    Ok(match caught.load(Ordering::SeqCst) {
        0 => Asked::Whole(checked?),
        signal => Asked::CutOff(ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))),
    })
}

fn done(checked: &Checked, out: &Out) -> ExitCode {
    out.done(
        u8::from(!checked.passed),
        &json!({ "files": checked.files, "gates": checked.results }),
    )
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
