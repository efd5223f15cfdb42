//! Running programs: their output goes through, their time is bounded. Never
//! through a shell.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Minutes, for readable limits.
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

/// The cargo that runs us, in the root of the checkout.
pub fn cargo<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args).current_dir(crate::paths::root());
    command
}

/// A program with its arguments, in the root of the checkout.
pub fn program(name: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(args).current_dir(crate::paths::root());
    command
}

/// As it would be typed.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let first = command.get_program();
    words
        .map(|word| {
            let name = std::path::Path::new(word)
                .file_name()
                .filter(|_| word == first);
            name.unwrap_or(word).to_string_lossy().into_owned()
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs it with our own streams.
pub fn status(command: &mut Command, limit: Duration) -> Result<ExitStatus, String> {
    let text = shown(command);
    let mut child = command
        .spawn()
        .map_err(|e| format!("{text}: cannot be started: {e}"))?;
    let deadline = Instant::now() + limit;
    loop {
        let ended = child.try_wait().map_err(|e| format!("{text}: {e}"))?;
        if let Some(status) = ended {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!(
                "{text}: not done after {} minutes",
                limit.as_secs() / 60
            ));
        }
        // The standard library waits for a child for ever or not at all.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs it with our own streams; an exit code other than 0 is an error.
pub fn run(command: &mut Command, limit: Duration) -> Result<(), String> {
    let status = status(command, limit)?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{}: {status}", shown(command)))
    }
}

/// Standard output of something short, or None if it fails in any way.
pub fn answer(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
