//! Carries out the table of [`crate::legacy`] on one source: old keys are checked, taken out, and
//! put back under their new names. What is left is what the schema knows.

use std::collections::BTreeSet;

use crate::legacy::{Becomes, KEYS, Old, Shape, TABLES, names_in};
use crate::legacy_convert::{agent, gates};
use crate::show;
use crate::tree::{At, Field, Node, Table, Value};
use crate::walk::{Problem, nearest, place};

/// What can only be put in its place once all sources are laid together.
#[derive(Default)]
pub(crate) struct Later {
    pub agent_timeout: Option<Node>,
    pub review_prompt: Option<Node>,
    /// GitHub issues were asked for, here.
    pub github: Option<At>,
    /// Keys without effect.
    pub without_effect: BTreeSet<String>,
}

/// Rewrites one source in place.
pub(crate) fn apply(root: &mut Node, later: &mut Later) -> Vec<Problem> {
    let Value::Table(table) = &mut root.value else {
        return Vec::new();
    };
    // `[[gates]]` is today's form, `[gates]` the old one.
    let new_gates = match table.get("gates").map(|f| &f.node.value) {
        Some(Value::Table(_)) | None => None,
        Some(_) => table.remove("gates"),
    };
    let mut pass = Pass {
        problems: Vec::new(),
        later,
        put: Vec::new(),
    };
    for old in KEYS {
        for path in std::iter::once(&old.path).chain(old.also) {
            let steps: Vec<&str> = path.split('.').collect();
            for (full, field) in take(table, &steps, &mut Vec::new()) {
                pass.key(old, &full, field);
            }
        }
    }
    let (mut problems, put) = (pass.problems, pass.put);
    for name in TABLES {
        if let Some(field) = table.get(*name) {
            rest(&field.node, &mut vec![(*name).to_owned()], &mut problems);
            table.remove(*name);
        }
    }
    for name in ["modes", "adaptive"] {
        if let Some(Value::Table(l)) = table.get_mut("loop").map(|f| &mut f.node.value)
            && let Some(field) = l.remove(name)
        {
            rest(
                &field.node,
                &mut vec!["loop".to_owned(), name.to_owned()],
                &mut problems,
            );
        }
    }
    if let Some(gates) = new_gates {
        table.insert("gates".to_owned(), gates);
    }
    for (old, new, node) in put {
        put_in(table, &old, &new, node, &mut problems);
    }
    problems
}

struct Pass<'a> {
    problems: Vec<Problem>,
    later: &'a mut Later,
    /// Old name, new path, value.
    put: Vec<(String, Vec<String>, Node)>,
}

impl Pass<'_> {
    fn key(&mut self, old: &Old, full: &[String], field: Field) {
        let key = full.join(".");
        let node = field.node;
        if let Some((at, message)) = wrong(&node, old.shape, full.last().map_or("", String::as_str))
        {
            return self.problems.push(Problem {
                at,
                key,
                message,
                hint: None,
            });
        }
        // A `*` stands for the same name on both sides.
        let star = old.path.split('.').position(|s| s == "*");
        let named = star.and_then(|i| full.get(i)).map_or("*", String::as_str);
        let path = |new: &str| {
            let steps = new.split('.').map(|s| if s == "*" { named } else { s });
            steps.map(str::to_owned).collect::<Vec<_>>()
        };
        let at = node.at;
        let number = if let Value::Integer(i) = node.value {
            i
        } else {
            0
        };
        match old.becomes {
            Becomes::Nothing => {
                let shown: Vec<String> = full.iter().map(|s| show::word(s)).collect();
                self.later.without_effect.insert(shown.join("."));
            }
            Becomes::Key(new) => self.put.push((key, path(new), node)),
            Becomes::Seconds(new) => {
                self.put
                    .push((key, path(new), Node::text(at, format!("{number}s"))))
            }
            Becomes::Bytes(new) => {
                self.put
                    .push((key, path(new), Node::text(at, format!("{number}B"))))
            }
            Becomes::Template(new) => {
                let Value::Text(text) = node.value else {
                    return;
                };
                self.put.push((
                    key,
                    path(new),
                    Node::text(at, text.replace("{story_id}", "{task_id}")),
                ));
            }
            Becomes::Gates => self
                .put
                .push((key, path("gates"), Node::new(at, gates(node)))),
            Becomes::Agent => {
                let name = full.get(1).cloned().unwrap_or_default();
                let agent = Node::new(at, Value::Table(agent(&name, node)));
                self.put.push((key, vec!["agents".to_owned(), name], agent));
            }
            Becomes::AgentTimeout => {
                self.later.agent_timeout = Some(Node::text(at, format!("{number}s")))
            }
            Becomes::Tracker => {
                let Value::Text(kind) = &node.value else {
                    return;
                };
                let source = match kind.as_str() {
                    "github" | "github_issues" => "github",
                    "beads" | "bd" => "beads",
                    // Which of the files it is, is seen without being told.
                    "web" | "web_analysis" => {
                        self.later.without_effect.insert(key);
                        return;
                    }
                    _ => return,
                };
                self.later.github = (source == "github").then_some(at);
                let source = Node::text(at, source.to_owned());
                self.put.push((key, path("tasks.source"), source));
            }
            Becomes::ReviewPrompt => self.later.review_prompt = Some(node),
        }
    }
}

/// Takes out all fields whose path matches; `*` matches any name.
fn take(table: &mut Table, steps: &[&str], path: &mut Vec<String>) -> Vec<(Vec<String>, Field)> {
    let Some((step, more)) = steps.split_first() else {
        return Vec::new();
    };
    let names: Vec<String> = if *step == "*" {
        table.keys().cloned().collect()
    } else {
        vec![(*step).to_owned()]
    };
    let mut found = Vec::new();
    for name in names {
        path.push(name.clone());
        if more.is_empty() {
            found.extend(table.remove(&name).map(|f| (path.clone(), f)));
        } else if let Some(Value::Table(inner)) = table.get_mut(&name).map(|f| &mut f.node.value) {
            found.extend(take(inner, more, path));
        }
        path.pop();
    }
    found
}

/// What is left of an old table after its known keys were taken out.
fn rest(node: &Node, path: &mut Vec<String>, problems: &mut Vec<Problem>) {
    let known: Vec<&str> = names_in(&path.join(".")).collect();
    let Value::Table(table) = &node.value else {
        let name = path.last().cloned().unwrap_or_default();
        let message = format!(
            "{} should be a table and is {}",
            show::name(&name),
            node.kind()
        );
        return problems.push(Problem {
            at: node.at,
            key: path.join("."),
            message,
            hint: None,
        });
    };
    for (key, field) in table {
        path.push(key.clone());
        let inner = names_in(&path.join(".")).next().is_some() || known.contains(&"*");
        if inner {
            rest(&field.node, path, problems);
        } else {
            let table = &path[..path.len() - 1];
            let hint = nearest(key, known.iter().copied()).map(|k| format!("did you mean `{k}`?"));
            let message = format!("unknown key {} {}", show::name(key), place(table));
            problems.push(Problem {
                at: field.key_at,
                key: path.join("."),
                message,
                hint,
            });
        }
        path.pop();
    }
}

fn wrong(node: &Node, shape: Shape, key: &str) -> Option<(At, String)> {
    let key = show::name(key);
    let should = |wanted: &str| {
        Some((
            node.at,
            format!("{key} should be {wanted} and is {}", node.kind()),
        ))
    };
    match (shape, &node.value) {
        (Shape::Any, Value::Table(_))
        | (Shape::Bool, Value::Boolean(_))
        | (Shape::Text, Value::Text(_)) => None,
        (Shape::Int(low, high), Value::Integer(i)) if *i < low || *i > high => {
            let range = if high == i64::MAX {
                format!("at least {low}")
            } else {
                format!("from {low} to {high}")
            };
            Some((node.at, format!("{key} should be {range} and is {i}")))
        }
        (Shape::Int(..), Value::Integer(_)) => None,
        (Shape::Number, Value::Integer(i)) if *i >= 0 => None,
        (Shape::Number, Value::Float(f)) if *f >= 0.0 => None,
        (Shape::Word(words), Value::Text(text)) => (!words.contains(&text.as_str())).then(|| {
            (
                node.at,
                format!(
                    "{key} should be one of {} and is {}",
                    words.join(", "),
                    show::name(text)
                ),
            )
        }),
        (Shape::Texts, Value::Array(items)) => items
            .iter()
            .find(|i| !matches!(i.value, Value::Text(_)))
            .map(|i| {
                (
                    i.at,
                    format!("an entry of {key} should be a string and is {}", i.kind()),
                )
            }),
        (Shape::Any, _) => should("a table"),
        (Shape::Bool, _) => should("true or false"),
        (Shape::Int(..), _) => should("a whole number"),
        (Shape::Number, Value::Integer(_) | Value::Float(_)) => {
            Some((node.at, format!("{key} should not be less than 0")))
        }
        (Shape::Number, _) => should("a number"),
        (Shape::Text | Shape::Word(_), _) => should("a string"),
        (Shape::Texts, _) => should("an array of strings"),
    }
}

fn put_in(table: &mut Table, old: &str, path: &[String], node: Node, problems: &mut Vec<Problem>) {
    let Some((last, tables)) = path.split_last() else {
        return;
    };
    let mut inner = table;
    for step in tables {
        let field = inner.entry(step.clone()).or_insert_with(|| Field {
            key_at: node.at,
            node: Node::new(node.at, Value::Table(Table::new())),
        });
        match &mut field.node.value {
            Value::Table(t) => inner = t,
            // The schema will say that this should be a table.
            _ => return,
        }
    }
    if inner.contains_key(last) {
        let message = format!(
            "{} and {} mean the same",
            show::name(old),
            show::name(&path.join("."))
        );
        return problems.push(Problem {
            at: node.at,
            key: old.to_owned(),
            message,
            hint: Some("keep one".to_owned()),
        });
    }
    inner.insert(
        last.clone(),
        Field {
            key_at: node.at,
            node,
        },
    );
}
