//! Between the loop and what is slow: a terminal that was stopped, a pipe that
//! nobody reads. The loop never waits; what doesn't fit is left out, and said so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_engine::Fact;
use ralph_engine::event::Event;
use ralph_engine::text::head;
use ralph_engine::types::AgentEvent;
use ralph_runner::View;

/// Events that may wait.
const WAITING: usize = 512;
/// One agent event's text is cut to this many bytes before it waits.
const TEXT: usize = 4 * 1024;
/// At the end of a run the view may take this long to show the last events.
const LAST: Duration = Duration::from_secs(1);

/// Shows events on a thread of its own.
pub struct Queued {
    queue: Mutex<Option<SyncSender<Event>>>,
    missed: Arc<AtomicU64>,
    /// How the run ended, if that didn't fit.
    late: Arc<Mutex<Option<Event>>>,
    done: Mutex<Receiver<()>>,
}

impl Queued {
    /// Puts a queue before a view.
    pub fn new(view: impl View + 'static) -> Queued {
        let (queue, events) = sync_channel::<Event>(WAITING);
        let (finished, done) = channel();
        let missed = Arc::new(AtomicU64::new(0));
        let late = Arc::new(Mutex::new(None));
        let (counted, last) = (missed.clone(), late.clone());
        let spawned = std::thread::Builder::new()
            .name("view".into())
            .spawn(move || {
                for event in events {
                    say_missed(&view, &counted);
                    view.event(&event);
                }
                say_missed(&view, &counted);
                if let Some(event) = last.lock().ok().and_then(|mut last| last.take()) {
                    view.event(&event);
                }
                drop(view);
                let _ = finished.send(());
            });
        let queue = spawned.is_ok().then_some(queue);
        Queued {
            queue: Mutex::new(queue),
            missed,
            late,
            done: Mutex::new(done),
        }
    }
}

impl View for Queued {
    fn event(&self, event: &Event) {
        let Ok(queue) = self.queue.lock() else { return };
        let Some(queue) = queue.as_ref() else { return };
        if let Err(TrySendError::Full(_)) = queue.try_send(short(event)) {
            self.missed.fetch_add(1, Ordering::Relaxed);
            if let (Event::Fact(Fact::RunEnded { .. }), Ok(mut late)) = (event, self.late.lock()) {
                *late = Some(event.clone());
            }
        }
    }
}

impl Queued {
    /// Takes no more events, and waits until the last ones are shown, though no
    /// longer than a second. Others may still hold the view: nobody else waits.
    pub fn finish(&self) {
        if let Ok(mut queue) = self.queue.lock() {
            queue.take();
        }
        if let Ok(done) = self.done.lock() {
            let _ = done.recv_timeout(LAST);
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.finish();
    }
}

fn say_missed(view: &impl View, missed: &AtomicU64) {
    let missed = missed.swap(0, Ordering::Relaxed);
    if missed > 0 {
        let text = format!("{missed} events are left out here: this output wasn't read in time");
        view.event(&Event::Notice { text });
    }
}

/// The event without the bulk of a long text.
fn short(event: &Event) -> Event {
    let Event::Agent { role, what } = event else {
        return event.clone();
    };
    let what = match what {
        AgentEvent::Text(t) => AgentEvent::Text(head(t, TEXT)),
        AgentEvent::Thinking(t) => AgentEvent::Thinking(head(t, TEXT)),
        AgentEvent::ToolUse(t) => AgentEvent::ToolUse(head(t, TEXT)),
        AgentEvent::ToolResult(_) => AgentEvent::ToolResult(String::new()),
        AgentEvent::Notice(t) => AgentEvent::Notice(head(t, TEXT)),
        AgentEvent::Usage(u) => AgentEvent::Usage(*u),
    };
    Event::Agent { role: *role, what }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A view that shows nothing until it is let go.
    struct Stuck {
        gate: Mutex<Receiver<()>>,
        seen: Arc<Mutex<Vec<Event>>>,
    }

    impl View for Stuck {
        fn event(&self, event: &Event) {
            let _ = self.gate.lock().unwrap().recv();
            self.seen.lock().unwrap().push(event.clone());
        }
    }

    #[test]
    fn a_view_that_hangs_never_makes_the_loop_wait_and_says_what_it_missed() {
        let (open, gate) = channel();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let queued = Queued::new(Stuck {
            gate: Mutex::new(gate),
            seen: seen.clone(),
        });
        for i in 0..10_000 {
            queued.event(&Event::GateStarted {
                name: i.to_string(),
            });
        }
        let end = Event::Fact(Fact::RunEnded {
            end: ralph_engine::fact::EndReason::Complete,
        });
        queued.event(&end);
        drop(open);
        drop(queued);
        let seen = seen.lock().unwrap();
        assert_eq!(seen.last(), Some(&end), "how the run ended is always said");
        assert!(seen.len() <= WAITING + 4, "{}", seen.len());
        assert!(
            seen.iter()
                .any(|e| matches!(e, Event::Notice { text } if text.contains("left out")))
        );
    }
}
