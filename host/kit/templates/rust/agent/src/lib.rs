//! An agent that works in the sandbox itself: it writes its prompt into a file.

use ralph_plugin::{Agent, Error, Event, Iteration, Outcome, events};

struct Plugin;

impl Agent for Plugin {
    fn run(it: &Iteration, prompt: &str) -> Result<Outcome, Error> {
        let project = std::path::Path::new(&it.workspace);
        events::emit(Event::ToolUse("write NOTES.md".into()));
        std::fs::write(project.join("NOTES.md"), prompt)?;
        // To be asked between steps, so that somebody can end a run.
        if events::stop_asked() {
            return Ok(Outcome::Interrupted);
        }
        Ok(Outcome::Finished("Written.\nEXIT_SIGNAL: true".into()))
    }
}

ralph_plugin::agent!(Plugin);
ralph_plugin::manifest!(kinds: ["agent"]);
