//! Ids and dependencies: all ids differ, every dependency is there, no circle.

use std::collections::HashMap;

use super::error::{Fault, quoted};
use super::file::Parsed;

/// Longest id, in bytes.
pub(super) const ID_MAX: usize = 128;

/// More ids of a circle are not named.
const NAMED: usize = 12;

/// Checks all ids, resolves all dependencies, and gives the index from id to position.
/// With `positions`, a dependency that is a number and no id is a task's position.
pub(super) fn link(tasks: &mut [Parsed], positions: bool) -> Result<HashMap<String, usize>, Fault> {
    let index = unique(tasks)?;
    let mut edges = vec![Vec::new(); tasks.len()];
    for i in 0..tasks.len() {
        let mut ids: Vec<String> = Vec::new();
        for (written, at) in &tasks[i].depends {
            let Some(j) = resolve(written, &index, if positions { tasks.len() } else { 0 }) else {
                let own = &tasks[i].entry.task.id;
                return Err(Fault::new(
                    *at,
                    format!(
                        "{} depends on {}, which is no task of this file",
                        quoted(own),
                        quoted(written)
                    ),
                ));
            };
            let id = &tasks[j].entry.task.id;
            if !ids.contains(id) {
                ids.push(id.clone());
                edges[i].push(j);
            }
        }
        tasks[i].entry.task.depends_on = ids;
    }
    no_circle(tasks, &edges)?;
    Ok(index)
}

fn unique(tasks: &[Parsed]) -> Result<HashMap<String, usize>, Fault> {
    let mut index = HashMap::with_capacity(tasks.len());
    for (i, task) in tasks.iter().enumerate() {
        let id = &task.entry.task.id;
        check_id(id).map_err(|m| Fault::new(task.at, m))?;
        if let Some(first) = index.insert(id.clone(), i) {
            let other: &Parsed = &tasks[first];
            let line = other.entry.line;
            let message = if task.numbered || other.numbered {
                let bare = if task.numbered { task } else { other };
                format!(
                    "the task in line {} has no id of its own and would be {}, but another one is called that; give it an id",
                    bare.entry.line,
                    quoted(id)
                )
            } else {
                format!(
                    "{} is the id of two tasks; the other one is in line {line}",
                    quoted(id)
                )
            };
            return Err(Fault::new(task.at, message));
        }
    }
    Ok(index)
}

fn check_id(id: &str) -> Result<(), String> {
    if id.is_empty() || id.trim() != id {
        return Err(format!(
            "the id {} is empty or has blanks around it",
            quoted(id)
        ));
    }
    if id.len() > ID_MAX {
        return Err(format!(
            "the id {} is longer than {ID_MAX} bytes",
            quoted(id)
        ));
    }
    if crate::text::strip_escapes(id) != id || id.contains(['\n', '\t']) {
        return Err(format!("the id {} has invisible characters", quoted(id)));
    }
    Ok(())
}

/// By id; a number that is no id is a position, up to `total`.
fn resolve(written: &str, index: &HashMap<String, usize>, total: usize) -> Option<usize> {
    index.get(written).copied().or_else(|| {
        let digits = !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit());
        if digits
            && total > 0
            && let Some(&i) = index.get(&format!("T{written}"))
        {
            return Some(i);
        }
        let position: usize = if digits {
            written.parse().ok()?
        } else {
            return None;
        };
        position.checked_sub(1).filter(|&i| i < total)
    })
}

/// Depth first with a stack of our own: a chain may be as long as the file.
fn no_circle(tasks: &[Parsed], edges: &[Vec<usize>]) -> Result<(), Fault> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Closed,
    }
    let mut marks = vec![Mark::New; edges.len()];
    for root in 0..edges.len() {
        if marks[root] != Mark::New {
            continue;
        }
        marks[root] = Mark::Open;
        let mut path = vec![(root, 0usize)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(&to) = edges[node].get(*next) else {
                marks[node] = Mark::Closed;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[to] {
                Mark::New => {
                    marks[to] = Mark::Open;
                    path.push((to, 0));
                }
                Mark::Closed => {}
                Mark::Open => {
                    let from = path.iter().position(|(n, _)| *n == to).unwrap_or(0);
                    let circle: Vec<usize> = path[from..].iter().map(|(n, _)| *n).collect();
                    return Err(named(tasks, &circle));
                }
            }
        }
    }
    Ok(())
}

fn named(tasks: &[Parsed], circle: &[usize]) -> Fault {
    let id = |i: usize| crate::text::one_line(&tasks[i].entry.task.id, 80);
    let mut names: Vec<String> = circle.iter().take(NAMED).map(|&i| id(i)).collect();
    if circle.len() > NAMED {
        names.push(format!("… {} more", circle.len() - NAMED));
    }
    let first = circle.first().copied().unwrap_or_default();
    names.push(id(first));
    Fault::new(
        tasks[first].at,
        format!(
            "tasks wait for one another in a circle: {}",
            names.join(" → ")
        ),
    )
}
