//! Of commands about what has a name: tasks, agents, plugins.

use clap::{Args as ClapArgs, Subcommand};

use crate::complete;

#[derive(ClapArgs)]
pub struct TaskArgs {
    #[command(subcommand)]
    pub command: TaskCommand,
}

#[derive(Subcommand)]
pub enum TaskCommand {
    /// All tasks, in the file's order
    List,
    /// One task, with what its next attempt is told
    Show {
        #[arg(add = complete::tasks())]
        id: String,
    },
    /// Add a task at the end
    Add {
        title: String,
        /// Behind this task instead
        #[arg(long, value_name = "ID", add = complete::tasks())]
        after: Option<String>,
        /// A criterion; may be given several times
        #[arg(long, value_name = "TEXT")]
        accept: Vec<String>,
        /// A task that has to be done first; may be given several times
        #[arg(long, value_name = "ID", add = complete::tasks())]
        depends: Vec<String>,
    },
    /// Mark a task as done
    Done {
        #[arg(add = complete::tasks())]
        id: String,
    },
    /// Mark a task as blocked
    Block {
        #[arg(add = complete::tasks())]
        id: String,
        /// Why; its next attempt is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Open a blocked task again
    Unblock {
        #[arg(add = complete::tasks())]
        id: String,
    },
    /// Open a task again and forget its attempts
    Retry {
        #[arg(add = complete::tasks())]
        id: String,
    },
}

#[derive(ClapArgs)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub command: AgentCommand,
}

#[derive(Subcommand)]
pub enum AgentCommand {
    /// Ask agents' programs for version and login, at no cost; exit code 1 if one can't work
    Check {
        /// Agents as `[agents.NAME]`; without any, those which a run would use
        #[arg(add = complete::agents())]
        names: Vec<String>,
    },
}

#[derive(ClapArgs)]
pub struct PluginArgs {
    #[command(subcommand)]
    pub command: PluginCommand,
}

#[derive(Subcommand)]
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
}
