//! A connection to the built binary, whichever transport it is of.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use ralph_tests::{LIMIT, Listening, Live, Project, ready, socket, waiting};
use serde_json::{Value, json};

/// What is spoken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A run's Unix socket.
    Socket,
    /// `ralph bridge`
    Stdio,
    /// The port for tools.
    Tools,
    /// The port for commands.
    Commands,
}

pub const ALL: [Kind; 4] = [Kind::Socket, Kind::Stdio, Kind::Tools, Kind::Commands];

impl Kind {
    /// A method that is quick and wants nothing.
    pub fn quick(self) -> &'static str {
        match self {
            Kind::Socket => "get_status",
            Kind::Stdio | Kind::Tools | Kind::Commands => "ping",
        }
    }

    /// A request for it with this id, as it is written.
    pub fn frame(self, id: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{}"}}"#,
            self.quick()
        )
    }
}

/// Does the same over each of them, and says which one was at fault.
pub fn over_each(check: impl Fn(&Served)) {
    for kind in ALL {
        eprintln!("over {kind:?}");
        check(&Served::of(kind));
    }
}

/// Somebody who serves, in a project of its own.
pub struct Served {
    pub kind: Kind,
    pub p: Project,
    /// Whoever listens; a bridge is started by each connection.
    pub live: Option<Live>,
    addr: Option<SocketAddr>,
}

impl Served {
    /// A run that is on waits in its first agent.
    pub fn of(kind: Kind) -> Served {
        let p = ready(waiting());
        let (live, addr) = match kind {
            Kind::Stdio => (None, None),
            Kind::Socket => {
                let run = p.start(&["run"]);
                assert_eq!(p.hear("here"), "1");
                (Some(run), None)
            }
            Kind::Tools | Kind::Commands => {
                let listening = Listening::of(&p, &[], |_| {});
                let addr = match kind {
                    Kind::Tools => listening.tools,
                    _ => listening.commands,
                };
                (Some(listening.live), Some(addr))
            }
        };
        Served {
            kind,
            p,
            live,
            addr,
        }
    }

    /// A connection that is past whatever comes first.
    pub fn connect(&self) -> Wire {
        let mut wire = self.silent();
        if self.addr.is_some() {
            let hello = json!({"name": "test", "version": "1", "agent": "t", "pid": 7});
            let said = wire.call("hello", hello);
            assert_eq!(said["result"]["success"], true, "{said}");
        }
        wire
    }

    /// A connection on which nothing was said.
    pub fn silent(&self) -> Wire {
        match (self.kind, self.addr) {
            (Kind::Socket, _) => {
                let stream = UnixStream::connect(socket(&self.p)).unwrap();
                let (read, write) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
                let shut = move || drop(stream.shutdown(Shutdown::Write));
                Wire::new(self.kind, read, write, shut, None)
            }
            (_, Some(addr)) => {
                let stream = TcpStream::connect(addr).unwrap();
                stream.set_nodelay(true).unwrap();
                let (read, write) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
                let shut = move || drop(stream.shutdown(Shutdown::Write));
                Wire::new(self.kind, read, write, shut, None)
            }
            _ => {
                let mut command = self.p.command(&["bridge"]);
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                command.stderr(Stdio::null());
                let mut child = command.spawn().unwrap();
                let (write, read) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
                let mut wire = Wire::new(self.kind, read, write, || {}, Some(child));
                assert_eq!(wire.any().unwrap()["params"]["type"], "bridge_started");
                wire
            }
        }
    }
}

/// One connection.
pub struct Wire {
    pub kind: Kind,
    write: Option<Box<dyn Write>>,
    shut: Option<Box<dyn FnOnce()>>,
    lines: Receiver<String>,
    child: Option<Child>,
    asked: u64,
}

impl Wire {
    fn new(
        kind: Kind,
        read: impl Read + Send + 'static,
        write: impl Write + 'static,
        shut: impl FnOnce() + 'static,
        child: Option<Child>,
    ) -> Wire {
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let mut read = BufReader::new(read);
            loop {
                // A cut off line is no line.
                let mut line = String::new();
                match read.read_line(&mut line) {
                    Ok(_) if line.ends_with('\n') => {}
                    _ => return,
                }
                line.pop();
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Wire {
            kind,
            write: Some(Box::new(write)),
            shut: Some(Box::new(shut)),
            lines,
            child,
            asked: 0,
        }
    }

    /// Writes as it is.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).unwrap();
    }

    /// Writes as it is; the other end may be gone.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        let write = self.write.as_mut().unwrap();
        write.write_all(bytes.as_ref())?;
        write.flush()
    }

    /// Nothing more is written.
    pub fn end_input(&mut self) {
        self.write.take();
        if let Some(shut) = self.shut.take() {
            shut();
        }
    }

    /// The next line as it was written, whatever it is; none at the end.
    pub fn raw(&mut self) -> Option<String> {
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{:?} says nothing more", self.kind),
        }
    }

    /// The next line, whatever it is.
    pub fn any(&mut self) -> Option<Value> {
        let line = self.raw()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")))
    }

    /// The next answer, as it was written; events are passed over.
    pub fn raw_answer(&mut self) -> Option<String> {
        loop {
            let line = self.raw()?;
            if !line.contains(r#""method":"event""#) {
                return Some(line);
            }
        }
    }

    /// The next answer; none at the end.
    pub fn answer(&mut self) -> Option<Value> {
        let line = self.raw_answer()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}")))
    }

    /// Asks without waiting; the id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(format!("{frame}\n"));
        id
    }

    /// Asks; the next answer has to be that.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let said = self
            .answer()
            .unwrap_or_else(|| panic!("{method}: no answer"));
        assert_eq!(said["id"], id, "{said}");
        said
    }

    /// It serves still.
    #[track_caller]
    pub fn lives(&mut self) {
        let said = self.call(self.kind.quick(), json!({}));
        assert!(said["result"].is_object(), "{said}");
    }

    /// Nothing more comes but the end, and events.
    #[track_caller]
    pub fn ends(&mut self) {
        assert_eq!(self.raw_answer(), None);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.end_input();
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An error's code; 0 if there is none.
pub fn code(said: &Value) -> i64 {
    said["error"]["code"].as_i64().unwrap_or_default()
}
