//! Ids for items that bring none: given once, by position, and remembered, so that a task keeps its
//! id when others are added, moved or taken out above it.

use std::collections::{HashMap, HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file::Parsed;

/// Items that were taken out and may come back; older ones are forgotten.
const GONE_MAX: usize = 1000;

/// Number and title of one item without an id of its own. The id is `T` and the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assigned(
    /// Never given to another item.
    pub u32,
    /// The first eight bytes of the SHA-256 of the title, blanks and case left out.
    pub u64,
);

/// Which ids were given. Empty before a run has read the task file for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ids {
    /// In the file's order, as last seen.
    pub items: Vec<Assigned>,
    /// Those that were taken out, newest last, at most a thousand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<Assigned>,
    /// The highest number given so far, positions of items with ids of their own included.
    pub last: u32,
}

/// Gives every item without an id of its own the one that `known` remembers, or a new one: by
/// position if nothing is remembered, else the next free number. What is remembered afterwards.
///
/// An item is known again by its title; among equals, the order decides. Items with new titles
/// between two that are known again keep the ids of those that stood there, if they are as many,
/// or if they end the file.
/// O(items).
pub(super) fn assign(known: &Ids, tasks: &mut [Parsed]) -> Ids {
    let total = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
    let keys: Vec<(usize, u64)> = tasks
        .iter()
        .enumerate()
        .filter(|(_, t)| t.numbered)
        .map(|(i, t)| (i, key(&t.entry.task.title)))
        .collect();
    if known.items.is_empty() && known.last == 0 {
        if keys.is_empty() {
            return Ids::default();
        }
        let number = |i: usize| u32::try_from(i + 1).unwrap_or(u32::MAX);
        return Ids {
            items: keys
                .iter()
                .map(|&(i, key)| Assigned(number(i), key))
                .collect(),
            gone: Vec::new(),
            last: total,
        };
    }
    let mut numbers = by_title(known, &keys);
    between_neighbours(known, &mut numbers);
    let explicit: HashSet<&str> = tasks
        .iter()
        .filter(|t| !t.numbered)
        .map(|t| t.entry.task.id.as_str())
        .collect();
    let mut last = known.last;
    let mut items = Vec::with_capacity(keys.len());
    for (number, &(_, key)) in numbers.iter().zip(&keys) {
        let number = number.unwrap_or_else(|| {
            loop {
                last = last.saturating_add(1);
                if last == u32::MAX || !explicit.contains(format!("T{last}").as_str()) {
                    return last;
                }
            }
        });
        items.push(Assigned(number, key));
    }
    let here: HashSet<u32> = items.iter().map(|a| a.0).collect();
    let mut gone: Vec<Assigned> = known
        .gone
        .iter()
        .chain(&known.items)
        .filter(|a| !here.contains(&a.0))
        .copied()
        .collect();
    gone.drain(..gone.len().saturating_sub(GONE_MAX));
    for (&(i, _), item) in keys.iter().zip(&items) {
        tasks[i].entry.task.id = format!("T{}", item.0);
    }
    Ids { items, gone, last }
}

fn by_title(known: &Ids, keys: &[(usize, u64)]) -> Vec<Option<u32>> {
    let mut found: HashMap<u64, VecDeque<u32>> = HashMap::with_capacity(known.items.len());
    // Those that stand in the file come before those that were taken out.
    for a in known.items.iter().chain(known.gone.iter().rev()) {
        found.entry(a.1).or_default().push_back(a.0);
    }
    keys.iter()
        .map(|(_, key)| found.get_mut(key).and_then(VecDeque::pop_front))
        .collect()
}

/// Runs of unknown titles take the numbers of as many forgotten ones between the same neighbours;
/// at the file's end, where people add, also if some follow them.
fn between_neighbours(known: &Ids, numbers: &mut [Option<u32>]) {
    let used: HashSet<u32> = numbers.iter().flatten().copied().collect();
    let places: HashMap<u32, usize> = known
        .items
        .iter()
        .enumerate()
        .map(|(i, a)| (a.0, i))
        .collect();
    let mut at = 0;
    while at < numbers.len() {
        if numbers[at].is_some() {
            at += 1;
            continue;
        }
        let end = (at..numbers.len())
            .find(|&i| numbers[i].is_some())
            .unwrap_or(numbers.len());
        let before = match at.checked_sub(1).and_then(|i| numbers[i]) {
            None => Some(0),
            Some(n) => places.get(&n).map(|i| i + 1),
        };
        let after = match numbers.get(end).copied().flatten() {
            None => Some(known.items.len()),
            Some(n) => places.get(&n).copied(),
        };
        if let (Some(from), Some(to)) = (before, after)
            && let Some(count) = to.checked_sub(from)
            && (count == end - at || (count < end - at && end == numbers.len()))
            && known.items[from..to].iter().all(|a| !used.contains(&a.0))
        {
            for (number, old) in numbers[at..end].iter_mut().zip(&known.items[from..to]) {
                *number = Some(old.0);
            }
        }
        at = end;
    }
}

fn key(title: &str) -> u64 {
    let plain: Vec<String> = title.split_whitespace().map(str::to_lowercase).collect();
    let hash = Sha256::digest(plain.join(" ").as_bytes());
    hash.iter()
        .take(8)
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
