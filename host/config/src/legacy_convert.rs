//! Old values that need more than another name: shell lines to gates, runners to agents.

use std::collections::BTreeSet;

use crate::legacy::{KNOWN_ARGV, PROMPT_SWITCH};
use crate::tree::{At, Field, Node, Table, Value};

fn field(at: At, value: Value) -> Field {
    Field {
        key_at: at,
        node: Node::new(at, value),
    }
}

fn texts(at: At, list: Vec<String>) -> Value {
    Value::Array(list.into_iter().map(|t| Node::text(at, t)).collect())
}

/// Each line went through a shell, so it still does.
pub(crate) fn gates(commands: Node) -> Value {
    let Value::Array(items) = commands.value else {
        return Value::Array(Vec::new());
    };
    let mut names = BTreeSet::new();
    let gates = items.into_iter().filter_map(|item| {
        let at = item.at;
        let Value::Text(line) = item.value else {
            return None;
        };
        let base = gate_name(&line);
        let name = (1..)
            .map(|n| {
                if n == 1 {
                    base.clone()
                } else {
                    format!("{base}-{n}")
                }
            })
            .find(|n| !names.contains(n))?;
        names.insert(name.clone());
        let run = texts(at, vec!["sh".to_owned(), "-c".to_owned(), line]);
        let table = [("name", Value::Text(name)), ("run", run)];
        Some(Node::new(
            at,
            Value::Table(
                table
                    .into_iter()
                    .map(|(k, v)| (k.to_owned(), field(at, v)))
                    .collect(),
            ),
        ))
    });
    Value::Array(gates.collect())
}

/// `uv run pytest -q` is the gate `uv-run-pytest-q`.
fn gate_name(line: &str) -> String {
    let words = line
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty());
    let mut name = String::new();
    for word in words {
        if name.len() + word.len() >= 40 {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(word);
    }
    if name.is_empty() {
        "command".to_owned()
    } else {
        name
    }
}

/// The Python loop's rules of how a runner gets its prompt.
pub(crate) fn agent(name: &str, argv: Node) -> Table {
    let at = argv.at;
    let Value::Array(items) = argv.value else {
        return Table::new();
    };
    let mut argv: Vec<String> = items
        .into_iter()
        .filter_map(|i| {
            if let Value::Text(t) = i.value {
                Some(t)
            } else {
                None
            }
        })
        .collect();
    let mut table = Table::new();
    let mut set = |key: &str, value: Value| drop(table.insert(key.to_owned(), field(at, value)));
    if let Some((_, driver)) = KNOWN_ARGV
        .iter()
        .find(|(known, _)| argv.iter().eq(known.iter()))
    {
        set("plugin", Value::Text((*driver).to_owned()));
        return table;
    }
    let switch = PROMPT_SWITCH
        .iter()
        .find(|(runner, _)| *runner == name)
        .map(|(_, switch)| *switch);
    let by = if argv.iter().any(|a| a == "{prompt}") {
        "argument"
    } else if name == "codex" {
        if !argv.is_empty() && !argv.iter().any(|a| a == "-") {
            argv.push("-".to_owned());
        }
        "stdin"
    } else if let Some(switch) = switch.filter(|_| !argv.is_empty()) {
        let holder = "{prompt}".to_owned();
        match argv.iter().position(|a| a == switch) {
            None => argv.extend([switch.to_owned(), holder]),
            Some(i) => match argv.get_mut(i + 1).filter(|next| !next.starts_with('-')) {
                Some(next) => *next = holder,
                None => argv.insert(i + 1, holder),
            },
        }
        "argument"
    } else if argv.iter().any(|a| a == "-") {
        "stdin"
    } else {
        "argument"
    };
    set("plugin", Value::Text("command".to_owned()));
    set("prompt", Value::Text(by.to_owned()));
    set("argv", texts(at, argv));
    table
}
