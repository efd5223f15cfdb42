//! Drives any program as an agent.
//!
//! ```toml
//! [agents.mine]
//! argv = ["my-agent", "--task", "{task_id}"]
//! prompt = "stdin"      # stdin | file | argument
//! ```
//!
//! In `argv` and `args` these are replaced, once and as plain data:
//! `{prompt}`, `{prompt_file}` (its absolute path), `{workspace}`, `{model}`,
//! `{task_id}`. No shell is involved.
//!
//! - `prompt = "stdin"`: the program reads the prompt on standard input.
//! - `prompt = "file"`: `{prompt_file}` must stand in `argv` or `args`.
//! - `prompt = "argument"`: in place of `{prompt}`, else at the end. Refused
//!   above 100 KiB: one argument must not be longer than 128 KiB on Linux.
//!
//! Keys of `[agents.mine.config]`:
//!
//! - `format`: `"text"` (default): each line of standard output is what the
//!   agent says, the last 256 KiB of it are its final words. `"json-lines"`:
//!   `fields` says where in each object the words are.
//! - `fields`: JSON pointers into every object: `text` (a piece of what it says),
//!   `final` (its final words; the last `text` if there are none), `thinking`,
//!   `tool_use`, `tool_result`, `notice`, `failed` (why it failed, whatever its exit
//!   code), `input_tokens`, `output_tokens`, `cached_tokens`, `cost_usd`.
//! - `rules`: the same for some objects only, by what stands at other pointers:
//!   `rules = [{ when = { "/type" = "tool" }, fields = { tool_use = "/name" } }]`.
//!   Each rule that fits an object is applied, in their order.
//! - `counts`: the numbers are those of the whole call so far (`"whole"`, default),
//!   or of each object by itself and are added up (`"each"`).
//! - `pty = true` runs it on a pseudo-terminal.
//!
//! Exit code 0 is success. A last line that is nothing but a provider's limit
//! message (`ralph_plugin::limits`) is a limit, whatever the exit code.

mod launch;
mod mapping;
mod output;

pub use launch::Config;

use ralph_plugin::{AgentDriver, Error, Iteration, Launch, config};

/// See the crate's documentation.
pub struct Command;

impl AgentDriver for Command {
    type Session = output::Reader;

    fn prepare(it: &Iteration, prompt: &str) -> Result<Launch, Error> {
        launch::launch(&config()?, it, prompt)
    }
}

ralph_plugin::agent_driver!(Command);
ralph_plugin::manifest!(kinds: ["agent-driver"]);

#[cfg(test)]
mod tests;
