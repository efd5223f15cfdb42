//! What an agent prints on its way into the raw log: read from the pipe, looked
//! through for secrets, written and rotated. Against `cat` that writes the same
//! from a pipe into a file.

use std::process::Command;
use std::time::Instant;

use ralph_process::{Secrets, Spawn, start};
use ralph_runner::rawlog::RawLog;
use ralph_workspace::Workspace;

use crate::Bench;
use crate::child;
use crate::stats::{Samples, Side, interleave};
use crate::table::{Promise, Row};

const BYTES: u64 = 1 << 30;
const ROUNDS: usize = 3;
/// As `[files] log_size` has it.
const LOG: u64 = 64 << 20;

/// The group.
pub fn rows(_: &Bench) -> Result<Vec<Row>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let ws = Workspace::open(dir.path()).map_err(|e| e.to_string())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let print = format!("yes 'a line of what an agent says while it is at work' | head -c {BYTES}");
    let secrets = Secrets::of((0..8).map(|n| {
        (
            format!("KEY_{n}_TOKEN"),
            format!("tok-{n}-0123456789abcdef"),
        )
    }));
    let pump = || -> Result<f64, String> {
        let begun = Instant::now();
        runtime.block_on(async {
            let mut log = RawLog::open(&ws, "agent.log", LOG).map_err(|e| e.to_string())?;
            let mut running = start(Spawn {
                args: vec!["-c".into(), print.clone().into()],
                env: ralph_process::environment(&[]),
                secrets: secrets.clone(),
                ..Spawn::new("/bin/sh", dir.path())
            })
            .map_err(|e| e.to_string())?;
            let mut bytes = 0;
            while let Some(piece) = running.next().await {
                bytes += piece.len() as u64;
                log.write(&piece);
            }
            running.finish().await;
            match bytes {
                BYTES => Ok(()),
                other => Err(format!("{other} bytes came of {BYTES}")),
            }
        })?;
        Ok(begun.elapsed().as_secs_f64())
    };
    let mut cat = Command::new("/bin/sh");
    cat.args(["-c", &format!("{print} | cat >cat.log")])
        .current_dir(dir.path());
    let mut sides: Vec<Side<'_>> =
        vec![Box::new(pump), Box::new(|| child::seconds(&mut cat, &[0]))];
    let measured = interleave(ROUNDS, &mut sides)?;
    let [ours, theirs]: [Samples; 2] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    Ok(vec![Row::ratio(
        "1 GiB into the log, `cat >file`",
        &ours,
        &theirs,
        Promise::AtMost(2.0),
    )])
}
