//! The newest events of a run, and where in them a client is.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};

use crate::message::notification;

/// What there are events of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Output,
    StateChange,
}

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::Output, Kind::StateChange];

    /// As it is subscribed to.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Output => "output",
            Kind::StateChange => "state_change",
        }
    }
}

/// Something for each kind.
type Each<T> = [T; Kind::ALL.len()];

pub(crate) enum Data {
    Line { task: Arc<str>, line: String },
    State(Map<String, Value>),
}

/// An event, not yet made into text: most are never asked for.
pub(crate) struct Item {
    pub(crate) number: u64,
    /// Among those of its kind.
    nth: u64,
    pub(crate) at: Arc<str>,
    pub(crate) data: Data,
    text: OnceLock<String>,
}

impl Item {
    fn kind(&self) -> Kind {
        match self.data {
            Data::Line { .. } => Kind::Output,
            Data::State(_) => Kind::StateChange,
        }
    }

    /// What it takes up, roughly, text included.
    fn bytes(&self) -> usize {
        match &self.data {
            Data::Line { line, .. } => 256 + 2 * line.len(),
            Data::State(_) => 1024,
        }
    }

    /// As it is told.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| {
            let data = match &self.data {
                Data::Line { task, line } => json!({ "line": line, "task": &**task }),
                Data::State(changed) => json!(changed),
            };
            let params = json!({
                "type": self.kind().name(),
                "timestamp": &*self.at,
                "seq": self.number,
                "data": data,
            });
            notification("event", &params)
        })
    }
}

/// How far a client is.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// Up to this event there is nothing for it any more.
    at: u64,
    /// Of each kind: so many it has had, or was told to have missed, or came too late to want.
    seen: Each<u64>,
    /// Nothing after this event is for it.
    last: Option<Last>,
}

/// The last event that is for a client.
#[derive(Debug, Clone, Copy)]
struct Last {
    number: u64,
    /// Of each kind, so many came up to it.
    all: Each<u64>,
}

/// Numbered from 1, without gaps between those that are kept.
#[derive(Default)]
pub(crate) struct Ring {
    items: VecDeque<Arc<Item>>,
    bytes: usize,
    /// Of each kind, those that are kept no more.
    gone: Each<u64>,
    /// Of each kind, all there ever were.
    all: Each<u64>,
}

impl Ring {
    /// So many are kept,
    pub(crate) const MOST: usize = 4096;
    /// in so many bytes.
    const MOST_BYTES: usize = 4 << 20;
    /// So many are fetched at once,
    const AT_ONCE: usize = 128;
    /// in about so many bytes.
    const AT_ONCE_BYTES: usize = 32 * 1024;

    /// The number of the newest event.
    pub(crate) fn newest(&self) -> u64 {
        self.all.iter().sum()
    }

    /// The number of the newest that isn't kept.
    pub(crate) fn gone(&self) -> u64 {
        self.gone.iter().sum()
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().map(|item| &**item)
    }

    pub(crate) fn push(&mut self, at: Arc<str>, data: Data) -> Arc<Item> {
        let mut item = Item {
            number: self.newest() + 1,
            nth: 0,
            at,
            data,
            text: OnceLock::new(),
        };
        let count = &mut self.all[item.kind() as usize];
        *count += 1;
        item.nth = *count;
        self.bytes += item.bytes();
        while self.items.len() == Ring::MOST || self.bytes > Ring::MOST_BYTES {
            if !self.drop_oldest() {
                break;
            }
        }
        let item = Arc::new(item);
        self.items.push_back(item.clone());
        item
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(oldest) = self.items.pop_front() else {
            return false;
        };
        self.bytes -= oldest.bytes();
        self.gone[oldest.kind() as usize] = oldest.nth;
        true
    }

    /// So many of a kind came and are kept no more, nor is anything before them.
    pub(crate) fn skip(&mut self, kind: Kind, count: u64) {
        if count == 0 {
            return;
        }
        while self.drop_oldest() {}
        self.all[kind as usize] += count;
        self.gone = self.all;
    }

    /// What a place is behind with, and how many are gone for good. `last`: nothing that comes later
    /// than the first call with it is for the place, and of what is there so many at most; these may
    /// become fewer from call to call.
    pub(crate) fn fetch(
        &self,
        place: &mut Place,
        wants: Each<bool>,
        last: Option<usize>,
    ) -> (Vec<Arc<Item>>, u64) {
        let (mut items, mut bytes, mut missed) = (Vec::new(), 0, 0);
        let ends = last.map(|most| {
            let last = place.last.get_or_insert(Last {
                number: self.newest(),
                all: self.all,
            });
            (*last, most)
        });
        for kind in Kind::ALL.map(|k| k as usize) {
            if wants[kind] {
                // What came after the last one isn't missed by who has gone.
                let gone = ends.map_or(self.gone[kind], |(last, _)| {
                    self.gone[kind].min(last.all[kind])
                });
                missed += gone.saturating_sub(place.seen[kind]);
                place.seen[kind] = place.seen[kind].max(gone);
            }
        }
        if let Some((last, most)) = ends {
            missed += self.pass_over(place, wants, last.number, most);
        }
        let from = place.at.saturating_sub(self.gone());
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        for item in self.items.iter().skip(from) {
            let late = ends.is_some_and(|(last, _)| item.number > last.number);
            if late || items.len() == Ring::AT_ONCE || bytes > Ring::AT_ONCE_BYTES {
                break;
            }
            place.at = item.number;
            let kind = item.kind() as usize;
            if wants[kind] && item.nth > place.seen[kind] {
                place.seen[kind] = item.nth;
                bytes += item.bytes();
                items.push(item.clone());
            }
        }
        (items, missed)
    }

    /// All but so many up to the last; how many of them it wanted.
    fn pass_over(&self, place: &mut Place, wants: Each<bool>, last: u64, most: usize) -> u64 {
        let mut missed = 0;
        let until = last.saturating_sub(most as u64);
        for item in self.items().take_while(|item| item.number <= until) {
            let kind = item.kind() as usize;
            if wants[kind] && item.nth > place.seen[kind] {
                place.seen[kind] = item.nth;
                missed += 1;
            }
        }
        missed
    }

    /// From now on it wants more kinds than before.
    pub(crate) fn begin(&self, place: &mut Place, before: Each<bool>, wants: Each<bool>) {
        if !before.contains(&true) {
            place.at = self.newest();
        }
        for kind in 0..Kind::ALL.len() {
            if wants[kind] && !before[kind] {
                place.seen[kind] = self.all[kind];
            }
        }
    }

    /// It gets again what is kept after an event. What isn't kept is no news to who asks for it.
    pub(crate) fn go_back(&self, place: &mut Place, since: u64) {
        place.at = since.min(self.newest());
        place.seen = self.gone;
        for item in self.items().take_while(|item| item.number <= since) {
            place.seen[item.kind() as usize] = item.nth;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Each<bool> = [true, true];
    const OUTPUT: Each<bool> = [true, false];
    const STATE: Each<bool> = [false, true];

    fn line(ring: &mut Ring, text: &str) {
        ring.push(
            "now".into(),
            Data::Line {
                task: "T1".into(),
                line: text.into(),
            },
        );
    }

    fn change(ring: &mut Ring) {
        ring.push("now".into(), Data::State(Map::new()));
    }

    /// Numbers of all that there is to fetch, and what was missed.
    fn all(ring: &Ring, place: &mut Place, wants: Each<bool>) -> (Vec<u64>, u64) {
        let (mut numbers, mut missed) = (Vec::new(), 0);
        loop {
            let (items, more) = ring.fetch(place, wants, None);
            missed += more;
            if items.is_empty() {
                return (numbers, missed);
            }
            numbers.extend(items.iter().map(|i| i.number));
        }
    }

    #[test]
    fn each_client_gets_what_it_wants_from_when_it_wanted_it() {
        let mut ring = Ring::default();
        let (mut place, none) = (Place::default(), [false, false]);
        line(&mut ring, "1");
        ring.begin(&mut place, none, STATE);
        for _ in 0..3 {
            change(&mut ring);
            line(&mut ring, "x");
        }
        assert_eq!(all(&ring, &mut place, STATE).0, [2, 4, 6]);
        change(&mut ring);
        line(&mut ring, "before it is wanted");
        // Output is new to it; the change it hasn't had isn't lost.
        ring.begin(&mut place, STATE, BOTH);
        line(&mut ring, "y");
        assert_eq!(all(&ring, &mut place, BOTH), (vec![8, 10], 0));
        assert_eq!(all(&ring, &mut place, BOTH), (vec![], 0));
        ring.go_back(&mut place, 5);
        assert_eq!(all(&ring, &mut place, OUTPUT).0, [7, 9, 10]);
        ring.go_back(&mut place, 5);
        assert_eq!(all(&ring, &mut place, STATE).0, [6, 8]);
    }

    #[test]
    fn who_comes_too_late_is_told_exactly_how_many_of_its_events_are_gone() {
        let mut ring = Ring::default();
        let (mut both, mut output, mut state) =
            (Place::default(), Place::default(), Place::default());
        for n in 0..3 * Ring::MOST {
            line(&mut ring, "x");
            if n % 2 == 0 {
                change(&mut ring);
            }
        }
        let total = ring.newest();
        for (place, wants, kinds) in [
            (&mut both, BOTH, &[0, 1][..]),
            (&mut output, OUTPUT, &[0]),
            (&mut state, STATE, &[1]),
        ] {
            let (numbers, missed) = all(&ring, place, wants);
            let wanted: u64 = kinds.iter().map(|k| ring.all[*k]).sum();
            assert_eq!(numbers.len() as u64 + missed, wanted);
            assert!(missed > 0 && numbers.is_sorted());
        }
        assert!(ring.items.len() <= Ring::MOST && total == ring.gone() + ring.items.len() as u64);
    }

    #[test]
    fn long_lines_are_bounded_in_bytes_and_a_flood_at_once_is_counted() {
        let mut ring = Ring::default();
        let mut place = Place::default();
        let long = "x".repeat(100_000);
        for _ in 0..100 {
            line(&mut ring, &long);
        }
        assert!(ring.items.len() < 25 && ring.bytes <= Ring::MOST_BYTES);
        ring.skip(Kind::Output, 1000);
        line(&mut ring, "last");
        assert_eq!(all(&ring, &mut place, OUTPUT), (vec![1101], 1100));
    }

    #[test]
    fn who_is_about_to_go_gets_nothing_that_comes_later() {
        let mut ring = Ring::default();
        let mut place = Place::default();
        for _ in 0..2 * Ring::AT_ONCE {
            line(&mut ring, "x");
        }
        let last = Some(Ring::AT_ONCE + 10);
        let (first, missed) = ring.fetch(&mut place, BOTH, last);
        assert_eq!(missed, Ring::AT_ONCE as u64 - 10);
        line(&mut ring, "later");
        let (second, missed) = ring.fetch(&mut place, BOTH, last);
        assert_eq!(
            (first.len() + second.len(), missed),
            (Ring::AT_ONCE + 10, 0)
        );
        assert!(ring.fetch(&mut place, BOTH, last).0.is_empty());
    }

    #[test]
    fn who_can_not_have_all_at_the_end_is_told_exactly_how_many_are_left_out() {
        let mut ring = Ring::default();
        let mut place = Place::default();
        for _ in 0..Ring::MOST - 1 {
            line(&mut ring, "x");
        }
        change(&mut ring);
        let (first, missed) = ring.fetch(&mut place, BOTH, Some(2000));
        assert_eq!(
            (first.len(), missed),
            (Ring::AT_ONCE, Ring::MOST as u64 - 2000)
        );
        // There is no time for the rest.
        let (end, missed) = ring.fetch(&mut place, BOTH, Some(2));
        assert_eq!((end.len(), missed), (2, 2000 - 2 - Ring::AT_ONCE as u64));
        assert!(matches!(end[1].data, Data::State(_)));
        assert_eq!(ring.fetch(&mut place, BOTH, Some(2)).1, 0);
    }

    #[test]
    fn who_is_about_to_go_is_told_what_a_flood_takes_away_meanwhile() {
        let mut ring = Ring::default();
        let mut place = Place::default();
        for _ in 0..1000 {
            line(&mut ring, "x");
        }
        let (first, missed) = ring.fetch(&mut place, BOTH, Some(Ring::MOST));
        assert_eq!((first.len(), missed), (Ring::AT_ONCE, 0));
        for _ in 0..2 * Ring::MOST {
            line(&mut ring, "later");
        }
        let (rest, missed) = ring.fetch(&mut place, BOTH, Some(Ring::MOST));
        assert_eq!((rest.len(), missed), (0, 1000 - Ring::AT_ONCE as u64));
    }
}
