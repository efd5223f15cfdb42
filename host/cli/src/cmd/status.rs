//! `ralph status`

use std::path::Path;
use std::process::ExitCode;

use ralph_engine::pace::Waiting;
use ralph_runner::{Error, Project, status};

use crate::out::Out;

pub async fn status(dir: &Path, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    let s = status::status(&project).await?;
    out.text(format!(
        "{}  {} of {} tasks done",
        out.bold(&s.task_file),
        s.done,
        s.total
    ));
    match &s.next {
        Some(next) => {
            let title = ralph_engine::text::one_line(&next.title, 100);
            let attempts = if next.attempts > 0 {
                format!(" (attempt {})", next.attempts + 1)
            } else {
                String::new()
            };
            out.text(format!("next     {} {title}{attempts}", next.id));
        }
        None => out.text("next     nothing to run"),
    }
    if !s.blocked.is_empty() {
        out.text(format!("blocked  {}", s.blocked.join(", ")));
    }
    match &s.run {
        Some(run) => {
            let state = match (run.alive, run.paused, run.iteration) {
                (false, ..) => "cut off; `ralph run` takes it up",
                (true, false, _) => "running",
                (true, true, Some(_)) => "running, pauses after this iteration",
                (true, true, None) => "paused; `ralph resume` lets it go on",
            };
            let what = match (run.iteration, &run.task, &run.phase) {
                (Some(n), Some(task), Some(phase)) => {
                    format!(", iteration {n}, task {task}, {phase:?}").to_lowercase()
                }
                _ => String::new(),
            };
            out.text(format!("run      {} {state}{what}", run.id));
        }
        None => {
            let end = s.last_end.as_deref().unwrap_or("none yet");
            out.text(format!("run      last ended: {end}"));
        }
    }
    if s.injected > 0 {
        out.text(format!(
            "waiting  {} texts of yours for the next prompt",
            s.injected
        ));
    }
    if let Some(spent) = &s.spent {
        let b = &spent.budget;
        let of = |limit: Option<String>| limit.map_or_else(String::new, |l| format!(" of {l}"));
        let money = spent.cost_usd.map_or_else(String::new, |usd| {
            let limit = b.cost_micros.map(|m| format!("${:.2}", m as f64 / 1e6));
            format!(", ${usd:.2}{}", of(limit))
        });
        out.text(format!(
            "spent    {} s{}, {} tokens{}{money}, {} iterations this hour{}",
            spent.seconds,
            of(b.seconds.map(|s| s.to_string())),
            spent.tokens,
            of(b.tokens.map(|t| t.to_string())),
            spent.this_hour,
            of(b.per_hour.map(|n| n.to_string())),
        ));
    }
    if let Some(waiting) = &s.waiting {
        let what = match &waiting.why {
            Waiting::Rate => "the hour's iterations are used up".to_owned(),
            Waiting::Limit { agent, message } => {
                format!("{agent}: {}", ralph_engine::text::one_line(message, 120))
            }
        };
        let until = ralph_runner::clock::local(waiting.until);
        out.text(format!("waiting  until {until}: {what}"));
    }
    if let Some(last) = &s.last {
        let text = |k: &str| ralph_engine::text::one_line(last[k].as_str().unwrap_or(""), 120);
        out.text(format!(
            "last     iteration {}, {}, {}: {}",
            last["iteration"],
            text("task_id"),
            text("status"),
            text("reason")
        ));
    }
    let u = s.usage;
    let cost = u
        .cost_usd
        .map_or_else(String::new, |c| format!(", ${c:.2}"));
    out.text(format!(
        "so far   {} iterations, {} tokens in, {} out{cost}",
        s.iterations, u.input_tokens, u.output_tokens
    ));
    Ok(out.done(0, &s))
}
