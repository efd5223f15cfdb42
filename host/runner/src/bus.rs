//! Events on their way to whoever looks. A view must never make the loop wait;
//! what takes time queues on its own side.

use std::sync::Arc;

use ralph_engine::event::Event;

use crate::redact;

/// Takes events as they happen, on whatever thread they happen on.
pub trait View: Send + Sync {
    /// One event.
    fn event(&self, event: &Event);
}

/// Hands every event to every view.
#[derive(Clone, Default)]
pub struct Bus {
    views: Arc<Vec<Arc<dyn View>>>,
}

impl Bus {
    /// With these views.
    pub fn new(views: Vec<Arc<dyn View>>) -> Bus {
        Bus {
            views: Arc::new(views),
        }
    }

    /// Shows an event to all.
    pub fn send(&self, event: &Event) {
        for view in self.views.iter() {
            view.event(event);
        }
    }

    /// Shows a person something that changes nothing.
    pub fn notice(&self, text: impl Into<String>) {
        let text = redact::text(text.into());
        self.send(&Event::Notice { text });
    }
}
