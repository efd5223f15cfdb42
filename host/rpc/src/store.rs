//! What is kept of a run's events: those that may be fetched, and the lines that a new client is shown.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ring::{Data, Item, Kind, Ring};

/// Lines that a new client is shown.
const RECENT: usize = 200;

/// All of it.
#[derive(Default)]
pub(crate) struct Store {
    pub(crate) ring: Ring,
    recent: VecDeque<Arc<Item>>,
}

/// On its way into the store.
pub(crate) enum New {
    Event(Arc<str>, Data),
    /// So many lines that can't be kept.
    Skipped(u64),
}

impl Store {
    /// Puts in what came.
    pub(crate) fn take(&mut self, new: Vec<New>) {
        for new in new {
            let (at, data) = match new {
                New::Event(at, data) => (at, data),
                New::Skipped(count) => {
                    self.ring.skip(Kind::Output, count);
                    continue;
                }
            };
            let line = matches!(data, Data::Line { .. });
            let item = self.ring.push(at, data);
            if line {
                if self.recent.len() == RECENT {
                    self.recent.pop_front();
                }
                self.recent.push_back(item);
            }
        }
    }

    /// The newest lines, oldest first.
    pub(crate) fn recent(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.recent.iter()
    }
}
