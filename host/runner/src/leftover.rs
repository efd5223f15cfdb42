//! Programs that outlived their host: remembered by pid and start time, one file
//! each, and ended at the next start. Scratch directories of dead runs, and what they had half written, go as well.

use ralph_workspace::{Workspace, writer_of};
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::error::Error;

const DIR: &str = ".ralph/tmp";
const PREFIX: &str = "child-";
const SCRATCH: &str = "agent-";

#[derive(Serialize, Deserialize)]
struct Child {
    pid: u32,
    start_time: u64,
}

/// A program that is at work. Forgotten when this is dropped.
pub struct Remembered {
    ws: Workspace,
    path: String,
}

/// Notes a program that was started.
pub fn remember(ws: &Workspace, pid: u32, start_time: u64) -> Remembered {
    let path = format!("{DIR}/{PREFIX}{pid}.json");
    let child = Child { pid, start_time };
    if let Ok(bytes) = serde_json::to_vec(&child)
        && let Err(e) = ws.write_relaxed(&path, &bytes)
    {
        tracing::warn!("{path} can't be written: {e}");
    }
    Remembered {
        ws: ws.clone(),
        path,
    }
}

impl Drop for Remembered {
    fn drop(&mut self) {
        let _ = self.ws.remove_file(&self.path);
    }
}

/// A directory for one agent call, gone with the value, or at the next start.
pub fn scratch(ws: &Workspace) -> Result<TempDir, Error> {
    ws.create_dir_all(DIR)?;
    tempfile::Builder::new()
        .prefix(SCRATCH)
        .tempdir_in(ws.root().join(DIR))
        .map_err(|e| Error::io("the scratch directory", e))
}

/// Removes what dead processes had half written in this directory.
pub fn sweep(ws: &Workspace, dir: &str) {
    for name in ws.list(dir).unwrap_or_default() {
        let Some(writer) = writer_of(&name) else {
            continue;
        };
        let pid = i32::try_from(writer).ok().and_then(Pid::from_raw);
        let dead = pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH));
        if dead && let Err(e) = ws.remove_file(&format!("{dir}/{name}")) {
            tracing::warn!("{dir}/{name} can't be removed: {e}");
        }
    }
}

/// Ends what a dead host left running, and removes what it left lying about. Says the pids of what there was.
pub fn end(ws: &Workspace) -> Vec<u32> {
    let names = ws.list(DIR).unwrap_or_default();
    for name in names.iter().filter(|n| n.starts_with(SCRATCH)) {
        if let Err(e) = ws.remove_dir_all(&format!("{DIR}/{name}")) {
            tracing::warn!("{DIR}/{name} can't be removed: {e}");
        }
    }
    let mut ended = Vec::new();
    for name in names.iter().filter(|n| n.starts_with(PREFIX)) {
        let path = format!("{DIR}/{name}");
        let child = ws.read(&path, 4096).ok().flatten();
        if let Some(child) = child.and_then(|bytes| serde_json::from_slice::<Child>(&bytes).ok())
            && ralph_process::reap_leftover(child.pid, child.start_time)
        {
            ended.push(child.pid);
        }
        let _ = ws.remove_file(&path);
    }
    ended
}
