//! A run's events, over broken connections.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::backoff::{BACKOFF_MAX, backoff};
use crate::connection::{Connection, broken};
use crate::error::Error;
use crate::sse::{Frame, Parser};

/// The wait before the first new attempt, unless the service says another.
const FIRST: Duration = Duration::from_millis(250);
const BUFFER: usize = 16 * 1024;

/// What bounds a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) patience: Option<Duration>,
    pub(crate) event_max: usize,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// For [`Events::after`].
    pub id: String,
    /// `start`, `node`, …; `terminal` is the last one. `resync`: what was before the events that
    /// follow isn't kept any more, and some may have been seen already.
    pub kind: String,
    /// What it says, JSON as the service sent it.
    pub data: String,
}

impl Event {
    /// Is it the run's last one?
    pub fn is_terminal(&self) -> bool {
        self.kind == "terminal"
    }

    /// Aren't all events before the next one kept any more?
    pub fn is_resync(&self) -> bool {
        self.kind == "resync"
    }

    /// What it says, read: as a `serde_json::Value`, or for instance a
    /// [`Terminal`](crate::Terminal).
    ///
    /// # Errors
    /// It isn't that.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.data).map_err(|e| Error::Garbled {
            url: format!("the event {}", self.id),
            why: e.to_string(),
        })
    }
}

/// A run's events. Ends behind `terminal`, when there are no more to come, when it is stopped, or
/// after an error that another attempt wouldn't mend.
pub struct Events {
    connection: Connection,
    path: String,
    limits: Limits,
    /// The last event that was given.
    last: Option<String>,
    open: Option<Open>,
    first: Duration,
    failures: u32,
    /// Since when nothing was heard of the service.
    away: Option<Instant>,
    over: bool,
    stop: Arc<Stop>,
}

/// A connection on which events come.
struct Open {
    body: Box<dyn io::Read + Send>,
    parser: Parser,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
}

enum Step {
    Event(Event),
    Over,
    Broken(Error),
}

impl Events {
    pub(crate) fn new(connection: Connection, path: String, limits: Limits) -> Events {
        Events {
            connection,
            path,
            limits,
            last: None,
            open: None,
            first: FIRST,
            failures: 0,
            away: None,
            over: false,
            stop: Arc::default(),
        }
    }

    /// Only the events behind that with this id.
    #[must_use]
    pub fn after(mut self, id: impl Into<String>) -> Events {
        self.last = Some(id.into());
        self
    }

    /// Ends this stream from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    fn advance(&mut self) -> Result<Option<Event>, Error> {
        loop {
            let error = match self.step() {
                Ok(Step::Event(event)) => return Ok(Some(event)),
                Ok(Step::Over) => return Ok(None),
                Ok(Step::Broken(e)) => e,
                Err(e) if e.is_retryable() => e,
                Err(e) => return Err(e),
            };
            self.open = None;
            let away = self.away.get_or_insert_with(Instant::now).elapsed();
            let left = self.limits.patience.map(|p| p.saturating_sub(away));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(error);
            }
            let asked = error.problem().and_then(|p| p.retry_after);
            let wait = backoff(self.failures, self.first).max(asked.unwrap_or_default());
            self.failures = self.failures.saturating_add(1);
            // The last attempt is at the end of the patience.
            let wait = wait.min(BACKOFF_MAX).min(left.unwrap_or(BACKOFF_MAX));
            if self.stop.within(wait) {
                return Ok(None);
            }
        }
    }

    /// To the next event, or the end of the connection.
    fn step(&mut self) -> Result<Step, Error> {
        let url = || format!("{}{}", self.connection.base(), self.path);
        let open = match &mut self.open {
            Some(open) => open,
            None => match self.connection.follow(&self.path, self.last.as_deref())? {
                Some(body) => self.open.insert(Open {
                    body,
                    parser: Parser::new(self.limits.event_max),
                    buffer: vec![0; BUFFER].into(),
                    at: 0,
                    end: 0,
                }),
                None => return Ok(Step::Over),
            },
        };
        loop {
            while open.at < open.end {
                let fed = open.parser.feed(&open.buffer[open.at..open.end]);
                let (used, frame) = fed.map_err(|_| Error::Garbled {
                    url: url(),
                    why: format!("an event is longer than {} bytes", self.limits.event_max),
                })?;
                open.at += used;
                if let Some(wanted) = open.parser.retry {
                    self.first = wanted.min(BACKOFF_MAX);
                }
                if let Some(Frame { id, event, data }) = frame {
                    self.failures = 0;
                    if !id.is_empty() {
                        self.last = Some(id.clone());
                    }
                    let kind = event;
                    return Ok(Step::Event(Event { id, kind, data }));
                }
            }
            if self.stop.is_set() {
                return Ok(Step::Over);
            }
            (open.at, open.end) = match open.body.read(&mut open.buffer) {
                Ok(0) => {
                    let ended = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Ok(Step::Broken(broken(url(), ended)));
                }
                Ok(read) => (0, read),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Ok(Step::Broken(broken(url(), e))),
            };
            self.away = None;
        }
    }
}

impl Iterator for Events {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Result<Event, Error>> {
        if self.over || self.stop.is_set() {
            return None;
        }
        let next = self.advance().transpose();
        self.over = !matches!(&next, Some(Ok(event)) if !event.is_terminal());
        if self.over {
            self.open = None;
        }
        next
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("path", &self.path)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// Ends a stream of events from another thread.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Stop>);

impl Stopper {
    /// The stream gives no more events. If it waits for the service just then, it ends at once; if
    /// it waits for the next event, at the service's next sign of life (15 s).
    pub fn stop(&self) {
        *self.0.set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.wake.notify_all();
    }
}

#[derive(Debug, Default)]
struct Stop {
    set: Mutex<bool>,
    wake: Condvar,
}

impl Stop {
    fn is_set(&self) -> bool {
        *self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long; true if it is to end.
    fn within(&self, wait: Duration) -> bool {
        let set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.wake.wait_timeout_while(set, wait, |set| !*set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
