//! The newest events of a run that hasn't ended, shared by all who follow it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::store::StoredEvent;

const EVENTS_MAX: usize = 1024;
const BYTES_MAX: usize = 1 << 20;

/// What followers wait on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// The newest event that is in the store.
    pub last: u64,
    /// The run is over: there will be no other.
    pub over: bool,
}

/// See the module.
pub struct Live {
    ring: Mutex<Ring>,
    mark: watch::Sender<Mark>,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<Arc<StoredEvent>>,
    bytes: usize,
}

impl Live {
    /// Of a run whose newest event is this.
    pub fn new(last: u64) -> Live {
        Live {
            ring: Mutex::default(),
            mark: watch::channel(Mark { last, over: false }).0,
        }
    }

    /// Changes with each batch.
    pub fn follow(&self) -> watch::Receiver<Mark> {
        self.mark.subscribe()
    }

    /// Events that are in the store now.
    pub fn push(&self, events: Vec<StoredEvent>) {
        let Some(last) = events.last().map(|e| e.id) else {
            return;
        };
        {
            let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            for event in events {
                ring.bytes += event.data.len();
                ring.events.push_back(Arc::new(event));
            }
            while ring.events.len() > EVENTS_MAX || ring.bytes > BYTES_MAX {
                match ring.events.pop_front() {
                    Some(event) => ring.bytes -= event.data.len(),
                    None => break,
                }
            }
        }
        self.mark.send_modify(|mark| mark.last = last);
    }

    /// The run is over.
    pub fn close(&self) {
        self.mark.send_modify(|mark| mark.over = true);
    }

    /// The newest event that is in the store.
    pub fn last(&self) -> u64 {
        self.mark.borrow().last
    }

    /// Those after this one: so many, fewer if they have more than so many bytes; `None` if they
    /// aren't here any more.
    pub fn after(&self, after: u64, limit: usize, bytes: usize) -> Option<Vec<Arc<StoredEvent>>> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let first = ring.events.front()?.id;
        let skip = usize::try_from((after + 1).checked_sub(first)?).ok()?;
        let mut all = 0;
        let wanted = ring.events.iter().skip(skip).take(limit);
        let fitting = wanted.take_while(|event| {
            let room = all < bytes;
            all += event.data.len();
            room
        });
        Some(fitting.cloned().collect())
    }
}
