//! `ralph mcp`: the Model Context Protocol on standard input and output, for an agent.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

use ralph_rpc::mcp::{self, Mcp};
use ralph_rpc::pipes;
use ralph_rpc::tools::Roots;
use ralph_runner::{Error, Project};

use super::bridge::{claim_stdout, signalled};

pub async fn mcp(dir: &Path) -> Result<ExitCode, Error> {
    let out = claim_stdout().map_err(|e| Error::Io {
        path: "standard output".into(),
        source: e,
    })?;
    // Without a project each call says so; one may be made meanwhile.
    let dir = match Project::open(dir) {
        Ok(project) => project.ws.root().to_owned(),
        Err(_) => dir.to_owned(),
    };
    let serves = Mcp {
        roots: Roots::new(&[dir]).map_err(Error::Usage)?,
        host: super::host()?,
        version: env!("CARGO_PKG_VERSION"),
    };
    let signal = AtomicU8::new(0);
    let signalled = signalled();
    let ended = async { signal.store(signalled.await, Ordering::Relaxed) };
    mcp::serve(pipes::input(), pipes::output(out), serves, ended).await;
    Ok(match signal.load(Ordering::Relaxed) {
        0 => ExitCode::SUCCESS,
        number => ExitCode::from(128 + number),
    })
}
