//! A [`Session`] for programs that print JSON lines: a driver only says what
//! the objects mean.

use crate::json_lines::{Item, JsonLines};
use crate::{Ending, Event, Exit, Iteration, Outcome, Reaction, Session, text};
use serde_json::Value;

/// What the events of one agent program mean.
pub trait Dialect: 'static {
    /// One event of the program. What it means for the host goes into `out`.
    fn object(&mut self, object: &Value, out: &mut Vec<Event>);

    /// The program has ended. `out` takes what is only known now.
    fn end(self, exit: &Exit, out: &mut Vec<Event>) -> Outcome;
}

/// Of the text of one event this much is passed on: 32 KiB.
pub const MAX_EVENT: usize = 32 * 1024;

/// Of the final words this much is passed on, the end of it: 256 KiB.
pub const MAX_FINAL: usize = 256 * 1024;

/// A session that reads JSON lines in the dialect `D`.
#[derive(Debug, Default)]
pub struct JsonSession<D> {
    reader: JsonLines,
    dialect: D,
}

impl<D: Dialect> JsonSession<D> {
    /// For a dialect that has to be told something first.
    pub fn new(dialect: D) -> Self {
        JsonSession {
            reader: JsonLines::new(),
            dialect,
        }
    }

    fn item(&mut self, item: Item, out: &mut Vec<Event>) {
        match item {
            Item::Object(object) => {
                let first = out.len();
                self.dialect.object(&object, out);
                out[first..].iter_mut().for_each(bound);
            }
            Item::Notice(notice) => out.push(Event::Notice(notice)),
        }
    }
}

impl<D: Dialect + Default> Session for JsonSession<D> {
    fn start(_: &Iteration) -> Self {
        JsonSession::new(D::default())
    }

    fn feed(&mut self, chunk: &[u8]) -> Reaction {
        self.read(chunk)
    }

    fn finish(self, exit: &Exit) -> Ending {
        self.end(exit)
    }
}

impl<D: Dialect> JsonSession<D> {
    /// As [`Session::feed`].
    pub fn read(&mut self, chunk: &[u8]) -> Reaction {
        let mut out = Vec::new();
        let mut reader = std::mem::take(&mut self.reader);
        reader.feed(chunk, |item| self.item(item, &mut out));
        self.reader = reader;
        out.into()
    }

    /// As [`Session::finish`].
    pub fn end(mut self, exit: &Exit) -> Ending {
        let mut events = Vec::new();
        let mut reader = std::mem::take(&mut self.reader);
        reader.finish(|item| self.item(item, &mut events));
        let mut outcome = self.dialect.end(exit, &mut events);
        match &mut outcome {
            Outcome::Finished(words) => keep_end(words),
            Outcome::Failed(message) => {
                text::fit(message, MAX_EVENT);
                if reader.malformed() > 0 {
                    message.push_str(&format!(
                        "\n({} lines of its output were no events)",
                        reader.malformed()
                    ));
                }
            }
            Outcome::Unauthenticated(message) => text::fit(message, MAX_EVENT),
            Outcome::Limited(limit) => text::fit(&mut limit.message, MAX_EVENT),
            Outcome::Interrupted => {}
        }
        Ending { events, outcome }
    }
}

/// Makes an event's text fit to show: plain, and at most [`MAX_EVENT`] bytes.
fn bound(event: &mut Event) {
    match event {
        Event::Text(s)
        | Event::Thinking(s)
        | Event::ToolUse(s)
        | Event::ToolResult(s)
        | Event::Notice(s) => text::fit(s, MAX_EVENT),
        Event::Usage(_) => {}
    }
}

fn keep_end(words: &mut String) {
    if words.len() > MAX_FINAL {
        let from = words.ceil_char_boundary(words.len() - MAX_FINAL);
        words.drain(..from);
    }
}
