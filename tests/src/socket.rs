//! A client of a run's socket that speaks the protocol by hand, and a run that waits for it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::{Builder, LIMIT, Project};

/// The agent tells each of its starts, waits until it is let go, then does its work.
pub fn waiting() -> Builder {
    Project::build().agent(
        "n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\ntell here $n; cat \"$SIDE/go.fifo\" >/dev/null\necho \"work $n\" >>work.txt\necho 'EXIT_SIGNAL: true'\n",
    )
}

/// A project of that, with the pipes that it needs.
pub fn ready(builder: Builder) -> Project {
    let p = builder.ready();
    p.fifo("here");
    p.fifo("go");
    p
}

/// Lets the agent go on.
pub fn go(p: &Project) {
    std::fs::write(p.side("go.fifo"), "go").unwrap();
}

/// Where a run's socket is.
pub fn socket(p: &Project) -> PathBuf {
    p.all().join("home/.local/share/ralph/sockets/repo.sock")
}

/// One connection.
pub struct Client {
    lines: BufReader<UnixStream>,
    asked: u64,
}

impl Client {
    /// Connected, and nothing said.
    pub fn of(p: &Project) -> Client {
        let stream = UnixStream::connect(socket(p)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Client {
            lines: BufReader::new(stream),
            asked: 0,
        }
    }

    /// Writes as it is.
    pub fn send(&mut self, text: &str) {
        self.try_send(text).unwrap();
    }

    /// Writes as it is; the other end may be gone.
    pub fn try_send(&mut self, text: &str) -> std::io::Result<()> {
        self.lines.get_mut().write_all(text.as_bytes())
    }

    /// The next line; none at the connection's end.
    pub fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Asks, and gives the whole answer; events before it are lost.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&format!("{frame}\n"));
        loop {
            let said = self.line().unwrap();
            if said["id"] == id {
                return said;
            }
        }
    }

    /// Reads events until one of the run's state says so.
    pub fn wait_for(&mut self, key: &str, want: &Value) -> Value {
        loop {
            let said = self.line().unwrap_or_else(|| panic!("no {key} {want}"));
            if said["params"]["data"].get(key) == Some(want) {
                return said["params"].clone();
            }
        }
    }
}
