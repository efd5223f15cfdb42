//! `ralph run --dry-run` and `ralph prompt`

use std::path::Path;
use std::process::ExitCode;

use ralph_engine::template::VARIABLES;
use ralph_engine::text::one_line;
use ralph_runner::{Error, Project, RunOptions, Setup, Trust, preview};

use serde_json::json;

use super::run::patiently;
use super::short;
use crate::args::{PromptArgs, RunArgs};
use crate::out::{Out, note};

async fn setup(dir: &Path, options: RunOptions) -> Result<Setup, Error> {
    let project = Project::open(dir)?;
    for warning in &project.warnings {
        note(&format!("warning: {warning}"));
    }
    let trust = Trust::of(&project)?;
    if !trust.given {
        note(
            "note: this project's configuration isn't trusted yet; a run would ask for that first (`ralph trust`)",
        );
    }
    patiently(Setup::new(project, super::host()?, options)).await
}

pub async fn dry_run(dir: &Path, args: RunArgs, out: &Out) -> Result<ExitCode, Error> {
    let options = RunOptions {
        agent: args.step.agent,
        max_iterations: args.max_iterations,
        spent: 0,
        task: args.step.task,
        no_commit: args.step.no_commit,
        parallel: args.parallel,
        mode: args.step.mode,
        at_once: false,
    };
    let p = preview::preview(setup(dir, options).await?).await?;
    match (&p.task, &p.title, p.attempt) {
        (Some(id), Some(title), Some((attempt, of))) => {
            let how = if p.taken_up {
                ", taken up where it was cut off"
            } else {
                ""
            };
            out.text(format!(
                "task     {id} {} (attempt {attempt} of {of}{how})",
                one_line(title, 100)
            ));
        }
        _ if p.open.is_empty() => out.text("task     none: all are done"),
        _ => {
            let open: Vec<String> = p
                .open
                .iter()
                .map(|(id, why)| format!("{id} ({why})"))
                .collect();
            out.text(format!("task     none can run: {}", open.join(", ")));
        }
    }
    out.text(format!(
        "agent    {}, component {}",
        p.agent,
        short(&p.agent_sha256)
    ));
    let gates = match p.gates.is_empty() {
        true => "none".to_owned(),
        false => p.gates.join(", "),
    };
    out.text(format!("gates    {gates}"));
    for (what, who) in [("judge", &p.judge), ("review", &p.review)] {
        if let Some(who) = who {
            out.text(format!("{what:<8} {who}"));
        }
    }
    if let Some(bytes) = p.prompt_bytes {
        out.text(format!("prompt   {bytes} bytes; `ralph prompt` prints it"));
    }
    out.text(format!(
        "limits   {} iterations{}",
        p.max_iterations,
        if p.commit {
            ""
        } else {
            "; nothing is committed"
        }
    ));
    if let Some(workers) = p.workers {
        out.text(format!("workers  {workers}, each in a worktree of its own"));
    }
    if let Some(pid) = p.running {
        out.text(format!("a run is on here already (process {pid})"));
    }
    Ok(out.done(0, &p))
}

pub async fn prompt(dir: &Path, args: PromptArgs, out: &Out) -> Result<ExitCode, Error> {
    if args.variables {
        for (name, what) in VARIABLES {
            out.text(format!("{name:<14} {what}"));
        }
        let variables: Vec<_> = VARIABLES
            .iter()
            .map(|(name, what)| json!({ "name": name, "what": what }))
            .collect();
        return Ok(out.done(0, &json!({ "variables": variables })));
    }
    let options = RunOptions {
        agent: args.agent,
        mode: args.mode,
        task: args.id,
        ..RunOptions::default()
    };
    let p = preview::prompt(setup(dir, options).await?).await?;
    out.text(p.prompt.trim_end());
    Ok(out.done(0, &p))
}
