//! One of the three programs, and a project in which it works against a model of the test's own.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use ralph_tests::model::Model;
use ralph_tests::{Live, Project, target};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cli {
    Codex,
    Claude,
    Copilot,
}

impl Cli {
    pub const ALL: [Cli; 3] = [Cli::Codex, Cli::Claude, Cli::Copilot];

    pub fn name(self) -> &'static str {
        match self {
            Cli::Codex => "codex",
            Cli::Claude => "claude",
            Cli::Copilot => "copilot",
        }
    }
}

/// Long enough to be nothing else: copilot takes it out of all it prints.
const KEY: &str = "key-of-a-test-0001";

/// Where `npm` has put the programs.
fn programs() -> PathBuf {
    target().join("agents/node_modules/.bin")
}

/// One of them.
pub fn program(cli: Cli) -> PathBuf {
    programs().join(cli.name())
}

/// The programs that are installed. What isn't is said, past the capture of the test's output.
pub fn installed() -> Vec<Cli> {
    let (there, missing): (Vec<_>, Vec<_>) = Cli::ALL
        .into_iter()
        .partition(|cli| programs().join(cli.name()).exists());
    let why = std::fs::read_to_string(target().join("agents/skipped"))
        .unwrap_or_else(|_| "run `cargo xtask agents`".into());
    for cli in missing {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: {} isn't installed in target/agents: {}",
            cli.name(),
            why.trim()
        );
    }
    there
}

/// A project whose agent is the program, and the model it asks.
pub struct Bench {
    pub cli: Cli,
    pub project: Project,
    pub model: Model,
}

impl Bench {
    /// `in_agent` goes into the agent's table, `toml` behind it; `SIDE` becomes the place beside
    /// the repository.
    pub fn new(cli: Cli, model: Model, in_agent: &str, toml: &str) -> Bench {
        let project = Project::bare();
        project.write(
            "PRD.md",
            "## Tasks\n- [ ] Write one.txt\n- [ ] Write two.txt\n",
        );
        let side = project.side("").display().to_string();
        let side = side.trim_end_matches('/');
        let name = cli.name();
        project.write(
            "ralph.toml",
            format!(
                "[loop]\nagent = \"{name}\"\n[limits]\non_limit = \"stop\"\n[agents.{name}]\ntimeout = \"80s\"\n{in_agent}\n{}",
                toml.replace("SIDE", side)
            ),
        );
        for sub in ["tmp", "agent-home"] {
            std::fs::create_dir(project.side(sub)).unwrap();
        }
        if cli == Cli::Codex {
            let config = codex_config(&model.url());
            std::fs::write(project.side("agent-home/config.toml"), config).unwrap();
        }
        project.commit_all("start");
        project.trust();
        Bench {
            cli,
            project,
            model,
        }
    }

    /// The binary with these arguments, in the environment in which the agent finds its model.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.project.command(args);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(programs()).chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(dirs).unwrap())
            // codex's sandbox refuses to work out of a home below the temporary directory.
            .env("TMPDIR", self.project.side("tmp"));
        let (home, url) = (self.project.side("agent-home"), self.model.url());
        match self.cli {
            Cli::Codex => command.env("CODEX_HOME", home).env("OPENAI_API_KEY", KEY),
            Cli::Claude => command
                .env("CLAUDE_CONFIG_DIR", home)
                .env("ANTHROPIC_BASE_URL", url)
                .env("ANTHROPIC_API_KEY", KEY)
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("CLAUDE_CODE_MAX_RETRIES", "1"),
            Cli::Copilot => command
                .env("COPILOT_HOME", home)
                .env("COPILOT_OFFLINE", "true")
                .env("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1"))
                .env("COPILOT_PROVIDER_API_KEY", KEY)
                .env("COPILOT_MODEL", "gpt-5.4"),
        };
        command
    }

    pub fn start(&self, args: &[&str]) -> Live {
        self.project.start_command(self.command(args))
    }
}

/// Nothing leaves the machine, and nothing is retried for long.
fn codex_config(url: &str) -> String {
    format!(
        r#"model = "gpt-5.5"
model_provider = "test"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
plugins = false
unbounded_connection_retries = false
[model_providers.test]
name = "test"
base_url = "{url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = 60000
"#
    )
}
