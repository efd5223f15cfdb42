//! An agent that performs a script of edits inside its preopened workspace and
//! reports as an agent would. It needs no model, no network and no process: the
//! demo and the tests run on it.
//!
//! Its configuration has one key, `script`: the script's path relative to the
//! workspace, `script.toml` if not given. It reads and edits what the host lets an
//! agent see of the project: all of it, unless `allow.read` and `allow.write` say less.
//!
//! # The script
//!
//! ```toml
//! [[step]]                   # the first step that matches is performed
//! role = "work"              # work | judge | review; work if not given
//! task = "T1"                # only for this task
//! attempt = 1                # only on this attempt
//! prompt_contains = "tests"  # only if the prompt holds this text
//! say = "I write the file."  # what it says, line by line, before the edits
//! answer = "Done."           # its final words; `say` if not given
//! outcome = "finished"       # finished | limited | unauthenticated | failed
//! resets_at = "2030-01-01T00:00:00Z"  # for `limited`, RFC 3339
//!
//! [[step.edit]]              # performed in order; keys of the step stand above
//! path = "src/a.sh"
//! write = "whole content\n"  # missing directories are made
//! [[step.edit]]
//! path = "src/b.sh"
//! replace = "old"            # must be there exactly once, or the agent fails
//! with = "new"
//! [[step.edit]]
//! path = "notes.txt"
//! append = "one more line\n"
//! [[step.edit]]
//! path = "src/old.sh"
//! delete = true
//! ```
//!
//! Unknown keys are refused. Paths are relative, without `..`, not below `.git`
//! or `.ralph`, and lead through no link; if one of a step's paths is not like
//! that, the agent fails before it has edited anything. Tokens are counted as
//! words: of the prompt as input, of what it said as output.

mod edit;
mod script;

use ralph_plugin::{
    Agent, Error, Event, Iteration, Limit, Outcome, Usage, config, events, message_of,
};
use script::{Ending, Script, Step};
use std::path::Path;

/// The keys of this plugin's `config` table.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default = "default_script")]
    script: String,
    // What every agent's table may hold; nothing of it means anything here.
    #[serde(default, rename = "argv")]
    _argv: Vec<String>,
    #[serde(default, rename = "prompt")]
    _prompt: Option<String>,
    #[serde(default, rename = "model")]
    _model: Option<String>,
    #[serde(default, rename = "effort")]
    _effort: Option<String>,
    #[serde(default, rename = "args")]
    _args: Vec<String>,
    #[serde(default, rename = "sandbox")]
    _sandbox: Option<String>,
}

fn default_script() -> String {
    "script.toml".into()
}

/// See the crate's documentation.
pub struct Scripted;

impl Agent for Scripted {
    fn run(it: &Iteration, prompt: &str) -> Result<Outcome, Error> {
        let path = config::<Config>()?.script;
        let root = Path::new(&it.workspace);
        edit::check_relative(&path)
            .map_err(|why| Error::InvalidConfig(format!("`script`: `{path}` {why}")))?;
        let text = std::fs::read_to_string(root.join(&path)).map_err(|e| {
            Error::InvalidConfig(format!(
                "`script`: can't read `{path}` in the workspace: {e}"
            ))
        })?;
        let script = Script::parse(&text)
            .map_err(|e| Error::InvalidConfig(format!("`script`: `{path}`: {}", message_of(&e))))?;
        match script.select(it, prompt) {
            Ok(step) => Ok(perform(step, root, prompt)),
            Err(why) => {
                report(prompt, "");
                Ok(Outcome::Failed(format!("`{path}` {why}")))
            }
        }
    }
}

ralph_plugin::agent!(Scripted);
ralph_plugin::manifest!(kinds: ["agent"], capabilities: { "read": ["."], "write": ["."] });

fn perform(step: &Step, root: &Path, prompt: &str) -> Outcome {
    for line in step.say.lines() {
        events::emit(Event::Text(line.to_owned()));
    }
    let outcome = match edit_all(step, root) {
        Ok(true) => {
            if step.answer.is_some() {
                events::emit(Event::Text(step.answer().to_owned()));
            }
            ended(step)
        }
        Ok(false) => Outcome::Interrupted,
        Err(why) => Outcome::Failed(why),
    };
    let said = step.answer.as_deref().unwrap_or_default();
    report(prompt, &format!("{} {said}", step.say));
    outcome
}

/// True if all edits were made, false if it was asked to stop.
fn edit_all(step: &Step, root: &Path) -> Result<bool, String> {
    for edit in &step.edit {
        edit::check(root, &edit.path).map_err(|why| format!("`{}` {why}", edit.path))?;
    }
    for edit in &step.edit {
        if events::stop_asked() {
            return Ok(false);
        }
        events::emit(Event::ToolUse(format!("edit {}", edit.path)));
        match edit::perform(root, edit) {
            Ok(done) => events::emit(Event::ToolResult(done)),
            Err(why) => {
                events::emit(Event::ToolResult(why.clone()));
                return Err(why);
            }
        }
    }
    Ok(!events::stop_asked())
}

fn ended(step: &Step) -> Outcome {
    let words = step.answer().to_owned();
    match step.outcome {
        Ending::Finished => Outcome::Finished(words),
        Ending::Limited => Outcome::Limited(Limit {
            message: words,
            resets_at: step.resets_at.clone(),
        }),
        Ending::Unauthenticated => Outcome::Unauthenticated(words),
        Ending::Failed => Outcome::Failed(words),
    }
}

fn report(prompt: &str, said: &str) {
    let words = |text: &str| text.split_whitespace().count() as u64;
    events::emit(Event::Usage(Usage {
        input_tokens: words(prompt),
        output_tokens: words(said),
        cached_tokens: 0,
        cost_usd: None,
    }));
}

#[cfg(test)]
mod tests;
