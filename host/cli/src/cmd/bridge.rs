//! `ralph bridge`: JSON-RPC on standard input and output, for an editor.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ralph_rpc::bridge::{self, Bridge};
use ralph_runner::{Error, Project};
use tokio::signal::unix::{SignalKind, signal};

pub async fn bridge(dir: &Path) -> Result<ExitCode, Error> {
    let out = claim_stdout().map_err(|e| Error::Io {
        path: "standard output".into(),
        source: e,
    })?;
    // Without a project each request says so; one may be made meanwhile.
    let dir = match Project::open(dir) {
        Ok(project) => project.ws.root().to_owned(),
        Err(_) => dir.canonicalize().unwrap_or_else(|_| dir.to_owned()),
    };
    let bridge = Arc::new(Bridge::new(dir, super::host()?, env!("CARGO_PKG_VERSION")));
    let signalled = signalled();
    let signalled = async {
        signalled.await;
    };
    let served = bridge::serve(out, bridge, signalled).await;
    served.map_err(|e| Error::Internal(e.to_string()))?;
    Ok(ExitCode::SUCCESS)
}

/// From here on only the protocol's lines come out there: whatever else in this process writes to
/// standard output writes to standard error.
pub fn claim_stdout() -> std::io::Result<File> {
    let own: OwnedFd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(own))
}

/// Waits for a signal that ends the process; its number. From the call on none ends it by itself.
pub fn signalled() -> impl Future<Output = u8> + Send {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let numbers = kinds.map(|kind| kind.as_raw_value() as u8);
    let watched = kinds.map(signal);
    async move {
        let [Ok(mut int), Ok(mut term), Ok(mut hup)] = watched else {
            tracing::error!("signals can't be watched; close standard input to end the bridge");
            return std::future::pending().await;
        };
        tokio::select! {
            _ = int.recv() => numbers[0],
            _ = term.recv() => numbers[1],
            _ = hup.recv() => numbers[2],
        }
    }
}
