//! Of commands about a run that is on.

use clap::{Args as ClapArgs, Subcommand};

use crate::complete;

#[derive(ClapArgs)]
pub struct StopArgs {
    /// End the agent too, at once
    #[arg(long)]
    pub now: bool,
}

#[derive(ClapArgs)]
pub struct InjectArgs {
    /// What the next attempt should know; `-` reads it from standard input
    pub text: String,
}

#[derive(ClapArgs)]
pub struct SkipArgs {
    /// The task, as in `ralph task list`
    #[arg(add = complete::tasks())]
    pub id: String,
    /// Have it take the task up again
    #[arg(long)]
    pub undo: bool,
}

#[derive(ClapArgs)]
pub struct TailArgs {
    /// Output of agents at this task only
    #[arg(add = complete::tasks())]
    pub task: Option<String>,
    /// After the event of this number (`seq`); without it, from the oldest that is kept
    #[arg(long, value_name = "SEQ")]
    pub since: Option<u64>,
}

#[derive(ClapArgs)]
pub struct AttachArgs {
    /// Mark this task, and show its agents' output only
    #[arg(add = complete::tasks())]
    pub task: Option<String>,
    /// Show all runs side by side, those too that begin later
    #[arg(long)]
    pub all: bool,
    /// Show this run only: the name of its project's directory; several of them side by side
    #[arg(long, value_name = "NAME", conflicts_with = "all", add = complete::runs())]
    pub run: Vec<String>,
}

#[derive(ClapArgs)]
pub struct RpcArgs {
    #[command(subcommand)]
    pub command: RpcCommand,
}

#[derive(Subcommand)]
#[command(defer = true)]
pub enum RpcCommand {
    /// Print OpenRPC documents, as `rpc.discover` answers them
    Schema {
        /// Only this one's
        #[arg(long, value_name = "NAME")]
        transport: Option<RpcTransport>,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum RpcTransport {
    /// A run's Unix socket
    Tui,
    /// `ralph bridge`
    Bridge,
    /// `ralph listen`
    Tcp,
}

#[derive(ClapArgs)]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_enum, default_value_t = SchemaOf::Config)]
    pub of: SchemaOf,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SchemaOf {
    /// ralph.toml
    Config,
    /// A unit of prompts, checked in its canonical form
    PromptSet,
}
