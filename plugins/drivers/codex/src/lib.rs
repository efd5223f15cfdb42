//! Drives OpenAI's `codex exec`, headless, with its JSON event stream.
//!
//! ```toml
//! [agents.codex]
//! model = "gpt-5.5"              # all keys may be left out
//! effort = "high"                # model_reasoning_effort
//! sandbox = "workspace-write"    # off | workspace-write | read-only
//! argv = ["/opt/codex/codex"]    # another program in place of `codex`
//! args = ["-c", "features.plugins=false"]
//! ```
//!
//! The prompt goes in on standard input. A judge and a reviewer get
//! `read-only`, whatever `sandbox` says, unless ralph's own sandbox holds them and
//! doesn't let codex make its own.
//!
//! Success needs exit code 0 *and* `turn.completed`; the final words are those of
//! the last `agent_message`. Codex gives no error codes in its events, so limits
//! and logins are recognised by the words of `turn.failed`, see `patterns.rs`.
//! Written for codex 0.171.

mod check;
mod events;
mod patterns;

use ralph_plugin::dialect::JsonSession;
use ralph_plugin::{AgentDriver, Error, Iteration, Launch, PromptBy, Sandbox, config};
use serde::Deserialize;

/// The plugin's configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    argv: Vec<String>,
    model: Option<String>,
    effort: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    sandbox: Sandbox,
    // For the `command` driver.
    #[serde(default, rename = "prompt")]
    _prompt: PromptBy,
}

impl Config {
    fn program(&self) -> String {
        self.argv.first().map_or("codex", String::as_str).to_owned()
    }
}

/// See the crate's documentation.
pub struct Codex;

impl AgentDriver for Codex {
    type Session = JsonSession<events::Events>;

    fn prepare(it: &Iteration, prompt: &str) -> Result<Launch, Error> {
        let config: Config = config()?;
        let program = config.program();
        let mut launch = Launch::new(program).args(["exec", "--json"]).stdin(prompt);
        launch = match config.sandbox.for_role(it.role) {
            Sandbox::Off | Sandbox::Held => {
                launch.args(["--dangerously-bypass-approvals-and-sandbox"])
            }
            Sandbox::WorkspaceWrite => launch.args(["--sandbox", "workspace-write"]),
            Sandbox::ReadOnly => launch.args(["--sandbox", "read-only"]),
        };
        if let Some(model) = config.model {
            launch = launch.args(["--model".to_owned(), model]);
        }
        if let Some(effort) = config.effort {
            // The value is TOML; a JSON string is one.
            let quoted = serde_json::Value::from(effort);
            launch = launch.args(["-c".to_owned(), format!("model_reasoning_effort={quoted}")]);
        }
        // `-`: the prompt is on standard input.
        Ok(launch.args(config.args).args(["-"]))
    }
}

ralph_plugin::agent_driver!(Codex);
ralph_plugin::manifest!(kinds: ["agent-driver"]);
ralph_plugin::agent_check!(Codex);

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
