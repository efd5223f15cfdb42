//! `ralph fingerprint …`

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueHint};
use ralph_prompts::Algorithm;

#[derive(ClapArgs)]
pub struct FingerprintArgs {
    #[command(subcommand)]
    pub command: FingerprintCommand,
}

/// Exit codes: 0 verified (or done), 1 an error, 2 tampered, 3 missing.
///
/// Of several files tampered counts first, then an error, then missing. A wrong command line is 3
/// as everywhere.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum FingerprintCommand {
    /// Print files' fingerprints; writes nothing
    Compute(Files),
    /// Write files' fingerprints into their sidecars FILE.fp, or into the field that has one
    Write(Files),
    /// Compare files with their fingerprints: exit code 0 verified, 1 error, 2 tampered, 3 missing
    Verify {
        /// The files; without any, all below prompts/
        #[arg(value_hint = ValueHint::FilePath)]
        paths: Vec<PathBuf>,
    },
    /// Finish edits that were cut off, then verify
    Repair {
        /// The files that are verified; without any, all below prompts/
        #[arg(value_hint = ValueHint::FilePath)]
        paths: Vec<PathBuf>,
    },
}

#[derive(ClapArgs)]
pub struct Files {
    /// The files; without any, all below prompts/
    #[arg(value_hint = ValueHint::FilePath)]
    pub paths: Vec<PathBuf>,
    /// sha256 or blake3, instead of [fingerprints] hash
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<Algorithm>,
}
