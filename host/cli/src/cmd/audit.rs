//! `ralph stats`, `verify`, `replay` and `clean`

use std::path::Path;
use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_engine::text::{one_line, strip_escapes};
use ralph_runner::audit::{clean, stats, verify};
use ralph_runner::replay::{self, Outcome};
use ralph_runner::{Error, Project};

use super::seconds;
use crate::args::{CleanArgs, IterationArgs};
use crate::out::Out;

/// Iterations that keep their records if nothing is said.
const KEEP: u32 = 100;

pub fn stats(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let s = stats::stats(&project)?;
    out.text(out.bold(&format!(
        "{:<20} {:>5} {:>8} {:>7} {:>12} {:>9} {:>8}",
        "", "iters", "accepted", "success", "tokens", "money", "time"
    )));
    let all = [("all".to_owned(), &s.total)];
    let tasks = s.by_task.iter().map(|(id, t)| (format!("task {id}"), t));
    let agents = s.by_agent.iter().map(|(id, t)| (format!("agent {id}"), t));
    for (name, t) in all.into_iter().chain(agents).chain(tasks) {
        let u = &t.usage;
        out.text(format!(
            "{:<20} {:>5} {:>8} {:>7} {:>12} {:>9} {:>8}",
            one_line(&name, 40),
            t.iterations,
            t.accepted,
            t.success_rate
                .map_or_else(|| "-".into(), |r| format!("{:.0} %", r * 100.0)),
            u.input_tokens.saturating_add(u.output_tokens),
            u.cost_usd
                .map_or_else(|| "-".into(), |c| format!("${c:.2}")),
            seconds(t.seconds),
        ));
    }
    Ok(out.done(0, &s))
}

pub async fn verify(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let v = verify::verify(&project).await?;
    for problem in &v.problems {
        out.text(format!(
            "{} {}: {}",
            out.paint(AnsiColor::Red, "BAD"),
            problem.place,
            strip_escapes(&problem.what)
        ));
    }
    for note in &v.notes {
        out.text(format!("note: {note}"));
    }
    out.text(format!(
        "{}: {} journal lines, {} iterations, {} files, {} commits",
        if v.clean { "clean" } else { "not clean" },
        v.lines,
        v.iterations,
        v.files,
        v.commits
    ));
    Ok(out.done(u8::from(!v.clean), &v))
}

pub async fn replay(dir: &Path, args: &IterationArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let r = replay::replay(&project, super::host()?, args.iteration).await?;
    for item in &r.items {
        let (color, word, text) = match &item.outcome {
            Outcome::Same { note } => (AnsiColor::Green, "same", note),
            Outcome::Differs { why } => (AnsiColor::Red, "DIFFERS", why),
            Outcome::NotReplayed { why } => (AnsiColor::Yellow, "not asked", why),
        };
        out.text(format!(
            "{} {:<28} {}",
            out.paint(color, &format!("{word:<9}")),
            one_line(&item.what, 60),
            one_line(&strip_escapes(text), 300)
        ));
    }
    Ok(out.done(u8::from(!r.same), &r))
}

pub fn clean(dir: &Path, args: &CleanArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let keep = match args.older_than {
        Some(span) => clean::Keep::Since(span.get()),
        None => clean::Keep::Newest(args.keep.unwrap_or(KEEP)),
    };
    let c = clean::clean(&project, keep, args.dry_run)?;
    out.text(if c.files == 0 {
        "nothing to remove".to_owned()
    } else {
        format!(
            "{} {} files ({} KiB) of {} iterations, up to iteration {}",
            if c.dry_run { "would remove" } else { "removed" },
            c.files,
            c.bytes.div_ceil(1024),
            c.iterations,
            c.through
        )
    });
    Ok(out.done(0, &c))
}
