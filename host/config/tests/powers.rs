//! Everything that a configuration can make run is listed, and a change of it changes the digest.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::config;
use ralph_config::{Config, Power, digest, powers};

fn shown(text: &str) -> Vec<String> {
    powers(&config(text))
        .iter()
        .map(|p| format!("{}: {}", p.what, p.detail))
        .collect()
}

#[test]
fn the_defaults_and_harmless_keys_have_no_power() {
    assert!(powers(&Config::default()).is_empty());
    let text = "[loop]\nmax_iterations = 3\n[files]\ntasks = 'x'\n[git]\nauto_commit = false\n[judge]\nenabled = true\n[agents.claude]\nmodel = 'm'\ntimeout = '1m'\n[[gates]]\nname = 's'\nplugin = 'no-secrets'\nconfig = { a = 1 }\n[plugins.no-secrets]\nsource = 'builtin:no-secrets'\nlimits.time = '1s'";
    assert!(shown(text).is_empty(), "{:?}", shown(text));
}

/// G07: a command in every field that can hold one.
#[test]
fn every_field_that_can_run_or_reach_something_is_listed() {
    let text = r#"
[loop]
agent = "me"
[agents.me]
argv = ["my agent", "$(id)"]
args = ["--yolo"]
sandbox = "off"
env = ["AWS_*"]
config = { run = "x" }
[agents.other]
plugin = "drv"
[[gates]]
name = "tests"
run = ["sh", "-c", "touch pwned; \"x\""]
env = ["CI"]
[[gates]]
name = "cmd"
plugin = "command"
config = { run = ["rm"] }
[[gates]]
name = "mine"
plugin = "own"
[judge]
enabled = true
agent = "me"
plugin = "own"
config = { k = 1 }
[review]
enabled = true
agent = "claude"
[plugins.own]
source = "own.wasm"
config = { p = 1 }
[plugins.own.allow]
read = ["."]
write = ["out"]
process = ["*"]
changes = true
env = ["HOME"]
clock = true
random = true
http = ["api.example.org"]
state = true
notify = true
[plugins.drv]
source = "d.wasm"
[plugins.command]
source = "builtin:command"
config = { run = ["ls"] }
[plugins.text]
source = "builtin:json"
"#;
    assert_eq!(
        shown(text),
        [
            "agent `me` works: command",
            "agent `me` runs: \"my agent\" \"$(id)\"",
            "agent `me` gets the arguments: --yolo",
            "agent `me` works: without its sandbox",
            "agent `me` sees the environment variables: \"AWS_*\"",
            "agent `me` is given: {\"run\":\"x\"}",
            "agent `other` is driven by: drv",
            "gate `tests` runs: sh -c \"touch pwned; \\\"x\\\"\"",
            "gate `tests` sees the environment variables: CI",
            "gate `cmd` asks the plugin: command",
            "gate `cmd` is given: {\"run\":[\"rm\"]}",
            "gate `mine` asks the plugin: own",
            "judge asks the agent: me (command)",
            "judge asks the plugin: own",
            "judge gives it: {\"k\":1}",
            "review asks the agent: claude (claude)",
            "plugin `command` is given: {\"run\":[\"ls\"]}",
            "plugin `drv` is loaded from: d.wasm",
            "plugin `own` is loaded from: own.wasm",
            "plugin `own` is given: {\"p\":1}",
            "plugin `own` may read: .",
            "plugin `own` may read and change: out",
            "plugin `own` may run: \"*\"",
            "plugin `own` may send HTTP requests to: api.example.org",
            "plugin `own` sees the environment variables: HOME",
            "plugin `own` sees: what changed",
            "plugin `own` sees: the real time",
            "plugin `own` sees: real randomness",
            "plugin `own` keeps: values of its own",
            "plugin `own` tells: people, by what [notify] names",
            "plugin `text` is replaced by: builtin:json",
        ]
    );
}

#[test]
fn shell_lines_of_old_files_are_listed() {
    assert_eq!(
        shown("[gates]\ncommands = ['make $(touch pwned)']"),
        ["gate `make-touch-pwned` runs: sh -c \"make $(touch pwned)\""]
    );
}

/// G07: text nobody sees must not run unseen.
#[test]
fn hidden_and_active_characters_are_spelled_out() {
    let text = "[[gates]]\nname = 'a'\nrun = [\"x\", \"\\u001b[2K\\U000e0041\\u202e\"]\n[[gates]]\nname = 'b'\nplugin = 'command'\nconfig = { k = \"\\u001b\\U000e0042\" }";
    for line in shown(text) {
        assert!(
            line.chars().all(|c| c.is_ascii_graphic() || c == ' '),
            "{line:?}"
        );
    }
    assert!(
        shown(text)[0].ends_with("\"\\u{1b}[2K\\u{e0041}\\u{202e}\""),
        "{}",
        shown(text)[0]
    );
}

fn power(what: &str, detail: &str) -> Power {
    Power {
        what: what.to_owned(),
        detail: detail.to_owned(),
    }
}

#[test]
fn the_digest_is_of_all_of_it_and_of_nothing_else() {
    let files = |list: &[(&str, &str)]| {
        list.iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect::<Vec<_>>()
    };
    let base = digest(
        &[power("a", "b"), power("c", "d")],
        "/root",
        &files(&[("p", "1")]),
    );
    assert_eq!(base.len(), 64);
    assert!(
        base.bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    );
    assert_eq!(
        base,
        digest(
            &[power("c", "d"), power("a", "b")],
            "/root",
            &files(&[("p", "1")])
        ),
        "order gives no power"
    );
    for other in [
        digest(&[power("a", "b")], "/root", &files(&[("p", "1")])),
        digest(
            &[power("a", "bc"), power("", "d")],
            "/root",
            &files(&[("p", "1")]),
        ),
        digest(
            &[power("ab", ""), power("c", "d")],
            "/root",
            &files(&[("p", "1")]),
        ),
        digest(
            &[power("a", "b"), power("c", "d")],
            "/root2",
            &files(&[("p", "1")]),
        ),
        digest(
            &[power("a", "b"), power("c", "d")],
            "/root",
            &files(&[("p", "2")]),
        ),
        digest(&[power("a", "b"), power("c", "d")], "/root", &files(&[])),
        digest(
            &[power("a", "b"), power("c", "d"), power("p", "1")],
            "/root",
            &files(&[]),
        ),
    ] {
        assert_ne!(base, other);
    }
}

/// G06: a gate command changed in a pulled commit asks for trust again.
#[test]
fn a_changed_argument_changes_the_digest() {
    let of = |run: &str| {
        digest(
            &powers(&config(&format!("[[gates]]\nname = 'a'\nrun = {run}"))),
            "/r",
            &[],
        )
    };
    let all = [
        of("['a', 'b']"),
        of("['a b']"),
        of("['a', \"b\\u200b\"]"),
        of("['a', '\\u{200b}']"),
        of("['a', 'b', '']"),
    ];
    for (i, a) in all.iter().enumerate() {
        assert!(all[i + 1..].iter().all(|b| a != b), "{i}");
    }
}

#[test]
fn programs_that_keep_tasks_are_listed_with_what_they_are_told() {
    let text = "[tasks]\nsource = 'github'\nrepo = 'o/r'\nlabel = 'ready now'";
    assert_eq!(
        shown(text),
        ["tasks are read and closed by running: gh issue --repo o/r --label \"ready now\""]
    );
    assert_eq!(
        shown("[tasks]\nsource = 'beads'"),
        ["tasks are read and closed by running: bd"]
    );
    assert!(shown("[tasks]\nrepo = 'o/r'").is_empty());
}

#[test]
fn a_sandbox_that_is_not_the_usual_one_is_listed_the_stricter_as_well() {
    let listed = shown(
        "[sandbox]\nprofile = 'off'\nlayer = 'bubblewrap'\nwrite = ['~/data']\nnetwork = []\nprotect = []\n\
         [sandbox.limits]\nopen_files = 99\n[sandbox.gates]\nnetwork = ['*']\n\
         [agents.codex.confine]\nprofile = 'read-only'\nread = ['/opt']\n\
         [[gates]]\nname = 'g'\nrun = ['x']\nconfine = { network = ['x.org'] }",
    );
    for want in [
        "the sandbox of native programs is: off: they may do what their user may",
        "native programs are held by: bubblewrap",
        "native programs may read and change: \"~/data\"",
        "agents may reach: nobody",
        "no agent may change: what git and ralph run",
        "native programs are limited to: {\"processes\":null,\"file_size\":null,\"open_files\":99,\"memory\":null}",
        "all gates may reach: \"*\"",
        "the sandbox of agent `codex` is: read-only",
        "agent `codex` may read: /opt",
        "gate `g` may reach: x.org",
    ] {
        assert!(listed.iter().any(|l| l == want), "{want}\n{listed:#?}");
    }
    assert_eq!(
        shown("[sandbox]\nprofile = 'workspace-write'"),
        Vec::<String>::new()
    );
}
