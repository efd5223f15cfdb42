//! How far a run's events, as they are kept, follow its journal and those of its workers.

use std::collections::HashMap;

use serde_json::Value;

use crate::store::{Store, StoreError};

/// In each event that a fact was made into: the fact's number in the run's journal,
pub(super) const SEQ: &str = "journal_seq";
/// or that of the worker's making there, and the fact's number in the worker's.
pub(super) const CLAIM: &str = "worker_seq";

/// Events that are looked through at a time.
const PAGE: u64 = 256;

/// See the module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The first that is kept, and the last; zeros if there are none.
    bounds: (u64, u64),
    seq: Option<u64>,
    claims: HashMap<u64, u64>,
    numbers: Numbers,
}

/// Of iterations, by the claim (0: none) and the number of the fact that they begin with.
pub(super) type Numbers = HashMap<(u64, u64), u32>;

impl Told {
    /// Asks the events that are kept. That takes a look at all of them where there are workers.
    ///
    /// # Errors
    /// The store can't be read.
    pub async fn of(store: &dyn Store, run: &str, workers: bool) -> Result<Told, StoreError> {
        let bounds = store.bounds(run).await?;
        let mut told = Told {
            bounds,
            ..Told::default()
        };
        let (first, mut to) = bounds;
        while to >= first && to > 0 && (workers || told.seq.is_none()) {
            let after = to.saturating_sub(PAGE).max(first - 1);
            let page = store.events(run, after, PAGE as usize, usize::MAX).await?;
            for event in page.iter().rev().filter(|event| event.id <= to) {
                told.look(&event.data);
            }
            to = after;
        }
        Ok(told)
    }

    fn look(&mut self, event: &str) {
        let Ok(event) = serde_json::from_str::<Value>(event) else {
            return;
        };
        let of_worker = event[CLAIM][0].as_u64().zip(event[CLAIM][1].as_u64());
        if let Some(seq) = event[SEQ].as_u64() {
            self.seq = self.seq.max(Some(seq));
        }
        if let Some((claim, seq)) = of_worker {
            let known = self.claims.entry(claim).or_default();
            *known = seq.max(*known);
        }
        let begins = of_worker.or(event[SEQ].as_u64().map(|seq| (0, seq)));
        let number = event["iteration"].as_u64().map(u32::try_from);
        if let (Some(begins), Some(Ok(number))) = (begins, number)
            && event["type"] == "selected"
        {
            self.numbers.insert(begins, number);
        }
    }

    pub(super) fn numbers(&self) -> Numbers {
        self.numbers.clone()
    }

    /// There are no events.
    pub fn is_empty(&self) -> bool {
        self.bounds.1 == 0
    }

    /// The number of the last fact that was told.
    pub fn to(&self) -> u64 {
        self.seq.unwrap_or(self.unknown())
    }

    /// The same of a worker.
    pub fn to_in(&self, claim: u64) -> u64 {
        let known = self.claims.get(&claim).copied();
        known.unwrap_or(self.unknown())
    }

    /// Where none says it: nothing was told, unless those that said it aren't kept any more.
    fn unknown(&self) -> u64 {
        match self.bounds.0 {
            0 | 1 => 0,
            _ => u64::MAX,
        }
    }
}
