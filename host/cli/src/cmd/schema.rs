//! `ralph schema` and `ralph completions`

use std::process::ExitCode;

use clap::CommandFactory;
use ralph_runner::Error;

use crate::args::Args;
use crate::out::Out;

pub fn schema(out: &Out) -> Result<ExitCode, Error> {
    let schema = ralph_config::schema();
    out.text(serde_json::to_string_pretty(&schema).map_err(|e| Error::Internal(e.to_string()))?);
    Ok(out.done(0, &schema))
}

pub fn completions(shell: clap_complete::Shell, out: &Out) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "ralph", &mut script);
    if !out.json {
        out.raw(&script);
    }
    Ok(out.done(
        0,
        &serde_json::json!({ "script": String::from_utf8_lossy(&script) }),
    ))
}
