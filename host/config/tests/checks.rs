//! Names that must exist, paths that must stay inside, and what each table needs to make sense.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{config, loaded, only};

#[test]
fn names_must_exist() {
    for (text, want) in [
        (
            "[loop]\nagent = 'clade'",
            "2:9: there is no agent `clade`; did you mean \"claude\"?",
        ),
        (
            "[loop]\nagent = 'x'\n[agents.yy]\nargv=['z']",
            "2:9: there is no agent `x`; there are claude, codex, copilot, scripted, yy",
        ),
        (
            "[judge]\nagent = 'coddex'",
            "2:9: there is no agent `coddex`; did you mean \"codex\"?",
        ),
        (
            "[review]\nplugin = 'reviw'",
            "2:10: there is no plugin for a judge `reviw`; did you mean \"review\"?",
        ),
        (
            "[agents.a]\nplugin = 'claud'",
            "2:10: there is no plugin for an agent `claud`; did you mean \"claude\"?",
        ),
        (
            "[[gates]]\nname = 'a'\nplugin = 'no_secret'",
            "3:10: there is no plugin for a gate `no_secret`; did you mean \"no-secrets\"?",
        ),
        (
            "[plugins.x]\nsource = 'builtin:jugde'",
            "2:10: there is no built-in plugin `jugde`; did you mean \"judge\"?",
        ),
    ] {
        assert_eq!(only(text), want, "{text}");
    }
    let all = config(
        "[loop]\nagent = 'me'\n[agents.me]\nplugin = 'mine'\n[plugins.mine]\nsource = 'm.wasm'\n[[gates]]\nname = 'g'\nplugin = 'mine'\n[judge]\nplugin = 'mine'\nagent = 'scripted'",
    );
    assert_eq!(all.agent_plugin("me").unwrap(), "mine");
}

#[test]
fn gates_have_one_name_and_one_way_to_check() {
    for (text, want) in [
        (
            "[[gates]]\nname = 'a'\nrun = ['x']\n[[gates]]\nname = 'a'\nrun = ['y']",
            "5:8: two gates are called `a`",
        ),
        (
            "[[gates]]\nname = 'a'",
            "2:8: the gate `a` has neither `run` nor `plugin`; write run = [\"program\", \"argument\"] or plugin = \"name\"",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = []",
            "3:7: the gate `a` has neither `run` nor `plugin`; write run = [\"program\", \"argument\"] or plugin = \"name\"",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['x']\nplugin = 'command'",
            "4:10: the gate `a` has both `run` and `plugin`; keep one",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['']",
            "3:8: the program's name is empty",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['x', \"a\\u0000b\"]",
            "3:13: no argument can hold a NUL character",
        ),
        (
            "[[gates]]\nname = ''\nrun = ['x']",
            "2:8: a gate's name is 1 to 64 visible characters without blanks around them, not ``",
        ),
        (
            "[[gates]]\nname = \"a\\u001b[1m\"\nrun = ['x']",
            "2:8: a gate's name is 1 to 64 visible characters without blanks around them, not `a\\u{1b}[1m`",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['x']\ntimeout = '0s'",
            "4:11: `timeout` should be more than nothing",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['x']\nprotect = ['ci/', '../x']",
            "4:19: the path `../x` has `..`; paths stay below the project's root",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['x']\nenv = ['A=1']",
            "4:8: `A=1` is no name of an environment variable; only names; values come from the environment",
        ),
    ] {
        assert_eq!(only(text), want, "{text}");
    }
}

#[test]
fn agents_have_what_their_driver_needs() {
    for (text, want) in [
        (
            "[agents.mine]\nmodel = 'm'",
            "1:1: the agent `mine` has no `argv`, and `command` needs one; write the program and its arguments, as in argv = [\"my-agent\", \"--headless\"]",
        ),
        (
            "[agents.mine]\nargv = []",
            "2:8: the agent `mine` has no `argv`, and `command` needs one; write the program and its arguments, as in argv = [\"my-agent\", \"--headless\"]",
        ),
        (
            "[agents.mine]\nargv = ['x', '{prompt}']",
            "2:14: `{prompt}` is filled in only with prompt = \"argument\"",
        ),
        (
            "[agents.mine]\nargv = ['x', '--f={prompt_file}']\nprompt = 'argument'",
            "2:14: `{prompt_file}` is filled in only with prompt = \"file\"",
        ),
        (
            "[agents.claude]\nmodel = '--dangerously'",
            "2:9: `model` is `--dangerously`, which is no name",
        ),
        (
            "[agents.claude]\ntimeout = '0s'",
            "2:11: `timeout` should be more than nothing",
        ),
        (
            "[agents.claude]\nenv = ['1A']",
            "2:8: `1A` is no name of an environment variable",
        ),
        (
            "[agents.'../x']\nargv = ['x']",
            "1:1: `../x` is no name; use up to 64 letters, digits, `-`, `_` and `.`",
        ),
    ] {
        assert_eq!(only(text), want, "{text}");
    }
    assert!(
        config("[agents.claude]\nidle_timeout = '0s'\nenv = ['AWS_*', '*']")
            .agents
            .contains_key("claude")
    );
}

/// G06
#[test]
fn paths_stay_below_the_root() {
    for (text, place) in [
        ("[files]\ntasks = '../x'", "2:9"),
        ("[files]\nprogress = '/tmp/x'", "2:12"),
        ("[files]\nagents = ''", "2:10"),
        ("[files]\nfeedback = '.git/x'", "2:12"),
        ("[judge]\nprompt = '~/x'", "2:10"),
        ("[plugins.p]\nsource = '../../x'", "2:10"),
        ("[plugins.p]\nsource = 'oci://r/x@sha256:0'", "2:10"),
        (
            "[plugins.p]\nsource = 'x'\nallow.read = ['src', '..']",
            "3:22",
        ),
        (
            "[plugins.p]\nsource = 'x'\nallow.write = ['.ralph/logs']",
            "3:16",
        ),
        ("[plugins.p]\nsource = 'x'\nallow.process = ['']", "3:18"),
        (
            "[plugins.p]\nsource = 'x'\nallow.process = ['git', 'git ** x']",
            "3:25",
        ),
        (
            "[plugins.p]\nsource = 'x'\nallow.http = ['a.org', 'https://b.org']",
            "3:24",
        ),
        ("[plugins.p]\nsource = 'x'\nallow.env = ['A*']", "3:14"),
        ("[plugins.p]\nsource = 'x'\nlimits.memory = '0B'", "3:17"),
    ] {
        assert!(
            only(text).starts_with(&format!("{place}: ")),
            "{text}: {}",
            only(text)
        );
    }
}

#[test]
fn a_commit_message_has_only_known_placeholders() {
    assert_eq!(
        only("[git]\ncommit_message = 'x {task}'"),
        "2:18: `commit_message` has `{task}`; known are {task_id}, {title}, {iteration}, {agent}; did you mean `{task_id}`?"
    );
    assert_eq!(
        config("[git]\ncommit_message = 'a {} {X Y} {title'")
            .git
            .commit_message,
        "a {} {X Y} {title"
    );
}

#[test]
fn a_branch_is_one_that_git_would_take() {
    for bad in [
        "", "a b", "a..b", "-a", "a/", "/a", "a//b", ".a", "a.lock", "a~1", "HEAD", "@{1}",
    ] {
        let said = only(&format!("[git]\nbranch = '{bad}'"));
        assert!(said.contains("branch's name"), "{bad}: {said}");
    }
    for good in ["main", "ralph/T1-x", "a.b", "ä"] {
        config(&format!("[git]\nbranch = '{good}'"));
    }
    config("[git]\nbranch_prefix = ''");
    config("[git]\nbranch_prefix = 'x/'");
    only("[git]\nbranch_prefix = '-x'");
}

#[test]
fn errors_found_later_still_know_their_place() {
    let all = loaded(
        "[files]\nprompt = 'P.md'\n[review]\nenabled = true\nprompt = 'R.md'\n[judge]\nprompt = 'J.md'\n[plugins.p]\nsource = 'p.wasm'\n[plugins.q]\nsource = 'builtin:json'",
    );
    let shown = ralph_config::missing_files(&all, &|path| path == "R.md")
        .unwrap()
        .to_string();
    let want = [
        "ralph.toml:2:10: there is no file `P.md`",
        "ralph.toml:9:10: there is no file `p.wasm`",
    ];
    assert_eq!(
        shown
            .lines()
            .map(|l| l.split("; ").next().unwrap())
            .collect::<Vec<_>>(),
        want
    );
    assert!(ralph_config::missing_files(&all, &|_| true).is_none());
    let default = all.origins.error(&["loop", "agent"], "m", None);
    assert_eq!(default.to_string(), "ralph.toml: m");
}

#[test]
fn a_raw_log_has_room_for_something() {
    config("[files]\nlog_size = '256KiB'");
    assert_eq!(
        only("[files]\nlog_size = '255KiB'"),
        "2:12: `log_size` should be at least 256KiB"
    );
}

#[test]
fn a_sandbox_names_paths_and_hosts_that_can_be_meant() {
    for (text, want) in [
        (
            "[sandbox]\nread = ['/opt', '~/data', '../x']",
            "2:27: the path `../x` has `..`; write where it leads",
        ),
        (
            "[sandbox.gates]\nnetwork = ['https://example.org']",
            "2:12: `https://example.org` is no host; write one as in \"api.example.org\", \"*.example.org\" or \"example.org:8443\"",
        ),
        (
            "[agents.codex.confine]\nwrite = ['~tess/x']",
            "2:10: the path `~tess/x` begins with `~` and a name; only `~/` is expanded",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['x']\nconfine = { network = ['x.org:0'] }",
            "4:24: `x.org:0` has no port from 1 to 65535 after its `:`",
        ),
        (
            "[sandbox]\nprotect = ['/etc']",
            "2:12: the path `/etc` is absolute; write it relative to the project's root",
        ),
        (
            "[sandbox]\nprofile = 'off'\nrequire = true",
            "3:11: `require` asks for a sandbox, and `profile` is off; choose another `profile`, or leave `require` out",
        ),
        (
            "[sandbox.limits]\nopen_files = 3",
            "2:14: `open_files` should be from 16 to 1048576 and is 3",
        ),
    ] {
        assert_eq!(only(text), want, "{text}");
    }
}
