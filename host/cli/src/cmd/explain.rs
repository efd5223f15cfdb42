//! `ralph explain` and `ralph blocked`

use std::path::Path;
use std::process::ExitCode;

use ralph_engine::text::{one_line, strip_escapes};
use ralph_engine::types::TaskState;
use ralph_runner::audit::explain;
use ralph_runner::{Error, Project};
use serde_json::json;

use crate::args::ExplainArgs;
use crate::out::Out;

pub async fn explain(dir: &Path, args: &ExplainArgs, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let e = explain::explain(&project, args.id.as_deref()).await?;
    let clean = |text: &str| one_line(&strip_escapes(text), 400);
    out.text(format!("{}  {}", out.bold(&e.id), clean(&e.title)));
    out.text(clean(&e.why));
    if let Some(suggestion) = &e.suggestion {
        out.text(format!("what to do: {}", clean(suggestion)));
    }
    if !e.depends_on.is_empty() {
        let each: Vec<String> = e
            .depends_on
            .iter()
            .map(|(id, state)| format!("{id} ({})", word(state)))
            .collect();
        out.text(format!("depends on: {}", each.join(", ")));
    }
    if !e.waiting.is_empty() {
        out.text(format!("waiting for it: {}", e.waiting.join(", ")));
    }
    if !e.attempts.is_empty() {
        let (counted, max) = e.counted;
        out.text(match e.state {
            TaskState::Done => "attempts:".to_owned(),
            _ => format!("attempts ({counted} of {max} count):"),
        });
    }
    for a in &e.attempts {
        out.text(format!(
            "  iteration {}, attempt {}, {}: {}: {}",
            a.iteration,
            a.attempt,
            a.agent,
            a.result.as_ref().map_or_else(|| "on".into(), word),
            clean(&a.reason)
        ));
    }
    for note in &e.notes {
        out.text(format!(
            "the next attempt is told, from {}: {}",
            note.from,
            one_line(&strip_escapes(&note.text), 200)
        ));
    }
    Ok(out.done(0, &e))
}

/// The word that records have for it.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

pub async fn blocked(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let blocked = explain::blocked(&project).await?;
    let clean = |text: &str| one_line(&strip_escapes(text), 400);
    for b in &blocked {
        out.text(format!("{}  {}", out.bold(&b.id), clean(&b.title)));
        let of = b.iteration.map_or_else(String::new, |n| {
            format!(" (iteration {n}, {} attempts)", b.attempts)
        });
        out.text(format!("  why         {}{of}", clean(&b.reason)));
        out.text(format!("  what to do  {}", clean(&b.suggestion)));
        if !b.waiting.is_empty() {
            out.text(format!("  waiting     {}", b.waiting.join(", ")));
        }
    }
    if blocked.is_empty() {
        out.text("no task is blocked");
    }
    Ok(out.done(0, &json!({ "blocked": blocked })))
}
