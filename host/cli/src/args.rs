//! The command line.

mod fingerprint;
mod gates;
mod live;
mod named;
mod plugin;
mod serve;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueHint};
use ralph_config::units::Span;

use crate::complete;

pub use fingerprint::{FingerprintArgs, FingerprintCommand};
pub use gates::{GatesArgs, GatesCommand};
pub use live::*;
pub use named::*;
pub use plugin::*;
pub use serve::*;

/// Runs coding agents in a loop: one task per iteration, checked by the host.
///
/// Exit codes: 0 all tasks done (or the command succeeded), 1 ended without
/// being done, 2 failed, 3 configuration or usage, 128+N ended by signal N.
#[derive(Parser)]
#[command(name = "ralph", version, max_term_width = 100)]
pub struct Args {
    /// Work in this directory instead of the current one.
    #[arg(short = 'C', long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: Option<PathBuf>,
    /// Print one JSON object on standard output.
    #[arg(long, global = true)]
    pub json: bool,
    /// Say more on standard error; twice for debugging, three times for everything. RALPH_LOG has finer control.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Every plugin has to be in ralph.lock as it stands there
    #[arg(long, global = true)]
    pub locked: bool,
    /// Fetch no plugin
    #[arg(long, global = true)]
    pub offline: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Write ralph.toml, a task file and prompts; never overwrites anything
    Init(InitArgs),
    /// Run the loop until every task is done
    Run(RunArgs),
    /// Run one iteration; exit code 0 if its work was accepted
    Step(StepArgs),
    /// Run the loop, and run it again when it died or failed, as [supervise] says
    Supervise(SuperviseArgs),
    /// Ask the gates about what differs from the last commit; exit code 0 if all pass
    Check,
    /// The same, again after each change, until ctrl-c
    Watch(WatchArgs),
    /// Ask gates as a step of CI: about a whole branch, with a report that other programs read
    Gates(GatesArgs),
    /// Show where the project stands
    Status,
    /// List iterations, the newest last
    Log(LogArgs),
    /// Show everything of one iteration
    Show(IterationArgs),
    /// Say why a task is next, or why it can't run
    Explain(ExplainArgs),
    /// List blocked tasks, why, and what may be done
    Blocked,
    /// Sum up by task and by agent
    Stats,
    /// Check that journal, records and commits agree; exit code 1 if they don't
    Verify,
    /// Ask an iteration's components again with what they were given; exit code 1 if they answer otherwise
    Replay(IterationArgs),
    /// Remove receipts, context and logs of old iterations
    Clean(CleanArgs),
    /// Print the prompt that would be sent
    Prompt(PromptArgs),
    /// End the run that is on here, after its iteration
    Stop(StopArgs),
    /// Let no new iteration start in the run that is on here
    Pause,
    /// Let new iterations start again
    Resume,
    /// Bring the run's journal and state safely onto the disk
    Checkpoint,
    /// Give the next attempt's prompt a text
    Inject(InjectArgs),
    /// Have the run that is on here take a task up no more
    Skip(SkipArgs),
    /// Follow the run that is on here, line by line, to its end; --json: one object per line
    Tail(TailArgs),
    /// Watch and steer runs in this terminal; they go on when you leave
    Attach(AttachArgs),
    /// Serve an editor: JSON-RPC on standard input and output
    Bridge,
    /// Serve tools and commands over TCP
    Listen(ListenArgs),
    /// Serve runs over HTTP, as serve.toml says
    Serve(ServeArgs),
    /// Look at a service's audit
    Audit(AuditArgs),
    /// Make tokens for a service
    Token(TokenArgs),
    /// Serve an agent the same tools: the Model Context Protocol on standard input and output
    Mcp,
    /// List the runs that are on, in any project
    Ps,
    /// Look at tasks, and change them while no run is on
    Task(TaskArgs),
    /// Write the tasks of a file, or of a tracker, into a file of another form; never overwrites
    Convert(ConvertArgs),
    /// Look at agents
    Agent(AgentArgs),
    /// Look at components, say where they come from, and make some
    Plugin(PluginArgs),
    /// Fingerprint prompts, and see whether they are as they were written
    Fingerprint(FingerprintArgs),
    /// Show what this project's configuration can run or reach, and accept it
    Trust(TrustArgs),
    /// Check everything a run needs
    Doctor,
    /// Print the JSON Schema of ralph.toml, or of a prompt-set
    Schema(SchemaArgs),
    /// Describe the JSON-RPC methods
    Rpc(RpcArgs),
    /// Print a completion script
    Completions(CompletionArgs),
}

impl Command {
    /// May agents, gates or their like be at work when this is killed?
    pub fn starts_programs(&self) -> bool {
        matches!(
            self,
            Command::Run(_)
                | Command::Step(_)
                | Command::Bridge
                | Command::Listen(_)
                | Command::Mcp
                | Command::Serve(_)
                | Command::Agent(_)
                | Command::Check
                | Command::Watch(_)
                | Command::Gates(_)
                | Command::Doctor
        ) || matches!(self, Command::Plugin(args) if args.command.starts_programs())
    }

    /// Does it serve others until they or a signal end it?
    pub fn serves(&self) -> bool {
        matches!(
            self,
            Command::Bridge | Command::Listen(_) | Command::Mcp | Command::Serve(_)
        )
    }

    pub fn name(&self) -> &'static str {
        match self {
            Command::Init(_) => "init",
            Command::Run(_) => "run",
            Command::Step(_) => "step",
            Command::Supervise(_) => "supervise",
            Command::Bridge => "bridge",
            Command::Listen(_) => "listen",
            Command::Mcp => "mcp",
            Command::Serve(_) => "serve",
            Command::Audit(_) => "audit",
            Command::Token(_) => "token",
            Command::Check => "check",
            Command::Watch(_) => "watch",
            Command::Gates(_) => "gates",
            Command::Status => "status",
            Command::Log(_) => "log",
            Command::Show(_) => "show",
            Command::Explain(_) => "explain",
            Command::Blocked => "blocked",
            Command::Stats => "stats",
            Command::Verify => "verify",
            Command::Replay(_) => "replay",
            Command::Clean(_) => "clean",
            Command::Prompt(_) => "prompt",
            Command::Stop(_) => "stop",
            Command::Pause => "pause",
            Command::Resume => "resume",
            Command::Checkpoint => "checkpoint",
            Command::Inject(_) => "inject",
            Command::Skip(_) => "skip",
            Command::Tail(_) => "tail",
            Command::Attach(_) => "attach",
            Command::Rpc(_) => "rpc",
            Command::Ps => "ps",
            Command::Task(_) => "task",
            Command::Convert(_) => "convert",
            Command::Agent(_) => "agent",
            Command::Plugin(_) => "plugin",
            Command::Fingerprint(_) => "fingerprint",
            Command::Trust(_) => "trust",
            Command::Doctor => "doctor",
            Command::Schema(_) => "schema",
            Command::Completions(_) => "completions",
        }
    }
}

#[derive(ClapArgs)]
pub struct InitArgs {
    /// The agent that works
    #[arg(long, default_value = "codex", add = complete::agents())]
    pub agent: String,
}

#[derive(ClapArgs)]
pub struct StepArgs {
    /// The agent that works, instead of `[loop] agent`
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub agent: Option<String>,
    /// Only this task
    #[arg(long, value_name = "ID", add = complete::tasks())]
    pub task: Option<String>,
    /// Lay these settings over the rest: speed, quality, exploration, or a name from `[modes]`
    #[arg(long, value_name = "NAME", add = complete::modes())]
    pub mode: Option<String>,
    /// Commit nothing
    #[arg(long)]
    pub no_commit: bool,
    /// Show what the configuration can run or reach, and accept it
    #[arg(long)]
    pub trust: bool,
}

#[derive(ClapArgs)]
pub struct RunArgs {
    #[command(flatten)]
    pub step: StepArgs,
    /// Iterations of this run, instead of `[loop] max_iterations`
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_iterations: Option<u32>,
    /// Tasks at a time, each in a git worktree of its own, instead of `[parallel] workers`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub parallel: Option<u32>,
    /// Hand this terminal over to each agent while it works; Ctrl-] ends the run
    #[arg(long, conflicts_with_all = ["parallel", "dry_run"])]
    pub interactive: bool,
    /// Say what would be done, and do nothing
    #[arg(long, conflicts_with = "trust")]
    pub dry_run: bool,
}

#[derive(ClapArgs)]
pub struct ListenArgs {
    /// The address; another than this machine's own needs --allow-remote and a token
    #[arg(
        long,
        value_name = "IP",
        default_value = "127.0.0.1",
        env = "RALPH_HOST"
    )]
    pub host: std::net::IpAddr,
    /// Where tools are called; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 9876, env = "RALPH_PORT")]
    pub port: u16,
    /// Where commands are given; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 4433)]
    pub repl_port: u16,
    /// A directory that projects may lie in; may be given several times. The current one, if none is given
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Vec<PathBuf>,
    /// So long a client may say nothing
    #[arg(long, value_name = "SPAN", default_value = "300s", env = "RALPH_TIMEOUT", value_parser = seconds)]
    pub timeout: Span,
    /// A file with the token that clients must know, instead of RALPH_AUTH_TOKEN
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Let other machines in
    #[arg(long)]
    pub allow_remote: bool,
}

/// A span, or a plain number of seconds.
fn seconds(text: &str) -> Result<Span, String> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let span = if plain {
        Span::parse(&format!("{text}s"))?
    } else {
        Span::parse(text)?
    };
    if span.get().is_zero() {
        return Err("more than nothing".into());
    }
    Ok(span)
}

#[derive(ClapArgs)]
pub struct SuperviseArgs {
    /// Options of `ralph run`, behind `--`
    #[arg(last = true, value_name = "OPTION")]
    pub run: Vec<std::ffi::OsString>,
}

#[derive(ClapArgs)]
pub struct WatchArgs {
    /// Changes that follow each other within this time are one
    #[arg(long, value_name = "SPAN", default_value = "300ms", value_parser = Span::parse)]
    pub debounce: Span,
}

#[derive(ClapArgs)]
pub struct LogArgs {
    /// So many, the newest
    #[arg(short = 'n', long = "newest", value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub newest: u32,
    /// Only of this task
    #[arg(long, value_name = "ID", add = complete::tasks())]
    pub task: Option<String>,
}

#[derive(ClapArgs)]
pub struct IterationArgs {
    /// Its number, as in `ralph log`
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: u32,
}

#[derive(ClapArgs)]
pub struct ExplainArgs {
    /// The task; without it the one that is next
    #[arg(add = complete::tasks())]
    pub id: Option<String>,
}

#[derive(ClapArgs)]
pub struct PromptArgs {
    /// The task; without it the one that is next
    #[arg(add = complete::tasks())]
    pub id: Option<String>,
    /// The agent that would work, instead of `[loop] agent`
    #[arg(long, value_name = "NAME", add = complete::agents())]
    pub agent: Option<String>,
    /// The mode, instead of `[loop] mode`
    #[arg(long, value_name = "NAME", add = complete::modes())]
    pub mode: Option<String>,
    /// List the variables of a template ([files] template)
    #[arg(long, conflicts_with_all = ["id", "agent", "mode"])]
    pub variables: bool,
}

#[derive(ClapArgs)]
pub struct CleanArgs {
    /// Keep the records of the newest N iterations (100 if nothing is said)
    #[arg(long, value_name = "N", conflicts_with = "older_than")]
    pub keep: Option<u32>,
    /// Keep those of iterations that ended within this time: a whole number with m, h or d
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub older_than: Option<ralph_config::units::Span>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}

fn span(text: &str) -> Result<ralph_config::units::Span, String> {
    ralph_config::units::Span::parse(text)
}

#[derive(ClapArgs)]
pub struct ConvertArgs {
    /// A task file, relative to the project's root, or `github` or `beads`
    pub from: String,
    /// The file to write; its ending says in which form: .md, .json, .yaml, .yml
    pub to: String,
}

#[derive(ClapArgs)]
pub struct TrustArgs {
    /// Accept without asking
    #[arg(long, conflicts_with = "revoke")]
    pub yes: bool,
    /// Take the acceptance back
    #[arg(long)]
    pub revoke: bool,
}

#[derive(ClapArgs)]
pub struct CompletionArgs {
    pub shell: clap_complete::Shell,
}
