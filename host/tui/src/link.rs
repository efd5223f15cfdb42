//! A connection to one run's socket. A thread of its own reads.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// One line may have this many bytes.
const LINE_MAX: u64 = 8 << 20;
/// A run that takes nothing for so long is not asked further.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a run says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// The answer to a request.
    Answer {
        /// The request's.
        id: u64,
        /// A result, or an error's message.
        result: Result<Value, String>,
    },
    /// An event: `type`, `timestamp`, `seq`, `data`.
    Event(Value),
    /// Nothing more.
    Closed,
}

/// The asking side.
#[derive(Debug)]
pub struct Link {
    stream: UnixStream,
    asked: u64,
}

impl Link {
    /// Connects. `hear` gets all that comes, until it returns false.
    ///
    /// # Errors
    /// Nobody serves there.
    pub fn open(
        path: &Path,
        mut hear: impl FnMut(Said) -> bool + Send + 'static,
    ) -> io::Result<Link> {
        let stream = UnixStream::connect(path)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut lines = BufReader::new(stream.try_clone()?);
        std::thread::Builder::new()
            .name("link".into())
            .spawn(move || {
                while let Some(said) = next(&mut lines) {
                    if !hear(said) {
                        return;
                    }
                }
                hear(Said::Closed);
            })?;
        Ok(Link { stream, asked: 0 })
    }

    /// Asks; the id that the answer will bear.
    ///
    /// # Errors
    /// Nobody reads it.
    pub fn ask(&mut self, method: &str, params: &Value) -> io::Result<u64> {
        self.asked += 1;
        let id = self.asked;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.stream.write_all(format!("{line}\n").as_bytes())?;
        Ok(id)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The reading thread ends with it.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

fn next(lines: &mut impl BufRead) -> Option<Said> {
    loop {
        let mut line = Vec::new();
        let read = lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        if !line.ends_with(b"\n") || read.is_err() {
            return None;
        }
        let said: Value = serde_json::from_slice(&line).ok()?;
        if let Some(said) = sorted(said) {
            return Some(said);
        }
    }
}

/// What a line is; nothing if it is neither an answer nor an event.
pub fn sorted(mut said: Value) -> Option<Said> {
    if let Some(id) = said["id"].as_u64() {
        let result = match said.get("error") {
            None => Ok(said["result"].take()),
            Some(error) => Err(error["message"].as_str().unwrap_or_default().to_owned()),
        };
        return Some(Said::Answer { id, result });
    }
    (said["method"] == "event").then(|| Said::Event(said["params"].take()))
}
