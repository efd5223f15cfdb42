//! `ralph.toml.example` is complete and true.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{config, loaded};
use ralph_config::types::{Agent, Allow, Config, Gate, Git, Limits, Loop};
use serde_json::Value;

const EXAMPLE: &str = include_str!("../../../ralph.toml.example");

/// The example with its commented keys and tables in force; prose stays a comment.
fn whole() -> String {
    let line = |l: &str| {
        let key = l
            .strip_prefix('#')
            .filter(|r| r.starts_with(|c: char| c == '[' || c.is_ascii_lowercase()));
        format!("{}\n", key.unwrap_or(l))
    };
    EXAMPLE.lines().map(line).collect()
}

#[test]
fn as_it_stands_it_is_the_defaults() {
    let all = loaded(EXAMPLE);
    assert_eq!(all.config, Config::default());
    assert!(all.warnings.is_empty());
}

#[test]
fn every_key_is_in_it_with_a_remark() {
    let json: Value = toml::from_str::<toml::Table>(&whole())
        .map(|t| serde_json::to_value(t).unwrap())
        .unwrap();
    let schema = ralph_config::schema();
    let has = |key: &str, at: &Value| assert!(at.get(key).is_some(), "{key} is missing in {at}");
    for (def, at) in [
        ("Loop", &json["loop"]),
        ("Files", &json["files"]),
        ("Tasks", &json["tasks"]),
        ("Agent", &json["agents"]["example"]),
        ("Judge", &json["judge"]),
        ("Judge", &json["review"]),
        ("Plugin", &json["plugins"]["example"]),
        ("Allow", &json["plugins"]["example"]["allow"]),
        ("Limits", &json["plugins"]["example"]["limits"]),
        ("Git", &json["git"]),
        ("OsSandbox", &json["sandbox"]),
        ("Rlimits", &json["sandbox"]["limits"]),
        ("Confine", &json["sandbox"]["gates"]),
    ] {
        schema["$defs"][def]["properties"]
            .as_object()
            .unwrap()
            .keys()
            .for_each(|k| has(k, at));
    }
    for key in schema["$defs"]["Gate"]["properties"]
        .as_object()
        .unwrap()
        .keys()
    {
        assert!(
            json["gates"]
                .as_array()
                .unwrap()
                .iter()
                .any(|g| g.get(key).is_some()),
            "gates: {key}"
        );
    }
    schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .for_each(|k| has(k, &json));
    for line in EXAMPLE
        .lines()
        .filter(|l| l.contains(" = ") && !l.starts_with("# "))
    {
        assert!(
            line.trim_start_matches('#').contains(" # "),
            "no remark: {line}"
        );
    }
}

#[test]
fn what_its_comments_give_as_defaults_are_the_defaults() {
    let all = loaded(&whole());
    assert!(all.warnings.is_empty());
    let c = all.config;
    let agent = Agent {
        plugin: None,
        argv: Vec::new(),
        model: None,
        effort: None,
        ..c.agents["example"].clone()
    };
    assert_eq!(agent, Agent::default());
    assert_eq!(c.gates[0].timeout, Gate::default_timeout());
    assert_eq!(c.plugins["example"].allow, Allow::default());
    let limits = Limits {
        wait: None,
        ..c.plugins["example"].limits.clone()
    };
    assert_eq!(limits, Limits::default());
    let d = Config::default();
    let git = Git {
        branch: None,
        ..c.git
    };
    let run = Loop {
        mode: None,
        ..c.run
    };
    assert_eq!((run, git, c.tasks), (d.run, d.git, d.tasks));
    assert_eq!(c.judge.plugin.as_deref(), Some("judge"));
}

#[test]
fn a_value_off_its_default_would_be_noticed() {
    assert_ne!(
        config(&EXAMPLE.replace("max_attempts = 3", "max_attempts = 4")),
        Config::default()
    );
}
