//! `ralph attach` on a terminal, against real runs.

use std::cell::Cell;
use std::process::Command;
use std::time::{Duration, Instant};

use ralph_tests::{Client, LIMIT, Live, Project, go, ready, waiting};
use rustix::process::Signal;
use serde_json::json;

/// `ralph attach` on a terminal of this size; what is on it is read off an emulated one.
struct Attached {
    live: Live,
    size: Cell<(u16, u16)>,
}

impl Attached {
    fn to(p: &Project, size: (u16, u16), env: &[(&str, &str)]) -> Attached {
        Attached::with(p, "", size, env)
    }

    fn with(p: &Project, args: &str, size: (u16, u16), env: &[(&str, &str)]) -> Attached {
        let inner = p.command(&[]);
        let program = inner.get_program().to_str().unwrap().to_owned();
        let side = p.side("");
        let side = side.display();
        let (columns, rows) = size;
        let line = format!(
            "stty cols {columns} rows {rows}; stty -a >'{side}/before'; sh -c 'echo $$ >\"{side}/pid\"; exec \"{program}\" attach {args}'; code=$?; stty -a >'{side}/after'; exit $code"
        );
        let mut script = Command::new("script");
        script
            .args(["-qec", &line, "/dev/null"])
            .current_dir(p.root())
            .env_clear();
        script.envs(inner.get_envs().filter_map(|(n, v)| Some((n, v?))));
        script
            .env("TERM", "xterm-256color")
            .envs(env.iter().copied());
        p.fifo("keys");
        // Opened both ways, so that neither side waits for the other.
        let keys = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(p.side("keys.fifo"))
            .unwrap();
        script.stdin(keys);
        let live = Live::start(script, [p.side("screen"), p.side("screen.err")]);
        let size = Cell::new(size);
        Attached { live, size }
    }

    /// Its terminal has another size from now on.
    fn resize(&self, p: &Project, (columns, rows): (u16, u16)) {
        let tty = format!("/proc/{}/fd/0", p.noted("pid").trim());
        let set = format!("stty cols {columns} rows {rows} <{tty}");
        assert!(
            Command::new("sh")
                .args(["-c", &set])
                .status()
                .unwrap()
                .success()
        );
        self.size.set((columns, rows));
    }

    fn screen(&self, p: &Project) -> String {
        let bytes = std::fs::read(p.side("screen")).unwrap();
        let (columns, rows) = self.size.get();
        let mut parser =
            vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
        parser.process(&bytes);
        parser.screen().contents()
    }

    /// Waits until all of that is on the screen.
    #[track_caller]
    fn shows(&self, p: &Project, words: &[&str]) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let screen = self.screen(p);
            if words.iter().all(|w| screen.contains(w)) {
                return screen;
            }
            assert!(Instant::now() < until, "{words:?} isn't shown:\n{screen}");
            // Nothing tells that a file has grown.
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn left(self, p: &Project, code: i32) {
        let ran = self.live.wait().expect(code);
        assert!(
            ran.stdout.contains("\u{1b}[?1049l"),
            "the alternate screen is left"
        );
        assert!(
            ran.stdout.rfind("\u{1b}[?25h") > ran.stdout.rfind("\u{1b}[?25l"),
            "the cursor is visible"
        );
        // Its first line is the terminal's size, which a test may change.
        let set = |name| {
            p.noted(name)
                .split_once('\n')
                .map(|(_, rest)| rest.to_owned())
        };
        assert!(set("before").is_some());
        assert_eq!(set("before"), set("after"));
    }
}

fn press(p: &Project, keys: &str) {
    std::fs::write(p.side("keys.fifo"), keys).unwrap();
}

#[test]
fn one_sees_the_task_injects_a_prompt_and_detaches() {
    let p = ready(waiting().gate("tests", "true\n"));
    let run = p.start(&["run"]);
    p.hear("here");
    let at = Attached::to(&p, (100, 30), &[]);
    at.shows(
        &p,
        &[
            "running 0/2 done",
            "[>] T1 First thing",
            "[ ] T2 Second thing",
            "q detach",
        ],
    );
    press(&p, "i");
    at.shows(&p, &["inject>"]);
    press(&p, "look to the left\r");
    at.shows(&p, &["prompt injected", "1 injected"]);
    go(&p);
    p.hear("here");
    assert!(p.noted("prompt.2").contains("look to the left"));
    at.shows(
        &p,
        &[
            "1/2 done",
            "[x] T1",
            "[>] T2",
            "EXIT_SIGNAL: true",
            "T2 Second thing · agent",
        ],
    );
    press(&p, "/exit_\r");
    at.shows(&p, &["lines below"]);
    press(&p, "q");
    at.left(&p, 0);
    go(&p);
    run.wait().expect(0);
}

#[test]
fn a_signal_gives_the_terminal_back_and_the_run_goes_on() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let at = Attached::to(&p, (40, 14), &[("NO_COLOR", "1")]);
    let screen = at.shows(&p, &["running 0/2 done", "T1", "Second thing"]);
    assert!(screen.lines().all(|l| l.chars().count() <= 40), "{screen}");
    let pid = rustix::process::Pid::from_raw(p.noted("pid").trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    at.left(&p, 143);
    let bytes = String::from_utf8_lossy(&std::fs::read(p.side("screen")).unwrap()).into_owned();
    let colour = |number: &str| matches!(number.parse(), Ok(30..=38 | 40..=48 | 90..=107));
    for sequence in bytes.split("\u{1b}[").skip(1) {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        let set = sequence[end..].starts_with('m') && sequence[..end].split(';').any(colour);
        assert!(!set, "a colour: {sequence:?}");
    }
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
}

#[test]
fn in_interactive_mode_keys_go_to_the_agent_until_the_way_out() {
    let p = Project::build()
        .agent("n=$(count agent); if [ $n = 1 ]; then tell here up; read a; echo \"got $a\" | tee \"$SIDE/got\"; fi; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .in_agent("prompt = \"argument\"\nconfig = { pty = true }")
        .ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    let at = Attached::to(&p, (90, 24), &[]);
    at.shows(&p, &["[>] T1"]);
    press(&p, "I");
    at.shows(&p, &["INTERACTIVE", "Ctrl-] leaves", "· interactive"]);
    press(&p, "hello\r");
    at.shows(&p, &["got hello", "paused"]);
    assert_eq!(p.noted("got"), "got hello\n");
    press(&p, "\u{1d}");
    at.shows(&p, &["completed", "the run is over"]);
    press(&p, "\u{1d}");
    at.left(&p, 0);
    run.wait().expect(0);
}

#[test]
fn who_leaves_for_good_takes_the_interactive_mode_along() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let at = Attached::to(&p, (90, 24), &[]);
    at.shows(&p, &["[>] T1"]);
    press(&p, "I");
    at.shows(&p, &["INTERACTIVE", "· interactive"]);
    at.live.signal(Signal::TERM);
    let pid = rustix::process::Pid::from_raw(p.noted("pid").trim().parse().unwrap()).unwrap();
    let _ = rustix::process::kill_process(pid, Signal::HUP);
    at.live.wait();
    let mut client = Client::of(&p);
    let until = Instant::now() + LIMIT;
    while client.call("get_status", json!({}))["result"]["interactive_mode"] == true {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
}

#[test]
fn without_a_terminal_or_a_run_it_says_why() {
    let p = Project::build().ready();
    p.run(&["attach"]).expect(3).says("ralph tail");
    let at = Attached::to(&p, (80, 24), &[]);
    let ran = at.live.wait().expect(1);
    assert!(ran.stdout.contains("no run is on"), "{}", ran.stdout);
}

/// The start of another project's run, on the same machine.
fn beside(p: &Project, other: &Project) -> Live {
    let mut run = other.command(&["run"]);
    run.env("XDG_DATA_HOME", p.all().join("home/.local/share"));
    let run = other.start_command(run);
    other.hear("here");
    run
}

#[test]
fn runs_are_seen_side_by_side_and_keys_go_to_the_one_that_has_the_focus() {
    let a = ready(waiting());
    let b = ready(waiting().tasks("PRD.md", "## Tasks\n\n- [ ] Third thing\n- [ ] Fourth\n"));
    let run = a.start(&["run"]);
    a.hear("here");
    let at = Attached::with(&a, "--all", (120, 30), &[]);
    at.shows(&a, &["1 repo ▶", "[>] T1 First thing"]);
    // One that begins later appears.
    let other = beside(&a, &b);
    let screen = at.shows(
        &a,
        &["─ 1 repo ▶", "─ 2 repo ▶", "[>] T1 First", "[>] T1 Third"],
    );
    let both = |l: &str| l.contains("[>] T1 First") && l.contains("[>] T1 Third");
    assert!(screen.lines().any(both), "{screen}");
    press(&a, "\t");
    press(&a, "i");
    at.shows(&a, &["inject>"]);
    press(&a, "to the second\r");
    at.shows(&a, &["prompt injected", "1 injected"]);
    go(&b);
    b.hear("here");
    assert!(b.noted("prompt.2").contains("to the second"));
    go(&b);
    other.wait().expect(0);
    // It stays, and the first goes on.
    at.shows(&a, &["2 repo ✓ ended", "completed 2/2", "running 0/2"]);
    at.resize(&a, (60, 16));
    let screen = at.shows(&a, &[" 1 repo ▶   2 repo ✓ ", "completed 2/2"]);
    assert!(!screen.contains("running 0/2"), "{screen}");
    press(&a, "\t");
    at.shows(&a, &["running 0/2", "First thing"]);
    at.resize(&a, (100, 24));
    at.shows(&a, &["2 repo ✓ ended", "running 0/2"]);
    press(&a, "v");
    let screen = at.shows(&a, &[" 2 repo ✓ ", "running 0/2", "v all"]);
    assert!(!screen.contains("completed"), "{screen}");
    press(&a, "q");
    at.left(&a, 0);
    go(&a);
    assert_eq!(a.hear("here"), "2");
    assert!(!a.noted("prompt.2").contains("to the second"));
    go(&a);
    run.wait().expect(0);
}

#[test]
fn only_the_runs_that_are_named_are_shown() {
    let (a, b) = (ready(waiting()), ready(waiting()));
    let run = a.start(&["run"]);
    a.hear("here");
    let other = beside(&a, &b);
    let all = a.run(&["ps", "--json"]).expect(0).json()["result"]["runs"].clone();
    let name = |p: &Project| {
        let runs = all.as_array().unwrap();
        let of = runs.iter().find(|r| r["project"] == json!(p.root()));
        of.unwrap()["name"].as_str().unwrap().to_owned()
    };
    let (first, second) = (name(&a), name(&b));
    assert_eq!(first, "repo");
    assert_ne!(first, second);
    let at = Attached::with(&a, "--run nobody", (80, 24), &[]);
    let ran = at.live.wait().expect(1);
    assert!(
        ran.stdout.contains("no run of that name is on: nobody"),
        "{}",
        ran.stdout
    );
    std::fs::remove_file(a.side("keys.fifo")).unwrap();
    let at = Attached::with(&a, &format!("--run {second}"), (80, 24), &[]);
    at.shows(&a, &[" 1 repo ▶ ", "running 0/2"]);
    assert!(!at.screen(&a).contains(" 2 "));
    press(&a, "q");
    at.left(&a, 0);
    for (p, run) in [(&a, run), (&b, other)] {
        go(p);
        p.hear("here");
        go(p);
        run.wait().expect(0);
    }
}
