//! An agent program that outlived its host: remembered by pid and start time,
//! ended at the next start.

use ralph_workspace::Workspace;
use serde::{Deserialize, Serialize};

const PATH: &str = ".ralph/tmp/agent.json";

#[derive(Serialize, Deserialize)]
struct Child {
    pid: u32,
    start_time: u64,
}

/// Notes the program that is at work.
pub fn remember(ws: &Workspace, pid: u32, start_time: u64) {
    let child = Child { pid, start_time };
    if let Ok(bytes) = serde_json::to_vec(&child)
        && let Err(e) = ws.write_relaxed(PATH, &bytes)
    {
        tracing::warn!("{PATH} can't be written: {e}");
    }
}

/// It has ended.
pub fn forget(ws: &Workspace) {
    let _ = ws.remove_file(PATH);
}

/// Ends what a dead host left running. Says its pid if there was one.
pub fn end(ws: &Workspace) -> Option<u32> {
    let bytes = ws.read(PATH, 4096).ok()??;
    forget(ws);
    let child: Child = serde_json::from_slice(&bytes).ok()?;
    ralph_process::reap_leftover(child.pid, child.start_time).then_some(child.pid)
}
