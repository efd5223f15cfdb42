//! Drives any agent that speaks the Agent Client Protocol (version 1) on its standard streams.
//!
//! ```toml
//! [agents.mine]
//! plugin = "acp"
//! argv = ["copilot", "--acp"]    # the program and its arguments
//! sandbox = "workspace-write"    # off | workspace-write | read-only
//! ```
//!
//! In `argv` and `args`, `{model}` and `{workspace}` are replaced. One call is one session with
//! one prompt; then standard input is closed and the agent ends.
//!
//! The agent asks before it uses a tool, and `sandbox` decides:
//!
//! - `off`: everything is allowed.
//! - `workspace-write`: everything but editing, deleting and moving what the agent itself says
//!   lies outside the workspace. A shell is **not** confined by this.
//! - `read-only`, and every judge and reviewer: reading, searching and thinking, nothing else.
//!
//! An agent that doesn't ask isn't held by any of this. Files and terminals of the client are not
//! offered: the agent works in the workspace itself.
//!
//! Success is the stop reason `end_turn`, and an exit code that doesn't speak against it.

mod policy;
mod session;

use ralph_plugin::{AgentDriver, Error, Iteration, Launch, PromptBy, Sandbox, config};
use serde::Deserialize;

/// The plugin's configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    argv: Vec<String>,
    #[serde(default)]
    args: Vec<String>,
    model: Option<String>,
    #[serde(default)]
    sandbox: Sandbox,
    // For other drivers.
    #[serde(default, rename = "effort")]
    _effort: Option<String>,
    #[serde(default, rename = "prompt")]
    _prompt: PromptBy,
}

/// See the crate's documentation.
pub struct Acp;

impl AgentDriver for Acp {
    type Session = session::Conversation;

    fn prepare(it: &Iteration, _: &str) -> Result<Launch, Error> {
        let config: Config = config()?;
        let key = |name: &str| format!("`agents.{}.{name}`", it.agent);
        if config.argv.first().is_none_or(String::is_empty) {
            return Err(Error::InvalidConfig(format!(
                "{}: the program and its arguments are missing, e.g. argv = [\"copilot\", \"--acp\"]",
                key("argv")
            )));
        }
        let words = || config.argv.iter().chain(&config.args);
        let model = match &config.model {
            Some(model) if !words().any(|w| w.contains("{model}")) => {
                return Err(Error::InvalidConfig(format!(
                    "{}: \"{model}\" goes nowhere; put {{model}} into `argv`",
                    key("model")
                )));
            }
            None if words().any(|w| w.contains("{model}")) => {
                return Err(Error::InvalidConfig(format!(
                    "{}: {{model}} stands in `argv`, so it must be set",
                    key("model")
                )));
            }
            model => model.as_deref().unwrap_or_default(),
        };
        let mut filled = words().map(|w| {
            w.replace("{workspace}", &it.workspace)
                .replace("{model}", model)
        });
        let program = filled.next().unwrap_or_default();
        let mut launch = Launch::new(program)
            .args(filled)
            .stdin(session::initialize());
        launch.keep_stdin = true;
        Ok(launch)
    }
}

ralph_plugin::agent_driver!(Acp);
ralph_plugin::manifest!(kinds: ["agent-driver"]);

#[cfg(test)]
mod tests;
