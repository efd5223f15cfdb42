//! `ralph log` and `ralph show`

use std::path::Path;
use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_engine::fact::{Claim, IterationResult};
use ralph_engine::text::{one_line, strip_escapes};
use ralph_engine::types::{AgentOutcome, Status, Usage};
use ralph_runner::audit::log::{self, Entry, Ruled};
use ralph_runner::{Error, Project};
use serde_json::{Value, json};

use super::{seconds, short};
use crate::args::{IterationArgs, LogArgs};
use crate::out::Out;

pub fn log(dir: &Path, args: &LogArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let entries = log::log(&project, args.newest as usize, args.task.as_deref())?;
    for e in &entries {
        out.text(line(e, out));
    }
    if entries.is_empty() {
        out.text(match &args.task {
            Some(task) => format!("no iteration was about {task}"),
            None => "nothing has run here yet".to_owned(),
        });
    }
    Ok(out.done(0, &json!({ "iterations": entries })))
}

fn line(e: &Entry, out: &Out) -> String {
    let (color, word) = word(e.result);
    let commit = e
        .commit
        .as_deref()
        .map_or_else(String::new, |c| format!("  {}", short(c)));
    format!(
        "{:>5}  {:<8} #{:<2} {:<10} {}  {:>7}  {:>9}  {}{commit}",
        e.iteration,
        one_line(&e.task, 20),
        e.attempt,
        one_line(&e.agent, 20),
        out.paint(color, &format!("{word:<11}")),
        seconds(e.seconds),
        format!("{} tok", tokens(&e.usage)),
        one_line(&strip_escapes(&e.reason), 100),
    )
}

fn word(result: Option<IterationResult>) -> (AnsiColor, &'static str) {
    match result {
        Some(IterationResult::Accepted) => (AnsiColor::Green, "accepted"),
        Some(IterationResult::Rejected) => (AnsiColor::Red, "rejected"),
        Some(IterationResult::Environment) => (AnsiColor::Yellow, "put off"),
        Some(IterationResult::Interrupted) => (AnsiColor::Yellow, "interrupted"),
        None => (AnsiColor::Cyan, "on"),
    }
}

fn tokens(usage: &Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

pub fn show(dir: &Path, args: &IterationArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let s = log::show(&project, args.iteration)?;
    let e = &s.entry;
    let (color, word) = word(e.result);
    out.text(format!(
        "{}  {}",
        out.bold(&format!("iteration {}", e.iteration)),
        out.paint(color, word)
    ));
    let field = |name: &str, value: &str| {
        if !value.is_empty() {
            out.text(format!("{name:<12} {value}"));
        }
    };
    let clean = |text: &str| one_line(&strip_escapes(text), 300);
    field("task", &format!("{} {}", e.task, clean(&e.title)));
    field("attempt", &format!("{} ({})", e.attempt, s.attempt_id));
    field("run", &e.run);
    field("reason", &clean(&e.reason));
    field("accepted by", &s.accepted_by.join(", "));
    field("commit", e.commit.as_deref().unwrap_or_default());
    field("started", &e.started_at);
    field("took", &seconds(e.seconds));
    let cost = e
        .usage
        .cost_usd
        .map_or_else(String::new, |c| format!(", ${c:.2}"));
    field(
        "tokens",
        &format!(
            "{} in, {} out, {} cached{cost}",
            e.usage.input_tokens, e.usage.output_tokens, e.usage.cached_tokens
        ),
    );
    field("prompt", s.prompt_path.as_deref().unwrap_or("gone"));
    field(
        "fingerprint",
        &format!(
            "{} ({})",
            s.prompt_fingerprint.as_deref().unwrap_or("none"),
            s.prompt_algorithm.as_deref().unwrap_or("none")
        ),
    );
    field(
        "agent",
        &format!(
            "{}, component {}, {}",
            e.agent,
            s.agent_sha256.as_deref().map_or("none", short),
            s.agent_seconds.map_or_else(|| "no end".to_owned(), seconds)
        ),
    );
    field("log", s.log_path.as_deref().unwrap_or("gone"));
    field(
        "claim",
        match s.claim {
            Some(Claim::Done) => "done",
            Some(Claim::NotDone) => "not done",
            Some(Claim::None) => "none",
            None => "",
        },
    );
    field("session", &clean(s.session.as_deref().unwrap_or_default()));
    for problem in &s.problems {
        field("problem", &clean(problem));
    }
    field("tampered", &s.tampered.join(", "));
    field(
        "git hook",
        &clean(s.hook_refused.as_deref().unwrap_or_default()),
    );
    if let Some(files) = s.files {
        let word = if files == 1 { "file" } else { "files" };
        out.text(format!("changed      {files} {word}"));
    }
    for file in &s.changed_files {
        out.text(format!("  {}", changed(file)));
    }
    for ruled in s.gates.iter() {
        verdict(&format!("gate {}", ruled.name), ruled, out);
    }
    for ruled in s.judge.iter().chain(&s.review) {
        verdict(&ruled.name, ruled, out);
    }
    if let Some(AgentOutcome::Finished { text }) = &s.outcome {
        out.text("\nthe agent's last words:");
        for line in strip_escapes(text).lines() {
            out.text(format!("  {line}"));
        }
    } else if let Some(outcome) = &s.outcome {
        let value = serde_json::to_value(outcome).unwrap_or_default();
        let word = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        field(
            "outcome",
            &format!("{} {}", word("type"), clean(&word("message"))),
        );
    }
    Ok(out.done(0, &s))
}

fn changed(file: &Value) -> String {
    let text = |key: &str| one_line(file[key].as_str().unwrap_or_default(), 200);
    format!(
        "{:<9} {}  +{} -{}",
        text("kind"),
        text("path"),
        file["added_lines"],
        file["deleted_lines"]
    )
}

fn verdict(who: &str, ruled: &Ruled, out: &Out) {
    let (color, word) = match ruled.status {
        Status::Pass => (AnsiColor::Green, "pass"),
        Status::Skip => (AnsiColor::Yellow, "skip"),
        Status::Fail => (AnsiColor::Red, "fail"),
    };
    out.text(format!(
        "{who:<18} {}  {:>7}  component {}  {}",
        out.paint(color, word),
        seconds(ruled.seconds),
        short(&ruled.plugin_sha256),
        one_line(&strip_escapes(&ruled.summary), 200)
    ));
    for finding in &ruled.findings {
        let place = match (&finding.path, finding.line) {
            (Some(path), Some(line)) => format!("{path}:{line}: "),
            (Some(path), None) => format!("{path}: "),
            (None, _) => String::new(),
        };
        for line in strip_escapes(&finding.message).lines() {
            out.text(format!("  {place}{line}"));
        }
    }
}
