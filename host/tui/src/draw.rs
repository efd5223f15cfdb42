//! What is on the screen.

mod log;
mod panes;
mod parts;

use jiff::Timestamp;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};
use unicode_width::UnicodeWidthStr;

use crate::app::{App, Mode, Question, Typing};
use crate::keys::KEYS;
use crate::run::Run;
use crate::theme::Theme;

/// From here on tasks stand beside the output.
const WIDE: u16 = 72;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, app: &mut App, theme: Theme, now: Timestamp) {
    let [above, foot] =
        Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
    let [tabs, below] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(above);
    // Where each has its pane, its title is there.
    let (count, focus) = (app.runs.len(), app.shown);
    let mut panes = match app.side {
        true => panes::panes(above, count, focus),
        false => Vec::new(),
    };
    if panes.len() < count {
        frame.render_widget(Paragraph::new(tab_line(app, theme, tabs.width)), tabs);
        if !panes.is_empty() {
            panes = panes::panes(below, count, focus);
        }
    }
    app.panes = panes.len().max(1);
    if panes.is_empty() {
        let [head, body] =
            Layout::vertical([Constraint::Length(2), Constraint::Min(0)]).areas(below);
        if let Some(run) = app.run() {
            frame.render_widget(Paragraph::new(parts::head(run, theme, now)), head);
        }
        app.page = content(frame, app.run(), theme, body, true);
    }
    for (at, area) in panes {
        let page = pane(frame, app, at, theme, now, area);
        if at == app.shown {
            app.page = page;
        }
    }
    footer(frame, app, theme, foot);
    if app.mode == Mode::Help {
        help(frame, below, theme);
    }
}

/// One run of several; lines that its output has room for.
fn pane(
    frame: &mut Frame<'_>,
    app: &App,
    at: usize,
    theme: Theme,
    now: Timestamp,
    area: Rect,
) -> usize {
    let focused = at == app.shown;
    if area.x > 0 {
        let left = Rect {
            x: area.x - 1,
            width: 1,
            ..area
        };
        let line = Block::new()
            .borders(Borders::LEFT)
            .border_style(theme.quiet());
        frame.render_widget(line, left);
    }
    let [title, head, body] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Min(0),
    ])
    .areas(area);
    let Some(run) = app.runs.get(at) else {
        return 0;
    };
    let ended = if run.over() { "ended " } else { "" };
    let mut text = format!("──{}{ended}", tab(at, run));
    let rest = usize::from(title.width).saturating_sub(text.width());
    text.push_str(&"─".repeat(rest));
    let style = match focused {
        true => theme.marked().add_modifier(Modifier::BOLD),
        false => theme.quiet(),
    };
    frame.render_widget(Paragraph::new(text).style(style), title);
    frame.render_widget(Paragraph::new(parts::head(run, theme, now)), head);
    content(frame, Some(run), theme, body, focused)
}

/// ` 2 name ▶ `
fn tab(at: usize, run: &Run) -> String {
    let name = match run.text("task_name") {
        name if name.is_empty() => "…".to_owned(),
        name => name,
    };
    let mark = parts::mark(&run.text("status"), run.closed);
    format!(" {} {name} {mark} ", at + 1)
}

/// All runs, as far as they have room; the one that is shown always has.
fn tab_line(app: &App, theme: Theme, width: u16) -> Line<'static> {
    let tabs: Vec<String> = app
        .runs
        .iter()
        .enumerate()
        .map(|(at, r)| tab(at, r))
        .collect();
    let up_to = |from: usize| {
        let before = tabs.iter().take(app.shown + 1).skip(from);
        before.map(|tab| tab.width() + 1).sum::<usize>()
    };
    let mut from = 0;
    while from < app.shown && up_to(from) > usize::from(width) {
        from += 1;
    }
    let mut spans = Vec::new();
    for (at, text) in tabs.into_iter().enumerate().skip(from) {
        let style = if at == app.shown {
            theme.marked().add_modifier(Modifier::BOLD)
        } else {
            Style::new()
        };
        spans.push(Span::styled(text, style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

/// The run's own part; lines that its output has room for.
fn content(
    frame: &mut Frame<'_>,
    run: Option<&Run>,
    theme: Theme,
    area: Rect,
    focused: bool,
) -> usize {
    let Some(run) = run else { return 0 };
    let gates = parts::gates(run, theme);
    let rows = u16::try_from(gates.len()).unwrap_or(u16::MAX);
    let view = if area.width >= WIDE {
        let list = (area.width / 3).min(44);
        let [left, right] =
            Layout::horizontal([Constraint::Length(list), Constraint::Min(0)]).areas(area);
        let block = Block::new()
            .borders(Borders::RIGHT)
            .border_style(theme.quiet());
        let inner = block.inner(left);
        frame.render_widget(block, left);
        tasks(frame, run, theme, inner, focused);
        let rows = rows.min(right.height / 3);
        let [above, view] =
            Layout::vertical([Constraint::Length(rows), Constraint::Min(0)]).areas(right);
        frame.render_widget(Paragraph::new(gates), above);
        view
    } else {
        let list = u16::try_from(run.tasks.len()).unwrap_or(u16::MAX);
        let (list, rows) = (list.min(area.height / 4), rows.min(area.height / 5));
        let [top, above, view] = Layout::vertical([
            Constraint::Length(list),
            Constraint::Length(rows),
            Constraint::Min(0),
        ])
        .areas(area);
        tasks(frame, run, theme, top, focused);
        frame.render_widget(Paragraph::new(gates), above);
        view
    };
    log::draw(frame, &run.log, theme, view);
    usize::from(view.height.saturating_sub(1))
}

/// The list, scrolled so that the marked one is in it; the mark is seen where keys go.
fn tasks(frame: &mut Frame<'_>, run: &Run, theme: Theme, area: Rect, focused: bool) {
    let room = usize::from(area.height);
    let from = (run.marked + 1).saturating_sub(room);
    let shown = run.tasks.iter().enumerate().skip(from).take(room);
    let lines: Vec<Line<'_>> = shown
        .map(|(at, task)| {
            let line = parts::task(task, theme);
            if at == run.marked && focused {
                line.style(theme.marked())
            } else {
                line
            }
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn footer(frame: &mut Frame<'_>, app: &App, theme: Theme, area: Rect) {
    let line = match &app.mode {
        Mode::Typing(what, text) => {
            let head = match what {
                Typing::Prompt => "inject> ",
                Typing::Search => "/",
            };
            // Of a long text one sees the end, where one types.
            let room = usize::from(area.width).saturating_sub(head.width() + 1);
            let mut shown = text.replace(['\n', '\r'], " ");
            while shown.width() > room {
                shown.remove(0);
            }
            let at = u16::try_from(head.width() + shown.width()).unwrap_or(0);
            frame.set_cursor_position(Position::new(area.x.saturating_add(at), area.y));
            Line::from(format!("{head}{shown}"))
        }
        Mode::Asking(question) => {
            let text = match question {
                Question::Stop => "stop after this iteration?".to_owned(),
                Question::StopNow => "end the run and its agent now?".to_owned(),
                Question::Skip(id) => format!("skip {id} in this run?"),
                Question::Unskip(id) => format!("take {id} up again in this run?"),
            };
            Line::styled(format!("{text} y/n"), theme.notice())
        }
        Mode::Interactive if app.note.is_empty() => Line::styled(
            " INTERACTIVE  Ctrl-] leaves · keys go to the agent ",
            theme.notice().add_modifier(Modifier::REVERSED),
        ),
        Mode::Interactive => Line::styled(
            format!(" INTERACTIVE  Ctrl-] leaves · {} ", app.note),
            theme.notice().add_modifier(Modifier::REVERSED),
        ),
        Mode::Help => Line::styled("any key goes back", theme.quiet()),
        Mode::Normal if !app.note.is_empty() => Line::styled(app.note.clone(), theme.notice()),
        Mode::Normal if app.side && app.panes < app.runs.len().min(2) => Line::styled(
            "q detach  ? keys  Tab runs  v one run: there is no room for several",
            theme.quiet(),
        ),
        Mode::Normal if app.panes > 1 => Line::styled(
            "q detach  ? keys  Tab next run  v only this run  i inject  p pause  s stop",
            theme.quiet(),
        ),
        Mode::Normal => Line::styled(
            "q detach  ? keys  i inject  / search  I interactive  p pause  s stop  Tab runs  v all",
            theme.quiet(),
        ),
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn help(frame: &mut Frame<'_>, area: Rect, theme: Theme) {
    let wide = area.width >= 60;
    let lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(|(key, what)| {
            let room = if wide { 20 } else { 11 };
            Line::from(vec![
                Span::styled(format!("{key:room$} "), theme.busy()),
                Span::raw(*what),
            ])
        })
        .collect();
    frame.render_widget(Clear, area);
    let block = Block::bordered()
        .title(" keys ")
        .border_style(theme.quiet());
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
