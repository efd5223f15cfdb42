//! Texts to a [`Config`].

use serde::de::Error as _;

use crate::checks;
use crate::error::ConfigError;
use crate::legacy_apply::{self, Later};
use crate::origins::Origins;
use crate::source::Source;
use crate::tree::{self, Field, Node, Table, Value};
use crate::types::Config;
use crate::walk::{self, Pass, Problem};
use crate::{builtins, legacy};

/// A configuration that is right as far as that can be told without looking at the disk.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// What holds.
    pub config: Config,
    /// What has no effect; for people.
    pub warnings: Vec<String>,
    /// Where it was written.
    pub origins: Origins,
}

/// Reads the sources and lays the later ones over the earlier: tables merge, arrays and single
/// values replace. No source at all gives the defaults.
///
/// # Errors
/// All problems of all sources, each with the place of the very value: broken TOML, unknown keys
/// (with the nearest known one), wrong types, values out of range, names of agents and plugins
/// that don't exist, paths that leave the project.
pub fn load(sources: &[Source]) -> Result<Loaded, ConfigError> {
    let mut origins = Origins {
        sources: sources.to_vec(),
        ..Origins::default()
    };
    let mut later = Later::default();
    let mut problems: Vec<Problem> = Vec::new();
    let mut broken = Vec::new();
    for i in 0..sources.len() {
        match tree::parse(sources, i) {
            Ok(mut root) => {
                problems.extend(legacy_apply::apply(&mut root, &mut later));
                problems.extend(walk::check(&root, Pass::Source));
                origins.root.overlay(root);
            }
            Err(error) => broken.push(error),
        }
    }
    if broken.is_empty() {
        put_later(&mut origins.root, &mut later);
        problems.extend(walk::check(&origins.root, Pass::Whole));
    }
    problems.sort_by_key(|p| p.at);
    broken.extend(problems.into_iter().map(|p| p.into_error(&origins)));
    if let Some(error) = ConfigError::join(broken) {
        return Err(error);
    }
    let mut config: Config = serde_json::from_value(origins.root.json()).map_err(|e| {
        // The walk has seen every value, so this is a fault of the walk; better said than hidden.
        origins.error(&[], serde_json::Error::custom(e).to_string(), None)
    })?;
    let mut errors = checks::check(&config, &origins);
    errors.sort_by_key(|e| {
        (
            sources.iter().position(|s| s.name == e.file),
            e.line,
            e.column,
        )
    });
    put_agents(&mut config, &origins);
    match ConfigError::join(errors) {
        Some(error) => Err(error),
        None => Ok(Loaded {
            config,
            warnings: warnings(sources, &later),
            origins,
        }),
    }
}

/// Old keys that stand for something only where nothing else is said.
fn put_later(root: &mut Node, later: &mut Later) {
    let Value::Table(table) = &mut root.value else {
        return;
    };
    if let Some(prompt) = later.review_prompt.take() {
        set_unless(table, &["review", "prompt"], prompt);
    }
    // What the Python loop took for granted.
    if let Some(at) = later.github.take() {
        let blocked = Value::Array(vec![Node::text(at, "blocked".to_owned())]);
        let ready = Node::text(at, "ready".to_owned());
        set_unless(table, &["tasks", "label"], ready);
        set_unless(table, &["tasks", "exclude_labels"], Node::new(at, blocked));
    }
    if let Some(timeout) = later.agent_timeout.take() {
        let own = table.get("agents").and_then(|f| f.node.table());
        let mut names: Vec<String> = own
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        names.extend(builtins::AGENTS.map(str::to_owned));
        for name in names {
            set_unless(table, &["agents", &name, "timeout"], timeout.clone());
        }
    }
}

/// Makes `agent` and `fallback` of `agents`. A later file that names the agent otherwise goes first.
fn put_agents(config: &mut Config, origins: &Origins) {
    let file = |key| origins.file_of(&["loop", key]);
    let names = std::mem::take(&mut config.run.agents);
    let Some((first, rest)) = names.split_first() else {
        return;
    };
    if file("agent") <= file("agents") {
        config.run.agent.clone_from(first);
    }
    if file("fallback") <= file("agents") {
        config.run.fallback = rest.to_vec();
    }
}

/// Sets a value where there is none. Where a table should be and something else is, nothing is
/// done; that has been found wrong already.
fn set_unless(mut table: &mut Table, path: &[&str], node: Node) {
    let Some((last, tables)) = path.split_last() else {
        return;
    };
    let key_at = node.at;
    for step in tables {
        let empty = || Field {
            key_at,
            node: Node::new(key_at, Value::Table(Table::new())),
        };
        match &mut table
            .entry((*step).to_owned())
            .or_insert_with(empty)
            .node
            .value
        {
            Value::Table(inner) => table = inner,
            _ => return,
        }
    }
    table
        .entry((*last).to_owned())
        .or_insert(Field { key_at, node });
}

/// One warning names all old keys that have no effect; a table that is dead as a whole is named once.
fn warnings(sources: &[Source], later: &Later) -> Vec<String> {
    if later.without_effect.is_empty() {
        return Vec::new();
    }
    let dead = |table: &str| {
        legacy::TABLES.contains(&table)
            && legacy::KEYS.iter().all(|k| {
                !k.path.starts_with(&format!("{table}.")) || k.becomes == legacy::Becomes::Nothing
            })
    };
    let mut names: Vec<String> = Vec::new();
    for key in &later.without_effect {
        let table = key.split('.').next().unwrap_or(key);
        let name = if dead(table) {
            format!("[{table}]")
        } else {
            key.clone()
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let files: Vec<&str> = sources.iter().map(|s| s.name.as_str()).collect();
    vec![format!(
        "{}: written for the Python loop; these have no effect here: {}",
        files.join(", "),
        names.join(", ")
    )]
}
