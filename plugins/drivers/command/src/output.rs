//! Reads what the program says.

use crate::launch::{Config, Format};
use crate::mapping::Mapped;
use ralph_plugin::dialect::{JsonSession, MAX_EVENT, MAX_FINAL};
use ralph_plugin::lines::{Line, Lines};
use ralph_plugin::text::{self, Tail};
use ralph_plugin::{Ending, Event, Exit, Iteration, Outcome, Reaction, Session, config, limits};

/// One agent call.
pub enum Reader {
    /// `format = "text"`
    Words(Words),
    /// `format = "json-lines"`
    Json(JsonSession<Mapped>),
}

impl Session for Reader {
    fn start(_: &Iteration) -> Self {
        // A wrong configuration was refused by `prepare`.
        match config::<Config>() {
            Ok(c) if c.format == Format::JsonLines => {
                Reader::Json(JsonSession::new(Mapped::new(c.mapping())))
            }
            _ => Reader::Words(Words::new()),
        }
    }

    fn feed(&mut self, chunk: &[u8]) -> Reaction {
        match self {
            Reader::Words(words) => words.feed(chunk),
            Reader::Json(session) => session.read(chunk),
        }
    }

    fn finish(self, exit: &Exit) -> Ending {
        match self {
            Reader::Words(words) => words.finish(exit),
            Reader::Json(session) => session.end(exit),
        }
    }
}

/// Standard output as words.
pub struct Words {
    lines: Lines,
    all: Tail,
}

/// Of one line this much is kept.
const MAX_LINE: usize = 64 * 1024;

/// From so many events of one piece on, lines are joined.
const MAX_EVENTS: usize = 64;

impl Words {
    fn new() -> Self {
        Words {
            lines: Lines::overwriting(MAX_LINE),
            all: Tail::new(MAX_FINAL),
        }
    }

    fn feed(&mut self, chunk: &[u8]) -> Reaction {
        let mut events = Vec::new();
        let Words { lines, all } = self;
        lines.feed(chunk, |line| take(&line, all, &mut events));
        events.into()
    }

    fn finish(mut self, exit: &Exit) -> Ending {
        let mut events = Vec::new();
        let all = &mut self.all;
        self.lines.finish(|line| take(&line, all, &mut events));
        let said = self.all.into_text();
        let outcome = ended(exit, said.trim_end());
        Ending { outcome, events }
    }
}

fn take(line: &Line<'_>, all: &mut Tail, events: &mut Vec<Event>) {
    let mut words = text::plain(&line.text);
    if line.dropped > 0 {
        words.push_str(&format!("… [{} bytes left out]", line.dropped));
    }
    all.push(&words);
    all.push("\n");
    if words.trim().is_empty() {
        return;
    }
    let words = text::clip(&words, MAX_EVENT);
    let full = events.len() >= MAX_EVENTS;
    match events.last_mut() {
        Some(Event::Text(last)) if full => {
            last.push('\n');
            last.push_str(&words);
        }
        _ => events.push(Event::Text(words)),
    }
}

/// How it ended, by exit code and last words.
pub fn ended(exit: &Exit, said: &str) -> Outcome {
    if exit.interrupted() {
        return Outcome::Interrupted;
    }
    let stderr = text::last_lines(&exit.stderr_tail, 1);
    let mut limit = limits::limit_in_last_line(said);
    if exit.code != Some(0) {
        limit = limit
            .or_else(|| limits::limit_message(&stderr))
            .or_else(|| limits::unreachable(&stderr));
    }
    if let Some(limit) = limit {
        return Outcome::Limited(limit);
    }
    match exit.code {
        Some(0) => Outcome::Finished(said.to_owned()),
        code => {
            let mut message = exit.describe();
            if code == Some(127) {
                message.push_str("\n(127 is how a shell says that there is no such program)");
            }
            if stderr.is_empty() && !said.is_empty() {
                message.push_str("; standard output ended with:\n");
                message.push_str(&text::last_lines(said.as_bytes(), 8));
            }
            Outcome::Failed(message)
        }
    }
}
