//! What is wrong in `ralph.toml` is said with its place, and nothing of it is used.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{config, error, lines, only, source};
use ralph_config::{Config, Source, load};

#[test]
fn no_source_gives_the_defaults_and_nothing_to_warn_of() {
    let all = load(&[]).unwrap();
    assert_eq!(all.config, Config::default());
    assert!(all.warnings.is_empty());
    assert_eq!(config(""), Config::default());
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one_at_every_level() {
    for (text, want) in [
        (
            "[loop]\n\n  max_iteration = 3",
            "3:3: unknown key `max_iteration` in [loop]; did you mean `max_iterations`?",
        ),
        (
            "lop = 1",
            "1:1: unknown key `lop` at the top level; did you mean `loop`?",
        ),
        (
            "loop.maxAttempts = 1",
            "1:6: unknown key `maxAttempts` in [loop]; did you mean `max_attempts`?",
        ),
        (
            "[agents.a]\nargv = ['x']\n\"qu x\" = 1",
            "3:1: unknown key `qu x` in [agents.a]; it has plugin, argv, prompt, model, effort, args, sandbox, confine, home, timeout, idle_timeout, startup_timeout, env, config",
        ),
        (
            "[[gates]]\nname = 'a'\nrun = ['x']\n[[gates]]\nname = 'b'\nrum = ['y']\nplugin = 'command'",
            "6:1: unknown key `rum` in [[gates]]; did you mean `run`?",
        ),
        (
            "plugins.p = { source = 'x', alow = {} }",
            "1:29: unknown key `alow` in [plugins.p]; did you mean `allow`?",
        ),
        (
            "[plugins.p]\nsource = 'x'\n[plugins.p.limits]\nmemry = '1MiB'",
            "4:1: unknown key `memry` in [plugins.p.limits]; did you mean `memory`?",
        ),
        (
            "[judge]\ntimeout = '1s'",
            "2:1: unknown key `timeout` in [judge]; there is one in [agents.NAME], [[gates]]",
        ),
        (
            "[loop]\nrunner_timeout_second = 3",
            "2:1: unknown key `runner_timeout_second` in [loop]; did you mean `runner_timeout_seconds`?",
        ),
        (
            "[watch]\npattern = []",
            "2:1: unknown key `pattern` in [watch]; did you mean `patterns`?",
        ),
        (
            "[tracker.github]\nrepoo = 'x'",
            "2:1: unknown key `repoo` in [tracker.github]; did you mean `repo`?",
        ),
        (
            "[runners.x]\nargv = ['x']\ncwd = '.'",
            "3:1: unknown key `cwd` in [runners.x]",
        ),
        (
            "\"a\\u001b[2J\\u202e\" = 1",
            "1:1: unknown key `a\\u{1b}[2J\\u{202e}` at the top level; it has loop, files, tasks, agents, gates, gate_groups, judge, review, plugins, tools, sandbox, git, parallel, notify, supervise, budget, limits, prompt, claims, fingerprints, modes",
        ),
    ] {
        assert_eq!(only(text), want, "{text}");
    }
}

#[test]
fn a_wrong_value_is_named_at_the_value() {
    for (text, want) in [
        (
            "[loop]\nmax_iterations = 0",
            "2:18: `max_iterations` should be from 1 to 100000 and is 0",
        ),
        (
            "[loop]\nmax_iterations = 18_446_744_073_709_551_616",
            "2:18: this number does not fit into 64 bits",
        ),
        (
            "[loop]\nmax_iterations = -1",
            "2:18: `max_iterations` should be from 1 to 100000 and is -1",
        ),
        (
            "[loop]\nmax_iterations = 'three'",
            "2:18: `max_iterations` should be a whole number and is a string",
        ),
        (
            "[loop]\nmax_iterations = \"3\"",
            "2:18: `max_iterations` should be a whole number and is a string; leave the quotes out",
        ),
        (
            "[loop]\nmax_attempts = 1.5",
            "2:16: `max_attempts` should be a whole number and is a number with a fraction",
        ),
        (
            "loop = 'x'",
            "1:8: `loop` should be a table and is a string",
        ),
        (
            "[loop]\nsleep = '5'",
            "2:9: `sleep`: `5` is no duration; write a whole number with ms, s, m, h or d, as in \"30m\"",
        ),
        (
            "[loop]\nsleep = '367d'",
            "2:9: `sleep`: `367d` is more than 366 days",
        ),
        (
            "[judge]\nmax_diff = '1kb'",
            "2:12: `max_diff`: `1kb` is no size; write a whole number with B, KiB, MiB or GiB, as in \"64MiB\"",
        ),
        (
            "[agents.a]\nargv = ['x']\nprompt = 'stdn'",
            "3:10: `prompt` should be one of stdin, file, argument and is `stdn`; did you mean \"stdin\"?",
        ),
        (
            "[files]\nprogress = 2026-01-01",
            "2:12: `progress` should be a string and is a date",
        ),
        (
            "[tasks]\nsource = 'gitub'",
            "2:10: `source` should be one of file, github, beads, plugin and is `gitub`; did you mean \"github\"?",
        ),
        (
            "[tasks]\nrepo = '--web'",
            "2:8: `--web` can't be a repository; write OWNER/NAME, or HOST/OWNER/NAME",
        ),
        (
            "[tasks]\nlabel = 'a,b'",
            "2:9: `a,b` can't be a label; a label is one line of at most 50 characters, without a comma or a quotation mark",
        ),
        (
            "[tasks]\nexclude_labels = ['a', '']",
            "2:24: `` can't be a label; a label is one line of at most 50 characters, without a comma or a quotation mark",
        ),
        (
            "[tasks]\nlimit = 0",
            "2:9: `limit` should be from 1 to 1000 and is 0",
        ),
        (
            "[tasks]\ntimeout = '0s'",
            "2:11: `timeout` should be more than nothing",
        ),
        (
            "gates = 3",
            "1:9: `gates` should be an array of tables and is a whole number",
        ),
        (
            "[[gates]]\nname = 'é'\nrun = ['é', 3]",
            "3:13: an entry of `run` should be a string and is a whole number",
        ),
        (
            "[judge]\nconfig = { 'é' = [1, nan] }",
            "2:22: JSON, in which a plugin gets this, has no such number",
        ),
        (
            "[[plugins]]\nsource = 'x'",
            "1:1: `plugins` should be a table and is an array",
        ),
    ] {
        assert_eq!(only(text), want, "{text}");
    }
}

#[test]
fn what_must_be_there_is_missed_only_when_no_source_has_it() {
    assert_eq!(
        only("[[gates]]\nrun = ['x']"),
        "1:1: `name` is missing in [[gates]]"
    );
    assert_eq!(
        only("[plugins.x.allow]\nread = []"),
        "1:10: `source` is missing in [plugins.x]"
    );
    let below = source("a", "[plugins.x]\nsource = 'x.wasm'");
    let above = source("b", "[plugins.x.limits]\ntime = '1s'");
    assert!(load(&[below, above]).is_ok());
}

#[test]
fn broken_toml_is_said_at_its_place_and_the_rest_is_not_guessed_at() {
    for (text, place) in [
        ("[loop\nx = 1", "1:6"),
        ("[loop]\nmax_iterations = ", "2:18"),
        ("[loop]\nagent = 'a'\nagent = 'b'", "3:1"),
        ("a = 'é' b", "1:9"),
        ("[loop]\n[loop]", "2:2"),
        ("x = [1,\n", "1:8"),
    ] {
        let got = only(text);
        assert!(
            got.starts_with(place) && got.contains("this is no TOML: "),
            "{text}: {got}"
        );
    }
}

/// E10
#[test]
fn a_byte_order_mark_and_crlf_are_fine_and_other_encodings_are_named() {
    let bom = Source::from_bytes("r", "\u{feff}[loop]\r\nmax_attempts = 2\r\n".as_bytes()).unwrap();
    assert_eq!(load(&[bom]).unwrap().config.run.max_attempts, 2);
    let wrong = error("\u{feff}lop = 1");
    assert_eq!((wrong.line, wrong.column), (1, 1));
    for text in ["\u{feff}[loop]", "[loop]"] {
        for big in [true, false] {
            let bytes: Vec<u8> = text
                .encode_utf16()
                .flat_map(|u| {
                    if big {
                        u.to_be_bytes()
                    } else {
                        u.to_le_bytes()
                    }
                })
                .collect();
            let e = Source::from_bytes("r", &bytes).unwrap_err();
            assert!(e.message.contains("UTF-16"), "{e}");
        }
    }
    assert!(only("[\0l\0o\0o\0p\0]\0").contains("UTF-16"));
    assert_eq!(
        only("# a comment that is longer\nagent = '\0'"),
        "2:10: a NUL character; the file is damaged or no text"
    );
    let e = Source::from_bytes("r", b"# x\n# \xe9").unwrap_err();
    assert_eq!(
        e.to_string(),
        "r:2:3: not valid UTF-8; save the file as UTF-8"
    );
}

#[test]
fn nothing_makes_the_stack_or_the_memory_run_out() {
    let deep = "a.".repeat(100_000);
    let braces = "{ a = ".repeat(100_000);
    for text in [
        format!("{deep}b = 1"),
        format!("x = {{ {deep}b = 1 }}"),
        format!("[{deep}b]"),
        format!("[[{deep}b]]"),
        format!("x = {}", "[".repeat(100_000)),
        format!("x = {braces}"),
    ] {
        let got = lines(&text);
        assert!(got.iter().all(|l| l.len() < 300), "{got:?}");
    }
    assert!(only(&"# ".repeat(1 << 20)).contains("longer than 1024 KiB"));
}

#[test]
fn later_sources_are_laid_over_earlier_ones() {
    let a = source(
        "a",
        "[loop]\nmax_iterations = 5\nmax_attempts = 9\n[[gates]]\nname = 'a'\nrun = ['a']\n[agents.x]\nargv = ['x', 'y']\nmodel = 'm'",
    );
    let b = source(
        "b",
        "[loop]\nmax_iterations = 6\n[[gates]]\nname = 'b'\nrun = ['b']\n[agents.x]\nargv = ['z']",
    );
    let all = load(&[a, b]).unwrap().config;
    assert_eq!((all.run.max_iterations, all.run.max_attempts), (6, 9));
    assert_eq!(
        all.gates
            .iter()
            .map(|g| g.name.as_str())
            .collect::<Vec<_>>(),
        ["b"]
    );
    assert_eq!(
        (all.agents["x"].argv.len(), all.agents["x"].model.as_deref()),
        (1, Some("m"))
    );
}

#[test]
fn every_problem_of_every_source_is_reported_in_order() {
    let a = source("a.toml", "[loop]\nx = 1\nagent = 2");
    let b = source("b.toml", "[broken");
    let c = source("c.toml", "[loop]\nagent = 'ok'\nmax_attempts = 0");
    let shown = load(&[a.clone(), c.clone()]).unwrap_err().to_string();
    let places: Vec<_> = shown
        .lines()
        .map(|l| l.split(": ").next().unwrap())
        .collect();
    assert_eq!(places, ["a.toml:2:1", "a.toml:3:9", "c.toml:3:16"]);
    let all = load(&[a, b, c]).unwrap_err();
    assert_eq!(all.all().count(), 4);
    assert!(
        all.all().any(|e| e.file == "b.toml" && e.line == 1),
        "{all}"
    );
    let e = error("[agents.x]\nargv = ['x']\nenv = 3");
    assert_eq!(e.key, "agents.x.env");
}
