//! Drives a program that reads its prompt on standard input and prints what it has to say.

use ralph_plugin::{
    AgentDriver, Ending, Error, Event, Exit, Iteration, Launch, Outcome, Reaction, Session, config,
    lines::{Line, Lines},
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Program and arguments.
    argv: Vec<String>,
}

struct Plugin;

impl AgentDriver for Plugin {
    type Session = Reader;

    fn prepare(_: &Iteration, prompt: &str) -> Result<Launch, Error> {
        let argv = config::<Config>()?.argv;
        let Some((program, args)) = argv.split_first() else {
            return Err(Error::invalid_config("`argv` is empty"));
        };
        Ok(Launch::new(program).args(args).stdin(prompt))
    }
}

#[derive(Default)]
struct Reader {
    lines: Lines,
    last: String,
}

impl Reader {
    fn line(last: &mut String, line: Line<'_>, events: &mut Vec<Event>) {
        let text = line.text.into_owned();
        if !text.trim().is_empty() {
            last.clone_from(&text);
        }
        events.push(Event::Text(text));
    }
}

impl Session for Reader {
    fn start(_: &Iteration) -> Self {
        Reader::default()
    }

    /// Pieces are cut anywhere; `Lines` puts them together.
    fn feed(&mut self, chunk: &[u8]) -> Reaction {
        let mut events = Vec::new();
        let last = &mut self.last;
        self.lines
            .feed(chunk, |line| Reader::line(last, line, &mut events));
        events.into()
    }

    fn finish(mut self, exit: &Exit) -> Ending {
        let mut events = Vec::new();
        let last = &mut self.last;
        self.lines
            .finish(|line| Reader::line(last, line, &mut events));
        let outcome = match exit.code {
            Some(0) => Outcome::Finished(self.last),
            _ if exit.interrupted() => Outcome::Interrupted,
            _ => Outcome::Failed(exit.describe()),
        };
        Ending { events, outcome }
    }
}

ralph_plugin::agent_driver!(Plugin);
ralph_plugin::manifest!(kinds: ["agent-driver"]);

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_plugin::testing::replay_cut_anywhere;

    #[test]
    fn the_last_line_is_its_final_word_wherever_the_output_is_cut() {
        let (events, outcome) =
            replay_cut_anywhere::<Reader>("one\ntwö\n".as_bytes(), &Exit::with_code(0));
        assert_eq!(events.len(), 2);
        assert_eq!(outcome, Outcome::Finished("twö".into()));
    }
}
