//! `ralph task …`

use std::path::Path;
use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_engine::tasks::NewTask;
use ralph_engine::text::one_line;
use ralph_engine::types::TaskState;
use ralph_runner::tasks::{self, Change, Shown};
use ralph_runner::{Error, Project};

use crate::args::{ConvertArgs, TaskArgs, TaskCommand};
use crate::out::Out;

pub async fn task(dir: &Path, args: TaskArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let (id, change) = match args.command {
        TaskCommand::List => return list(&project, out).await,
        TaskCommand::Show { id } => {
            let shown = tasks::show(&project, &id).await?;
            print(&shown, out);
            return Ok(out.done(0, &shown));
        }
        TaskCommand::Add {
            title,
            after,
            accept,
            depends,
        } => {
            let new = NewTask {
                title,
                acceptance: accept,
                depends_on: depends,
            };
            let shown = tasks::add(&project, &new, after.as_deref()).await?;
            line(&shown, out);
            return Ok(out.done(0, &shown));
        }
        TaskCommand::Done { id } => (id, Change::Done),
        TaskCommand::Block { id, reason } => (id, Change::Block(reason)),
        TaskCommand::Unblock { id } => (id, Change::Unblock),
        TaskCommand::Retry { id } => (id, Change::Retry),
    };
    let shown = tasks::change(&project, &id, &change).await?;
    line(&shown, out);
    Ok(out.done(0, &shown))
}

async fn list(project: &Project, out: &Out) -> Result<ExitCode, Error> {
    let listed = tasks::list(project).await?;
    for task in &listed.tasks {
        line(task, out);
    }
    Ok(out.done(0, &listed))
}

fn line(task: &Shown, out: &Out) {
    let (word, color) = word(task.state);
    let attempts = match task.attempts {
        0 => String::new(),
        1 => "  (1 attempt)".to_owned(),
        n => format!("  ({n} attempts)"),
    };
    out.text(format!(
        "{} {}  {}{attempts}",
        out.paint(color, &format!("{word:<11}")),
        out.bold(&one_line(&task.id, 128)),
        one_line(&task.title, 120)
    ));
}

fn print(task: &Shown, out: &Out) {
    line(task, out);
    if !task.depends_on.is_empty() {
        out.text(format!("depends on {}", task.depends_on.join(", ")));
    }
    for text in task.description.lines() {
        out.text(format!("  {}", one_line(text, 400)));
    }
    for text in &task.acceptance {
        out.text(format!("  - {}", one_line(text, 400)));
    }
    for note in &task.notes {
        out.text(format!("{}: {}", note.from, one_line(&note.text, 400)));
    }
}

fn word(state: TaskState) -> (&'static str, AnsiColor) {
    match state {
        TaskState::Open => ("open", AnsiColor::Cyan),
        TaskState::InProgress => ("in progress", AnsiColor::Yellow),
        TaskState::Blocked => ("blocked", AnsiColor::Red),
        TaskState::Done => ("done", AnsiColor::Green),
    }
}

/// `ralph convert`
pub async fn convert(dir: &Path, args: &ConvertArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let lost = tasks::convert(&project, &args.from, &args.to).await?;
    for line in &lost {
        out.text(format!("not in {}: {line}", args.to));
    }
    out.text(format!("wrote {}", args.to));
    Ok(out.done(
        0,
        &serde_json::json!({ "from": args.from, "to": args.to, "lost": lost }),
    ))
}
