//! Names behind the cursor, as shells ask for them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ralph_tests::{LIMIT, Live, Project, go, ready, tree, waiting};

/// Sets what bash sets, calls what it calls, prints what it would offer.
const BASH: &str = r#"source "$SCRIPT"; eval "${AFTER:-:}"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMPREPLY=()
_clap_complete_ralph ralph "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}""#;

/// The same for zsh: its own part is told what there is.
const ZSH: &str = r#"compdef() { :; }
_describe() { print -l -- "${(@P)3}"; }
source "$SCRIPT"; words=("$@"); CURRENT=$#
_clap_dynamic_completer_ralph"#;

const FISH: &str = r#"source $SCRIPT; complete -C "$argv""#;

/// The shell, if it is installed.
fn shell(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|p| p.is_file());
    if found.is_none() {
        eprintln!("skipped: there is no {name} here");
    }
    found
}

/// The binary's directory first.
fn with_path(p: &Project, shell: &Path) -> Command {
    let ralph = p.command(&[]);
    let mut command = Command::new(shell);
    command.env_clear().current_dir(p.root());
    command.envs(ralph.get_envs().filter_map(|(n, v)| Some((n, v?))));
    let dir = Path::new(ralph.get_program()).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(dir.to_owned()).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(all).unwrap());
    command
}

fn script(p: &Project, shell: &str) -> PathBuf {
    let script = p.run(&["completions", shell]).expect(0).stdout;
    let path = p.side(&format!("ralph.{shell}"));
    std::fs::write(&path, script).unwrap();
    path
}

/// What a command offers; it says nothing else.
#[track_caller]
fn said(mut command: Command) -> Vec<String> {
    let ran = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    let text = String::from_utf8(ran.stdout).unwrap();
    let lines = text.lines().filter(|l| !l.is_empty());
    lines.map(str::to_owned).collect()
}

/// What bash offers for the last of these words.
#[track_caller]
fn bash(p: &Project, words: &[&str], env: &[(&str, &str)]) -> Vec<String> {
    let mut command = with_path(p, Path::new("bash"));
    command
        .args(["--norc", "-c", BASH, "bash", "ralph"])
        .args(words);
    command
        .env("SCRIPT", script(p, "bash"))
        .envs(env.iter().copied());
    said(command)
}

#[track_caller]
fn offers(p: &Project, words: &[&str], names: &[&str]) {
    let all = bash(p, words, &[]);
    for name in names {
        assert!(
            all.iter().any(|a| a == name),
            "{words:?}: no {name} in {all:?}"
        );
    }
}

#[test]
fn bash_completes_commands_options_tasks_plugins_agents_and_modes() {
    let p = Project::build()
        .toml("[plugins.mine]\nsource = \"builtin:diff-scope\"\n[modes.night]\n")
        .untrusted();
    let before = tree(&p.root());
    offers(&p, &["ta"], &["task", "tail"]);
    offers(&p, &["att"], &["attach"]);
    offers(&p, &["stop", "--"], &["--now", "--json"]);
    for command in ["skip", "explain", "prompt", "tail", "attach"] {
        offers(&p, &[command, ""], &["T1", "T2"]);
    }
    for command in ["show", "done", "block", "unblock", "retry"] {
        assert_eq!(bash(&p, &["task", command, "T1"], &[]), ["T1"], "{command}");
    }
    offers(&p, &["task", "add", "More", "--after", ""], &["T1", "T2"]);
    offers(&p, &["log", "--task", ""], &["T1", "T2"]);
    offers(&p, &["run", "--task", "T"], &["T1", "T2"]);
    offers(&p, &["run", "--agent", ""], &["fake", "claude"]);
    offers(&p, &["agent", "check", "fake", "cl"], &["claude"]);
    offers(&p, &["step", "--mode", ""], &["night", "quality"]);
    offers(&p, &["plugin", "inspect", ""], &["mine", "judge"]);
    for command in ["remove", "update", "push"] {
        let names = bash(&p, &["plugin", command, "m"], &[]);
        assert_eq!(names, ["mine"], "{command}");
    }
    // A project elsewhere.
    let root = p.root().display().to_string();
    let other = Project::bare();
    assert_eq!(bash(&other, &["skip", "T"], &[]), [""; 0]);
    offers(&other, &["-C", &root, "skip", "T"], &["T1", "T2"]);
    assert!(tree(&p.root()) == before, "nothing is written");
}

#[test]
fn only_runs_that_are_on_are_offered() {
    let p = ready(waiting());
    let sockets = p.all().join("home/.local/share/ralph/sockets");
    std::fs::create_dir_all(&sockets).unwrap();
    drop(std::os::unix::net::UnixListener::bind(sockets.join("stale.sock")).unwrap());
    std::fs::write(sockets.join("file.sock"), "").unwrap();
    let named = |p: &Project| bash(p, &["attach", "--run", ""], &[]);
    assert_eq!(named(&p), [""; 0]);
    let run = p.start(&["run"]);
    p.hear("here");
    assert_eq!(named(&p), ["repo"]);
    // One that is suspended is on too.
    run.signal(rustix::process::Signal::STOP);
    assert_eq!(named(&p), ["repo"]);
    run.signal(rustix::process::Signal::CONT);
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
    assert_eq!(named(&p), [""; 0]);
}

#[test]
fn what_a_repository_names_is_never_more_than_a_word() {
    let story = |id: &str| {
        format!("{{\"id\": {id:?}, \"title\": \"\\u001b[31mred\\u0007\", \"passes\": false}}")
    };
    let all = [
        "US-1",
        "$(touch owned)",
        "`touch owned`",
        "x;y",
        "*",
        "--now",
        "a b",
    ];
    let stories = all.map(story).join(",\n");
    let p = Project::build()
        .tasks("prd.json", format!("{{\"userStories\": [{stories}]}}"))
        .untrusted();
    p.run(&["task", "list"]).expect(0);
    let offered = bash(&p, &["task", "show", ""], &[]);
    let odd = |o: &&String| !o.starts_with('-') && **o != "US-1";
    assert_eq!(offered.iter().find(odd), None, "{offered:?}");
    assert!(offered.iter().any(|o| o == "US-1"), "{offered:?}");
    assert!(!offered.iter().any(|o| o == "--now"), "{offered:?}");
    assert!(!p.exists("owned"));
    // With titles, for shells that show them.
    let mut command = p.command(&["--", "ralph", "task", "show", "US"]);
    command.env("RALPH_COMPLETE", "fish");
    assert_eq!(said(command), ["US-1\tred"]);
}

#[test]
fn nothing_that_goes_wrong_gets_into_the_prompt_and_no_program_is_started() {
    let p = Project::build()
        .toml("[tasks]\nsource = \"github\"\n")
        .untrusted();
    std::fs::create_dir(p.side("bin")).unwrap();
    let gh = p.script("bin/gh", "count gh >/dev/null; exit 1\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let bin = p.side("bin").display().to_string();
    let first = format!("PATH={bin}:$PATH; gh; (($? == 1))");
    let tasks = bash(&p, &["skip", "T"], &[("AFTER", &first)]);
    // The one time is ours.
    assert_eq!((tasks, p.count("gh")), (vec![], 1));
    for broken in ["[loop]\nx = 1\n", "[", "\u{feff}\0"] {
        p.write("ralph.toml", broken);
        assert_eq!(bash(&p, &["skip", "T"], &[]), [""; 0], "{broken:?}");
    }
    assert_eq!(bash(&p, &["no-such-command", "x"], &[]), [""; 0]);
    // The program is gone since.
    assert_eq!(bash(&p, &["ta"], &[("AFTER", "PATH=/nowhere")]), [""; 0]);
    let ask = |shell: &str, words: &[&str]| {
        let mut command = p.command(words);
        command.env("RALPH_COMPLETE", shell);
        said(command)
    };
    assert_eq!(ask("nosuchshell", &["--", "ralph", "ta"]), [""; 0]);
    assert_eq!(ask("zsh", &["--", "ralph", "ta"]), [""; 0], "no index");
    // It is asked by nothing but the script's words.
    let version = ask("bash", &["--version"]);
    assert!(version[0].starts_with("ralph "), "{version:?}");
}

#[test]
fn zsh_and_fish_complete_names_where_they_are_installed() {
    let p = Project::build().untrusted();
    if let Some(zsh) = shell("zsh") {
        let ask = |words: &[&str]| {
            let mut command = with_path(&p, &zsh);
            command.args(["-f", "-c", ZSH, "zsh", "ralph"]).args(words);
            command.env("SCRIPT", script(&p, "zsh"));
            said(command)
        };
        let tasks = ask(&["task", "show", "T"]);
        assert_eq!(tasks, ["T1:First thing", "T2:Second thing"]);
        assert!(ask(&["ta"]).iter().any(|o| o.starts_with("task:")));
    }
    if let Some(fish) = shell("fish") {
        let ask = |line: &str| {
            let mut command = with_path(&p, &fish);
            command.args(["--no-config", "-c", FISH, line]);
            command.env("SCRIPT", script(&p, "fish"));
            said(command)
        };
        let tasks = ask("ralph task show T");
        assert_eq!(tasks, ["T1\tFirst thing", "T2\tSecond thing"]);
        assert!(ask("ralph ta").iter().any(|o| o.starts_with("task\t")));
    }
}

#[test]
fn a_persons_bash_completes_at_the_tab_key() {
    let p = Project::build()
        .tasks(
            "PRD.md",
            "## Tasks\n\n- [ ] ALPHA-7: One\n- [ ] BETA-8: Two\n",
        )
        .untrusted();
    let mut bash = with_path(&p, Path::new("script"));
    bash.args(["-qec", "bash --norc --noprofile -i", "/dev/null"]);
    bash.env("PS1", "$ ").env("HISTFILE", "/dev/null");
    p.fifo("keys");
    // Opened both ways, so that neither side waits for the other.
    let keys = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(p.side("keys.fifo"))
        .unwrap();
    bash.stdin(keys);
    let live = Live::start(bash, [p.side("screen"), p.side("screen.err")]);
    let shows = |words: &str| {
        let until = Instant::now() + LIMIT;
        let [rows, columns] = [24, 120].map(|n: u16| n.try_into().unwrap());
        loop {
            let mut parser = vt100::Parser::new(rows, columns, 0);
            parser.process(&std::fs::read(p.side("screen")).unwrap());
            let screen = parser.screen().contents();
            if screen.contains(words) {
                return;
            }
            assert!(Instant::now() < until, "{words:?} isn't shown:\n{screen}");
            // Nothing tells that a file has grown.
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let press = |keys: &str| std::fs::write(p.side("keys.fifo"), keys).unwrap();
    shows("$ ");
    press("source <(ralph completions bash); echo now $((20 + 1))\r");
    shows("now 21");
    press("ralph task show AL\t");
    shows("ralph task show ALPHA-7");
    press("\r");
    shows("ALPHA-7  One");
    press("exit\r");
    live.wait().expect(0);
}
