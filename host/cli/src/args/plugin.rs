//! `ralph plugin …`

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use ralph_config::units::Span;
use ralph_kit::lang::Lang;
use ralph_plugins::Kind;

use crate::complete;

#[derive(ClapArgs)]
pub struct PluginArgs {
    #[command(subcommand)]
    pub command: PluginCommand,
}

#[derive(Subcommand)]
#[command(defer = true)]
pub enum PluginCommand {
    /// All components: built in and configured
    List,
    /// One component: manifest, imports, digest, size, what it may do
    Inspect {
        /// Its name in ralph.toml, or that of a built-in one, or a path to a .wasm file
        #[arg(add = complete::components())]
        name: String,
    },
    /// Add a plugin to ralph.toml and ralph.lock
    Add {
        /// A path relative to the project's root, builtin:NAME, https://… or oci://…
        source: String,
        /// Its name in ralph.toml, instead of the manifest's or the file's
        #[arg(long)]
        name: Option<String>,
        /// What its SHA-256 has to be; ralph.toml gets it too
        #[arg(long, value_name = "DIGEST")]
        sha256: Option<String>,
    },
    /// Ask plugins' sources what they are now, and pin that
    Update {
        /// Only these
        #[arg(add = complete::plugins())]
        names: Vec<String>,
    },
    /// Take a plugin out of ralph.toml and ralph.lock
    Remove {
        #[arg(add = complete::plugins())]
        name: String,
    },
    /// Write ralph.lock: which bytes each plugin has to have
    Lock,
    /// Check that every plugin is here and as it is pinned; exit code 1 if not
    Verify,
    /// Fetch the plugins that aren't here yet
    Pull,
    /// Put a plugin into a registry
    Push {
        /// Its name in ralph.toml, or a path to a .wasm file below the root
        #[arg(add = complete::plugins())]
        what: String,
        /// oci://registry/repository:tag
        to: String,
    },
    #[command(flatten)]
    Kit(KitCommand),
}

/// What a plugin's author does.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum KitCommand {
    /// Make a plugin's project that builds and passes its own test
    New {
        /// Its name, which is also its folder's
        name: String,
        /// rust, js, ts, python, c or go
        #[arg(long)]
        lang: Lang,
        /// gate, judge, canonicaliser, tool, notifier, tracker, agent-driver or agent
        #[arg(long, default_value = "gate", value_parser = kind)]
        kind: Kind,
    },
    /// Build a plugin's project: its language's tool chain, then a look whether it loads
    Build {
        /// The project's folder
        #[arg(default_value = ".")]
        dir: PathBuf,
    },
    /// Call a component once
    Run {
        /// A .wasm file, or the folder of a project that was built
        component: PathBuf,
        /// What it is given: JSON; a diff.patch and files/ beside it count too. `-` is standard input
        #[arg(
            long,
            value_name = "FILE",
            conflicts_with = "recorded",
            required_unless_present = "recorded"
        )]
        input: Option<PathBuf>,
        /// What a run has kept: an attempt's id, or a path to its replay/
        #[arg(long, value_name = "ATTEMPT")]
        recorded: Option<String>,
        /// Of the attempt's gates this one, instead of the one with the component's name; of its agents
        /// `judge-1-agent` or the like, instead of the one that worked
        #[arg(long, value_name = "NAME", requires = "recorded")]
        gate: Option<String>,
        /// Keep the recorded call, and what comes of it, as a new case in this folder
        #[arg(long, value_name = "DIR", requires = "recorded")]
        save: Option<PathBuf>,
    },
    /// Try a plugin's cases: a folder each, in cases/; exit code 1 if one isn't as expected
    Test {
        /// The project's folder
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Only this case; may be given several times
        #[arg(long, value_name = "NAME")]
        case: Vec<String>,
        /// Another component than the project's
        #[arg(long, value_name = "FILE")]
        component: Option<PathBuf>,
        /// What comes now is what is expected from now on
        #[arg(long)]
        update: bool,
    },
    /// Measure what a component costs: calls per second, how long they take, memory, cold start
    Bench {
        /// A .wasm file, or the folder of a project that was built
        component: PathBuf,
        /// What it is given, as for `run`; or a case's folder
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// So long
        #[arg(long, value_name = "SPAN", default_value = "3s", value_parser = Span::parse)]
        time: Span,
    },
    /// Build, try the cases and swap, again after each change, until ctrl-c
    Dev {
        /// The project's folder
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Answer inputs from standard input, a JSON object a line, each by the newest component
        #[arg(long)]
        calls: bool,
    },
}

impl PluginCommand {
    /// May a tool chain be at work when this is killed?
    pub fn starts_programs(&self) -> bool {
        matches!(
            self,
            PluginCommand::Kit(KitCommand::Build { .. } | KitCommand::Dev { .. })
        )
    }
}

fn kind(text: &str) -> Result<Kind, String> {
    let found = match text {
        "driver" => Some(Kind::AgentDriver),
        _ => Kind::ALL.into_iter().find(|kind| kind.as_str() == text),
    };
    found.ok_or_else(|| {
        let all: Vec<_> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("one of {}", all.join(", "))
    })
}
