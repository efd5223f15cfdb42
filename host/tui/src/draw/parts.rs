//! Lines about a run: its head, its tasks, its gates.

use jiff::Timestamp;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::run::{Run, Task};
use crate::theme::Theme;

/// One sign for how a run stands.
pub(super) fn mark(status: &str, closed: bool) -> &'static str {
    match status {
        "completed" => "✓",
        "failed" => "✗",
        "stopped" => "■",
        _ if closed => "✗",
        "paused" | "checkpointed" => "‖",
        _ => "▶",
    }
}

fn status(run: &Run, theme: Theme) -> Span<'static> {
    let word = run.text("status");
    match word.as_str() {
        "completed" => Span::styled(word, theme.good()),
        "failed" => Span::styled(word, theme.bad()),
        "stopped" => Span::styled(word, theme.notice()),
        _ if run.closed => Span::styled("gone", theme.bad()),
        "running" => Span::styled(word, theme.busy()),
        _ => Span::styled(word, theme.notice()),
    }
}

/// Two lines: what is on, and what it costs.
pub(super) fn head(run: &Run, theme: Theme, now: Timestamp) -> Vec<Line<'static>> {
    let mut first = vec![status(run, theme)];
    first.push(Span::raw(format!(
        " {}/{} done ",
        run.number("done"),
        run.number("total")
    )));
    let id = run.text("current_story");
    if !id.is_empty() {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        first.push(Span::styled(id, bold));
        let phase = run.text("phase");
        if !phase.is_empty() {
            first.push(Span::styled(format!(" {phase}"), theme.busy()));
        }
        first.push(Span::raw(format!(" {}", run.text("current_title"))));
    }
    let (input, output, cost) = run.spent();
    let mut second = vec![Span::raw(format!(
        "{} · {} in {} out",
        clock(run.age(now)),
        count(input),
        count(output)
    ))];
    if let Some(cost) = cost {
        second.push(Span::raw(format!(" · ${cost:.2}")));
    }
    if run.is("interactive_mode") {
        second.push(Span::styled(" · interactive", theme.notice()));
    }
    if run.is("stop_requested") && !run.over() {
        second.push(Span::styled(" · stops soon", theme.notice()));
    }
    if run.is("pause_requested") && run.text("status") == "running" {
        second.push(Span::styled(" · pauses soon", theme.notice()));
    }
    let waiting = run.number("pending_prompts");
    if waiting > 0 {
        second.push(Span::styled(
            format!(" · {waiting} injected"),
            theme.notice(),
        ));
    }
    let workers = run.number("workers");
    if workers > 0 {
        second.push(Span::raw(format!(" · {workers} workers")));
    }
    second.push(Span::styled(
        format!(
            " · iteration {} of {} · {}",
            run.number("iteration"),
            run.number("max_iterations"),
            run.text("agent")
        ),
        theme.quiet(),
    ));
    vec![Line::from(first), Line::from(second)]
}

/// `[x] T1 title`
pub(super) fn task(task: &Task, theme: Theme) -> Line<'static> {
    let (sign, style) = match task.state.as_str() {
        _ if task.working => ("[>]", theme.busy()),
        "done" => ("[x]", theme.good()),
        "blocked" => ("[-]", theme.bad()),
        "in_progress" => ("[~]", theme.notice()),
        _ if task.skipped => ("[/]", theme.quiet()),
        _ => ("[ ]", Style::new()),
    };
    let mut spans = vec![
        Span::styled(format!("{sign} "), style),
        Span::styled(task.id.clone(), Style::new().add_modifier(Modifier::BOLD)),
    ];
    if task.attempts > 0 && task.state != "done" {
        spans.push(Span::styled(format!(" ×{}", task.attempts), theme.notice()));
    }
    spans.push(Span::raw(format!(" {}", task.title)));
    Line::from(spans)
}

/// One line each. With workers the task is said too.
pub(super) fn gates(run: &Run, theme: Theme) -> Vec<Line<'static>> {
    let all = run.gates();
    let several = all.iter().any(|g| g.task != all[0].task);
    let lines = all.into_iter().map(|gate| {
        let style = match gate.status.as_str() {
            "pass" => theme.good(),
            "fail" => theme.bad(),
            "warn" => theme.notice(),
            "running" => theme.busy(),
            _ => theme.quiet(),
        };
        let name = if several {
            format!("{} {}", gate.task, gate.name)
        } else {
            gate.name
        };
        let took = gate.millis.map_or_else(String::new, |millis| {
            format!(" {}.{}s", millis / 1000, millis % 1000 / 100)
        });
        Line::from(vec![
            Span::raw(format!("{name:<12} ")),
            Span::styled(gate.status, style),
            Span::raw(took),
            Span::styled(format!(" {}", gate.summary), theme.quiet()),
        ])
    });
    lines.collect()
}

/// `1:02:03`
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// `1.2k`
fn count(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}.{}k", tokens / 1000, tokens % 1000 / 100),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}
