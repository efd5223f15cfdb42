//! Reads what the program says.

use crate::launch::{Config, Fields, Format};
use ralph_plugin::dialect::{Dialect, JsonSession, MAX_EVENT, MAX_FINAL};
use ralph_plugin::json_lines::{str_at, u64_at};
use ralph_plugin::lines::{Line, Lines};
use ralph_plugin::text::{self, Tail};
use ralph_plugin::{
    Ending, Event, Exit, Iteration, Outcome, Reaction, Session, Usage, config, limits,
};
use serde_json::Value;

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
            Ok(c) if c.format == Format::JsonLines => Reader::Json(JsonSession::new(Mapped {
                fields: c.fields,
                ..Mapped::default()
            })),
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
        if let Some(line) = self.lines.finish() {
            take(&line, &mut self.all, &mut events);
        }
        let said = self.all.into_text();
        let outcome = ended(exit, said.trim_end());
        Ending { outcome, events }
    }
}

fn take(line: &Line, all: &mut Tail, events: &mut Vec<Event>) {
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
fn ended(exit: &Exit, said: &str) -> Outcome {
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

/// JSON objects, by the pointers of the configuration.
#[derive(Default)]
pub struct Mapped {
    fields: Fields,
    last_text: String,
    last: Option<String>,
    input_tokens: u64,
    output_tokens: u64,
}

impl Dialect for Mapped {
    fn object(&mut self, object: &Value, out: &mut Vec<Event>) {
        let text_at = |pointer: &Option<String>| {
            pointer
                .as_ref()
                .and_then(|p| str_at(object, p))
                .filter(|s| !s.is_empty())
        };
        let number_at = |pointer: &Option<String>| pointer.as_ref().and_then(|p| u64_at(object, p));
        if let Some(text) = text_at(&self.fields.text) {
            out.push(Event::Text(text.to_owned()));
            self.last_text = text.to_owned();
        }
        if let Some(text) = text_at(&self.fields.last) {
            self.last = Some(text.to_owned());
        }
        let input = number_at(&self.fields.input_tokens);
        let output = number_at(&self.fields.output_tokens);
        if input.is_some() || output.is_some() {
            self.input_tokens = input.unwrap_or(self.input_tokens);
            self.output_tokens = output.unwrap_or(self.output_tokens);
            out.push(Event::Usage(Usage {
                input_tokens: self.input_tokens,
                output_tokens: self.output_tokens,
                cached_tokens: 0,
                cost_usd: None,
            }));
        }
    }

    fn end(self, exit: &Exit, _: &mut Vec<Event>) -> Outcome {
        ended(exit, self.last.as_deref().unwrap_or(&self.last_text))
    }
}
