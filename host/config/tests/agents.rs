//! `agents` in `[loop]`: who works, and who takes over, in one key.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{config, only, source};
use ralph_config::{Config, load, powers};

#[test]
fn the_first_works_and_the_others_take_over_in_their_order() {
    let run = config("[loop]\nagents = [\"claude\", \"codex\", \"copilot\"]").run;
    assert_eq!(run.agent, "claude");
    assert_eq!(run.fallback, ["codex", "copilot"]);
    assert!(run.agents.is_empty(), "said once");
    assert_eq!(config("[loop]\nagents = []"), Config::default());
    let same = config("[loop]\nagent = \"claude\"\nfallback = [\"codex\"]");
    let short = config("[loop]\nagents = [\"claude\", \"codex\"]");
    assert_eq!(short, same);
    assert_eq!(powers(&short), powers(&same), "and needs the same trust");
}

#[test]
fn said_twice_in_one_file_or_with_an_unknown_name_it_is_an_error() {
    for (text, want) in [
        (
            "[loop]\nagents = ['claude']\nagent = 'codex'",
            "2:10: stands beside `agent`, which says the same",
        ),
        (
            "[loop]\nfallback = []\nagents = ['claude']",
            "3:10: stands beside `fallback`, which says the same",
        ),
        (
            "[loop]\nagents = ['claude', 'codx']",
            "did you mean \"codex\"?",
        ),
    ] {
        let said = only(text);
        assert!(said.contains(want), "{text}: {said}");
    }
}

#[test]
fn of_two_files_the_later_one_decides() {
    let both = |first: &str, second: &str| {
        let sources = [source("user.toml", first), source("ralph.toml", second)];
        load(&sources).unwrap().config.run
    };
    let run = both(
        "[loop]\nagent = 'codex'\nfallback = ['copilot']",
        "[loop]\nagents = ['claude']",
    );
    assert_eq!((run.agent.as_str(), run.fallback.len()), ("claude", 0));
    let run = both(
        "[loop]\nagents = ['claude', 'codex']",
        "[loop]\nagent = 'copilot'",
    );
    assert_eq!(run.agent, "copilot");
    assert_eq!(run.fallback, ["codex"]);
}
