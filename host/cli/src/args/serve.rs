//! `ralph serve`, `audit`, `token`

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use ralph_config::units::Span;

#[derive(ClapArgs)]
pub struct ServeFile {
    /// Instead of serve.toml in the user's configuration directory
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
}

#[derive(ClapArgs)]
pub struct ServeArgs {
    #[command(flatten)]
    pub file: ServeFile,
    /// Address and port, instead of `[serve] listen`; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<std::net::SocketAddr>,
}

#[derive(ClapArgs)]
pub struct AuditArgs {
    #[command(flatten)]
    pub file: ServeFile,
    #[command(subcommand)]
    pub command: AuditCommand,
}

#[derive(Subcommand)]
pub enum AuditCommand {
    /// Check every line; exit code 1 if one was changed or is missing
    Verify,
    /// Show the newest lines
    Tail {
        /// So many
        #[arg(short = 'n', long = "newest", value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        newest: u32,
    },
    /// Print all lines as they are, once they are found to be whole
    Export,
}

#[derive(ClapArgs)]
pub struct TokenArgs {
    #[command(flatten)]
    pub file: ServeFile,
    #[command(subcommand)]
    pub command: TokenCommand,
}

#[derive(Subcommand)]
pub enum TokenCommand {
    /// Print a token that is good for a short time
    Mint {
        /// The workspace; `*` for all
        #[arg(long, value_name = "SLUG")]
        workspace: String,
        /// observer, operator or admin
        #[arg(long, value_parser = ["observer", "operator", "admin"])]
        role: String,
        /// Who bears it, for the audit
        #[arg(long, value_name = "NAME")]
        actor: String,
        /// So long
        #[arg(long, value_name = "SPAN", default_value = "5m", value_parser = Span::parse)]
        ttl: Span,
    },
}
