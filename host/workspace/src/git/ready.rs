//! Whether the index of a snapshot can be committed nearly as it stands.
//!
//! It holds HEAD, the user's own uncommitted work and the iteration's. If
//! HEAD is where it was, and each path the user had work in is known to be as
//! it was, those paths are put back to what HEAD has, and what is left is the
//! iteration's.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use super::raw::Blob;
use super::repo::Head;
use super::snapshot::Kept;
use super::{Git, Snapshot};

/// Snapshots that were not clean, the youngest last.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<Arc<Kept>>);

/// Each keeps a copy of the index on disk.
const MAX_RECENT: usize = 3;

impl Recent {
    pub(super) fn push(&mut self, kept: Arc<Kept>) {
        self.0.retain(|other| other.tree != kept.tree);
        if self.0.len() == MAX_RECENT {
            self.0.pop_front();
        }
        self.0.push_back(kept);
    }

    pub(super) fn last(&self) -> Option<&Arc<Kept>> {
        self.0.back()
    }

    fn find(&self, tree: &str) -> Option<&Arc<Kept>> {
        self.0.iter().find(|kept| kept.tree == tree)
    }

    /// Its index is about to be changed.
    pub(super) fn forget(&mut self, tree: &str) {
        self.0.retain(|kept| kept.tree != tree);
    }
}

/// An index to be committed.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) kept: Arc<Kept>,
    /// The user's own work: what HEAD has there.
    pub(super) resets: BTreeMap<Vec<u8>, Option<Blob>>,
    /// Nothing was staged, so that what is committed may become the user's index.
    pub(super) install: bool,
}

impl Git {
    /// `None`: the commit has to be planned path by path.
    pub(super) fn ready(
        &self,
        base: &Snapshot,
        now: &Snapshot,
        head: &Head,
        extra: &[String],
    ) -> Option<Ready> {
        let still = base.head == now.head && now.head == head.oid && self.repo().prefix.is_empty();
        let memory = self.memory();
        let kept = memory
            .recent
            .find(&now.tree)
            .filter(|kept| still && !kept.foreign)?
            .clone();
        let mut ready = Ready {
            kept,
            resets: BTreeMap::new(),
            install: true,
        };
        if base.clean {
            return Some(ready);
        }
        let then = memory.recent.find(&base.tree)?;
        let later: BTreeMap<&[u8], _> = ready
            .kept
            .seen()
            .map(|(entry, stamp)| (entry.path.as_slice(), (entry, stamp)))
            .collect();
        for (entry, stamp) in then.seen() {
            let path = entry.path.as_slice();
            let staged = entry.staged || (!entry.untracked && entry.head.is_none());
            if staged {
                ready.install = false;
            }
            if extra.iter().any(|e| e.as_bytes() == path) {
                continue;
            }
            let same = later
                .get(path)
                .is_some_and(|(e, s)| *e == entry && *s == stamp)
                && !(entry.nested || entry.unmerged)
                && stamp.is_none_or(|s| then.settled(&s))
                && (!staged || then.real == ready.kept.real);
            if !same || changes_places(path, &later) {
                return None;
            }
            ready.resets.insert(entry.path.clone(), entry.head.clone());
        }
        Some(ready)
    }
}

/// Whether a directory stands where a file was, or the other way round.
fn changes_places<V>(path: &[u8], entries: &BTreeMap<&[u8], V>) -> bool {
    let below = [path, b"/"].concat();
    let after = (Bound::Included(below.as_slice()), Bound::Unbounded);
    if entries
        .range::<[u8], _>(after)
        .next()
        .is_some_and(|(p, _)| p.starts_with(&below))
    {
        return true;
    }
    path.iter()
        .enumerate()
        .filter(|(_, b)| **b == b'/')
        .any(|(at, _)| {
            path.get(..at)
                .is_some_and(|above| entries.contains_key(above))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_directory_of_the_same_name_are_noticed_from_both_sides() {
        let entries: BTreeMap<&[u8], ()> = [&b"a/b"[..], b"c", b"d.x", b"e-/f"]
            .into_iter()
            .map(|p| (p, ()))
            .collect();
        assert!(changes_places(b"a", &entries));
        assert!(changes_places(b"c/x/y", &entries));
        for other in [&b"a/b"[..], b"a/c", b"c", b"d", b"e", b"cc"] {
            assert!(!changes_places(other, &entries), "{other:?}");
        }
    }
}
