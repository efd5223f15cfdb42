//! A view that says nothing while a person's terminal is an agent's.

use std::sync::Mutex;

use ralph_engine::event::Event;
use ralph_runner::View;

/// So many events are kept meanwhile; more than an iteration has.
const KEPT: usize = 1000;

/// What comes while it is held is said afterwards, but for what agents say:
/// that stood on the terminal.
pub struct Held<V> {
    inner: V,
    kept: Mutex<Option<Vec<Event>>>,
}

impl<V: View> Held<V> {
    pub fn new(inner: V) -> Held<V> {
        Held {
            inner,
            kept: Mutex::new(None),
        }
    }

    pub fn hold(&self) {
        if let Ok(mut kept) = self.kept.lock() {
            kept.get_or_insert_default();
        }
    }

    pub fn release(&self) {
        let kept = self.kept.lock().ok().and_then(|mut kept| kept.take());
        for event in kept.unwrap_or_default() {
            self.inner.event(&event);
        }
    }
}

impl<V: View> View for Held<V> {
    fn event(&self, event: &Event) {
        let Ok(mut held) = self.kept.lock() else {
            return;
        };
        match held.as_mut() {
            Some(kept) if kept.len() < KEPT && !matches!(event, Event::Agent { .. }) => {
                kept.push(event.clone());
            }
            Some(_) => {}
            None => self.inner.event(event),
        }
    }
}
