//! Lines, for logs and pipes.

use std::io::Write;
use std::sync::Mutex;

use ralph_engine::event::Event;
use ralph_runner::View;

use super::model::{Model, Tone};

/// One line per thing worth knowing.
pub struct Plain {
    model: Mutex<Model>,
    /// Standard output belongs to the JSON envelope.
    to_stderr: bool,
}

impl Plain {
    pub fn new(to_stderr: bool) -> Plain {
        Plain {
            model: Mutex::new(Model::new()),
            to_stderr,
        }
    }
}

impl View for Plain {
    fn event(&self, event: &Event) {
        let Ok(mut model) = self.model.lock() else {
            return;
        };
        for said in model.event(event) {
            let indent = if said.tone == Tone::Title { "" } else { "    " };
            let line = format!("{indent}{}\n", said.text);
            // A reader that went away doesn't end the loop.
            let _ = if self.to_stderr {
                std::io::stderr().lock().write_all(line.as_bytes())
            } else {
                std::io::stdout().lock().write_all(line.as_bytes())
            };
        }
    }
}
