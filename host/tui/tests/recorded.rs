//! What a real run said over its socket (`recorded/run.jsonl`), as the screen shows it; and what
//! keys ask of it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ralph_tui::app::{App, Do, Mode};
use ralph_tui::link::{Said, sorted};
use ralph_tui::theme::Theme;
use ralph_tui::{draw, keys};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};
use serde_json::{Value, json};

const METHODS: [&str; 4] = ["get_status", "get_log", "subscribe", "list_tasks"];

/// Lines as they went over the socket: `sent` and `came`.
fn recorded() -> Vec<(bool, Value)> {
    let lines = include_str!("recorded/run.jsonl").lines();
    lines
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let sent = line.get("sent").is_some();
            (sent, line[if sent { "sent" } else { "came" }].take())
        })
        .collect()
}

/// An app that has heard all lines up to the first of which `until` says so, that one included.
fn heard(until: impl Fn(&Value) -> bool) -> App {
    let mut app = App::default();
    hears(&mut app, "/run/one.sock", until);
    app
}

/// A further run, of which the app hears the same.
fn hears(app: &mut App, socket: &str, until: impl Fn(&Value) -> bool) {
    let (at, asks) = app.found(socket.into()).unwrap();
    assert_eq!(asks[0].0, "get_status");
    for (sent, line) in recorded() {
        if sent {
            let method = METHODS.iter().find(|m| line["method"] == **m).unwrap();
            app.runs[at].asked(line["id"].as_u64().unwrap(), method);
            continue;
        }
        app.said(at, sorted(line.clone()).unwrap());
        if until(&line) {
            break;
        }
    }
}

fn screen(app: &mut App, width: u16, height: u16, color: bool) -> (String, bool) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let now = app.runs[0].text("updated_at").parse().unwrap();
    terminal
        .draw(|frame| draw::draw(frame, app, Theme { color }, now))
        .unwrap();
    let buffer = terminal.backend().buffer();
    let colored = buffer.content().iter().any(|cell| cell.fg != Color::Reset);
    let rows = buffer.content().chunks(usize::from(width));
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    (rows.collect::<Vec<_>>().join("\n"), colored)
}

fn press(app: &mut App, code: KeyCode, modifiers: KeyModifiers) -> Vec<Do> {
    keys::key(app, KeyEvent::new(code, modifiers))
}

fn write(app: &mut App, text: &str) -> Vec<Do> {
    let typed = text
        .chars()
        .flat_map(|c| press(app, KeyCode::Char(c), KeyModifiers::NONE));
    typed.collect()
}

fn at_work(line: &Value) -> bool {
    let gates = line["params"]["data"]["gates"].as_array();
    gates.is_some_and(|all| all.iter().any(|g| g["status"] == "pass"))
}

#[test]
fn in_the_midst_of_it_the_screen_shows_where_the_run_stands() {
    let mut app = heard(at_work);
    let (wide, colored) = screen(&mut app, 110, 24, true);
    for words in [
        "running 0/2 done T1 gates First thing",
        "[>] T1 First thing",
        "[ ] T2 Second thing",
        "lint         pass 0.",
        "tests        running",
        "I look around",
        "output of all tasks · follows",
        "q detach",
    ] {
        assert!(wide.contains(words), "{words}\n{wide}");
    }
    assert!(colored);
    let (narrow, colored) = screen(&mut app, 40, 14, false);
    for words in [
        "running 0/2 done",
        "[>] T1",
        "tests",
        "I look around",
        "q detach",
    ] {
        assert!(narrow.contains(words), "{words}\n{narrow}");
    }
    assert!(!colored, "NO_COLOR");
}

#[test]
fn at_its_end_everything_is_told_and_nothing_can_be_asked() {
    let mut app = heard(|_| false);
    app.said(0, Said::Closed);
    let (end, _) = screen(&mut app, 110, 24, true);
    for words in [
        "completed 2/2 done",
        "[x] T1",
        "[x] T2",
        "the run is over: completed",
    ] {
        assert!(end.contains(words), "{words}\n{end}");
    }
    assert!(!end.contains("broke off"), "{end}");
    assert_eq!(write(&mut app, "p"), []);
    assert_eq!(app.note, "this run is over");
    assert_eq!(write(&mut app, "q"), [Do::Detach]);
}

#[test]
fn no_size_is_too_small() {
    let mut app = heard(at_work);
    hears(&mut app, "/run/two.sock", at_work);
    for mode in ["", "?", "i", "/", "s", "v", "v"] {
        app.mode = Mode::Normal;
        write(&mut app, mode);
        for (width, height) in [
            (1, 1),
            (3, 2),
            (10, 4),
            (40, 5),
            (72, 1),
            (79, 10),
            (300, 100),
        ] {
            screen(&mut app, width, height, true);
        }
    }
}

#[test]
fn keys_ask_what_they_say() {
    let mut app = heard(at_work);
    let ask = |method, params| vec![Do::Ask(0, (method, params))];
    assert_eq!(write(&mut app, "p"), ask("pause", json!({})));
    assert_eq!(
        write(&mut app, "c"),
        ask("checkpoint", json!({"pause": false}))
    );
    assert_eq!(write(&mut app, "sn"), [], "not without a yes");
    assert_eq!(write(&mut app, "sy"), ask("stop", json!({"force": false})));
    assert_eq!(write(&mut app, "Sy"), ask("stop", json!({"force": true})));
    assert_eq!(
        write(&mut app, "jxy"),
        ask("skip_task", json!({"id": "T2"}))
    );
    write(&mut app, "iq? ä");
    let sent = press(&mut app, KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(sent, ask("inject_prompt", json!({"prompt": "q? ä"})));
    write(&mut app, "f");
    let (shown, _) = screen(&mut app, 110, 24, true);
    assert!(shown.contains("output of T2"), "{shown}");
}

#[test]
fn the_agents_terminal_gets_every_key_but_the_way_out() {
    let mut app = heard(at_work);
    let ask = |method, params| vec![Do::Ask(0, (method, params))];
    let on = write(&mut app, "I");
    assert_eq!(on, ask("set_interactive_mode", json!({"enabled": true})));
    let (shown, _) = screen(&mut app, 40, 14, true);
    assert!(shown.contains("INTERACTIVE  Ctrl-] leaves"), "{shown}");
    assert_eq!(write(&mut app, "q"), ask("write_pty", json!({"data": "q"})));
    let interrupt = press(&mut app, KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(interrupt, ask("write_pty", json!({"data": "\u{3}"})));
    let long = "ä".repeat(40_000);
    let pieces = keys::paste(&mut app, &long);
    let pieces: String = (pieces.iter())
        .map(|one| match one {
            Do::Ask(_, (_, params)) => params["data"].as_str().unwrap().to_owned(),
            Do::Detach => panic!("detached"),
        })
        .collect();
    assert_eq!(pieces, long);
    assert_eq!(
        app.farewell(),
        ask("set_interactive_mode", json!({"enabled": false}))
    );
    let out = press(&mut app, KeyCode::Char('5'), KeyModifiers::CONTROL);
    assert_eq!(out, ask("set_interactive_mode", json!({"enabled": false})));
    assert_eq!(app.mode, Mode::Normal);
}

#[test]
fn several_runs_are_tabs_and_a_socket_that_comes_back_is_a_new_run() {
    let mut app = heard(at_work);
    assert_eq!(app.found("/run/two.sock".into()).unwrap().0, 1);
    assert!(app.found("/run/two.sock".into()).is_none());
    app.said(1, Said::Closed);
    assert_eq!(app.found("/run/two.sock".into()).unwrap().0, 1);
    press(&mut app, KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(app.shown, 1);
    let (shown, _) = screen(&mut app, 80, 10, true);
    assert!(
        shown.contains(" 1 repo ▶ ") && shown.contains(" 2 … "),
        "{shown}"
    );
    write(&mut app, "1");
    assert_eq!(app.shown, 0);
}

/// The first is at work, the second is over.
fn side_by_side() -> App {
    let mut app = heard(at_work);
    hears(&mut app, "/run/two.sock", |_| false);
    app.said(1, Said::Closed);
    write(&mut app, "v");
    app
}

#[track_caller]
fn line_with<'a>(screen: &'a str, words: &[&str]) -> &'a str {
    let line = screen.lines().find(|l| words.iter().all(|w| l.contains(w)));
    line.unwrap_or_else(|| panic!("no line with {words:?}\n{screen}"))
}

#[test]
fn runs_stand_side_by_side_and_one_that_is_over_stays_and_says_so() {
    let mut app = side_by_side();
    for color in [true, false] {
        let (shown, colored) = screen(&mut app, 120, 24, color);
        assert_eq!(colored, color);
        let titles = line_with(&shown, &["─ 1 repo ▶ ─", "─ 2 repo ✓ ended ─"]);
        assert_eq!(titles, shown.lines().next().unwrap(), "no tabs are needed");
        line_with(&shown, &["running 0/2 done", "completed 2/2 done"]);
        line_with(&shown, &["[>] T1", "[x] T1"]);
        line_with(&shown, &["│"]);
    }
    // Where keys go is seen without colours too.
    let reversed = |app: &mut App, x: u16| {
        let mut terminal = Terminal::new(TestBackend::new(120, 24)).unwrap();
        let now = app.runs[0].text("updated_at").parse().unwrap();
        terminal
            .draw(|frame| draw::draw(frame, app, Theme { color: false }, now))
            .unwrap();
        let cell = &terminal.backend().buffer()[(x, 0)];
        cell.modifier.contains(Modifier::REVERSED)
    };
    assert!(reversed(&mut app, 5) && !reversed(&mut app, 65));
    press(&mut app, KeyCode::Tab, KeyModifiers::NONE);
    assert!(!reversed(&mut app, 5) && reversed(&mut app, 65));
}

#[test]
fn keys_go_to_the_pane_that_has_the_focus() {
    let mut app = side_by_side();
    hears(&mut app, "/run/three.sock", at_work);
    let (shown, _) = screen(&mut app, 120, 24, false);
    line_with(&shown, &["─ 3 repo ▶ ─"]);
    write(&mut app, "3");
    let ask = |method, params| vec![Do::Ask(2, (method, params))];
    assert_eq!(write(&mut app, "p"), ask("pause", json!({})));
    let on = write(&mut app, "I");
    assert_eq!(on, ask("set_interactive_mode", json!({"enabled": true})));
    // What the others say takes nobody out of the agent's terminal.
    app.said(0, Said::Closed);
    assert_eq!(app.mode, Mode::Interactive);
    let tab = press(&mut app, KeyCode::Tab, KeyModifiers::NONE);
    assert_eq!(tab, ask("write_pty", json!({"data": "\t"})));
    let out = press(&mut app, KeyCode::Char(']'), KeyModifiers::CONTROL);
    assert_eq!(out, ask("set_interactive_mode", json!({"enabled": false})));
    write(&mut app, "1");
    assert_eq!(write(&mut app, "p"), []);
    assert_eq!(app.note, "this run is over");
    let (shown, _) = screen(&mut app, 120, 24, false);
    line_with(&shown, &["─ 1 repo ✗ ended ─"]);
    line_with(&shown, &["gone 0/2 done"]);
}

#[test]
fn where_there_is_no_room_one_run_is_shown_and_the_others_are_tabs() {
    let mut app = side_by_side();
    let (shown, _) = screen(&mut app, 70, 16, false);
    line_with(&shown, &[" 1 repo ▶ ", " 2 repo ✓ "]);
    line_with(&shown, &["Tab runs", "no room"]);
    assert!(!shown.contains("completed"), "{shown}");
    press(&mut app, KeyCode::Tab, KeyModifiers::NONE);
    let (shown, _) = screen(&mut app, 70, 16, false);
    assert!(shown.contains("completed 2/2 done") && !shown.contains("[>]"));
    // More than have room: the focus has, and the tabs tell of all.
    for n in 3..=12 {
        hears(&mut app, &format!("/run/{n}.sock"), at_work);
    }
    app.shown = 11;
    let (shown, _) = screen(&mut app, 80, 24, false);
    line_with(&shown, &["─ 12 repo ▶ ─"]);
    let tabs = shown.lines().next().unwrap();
    assert!(
        tabs.contains(" 12 repo ▶ ") && !tabs.contains('─'),
        "{tabs}"
    );
    assert!(!shown.contains("─ 1 repo"), "{shown}");
    write(&mut app, "v");
    let (shown, _) = screen(&mut app, 120, 40, false);
    assert!(!shown.contains("─ 12 repo"), "{shown}");
}

#[test]
fn a_gate_that_only_warns_is_shown_as_a_warning() {
    let mut app = heard(at_work);
    let gates = json!([
        {"name": "lint", "task": "T1", "status": "fail", "severity": "warn", "millis": 5, "summary": "odd"},
        {"name": "tests", "task": "T1", "status": "fail", "severity": "block", "millis": 5, "summary": "bad"},
        {"name": "docs", "task": "T1", "status": "running", "severity": null, "millis": null, "summary": ""},
    ]);
    app.said(
        0,
        Said::Event(json!({"type": "state_change", "data": {"gates": gates}})),
    );
    let (shown, _) = screen(&mut app, 110, 24, false);
    for words in [
        "lint         warn 0.0s odd",
        "tests        fail",
        "docs         running",
    ] {
        line_with(&shown, &[words]);
    }
}

#[test]
fn a_task_that_is_skipped_can_be_taken_up_again() {
    let mut app = heard(at_work);
    app.runs[0].tasks[1].skipped = true;
    write(&mut app, "jx");
    let (shown, _) = screen(&mut app, 110, 24, false);
    line_with(&shown, &["take T2 up again in this run? y/n"]);
    let undo = ("skip_task", json!({"id": "T2", "undo": true}));
    assert_eq!(write(&mut app, "y"), [Do::Ask(0, undo)]);
}
