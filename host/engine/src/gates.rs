//! What all gates together come to: those that stand alone, groups of them, warnings; and whether
//! a gate has anything to do with a change.

use std::collections::{BTreeMap, BTreeSet};

use path_globs::PathGlobs;
use serde::{Deserialize, Serialize};

use crate::expr::{Expr, ExprError};
use crate::types::{FileChange, GateResult, Severity, Status, Verdict};

/// Gates of which not each has to pass by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Unique among gates and groups.
    pub name: String,
    /// What has to hold.
    pub expr: Expr,
}

/// The groups of a configuration, those that others name before them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Groups(Vec<Group>);

/// Which group can't be used (by its place), and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupError {
    /// Counts from 0.
    pub index: usize,
    /// About its name, or about its expression?
    pub key: &'static str,
    /// For people.
    pub message: String,
}

/// What a gate is to a group: whether it may stand in one.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// `[[gates]] name`
    pub name: &'a str,
    /// Its failure is only told.
    pub warns: bool,
}

impl Groups {
    /// Reads names and expressions.
    ///
    /// # Errors
    /// Names that are taken or unknown, expressions that can't be read, groups that stand for each other.
    pub fn new(gates: &[Known<'_>], groups: &[(&str, &str)]) -> Result<Groups, Vec<GroupError>> {
        let mut errors = Vec::new();
        let mut wrong = |index, key, message: String| {
            errors.push(GroupError {
                index,
                key,
                message,
            });
        };
        let mut open: Vec<(usize, Group)> = Vec::new();
        for (index, (name, text)) in groups.iter().enumerate() {
            let name = *name;
            if gates.iter().any(|g| g.name == name) {
                wrong(
                    index,
                    "name",
                    format!(
                        "a gate is called `{name}` as well; an expression couldn't tell them apart"
                    ),
                );
            } else if groups.iter().take(index).any(|(other, _)| *other == name) {
                wrong(index, "name", format!("two groups are called `{name}`"));
            }
            match Expr::parse(text) {
                Err(ExprError { at, message }) => wrong(
                    index,
                    "expr",
                    format!(
                        "the expression can't be read: {message} (character {})",
                        at + 1
                    ),
                ),
                Ok(expr) => {
                    for used in expr.names() {
                        match gates.iter().find(|g| g.name == used) {
                            Some(gate) if gate.warns => wrong(
                                index,
                                "expr",
                                format!("the gate `{used}` only warns, so no group can rest on it"),
                            ),
                            Some(_) => {}
                            None if groups.iter().any(|(other, _)| *other == used) => {}
                            None => wrong(
                                index,
                                "expr",
                                format!("there is no gate and no group `{used}`"),
                            ),
                        }
                    }
                    open.push((
                        index,
                        Group {
                            name: name.to_owned(),
                            expr,
                        },
                    ));
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut sorted: Vec<Group> = Vec::new();
        while !open.is_empty() {
            let waiting: BTreeSet<String> = open.iter().map(|(_, g)| g.name.clone()).collect();
            let (ready, rest): (Vec<_>, Vec<_>) = open
                .into_iter()
                .partition(|(_, g)| g.expr.names().iter().all(|n| !waiting.contains(*n)));
            if ready.is_empty() {
                return Err(rest
                    .into_iter()
                    .map(|(index, g)| GroupError {
                        index,
                        key: "expr",
                        message: format!("the group `{}` stands, over others, for itself", g.name),
                    })
                    .collect());
            }
            sorted.extend(ready.into_iter().map(|(_, g)| g));
            open = rest;
        }
        Ok(Groups(sorted))
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Group> {
        self.0.iter()
    }

    /// The names that stand in some group: they decide nothing by themselves.
    fn inner(&self) -> BTreeSet<&str> {
        self.0.iter().flat_map(|g| g.expr.names()).collect()
    }

    /// The names of gates that a group rests on, over others.
    fn gates_of<'a>(&'a self, group: &'a Group, out: &mut BTreeSet<&'a str>) {
        for name in group.expr.names() {
            if out.insert(name)
                && let Some(group) = self.0.iter().find(|g| g.name == name)
            {
                self.gates_of(group, out);
            }
        }
    }
}

/// What the gates come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Weighed<'a> {
    /// Gates outside of groups that failed.
    pub gates: Vec<&'a str>,
    /// Groups that don't hold.
    pub groups: Vec<&'a str>,
    /// Failed gates that speak against the work: those, and the ones in groups that don't hold.
    pub against: Vec<&'a GateResult>,
    /// Failed gates that only warn.
    pub warnings: Vec<&'a GateResult>,
}

impl Weighed<'_> {
    /// Does anything refuse the work?
    pub fn refuses(&self) -> bool {
        !self.gates.is_empty() || !self.groups.is_empty()
    }

    /// In one line, if something refuses: `gate failed: lint`.
    pub fn reason(&self) -> String {
        let told = |one: &str, several: &str, names: &[&str]| match names {
            [] => None,
            [name] => Some(format!("{one} failed: {name}")),
            names => Some(format!("{several} failed: {}", names.join(", "))),
        };
        let parts = [
            told("gate", "gates", &self.gates),
            told("gate group", "gate groups", &self.groups),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// Weighs what was answered. Gates that haven't answered are taken to pass: what refuses now
/// refuses whatever they will say.
pub fn weigh<'a>(groups: &'a Groups, results: &'a [GateResult]) -> Weighed<'a> {
    let inner = groups.inner();
    let mut out = Weighed::default();
    let mut speaks: BTreeSet<&str> = BTreeSet::new();
    for result in results.iter().filter(|r| !r.verdict.passed()) {
        let name = result.name.as_str();
        if result.severity == Severity::Warn {
            out.warnings.push(result);
        } else if !inner.contains(name) {
            out.gates.push(name);
            speaks.insert(name);
        }
    }
    let mut known: BTreeMap<&str, Status> = BTreeMap::new();
    for result in results {
        // Of one that only warns, here: could not rule, and was to let that pass.
        let status = match (result.verdict.status, result.severity) {
            (Status::Fail, Severity::Warn) => Status::Skip,
            (status, _) => status,
        };
        known.insert(&result.name, status);
    }
    for group in &groups.0 {
        let of = |name: &str| known.get(name).copied().unwrap_or(Status::Pass);
        let status = group.expr.weigh(&of);
        known.insert(&group.name, status);
        if status == Status::Fail && !inner.contains(group.name.as_str()) {
            out.groups.push(&group.name);
            groups.gates_of(group, &mut speaks);
        }
    }
    out.against = results
        .iter()
        .filter(|r| r.severity == Severity::Block && !r.verdict.passed())
        .filter(|r| speaks.contains(r.name.as_str()))
        .collect();
    out
}

/// `[[gates]] when`: which changes a gate is about.
#[derive(Debug, Default)]
pub struct When(PathGlobs);

impl When {
    /// No pattern at all: any change.
    ///
    /// # Errors
    /// Which pattern can't be used, and why.
    pub fn new(patterns: &[String]) -> Result<When, String> {
        PathGlobs::new(patterns).map(When)
    }

    /// Why the gate isn't asked about these changes, if it isn't.
    pub fn skips(&self, files: &[FileChange]) -> Option<Verdict> {
        if self.0.is_empty() || files.iter().any(|f| self.0.find(&f.path).is_some()) {
            return None;
        }
        let patterns: Vec<&str> = self.0.patterns().collect();
        Some(Verdict {
            status: Status::Skip,
            summary: format!("nothing changed in {}", patterns.join(", ")),
            findings: Vec::new(),
        })
    }
}
