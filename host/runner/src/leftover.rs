//! Programs that outlived their host: remembered by pid and start time, one file
//! each, and ended at the next start.

use ralph_workspace::Workspace;
use serde::{Deserialize, Serialize};

const DIR: &str = ".ralph/tmp";
const PREFIX: &str = "child-";

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

/// Ends what a dead host left running. Says the pids of what there was.
pub fn end(ws: &Workspace) -> Vec<u32> {
    let names = ws.list(DIR).unwrap_or_default();
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
