//! Arguments of `ralph gates`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use ralph_runner::report::Format;

#[derive(ClapArgs)]
pub struct GatesArgs {
    #[command(subcommand)]
    pub command: GatesCommand,
}

#[derive(Subcommand)]
#[command(defer = true)]
pub enum GatesCommand {
    /// Ask them; exit code 0 if they would let the work pass, 1 if not
    Run(GatesRunArgs),
}

#[derive(ClapArgs)]
pub struct GatesRunArgs {
    /// Only these; each has to pass then, whatever groups it is in
    #[arg(value_name = "GATE")]
    pub gates: Vec<String>,
    /// About all that was done since the branch, tag or commit, instead of since the last commit
    #[arg(long, value_name = "REF")]
    pub against: Option<String>,
    /// The report's form, instead of text for people
    #[arg(long, value_enum, conflicts_with = "json")]
    pub format: Option<FormatArg>,
    /// The report goes into this file, and text for people to standard output
    #[arg(long, value_name = "FILE", requires = "format")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum FormatArg {
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit's XML, for Jenkins and GitLab
    Junit,
    /// Annotations in a GitHub workflow
    Github,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Sarif => Format::Sarif,
            FormatArg::Junit => Format::Junit,
            FormatArg::Github => Format::Github,
        }
    }
}
