//! Numbers for Prometheus, in its text format.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use axum::http::StatusCode;

/// What is counted.
#[derive(Default)]
pub struct Metrics {
    requests: AtomicU64,
    by_class: [AtomicU64; 6],
    /// Streams of events that are open.
    pub streams: AtomicU64,
    /// Events that runs have told.
    pub events: AtomicU64,
    /// Runs that came to an end, by how.
    pub ended: [AtomicU64; 4],
}

/// How runs end, as [`Metrics::ended`] has them.
pub const ENDS: [&str; 4] = ["completed", "incomplete", "failed", "cancelled"];

impl Metrics {
    /// A request came.
    pub fn request(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// It was answered.
    pub fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).min(5);
        self.by_class[class].fetch_add(1, Relaxed);
    }

    /// The text. `gauges` are what others know.
    pub fn text(&self, gauges: &[(&str, &str, u64)]) -> String {
        let mut text = String::new();
        let mut row = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let one = |n: &AtomicU64| vec![(String::new(), n.load(Relaxed))];
        row("ralph_http_requests_total", "counter", "Requests.", &one(&self.requests));
        let classes: Vec<_> = (2..6)
            .map(|c| (format!("{{class=\"{c}xx\"}}"), self.by_class[c].load(Relaxed)))
            .collect();
        row("ralph_http_responses_total", "counter", "Answers, by the class of their status.", &classes);
        row("ralph_event_streams", "gauge", "Streams of events that are open.", &one(&self.streams));
        row("ralph_events_total", "counter", "Events that runs have told.", &one(&self.events));
        let ended: Vec<_> = ENDS
            .iter()
            .zip(&self.ended)
            .map(|(end, n)| (format!("{{status=\"{end}\"}}"), n.load(Relaxed)))
            .collect();
        row("ralph_runs_ended_total", "counter", "Runs that came to an end.", &ended);
        for (name, help, value) in gauges {
            row(name, "gauge", help, &[(String::new(), *value)]);
        }
        text
    }
}
