//! Running the binary, never longer than a limit.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// No single run of the binary takes longer, on the slowest machine.
pub const LIMIT: Duration = Duration::from_secs(300);

/// A run that came to its end.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Exit code; -1 if a signal ended it.
    pub code: i32,
    /// Standard output, invalid UTF-8 replaced.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
}

impl Ran {
    /// Panics with everything that was said unless it ended with this code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(
            self.code, code,
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Panics unless standard output or standard error holds the text.
    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(
            self.stdout.contains(text) || self.stderr.contains(text),
            "`{text}` isn't said\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Panics if standard output or standard error holds the text.
    #[track_caller]
    pub fn never_says(self, text: &str) -> Ran {
        let said = self.stdout.contains(text) || self.stderr.contains(text);
        assert!(
            !said,
            "`{text}` is said\n--- stdout\n{}\n--- stderr\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| {
            panic!(
                "no single JSON object ({e}):\n{}\n{}",
                self.stdout, self.stderr
            )
        })
    }
}

/// A run that is on. Dropped, it is killed.
pub struct Live {
    pid: Pid,
    ended: Receiver<std::io::Result<ExitStatus>>,
    files: [PathBuf; 2],
    since: Instant,
    over: bool,
}

impl Live {
    /// Starts it; output goes into files, so that nobody who holds a pipe can hold up its end.
    pub fn start(mut command: Command, [out, err]: [PathBuf; 2]) -> Live {
        command.stdout(Stdio::from(File::create(&out).expect("a file")));
        command.stderr(Stdio::from(File::create(&err).expect("a file")));
        let since = Instant::now();
        let mut child = command.spawn().expect("the binary starts");
        let pid = Pid::from_child(&child);
        let (tx, ended) = channel();
        std::thread::spawn(move || {
            let _ = tx.send(child.wait());
        });
        Live {
            pid,
            ended,
            files: [out, err],
            since,
            over: false,
        }
    }

    /// Waits for the first line of its standard output, which is JSON.
    #[track_caller]
    pub fn first_line(&self) -> Value {
        self.until(Live::said)
    }

    /// Waits until there is anything on its standard output.
    #[track_caller]
    pub fn first_words(&self) {
        self.until(|live| {
            let length = std::fs::metadata(&live.files[0]).expect("a file").len();
            (length > 0).then_some(())
        });
    }

    #[track_caller]
    fn until<T>(&self, seen: impl Fn(&Live) -> Option<T>) -> T {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(seen) = seen(self) {
                return seen;
            }
            let ended = !matches!(
                self.ended.try_recv(),
                Err(std::sync::mpsc::TryRecvError::Empty)
            );
            assert!(
                !ended && Instant::now() < until,
                "it says nothing: {}",
                std::fs::read_to_string(&self.files[1]).unwrap_or_default()
            );
            // A file tells nobody that it has grown.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The first line of its standard output, which is JSON, if it is there by now.
    #[track_caller]
    pub fn said(&self) -> Option<Value> {
        let text = std::fs::read_to_string(&self.files[0]).expect("text");
        let (line, _) = text.split_once('\n')?;
        Some(serde_json::from_str(line).expect("a line of JSON"))
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Kills it, if it lives still.
    pub fn kill(&self) {
        let _ = kill_process(self.pid, Signal::KILL);
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid, signal).expect("it lives");
    }

    /// Waits for its end; kills it and panics when [`LIMIT`] is over.
    #[track_caller]
    pub fn wait(self) -> Ran {
        self.wait_at_most(LIMIT)
    }

    /// Waits for its end; kills it and panics when the limit is over.
    #[track_caller]
    pub fn wait_at_most(mut self, limit: Duration) -> Ran {
        let read = |path: &PathBuf| {
            String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
        };
        let status = match self.ended.recv_timeout(limit) {
            Ok(status) => status.expect("a status"),
            Err(_) => panic!(
                "not over within {limit:?}\n{}\n{}",
                read(&self.files[0]),
                read(&self.files[1])
            ),
        };
        self.over = true;
        Ran {
            code: status.code().unwrap_or(-1),
            stdout: read(&self.files[0]),
            stderr: read(&self.files[1]),
            took: self.since.elapsed(),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.over {
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}
