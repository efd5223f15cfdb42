//! What a key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use crate::app::{App, Do, Mode, Question, Typing};
use crate::typed::typed;

/// Typed text may have this many bytes before it is sent.
const TEXT_MAX: usize = 16 * 1024;
/// What is pasted at an agent goes in pieces.
const PIECE: usize = 32 * 1024;

/// Every key, for the help.
pub const KEYS: [(&str, &str); 16] = [
    ("q  Ctrl-]  Ctrl-C", "detach; the run goes on"),
    ("Tab  1-9", "another run"),
    ("v", "all runs side by side, or one"),
    ("j k  Up Down", "mark a task"),
    ("f", "only the marked task's output, or all"),
    ("PgUp PgDn Home End", "scroll; End follows"),
    ("/  n  N", "search; older, newer"),
    ("i", "inject text into the next prompt"),
    ("I", "interactive: keys go to the agent"),
    ("Ctrl-]", "out of interactive"),
    ("p", "pause or resume"),
    ("c", "checkpoint"),
    ("x", "skip the marked task, or no more"),
    ("s", "stop after this iteration"),
    ("S", "stop now"),
    ("?", "this help"),
];

/// Is it the way out of the interactive mode? Terminals differ in how it is named.
fn way_out(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char(']' | '5'))
}

/// Takes a key; what is to be done outside.
pub fn key(app: &mut App, key: KeyEvent) -> Vec<Do> {
    app.note.clear();
    match app.mode.clone() {
        Mode::Interactive if way_out(key) => {
            let off = app.farewell();
            app.mode = Mode::Normal;
            off
        }
        Mode::Interactive => write(app, &typed(key)),
        Mode::Help => {
            app.mode = Mode::Normal;
            Vec::new()
        }
        Mode::Asking(question) => {
            app.mode = Mode::Normal;
            match key.code {
                KeyCode::Char('y' | 'Y') => answered(app, question),
                _ => Vec::new(),
            }
        }
        Mode::Typing(what, text) => typing(app, what, text, key),
        Mode::Normal => command(app, key),
    }
}

/// Takes pasted text.
pub fn paste(app: &mut App, text: &str) -> Vec<Do> {
    match &mut app.mode {
        Mode::Interactive => write(app, text),
        Mode::Typing(_, line) if line.len() + text.len() <= TEXT_MAX => {
            line.push_str(text);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn write(app: &mut App, text: &str) -> Vec<Do> {
    let mut done = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, left) = rest.split_at(rest.floor_char_boundary(PIECE));
        done.extend(app.ask(("write_pty", json!({ "data": piece }))));
        rest = left;
    }
    done
}

fn answered(app: &mut App, question: Question) -> Vec<Do> {
    app.ask(match question {
        Question::Stop => ("stop", json!({ "force": false })),
        Question::StopNow => ("stop", json!({ "force": true })),
        Question::Skip(id) => ("skip_task", json!({ "id": id })),
        Question::Unskip(id) => ("skip_task", json!({ "id": id, "undo": true })),
    })
}

fn typing(app: &mut App, what: Typing, mut text: String, key: KeyEvent) -> Vec<Do> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => app.mode = Mode::Normal,
        KeyCode::Char('c' | ']' | '5') if control => app.mode = Mode::Normal,
        KeyCode::Enter => {
            app.mode = Mode::Normal;
            return match what {
                Typing::Prompt if text.trim().is_empty() => Vec::new(),
                Typing::Prompt => app.ask(("inject_prompt", json!({ "prompt": text }))),
                Typing::Search => {
                    let found = app.run_mut().is_some_and(|run| run.log.find(&text));
                    if !found && !text.is_empty() {
                        app.note = format!("no `{text}` from here on back");
                    }
                    Vec::new()
                }
            };
        }
        KeyCode::Backspace => {
            text.pop();
            app.mode = Mode::Typing(what, text);
        }
        KeyCode::Char('u') if control => app.mode = Mode::Typing(what, String::new()),
        KeyCode::Char(c) if !control && text.len() < TEXT_MAX => {
            text.push(c);
            app.mode = Mode::Typing(what, text);
        }
        _ => {}
    }
    Vec::new()
}

fn command(app: &mut App, key: KeyEvent) -> Vec<Do> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let page = isize::try_from(app.page.saturating_sub(1).max(1)).unwrap_or(1);
    match key.code {
        KeyCode::Char('c') if control => return vec![Do::Detach],
        _ if way_out(key) => return vec![Do::Detach],
        _ if control => {}
        KeyCode::Char('q') => return vec![Do::Detach],
        KeyCode::Tab => app.turn(1),
        KeyCode::BackTab => app.turn(-1),
        KeyCode::Char(c @ '1'..='9') => {
            let at = usize::try_from(u32::from(c) - u32::from('1')).unwrap_or_default();
            if at < app.runs.len() {
                app.shown = at;
            }
        }
        KeyCode::Char('v') => app.side = !app.side,
        KeyCode::Char('?' | 'h') => app.mode = Mode::Help,
        KeyCode::Char('/') => app.mode = Mode::Typing(Typing::Search, String::new()),
        KeyCode::Char(c @ ('n' | 'N')) => {
            let found = app.run_mut().is_some_and(|run| run.log.again(c == 'n'));
            if !found {
                app.note = "nothing further".into();
            }
        }
        KeyCode::Char('i') if app.run().is_some_and(|r| !r.over()) => {
            app.mode = Mode::Typing(Typing::Prompt, String::new());
        }
        KeyCode::Char('I') => {
            let asks = app.ask(("set_interactive_mode", json!({ "enabled": true })));
            if !asks.is_empty() {
                app.mode = Mode::Interactive;
            }
            return asks;
        }
        KeyCode::Char('p') => {
            let paused = app.run().is_some_and(|run| run.is("pause_requested"));
            return app.ask((if paused { "resume" } else { "pause" }, json!({})));
        }
        KeyCode::Char('c') => return app.ask(("checkpoint", json!({ "pause": false }))),
        KeyCode::Char('s') => app.mode = Mode::Asking(Question::Stop),
        KeyCode::Char('S') => app.mode = Mode::Asking(Question::StopNow),
        KeyCode::Char('x') => {
            if let Some(task) = app.run().and_then(|run| run.marked()) {
                let id = task.id.clone();
                app.mode = Mode::Asking(match task.skipped {
                    true => Question::Unskip(id),
                    false => Question::Skip(id),
                });
            }
        }
        KeyCode::Char('f') => {
            if let Some(run) = app.run_mut() {
                let id = run.marked().map(|t| t.id.clone());
                let only = id.filter(|_| run.log.filter.is_none());
                run.log.only(only);
            }
        }
        code => moved(app, code, page),
    }
    Vec::new()
}

fn moved(app: &mut App, code: KeyCode, page: isize) {
    let Some(run) = app.run_mut() else { return };
    match code {
        KeyCode::Char('j') | KeyCode::Down if run.marked + 1 < run.tasks.len() => run.marked += 1,
        KeyCode::Char('k') | KeyCode::Up => run.marked = run.marked.saturating_sub(1),
        KeyCode::PageUp => run.log.scroll(page),
        KeyCode::PageDown | KeyCode::Char(' ') => run.log.scroll(-page),
        KeyCode::Home | KeyCode::Char('g') => run.log.oldest(),
        KeyCode::End | KeyCode::Char('G') => run.log.below = 0,
        _ => {}
    }
}
