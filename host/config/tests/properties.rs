//! No text makes `load` panic, and what loads can be shown, listed and loaded again.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::source;
use proptest::prelude::*;
use ralph_config::{load, powers};

/// Lines that come near what is looked at, right and wrong ones.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "[loop]",
        "[files]",
        "[git]",
        "[judge]",
        "[gates]",
        "[[gates]]",
        "[agents.a]",
        "[agents.claude]",
        "[plugins.p]",
        "[plugins.p.allow]",
        "[plugins.p.limits]",
        "[runners.claude]",
        "[loop.modes.x]",
        "[watch]",
        "[gates.review]",
        "max_iterations = 5",
        "max_iterations = -1",
        "sleep = '1s'",
        "agent = 'claude'",
        "agent = 3",
        "name = 'n'",
        "name = 'm'",
        "run = ['x']",
        "run = 'x'",
        "run = []",
        "argv = ['x', '-']",
        "argv = []",
        "source = 'x'",
        "source = '../x'",
        "read = ['src', 4]",
        "time = '1s'",
        "memory = 'x'",
        "commands = ['a', 'b']",
        "runner_timeout_seconds = 9",
        "enabled = true",
        "config = { a = [1, { b = nan }] }",
        "prompt = 'stdin'",
        "unknown = 1",
        "loop = 3",
        "gates = 3",
        "agents = 3",
        "agents.b = 3",
        "é = 1",
        "\"\" = 1",
        "[broken",
        "patterns = []",
        "review = 'r.md'",
        "prd = 'x'",
    ]);
    prop::collection::vec(line, 0..14).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = load(&[source("a", &text)]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(source) = ralph_config::Source::from_bytes("a", &bytes) {
            let _ = load(&[source]);
        }
    }

    #[test]
    fn near_misses_are_errors_with_a_place_or_load(a in text(), b in text()) {
        match load(&[source("a", &a), source("b", &b)]) {
            Ok(all) => {
                let _ = powers(&all.config);
                let again = toml::to_string(&all.config).unwrap();
                prop_assert_eq!(load(&[source("c", &again)]).map(|l| l.config), Ok(all.config), "{}", again);
            }
            Err(e) => {
                for problem in e.all() {
                    let text = if problem.file == "a" { &a } else { &b };
                    prop_assert!(problem.line >= 1 && problem.line <= text.lines().count().max(1) + 1, "{}\n{}\n--\n{}", problem, a, b);
                    prop_assert!(problem.column >= 1, "{}", problem);
                }
            }
        }
    }
}
