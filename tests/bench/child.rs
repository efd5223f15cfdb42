//! Children: timed, watched for their memory, never waited for without end.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};

/// No child of the bench takes this long unless something is broken.
const LIMIT: Duration = Duration::from_secs(120);

/// Between two looks at a child's memory.
const LOOK: Duration = Duration::from_millis(2);

/// Runs to the end and returns the seconds it took. Its output goes nowhere; it is
/// shown if the exit code isn't one of `codes`.
pub fn seconds(command: &mut Command, codes: &[i32]) -> Result<f64, String> {
    let begun = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{command:?}: {e}"))?;
    let took = begun.elapsed().as_secs_f64();
    if output
        .status
        .code()
        .is_some_and(|code| codes.contains(&code))
    {
        return Ok(took);
    }
    Err(format!(
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Runs to the end and returns the most memory it had at a time, in bytes.
pub fn peak_memory(command: &mut Command, codes: &[i32]) -> Result<f64, String> {
    let mut child = quiet(command)
        .spawn()
        .map_err(|e| format!("{command:?}: {e}"))?;
    let status = format!("/proc/{}/status", child.id());
    let deadline = Instant::now() + LIMIT;
    let mut peak = 0.0;
    // The kernel keeps the mark as long as the process lives, and tells nobody when it ends.
    loop {
        if let Some(now) = fs::read_to_string(&status)
            .ok()
            .and_then(|text| high_water(&text))
        {
            peak = now;
        }
        if let Some(ended) = child.try_wait().map_err(|e| e.to_string())? {
            return match ended.code() {
                Some(code) if codes.contains(&code) => Ok(peak),
                _ => Err(format!("{command:?}: {ended}")),
            };
        }
        if Instant::now() >= deadline {
            return Err(give_up(&mut child, command));
        }
        std::thread::sleep(LOOK);
    }
}

/// Memory of this process, in bytes.
pub fn resident() -> Result<f64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|e| e.to_string())?;
    field(&status, "VmRSS:").ok_or_else(|| "/proc/self/status has no VmRSS".to_owned())
}

/// Memory of another process, in bytes.
pub fn memory_of(pid: u32) -> Result<f64, String> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    field(&status, "VmRSS:").ok_or_else(|| format!("{path} has no VmRSS"))
}

fn high_water(status: &str) -> Option<f64> {
    field(status, "VmHWM:")
}

fn field(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0)
}

/// A pipe by which a child's child says that it is there.
pub struct Signal {
    calls: Receiver<Instant>,
}

impl Signal {
    /// Makes the pipe at `path`.
    pub fn new(path: &Path) -> Result<Signal, String> {
        let failed = |e: String| format!("{}: {e}", path.display());
        mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).map_err(|e| failed(e.to_string()))?;
        // Open for both, so that it never ends and neither side waits for the other.
        let mut pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| failed(e.to_string()))?;
        let (calling, calls) = channel();
        std::thread::spawn(move || {
            let mut byte = [0];
            loop {
                match pipe.read(&mut byte) {
                    Ok(1..) if calling.send(Instant::now()).is_ok() => {}
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    _ => return,
                }
            }
        });
        Ok(Signal { calls })
    }

    /// Seconds from the start of the command to the first byte in the pipe. Waits
    /// for the command's end afterwards.
    pub fn seconds(&self, command: &mut Command, codes: &[i32]) -> Result<f64, String> {
        let begun = Instant::now();
        let mut child = quiet(command)
            .spawn()
            .map_err(|e| format!("{command:?}: {e}"))?;
        let Ok(called) = self.calls.recv_timeout(LIMIT) else {
            return Err(give_up(&mut child, command));
        };
        let status = child.wait().map_err(|e| e.to_string())?;
        if !status.code().is_some_and(|code| codes.contains(&code)) {
            return Err(format!("{command:?}: {status}"));
        }
        Ok(called.duration_since(begun).as_secs_f64())
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn give_up(child: &mut Child, command: &Command) -> String {
    let _ = child.kill();
    let _ = child.wait();
    format!("{command:?}: nothing after {} s", LIMIT.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read_in_bytes() {
        let status = "VmPeak:\t  99 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(high_water(status), Some(2_097_152.0));
        assert_eq!(high_water("Name:\tx\n"), None);
    }
}
