//! A client of `ralph bridge` that speaks the protocol by hand.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{LIMIT, Project};

/// A bridge that runs. What isn't a line of JSON-RPC on its standard output fails the test.
pub struct Bridge {
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: PathBuf,
    lines: Receiver<String>,
    /// Read, and not asked for yet.
    waiting: VecDeque<Value>,
    asked: u64,
}

/// What is left when it has ended.
pub struct Ended {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The lines nobody had asked for, to the last.
    pub rest: Vec<Value>,
    /// Its standard error.
    pub stderr: String,
}

impl Ended {
    /// Types of the events that are left, in their order.
    pub fn events(&self) -> Vec<&str> {
        self.rest
            .iter()
            .filter(|v| v["method"] == "event")
            .filter_map(|v| v["params"]["type"].as_str())
            .collect()
    }
}

impl Bridge {
    /// Started in the project, with its first event read.
    pub fn of(p: &Project) -> Bridge {
        Bridge::with(p, &[])
    }

    /// The same with these variables.
    pub fn with(p: &Project, env: &[(&str, &str)]) -> Bridge {
        let mut bridge = Bridge::start(p, &["bridge"], env);
        bridge.event("bridge_started");
        bridge
    }

    /// Whatever speaks JSON-RPC on its standard input and output, and nothing read of it yet.
    pub fn start(p: &Project, args: &[&str], env: &[(&str, &str)]) -> Bridge {
        let mut command = p.command(args);
        command
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // In a file, so that nobody has to read it meanwhile.
            .stderr(File::create(p.side("bridge.stderr")).unwrap());
        let mut child = command.spawn().unwrap();
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if send.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Bridge {
            stderr: p.side("bridge.stderr"),
            stdin: child.stdin.take(),
            child,
            lines,
            waiting: VecDeque::new(),
            asked: 0,
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes.as_ref()).unwrap();
        stdin.flush().unwrap();
    }

    /// The id of what is asked next.
    pub fn next_id(&self) -> u64 {
        self.asked + 1
    }

    /// Asks, without waiting; the id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(format!("{frame}\n"));
        id
    }

    /// Asks, and gives the whole answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// The result of asking.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let said = self.call(method, params);
        assert!(said.get("error").is_none(), "{method}: {said}");
        said["result"].clone()
    }

    /// The answer to what was asked.
    pub fn answer(&mut self, id: u64) -> Value {
        self.find(&format!("an answer to {id}"), |said| said["id"] == id)
    }

    /// The next event of this type; what else comes before it waits.
    pub fn event(&mut self, name: &str) -> Value {
        let found = self.find(name, |said| {
            said["method"] == "event" && said["params"]["type"] == name
        });
        found["params"].clone()
    }

    /// The next line, whatever it is.
    pub fn line(&mut self) -> Value {
        self.find("a line", |_| true)
    }

    /// Types of the events that came, and weren't asked for yet.
    pub fn seen(&self) -> Vec<String> {
        let types = self.waiting.iter().map(|v| &v["params"]["type"]);
        types
            .filter_map(|t| t.as_str().map(str::to_owned))
            .collect()
    }

    /// The next line that is so; what else comes before it waits.
    pub fn find(&mut self, what: &str, which: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&which) {
            return self.waiting.remove(at).unwrap();
        }
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|e| {
                panic!("no {what} ({e}); there is {:?}", self.waiting);
            });
            let said = parsed(&line);
            if which(&said) {
                return said;
            }
            self.waiting.push_back(said);
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Closes its standard input, and waits for its end.
    pub fn close(mut self) -> Ended {
        self.stdin.take();
        self.ended()
    }

    /// Waits for its end.
    pub fn ended(mut self) -> Ended {
        let mut rest: Vec<Value> = self.waiting.drain(..).collect();
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => rest.push(parsed(&line)),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(e) => panic!("the bridge doesn't end ({e})"),
            }
        }
        // Its streams may be closed before it has written the last of its log.
        let code = self.child.wait().unwrap().code();
        let stderr = String::from_utf8_lossy(&std::fs::read(&self.stderr).unwrap()).into_owned();
        Ended { code, rest, stderr }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stdin.take();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parsed(line: &str) -> Value {
    let said: Value =
        serde_json::from_str(line).unwrap_or_else(|e| panic!("no JSON on stdout ({e}): {line:?}"));
    for one in said.as_array().unwrap_or(&vec![said.clone()]) {
        assert_eq!(one["jsonrpc"], "2.0", "no JSON-RPC on stdout: {line}");
    }
    said
}
