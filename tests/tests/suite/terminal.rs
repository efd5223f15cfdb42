//! What a terminal sees, and what a pipe doesn't.

use std::process::Command;

use ralph_tests::{Live, Project, Ran};

/// Runs the binary on a pseudo-terminal of [`WIDTH`] columns.
fn on_terminal(p: &Project, args: &str, env: &[(&str, &str)]) -> Ran {
    let inner = p.command(&[]);
    let program = inner.get_program().to_str().unwrap().to_owned();
    let mut script = Command::new("script");
    script
        .arg("-qec")
        .arg(format!("stty cols 100 rows 30; exec '{program}' {args}"))
        .arg("/dev/null")
        .current_dir(p.root())
        .env_clear();
    for (name, value) in inner.get_envs() {
        if let Some(value) = value {
            script.env(name, value);
        }
    }
    script
        .envs(env.iter().copied())
        .stdin(std::process::Stdio::null());
    Live::start(script, [p.side("screen"), p.side("screen.err")]).wait()
}

/// Columns of the terminal.
const WIDTH: usize = 100;

/// What a terminal shows in the end: line wraps, carriage returns, cursor-up and erasing carried out.
fn screen(bytes: &str) -> Vec<String> {
    let (mut lines, mut row, mut col) = (vec![Vec::new()], 0usize, 0usize);
    let mut rest = bytes.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' => row += 1,
            '\r' => col = 0,
            '\u{1b}' if rest.peek() == Some(&'[') => {
                rest.next();
                let mut number = String::new();
                let end = loop {
                    match rest.next() {
                        Some(d) if d.is_ascii_digit() || d == ';' || d == '?' => number.push(d),
                        other => break other.unwrap_or(' '),
                    }
                };
                let n: usize = number.parse().unwrap_or(1);
                let line: &mut Vec<char> = &mut lines[row];
                match end {
                    'A' => row = row.saturating_sub(n),
                    'G' => col = n - 1,
                    'K' if number == "2" => line.clear(),
                    'K' => line.truncate(col),
                    'J' => {
                        line.truncate(col);
                        lines.truncate(row + 1);
                    }
                    _ => {}
                }
            }
            c => {
                if col == WIDTH {
                    (row, col) = (row + 1, 0);
                    lines.resize(lines.len().max(row + 1), Vec::new());
                }
                let line = &mut lines[row];
                if line.len() <= col {
                    line.resize(col + 1, ' ');
                }
                line[col] = c;
                col += 1;
            }
        }
        if lines.len() <= row {
            lines.resize(row + 1, Vec::new());
        }
    }
    lines
        .iter()
        .map(|l| l.iter().collect::<String>().trim_end().to_owned())
        .collect()
}

fn talking() -> ralph_tests::Builder {
    Project::build()
        .agent("cat >/dev/null; n=$(count agent)\necho 'I look around'; sleep 0.5; echo \"work $n\" >>work.txt; printf '\\033[2J\\033]0;owned\\007'; echo 'EXIT_SIGNAL: true'\n")
        .gate("tests", "sleep 0.3\n")
}

#[test]
fn the_live_view_shows_task_phase_gates_and_last_words_and_leaves_a_clean_screen() {
    let p = talking().ready();
    let ran = on_terminal(&p, "run", &[]).expect(0);
    for words in [
        "First thing · agent",
        "I look around",
        "First thing · gates",
        "Second thing",
        "tokens",
    ] {
        assert!(ran.stdout.contains(words), "{words}\n{:?}", ran.stdout);
    }
    assert!(
        !ran.stdout.contains("\u{1b}[2J") && !ran.stdout.contains("owned"),
        "nothing of the agent's reaches it raw"
    );
    let left = screen(&ran.stdout);
    let shown = left.join("\n");
    for words in [
        "[0 of 2 done] T1 First thing",
        "gate tests",
        "accepted: ",
        "complete: 2 of 2 tasks done",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    assert!(!shown.contains(" · "), "the live line is gone:\n{shown}");
    assert!(
        left.last().unwrap().is_empty(),
        "the cursor stands on a line of its own:\n{shown}"
    );
    assert!(
        !ran.stdout.contains("\u{1b}[?25l")
            || ran.stdout.rfind("\u{1b}[?25h") > ran.stdout.rfind("\u{1b}[?25l"),
        "the cursor is visible"
    );
}

#[test]
fn no_color_takes_the_colours_away_and_a_dumb_terminal_gets_plain_lines() {
    let colour = |text: &str| {
        text.contains("\u{1b}[1m") || text.contains("\u{1b}[32m") || text.contains("\u{1b}[31m")
    };
    let p = talking().ready();
    assert!(colour(&on_terminal(&p, "step", &[]).expect(0).stdout));
    assert!(!colour(
        &on_terminal(&p, "step", &[("NO_COLOR", "1")])
            .expect(0)
            .stdout
    ));
    let p = talking().ready();
    let dumb = on_terminal(&p, "step", &[("TERM", "dumb")]).expect(0);
    assert!(!dumb.stdout.contains('\u{1b}'), "{:?}", dumb.stdout);
    let status = on_terminal(&p, "status", &[("NO_COLOR", "1")]).expect(0);
    assert!(!status.stdout.contains('\u{1b}'), "{:?}", status.stdout);
}

#[test]
fn a_pipe_gets_no_escape_bytes() {
    let p = talking().ready();
    for args in [
        &["step"][..],
        &["status"],
        &["plugin", "list"],
        &["plugin", "inspect", "judge"],
        &["doctor"],
        &["trust"],
        &["run", "-v"],
        &["--help"],
        &["run", "--nonsense"],
    ] {
        let ran = p.run(args);
        assert!(
            !ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'),
            "{args:?}\n{:?}\n{:?}",
            ran.stdout,
            ran.stderr
        );
    }
}

#[test]
fn ctrl_c_on_a_terminal_ends_the_run_and_clears_the_live_line() {
    let p = Project::build()
        .agent("cat >/dev/null; count agent >/dev/null; kill -INT $PPID; hang\n")
        // What is held by it can't reach ralph.
        .toml("[sandbox]\nprofile = 'off'\n")
        .ready();
    let ran = on_terminal(&p, "run", &[]).expect(130);
    let shown = screen(&ran.stdout).join("\n");
    assert!(
        shown.contains("stopped; `ralph run` takes it up"),
        "{shown}"
    );
    assert!(!shown.contains(" · "), "{shown}");
    assert_eq!(ralph_tests::below(&p.root()), []);
}

#[test]
fn trust_asks_on_a_terminal_and_takes_only_a_yes() {
    for (answer, code) in [("y", 0), ("n", 1), ("", 1)] {
        let p = Project::build().untrusted();
        let inner = p.command(&[]);
        let program = inner.get_program().to_str().unwrap().to_owned();
        let mut script = Command::new("script");
        script
            .arg("-qec")
            .arg(format!("exec '{program}' trust"))
            .arg("/dev/null")
            .current_dir(p.root())
            .env_clear();
        script.envs(inner.get_envs().filter_map(|(n, v)| Some((n, v?))));
        std::fs::write(p.side("answer"), format!("{answer}\n")).unwrap();
        script.stdin(std::fs::File::open(p.side("answer")).unwrap());
        let ran = Live::start(script, [p.side("screen"), p.side("screen.err")]).wait();
        assert_eq!(ran.code, code, "`{answer}`\n{}", ran.stdout);
    }
}
