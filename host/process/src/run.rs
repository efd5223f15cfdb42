//! A child that is run to its end, for gates.

use crate::running::Finished;
use crate::spawn::{Spawn, SpawnError, start_with_tail};
use crate::tail::Tail;

/// What is left of a child that was run to its end.
#[derive(Debug, Clone)]
pub struct RunOutput {
    /// How it ended. Its `stderr_tail` is empty, for it is `stderr` here.
    pub finished: Finished,
    /// The last bytes of standard output.
    pub stdout: Vec<u8>,
    /// The last bytes of standard error.
    pub stderr: Vec<u8>,
    /// Does either lack its beginning?
    pub truncated: bool,
}

/// Runs a child to its end and keeps the last `tail` bytes of either stream.
/// Dropping the future kills the child and all its descendants.
///
/// # Errors
/// See [`SpawnError`]. A child that fails, is ended by a signal or by a limit
/// is no error here: see [`RunOutput::finished`].
pub async fn run(spawn: Spawn, tail: usize) -> Result<RunOutput, SpawnError> {
    run_noted(spawn, tail, |_, _| {}).await
}

/// The same; `started` is told pid and start time, for [`crate::reap_leftover`].
///
/// # Errors
/// As for [`run`].
pub async fn run_noted(
    spawn: Spawn,
    tail: usize,
    started: impl FnOnce(u32, u64) + Send,
) -> Result<RunOutput, SpawnError> {
    let mut running = start_with_tail(spawn, tail)?;
    started(running.pid(), running.start_time());
    let mut stdout = Tail::new(tail);
    while let Some(piece) = running.next().await {
        stdout.push(&piece);
    }
    let (mut finished, lost_stderr) = running.finish_with_loss().await;
    let stderr = std::mem::take(&mut finished.stderr_tail);
    let (stdout, lost_stdout) = stdout.take();
    Ok(RunOutput {
        finished,
        stdout,
        stderr,
        truncated: lost_stdout || lost_stderr,
    })
}
