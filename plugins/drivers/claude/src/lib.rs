//! Drives Anthropic's `claude -p`, headless, with its stream of JSON events.
//!
//! ```toml
//! [agents.claude]
//! model = "sonnet"               # all keys may be left out
//! effort = "high"
//! sandbox = "workspace-write"    # off | workspace-write | read-only
//! argv = ["/opt/claude/claude"]  # another program in place of `claude`
//! args = ["--max-turns", "50"]
//! [agents.claude.config]
//! allowed-tools = ["Bash"]       # with workspace-write, beside reading and editing
//! max-turns = 50                 # answers of the model in one call; more is a failed attempt
//! max-budget-usd = 2.5           # the same for money
//! ```
//!
//! The prompt goes in on standard input. What `sandbox` comes to:
//!
//! - `off`: `--dangerously-skip-permissions`. Claude refuses that as root.
//! - `workspace-write`: `--permission-mode acceptEdits`: its editing tools write
//!   below the workspace only. `allowed-tools` says what needs no permission
//!   beside that; a shell in it is **not** confined by Claude itself.
//! - `read-only`, and every judge and reviewer: the tools that read, no others.
//!
//! Success needs exit code 0 *and* a `result` that is no error. A call that was
//! refused a tool on the way is still a success; each refusal is a notice.
//! Written for Claude Code 2.1.

mod check;
mod events;

use ralph_plugin::dialect::JsonSession;
use ralph_plugin::{AgentDriver, Error, Iteration, Launch, PromptBy, Sandbox, config};
use serde::Deserialize;

/// The plugin's configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Config {
    #[serde(default)]
    argv: Vec<String>,
    model: Option<String>,
    effort: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    sandbox: Sandbox,
    #[serde(default = "shell")]
    allowed_tools: Vec<String>,
    max_turns: Option<u32>,
    max_budget_usd: Option<f64>,
    // For the `command` driver.
    #[serde(default, rename = "prompt")]
    _prompt: PromptBy,
}

fn shell() -> Vec<String> {
    vec!["Bash".into()]
}

impl Config {
    fn program(&self) -> String {
        self.argv
            .first()
            .map_or("claude", String::as_str)
            .to_owned()
    }
}

/// See the crate's documentation.
pub struct Claude;

impl AgentDriver for Claude {
    type Session = JsonSession<events::Events>;

    fn prepare(it: &Iteration, prompt: &str) -> Result<Launch, Error> {
        let config: Config = config()?;
        let program = config.program();
        let mut launch = Launch::new(program)
            .args(["-p", "--output-format", "stream-json", "--verbose"])
            .stdin(prompt);
        // `--allowedTools a b` takes all that follows; with `=` it doesn't.
        launch = match config.sandbox.for_role(it.role) {
            Sandbox::Off | Sandbox::Held => launch.args(["--dangerously-skip-permissions"]),
            Sandbox::WorkspaceWrite => {
                let launch = launch.args(["--permission-mode", "acceptEdits"]);
                match config.allowed_tools.join(",") {
                    none if none.is_empty() => launch,
                    tools => launch.args([format!("--allowedTools={tools}")]),
                }
            }
            Sandbox::ReadOnly => {
                launch.args(["--permission-mode", "dontAsk", "--tools=Read,Grep,Glob"])
            }
        };
        if let Some(model) = config.model {
            launch = launch.args(["--model".to_owned(), model]);
        }
        if let Some(effort) = config.effort {
            launch = launch.args(["--effort".to_owned(), effort]);
        }
        if let Some(turns) = config.max_turns {
            launch = launch.args(["--max-turns".to_owned(), turns.to_string()]);
        }
        if let Some(dollars) = config.max_budget_usd {
            launch = launch.args(["--max-budget-usd".to_owned(), dollars.to_string()]);
        }
        Ok(launch.args(config.args))
    }
}

ralph_plugin::agent_driver!(Claude);
ralph_plugin::manifest!(kinds: ["agent-driver"]);
ralph_plugin::agent_check!(Claude);

#[cfg(test)]
mod recorded;
#[cfg(test)]
mod tests;
