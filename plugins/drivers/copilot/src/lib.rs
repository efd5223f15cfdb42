//! Drives GitHub's `copilot` CLI, headless, with its stream of JSON events.
//!
//! ```toml
//! [agents.copilot]
//! model = "gpt-5.4"              # all keys may be left out
//! effort = "high"
//! sandbox = "workspace-write"    # off | workspace-write | read-only
//! argv = ["/opt/copilot/copilot"] # another program in place of `copilot`
//! args = ["--deny-tool=shell(git push)"]
//! [agents.copilot.config]
//! max-ai-credits = 30            # of one call
//! ```
//!
//! The prompt goes in on standard input (with `-p` the CLI would ignore that).
//! What `sandbox` comes to:
//!
//! - `off`: `--allow-all`.
//! - `workspace-write`: `--allow-all-tools --disallow-temp-dir`: every tool, paths
//!   below the workspace only. The CLI looks at the paths it can see in a command;
//!   a shell is **not** confined by it.
//! - `read-only`, and every judge and reviewer: writing and the shell are denied.
//!
//! Success needs exit code 0, a `result` with `exitCode` 0, and neither
//! `session.error` nor `abort`. The stream holds no token counts: the CLI writes
//! them to `usage.json` in the scratch directory, and they are reported at the end.
//! Written for copilot 1.0.

mod check;
mod events;
mod session;
mod usage;

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
    #[serde(rename = "max-ai-credits")]
    max_ai_credits: Option<u32>,
    // For the `command` driver.
    #[serde(default, rename = "prompt")]
    _prompt: PromptBy,
}

impl Config {
    fn program(&self) -> String {
        self.argv
            .first()
            .map_or("copilot", String::as_str)
            .to_owned()
    }
}

/// See the crate's documentation.
pub struct Copilot;

impl AgentDriver for Copilot {
    type Session = session::Call;

    fn prepare(it: &Iteration, prompt: &str) -> Result<Launch, Error> {
        let config: Config = config()?;
        let program = config.program();
        let usage_file = format!("{}/{}", it.scratch.trim_end_matches('/'), usage::FILE);
        let mut launch = Launch::new(program)
            .args([
                "--output-format",
                "json",
                "--usage-output-file",
                &usage_file,
                "--session-id",
                &session::id(it),
            ])
            .collect(usage::FILE)
            .stdin(prompt);
        launch = match config.sandbox.for_role(it.role) {
            Sandbox::Off | Sandbox::Held => launch.args(["--allow-all"]),
            Sandbox::WorkspaceWrite => launch.args(["--allow-all-tools", "--disallow-temp-dir"]),
            Sandbox::ReadOnly => launch.args([
                "--allow-all-tools",
                "--deny-tool=write",
                "--deny-tool=shell",
            ]),
        };
        if let Some(model) = config.model {
            launch = launch.args(["--model".to_owned(), model]);
        }
        if let Some(effort) = config.effort {
            launch = launch.args(["--reasoning-effort".to_owned(), effort]);
        }
        if let Some(credits) = config.max_ai_credits {
            launch = launch.args(["--max-ai-credits".to_owned(), credits.to_string()]);
        }
        Ok(launch.args(config.args))
    }
}

ralph_plugin::agent_driver!(Copilot);
ralph_plugin::manifest!(kinds: ["agent-driver"]);
ralph_plugin::agent_check!(Copilot);

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
