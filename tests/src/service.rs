//! A client of `ralph serve` that speaks HTTP by hand.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::{LIMIT, Live, Project};

/// Tokens of `serve.toml`, named like their roles.
pub const TOKENS: [(&str, &str); 3] = [
    ("observer", "observer-0123456789abcdef"),
    ("operator", "operator-0123456789abcdef"),
    ("admin", "admin-0123456789abcdef"),
];
/// The key `k1` of minted tokens.
pub const KEY: &str = "k1-0123456789abcdef0123456789abcdef";

/// A service with the project as its workspace `site`.
pub struct Service {
    /// Its process.
    pub live: Live,
    /// Where it listens.
    pub addr: SocketAddr,
}

/// What it answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

impl Answer {
    /// Panics unless it has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{text}");
        self
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Service {
    /// Writes `serve.toml` with these further lines of `[serve]` and further tables; its path.
    pub fn configure(p: &Project, serve: &str, tables: &str) -> PathBuf {
        let path = p.operator("serve.toml");
        let mut text = format!(
            "[serve]\nlisten = \"127.0.0.1:0\"\ndata = {:?}\n{serve}\n[workspaces.site]\npath = {:?}\n[keys.k1]\nenv = \"KEY_1\"\n{tables}\n",
            p.operator("service"),
            p.root()
        );
        for (role, token) in TOKENS {
            std::fs::write(p.operator(role), token).unwrap();
            let file = p.operator(role);
            text.push_str(&format!(
                "[tokens.{role}]\nrole = {role:?}\nfile = {file:?}\n"
            ));
        }
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A command that reads that file.
    pub fn command(p: &Project, args: &[&str]) -> Command {
        let file = p.operator("serve.toml").display().to_string();
        let mut command = p.command(&[args, &["--config", &file]].concat());
        command.env("KEY_1", KEY);
        command
    }

    /// Started with what [`Service::configure`] wrote.
    pub fn again(p: &Project) -> Service {
        Service::started(p, Service::command(p, &["serve", "--json"]))
    }

    /// Started by this command.
    pub fn started(p: &Project, command: Command) -> Service {
        let live = p.start_command(command);
        let addr = Service::place(&live.first_line());
        Service { live, addr }
    }

    /// Where it listens, by its first line.
    #[track_caller]
    pub fn place(said: &Value) -> SocketAddr {
        let addr = said["listen"].as_str().unwrap_or_else(|| panic!("{said}"));
        addr.parse().unwrap()
    }

    /// The usual one.
    pub fn of(p: &Project) -> Service {
        Service::configure(p, "", "");
        Service::again(p)
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(self) {
        self.live.kill();
        self.live.wait();
    }

    /// Sends bytes on a connection of their own; the answer.
    #[track_caller]
    pub fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        Service::answer(&mut BufReader::new(stream))
    }

    /// A connection on which nothing was said.
    pub fn connect(&self) -> TcpStream {
        connect(self.addr).unwrap()
    }

    /// Reads one answer.
    #[track_caller]
    pub fn answer(stream: &mut impl BufRead) -> Answer {
        Service::heard(stream).unwrap_or_else(|e| panic!("no answer: {e}"))
    }

    fn heard(stream: &mut impl BufRead) -> io::Result<Answer> {
        let mut first = String::new();
        stream.read_line(&mut first)?;
        let status = first.split(' ').nth(1).and_then(|s| s.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status: {first:?}")))?;
        let mut answer = Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => answer
                    .headers
                    .push((name.to_ascii_lowercase(), value.to_owned())),
                None if line.ends_with('\n') => break,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let length = answer.header("content-length");
        let length = length.map_or(0, |l| l.parse().unwrap());
        answer.body.resize(length, 0);
        stream.read_exact(&mut answer.body)?;
        Ok(answer)
    }

    /// A request to a service that may die at any moment.
    pub fn attempt(
        addr: SocketAddr,
        who: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> io::Result<Answer> {
        let mut stream = connect(addr)?;
        stream.write_all(request(addr, who, method, path, body, headers).as_bytes())?;
        Service::heard(&mut BufReader::new(stream))
    }

    /// A request of somebody with that role (or with a token; "" for none).
    #[track_caller]
    pub fn ask(&self, who: &str, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.ask_with(who, method, path, body, &[])
    }

    /// The same with further headers.
    #[track_caller]
    pub fn ask_with(
        &self,
        who: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.raw(request(self.addr, who, method, path, body, headers).as_bytes())
    }

    /// Submits a run of `site`; its id.
    #[track_caller]
    pub fn submit(&self, config: Value) -> String {
        let body = serde_json::json!({ "workspace_slug": "site", "config": config });
        let run = self
            .ask("operator", "POST", "/v1/runs", Some(body))
            .expect(201)
            .json();
        run["run_id"].as_str().unwrap().to_owned()
    }

    /// The run as the service knows it.
    #[track_caller]
    pub fn run(&self, id: &str) -> Value {
        self.ask("observer", "GET", &format!("/v1/runs/{id}"), None)
            .expect(200)
            .json()
    }

    /// Follows a run's events.
    #[track_caller]
    pub fn events(&self, id: &str, after: Option<&str>) -> Events {
        self.events_as("observer", id, after)
    }

    /// The same with this token.
    #[track_caller]
    pub fn events_as(&self, who: &str, id: &str, after: Option<&str>) -> Events {
        Service::follow(self.addr, who, id, after).unwrap()
    }

    /// Follows a run's events at a service that may die at any moment.
    pub fn follow(
        addr: SocketAddr,
        who: &str,
        id: &str,
        after: Option<&str>,
    ) -> io::Result<Events> {
        let last: Vec<(&str, &str)> = after.map(|a| ("last-event-id", a)).into_iter().collect();
        let path = format!("/v1/runs/{id}/events");
        let request = request(addr, who, "GET", &path, None, &last);
        let mut stream = connect(addr)?;
        stream.write_all(request.as_bytes())?;
        let mut stream = BufReader::new(stream);
        let answer = Service::heard(&mut stream)?;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        Ok(Events {
            stream,
            text: String::new(),
        })
    }

    /// Follows a run to its end; its last event.
    #[track_caller]
    pub fn ended(&self, id: &str) -> Value {
        let all: Vec<Event> = self.events(id, None).collect();
        let last = all.last().expect("events");
        assert_eq!(last.kind, "terminal", "{all:?}");
        last.data.clone()
    }
}

fn connect(addr: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(LIMIT))?;
    Ok(stream)
}

fn request(
    addr: SocketAddr,
    who: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
    headers: &[(&str, &str)],
) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", addr);
    let token = TOKENS.iter().find(|(role, _)| *role == who);
    let token = token.map_or(who, |(_, token)| token);
    if !token.is_empty() {
        text.push_str(&format!("authorization: Bearer {token}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = body.map(|b| b.to_string()).unwrap_or_default();
    if !body.is_empty() {
        text.push_str("content-type: application/json\r\n");
    }
    format!("{text}content-length: {}\r\n\r\n{body}", body.len())
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its id.
    pub id: u64,
    /// Its type.
    pub kind: String,
    /// What it says.
    pub data: Value,
}

impl Event {
    /// Panics unless each follows from the one before, the first from this one.
    #[track_caller]
    pub fn in_order(events: &[Event], after: u64) {
        let ids: Vec<u64> = events.iter().map(|e| e.id).collect();
        let wanted: Vec<u64> = (after + 1..).take(ids.len()).collect();
        assert_eq!(ids, wanted);
    }
}

/// A stream of events; ends with it, or when the service dies.
pub struct Events {
    stream: BufReader<TcpStream>,
    text: String,
}

impl Events {
    /// The next event of this type.
    #[track_caller]
    pub fn until(&mut self, kind: &str) -> Event {
        let found = self.find(|e| e.kind == kind);
        found.unwrap_or_else(|| panic!("the stream ended without `{kind}`"))
    }

    /// The next chunk of the body; false at its end.
    fn chunk(&mut self) -> bool {
        let mut size = String::new();
        if self.stream.read_line(&mut size).unwrap_or(0) == 0 {
            return false;
        }
        if !size.ends_with('\n') {
            return false;
        }
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk");
        let mut bytes = vec![0; size + 2];
        if self.stream.read_exact(&mut bytes).is_err() {
            return false;
        }
        self.text
            .push_str(std::str::from_utf8(&bytes[..size]).unwrap());
        size > 0
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let found = block.lines().find_map(|l| l.strip_prefix(name));
                    found.map(str::to_owned)
                };
                let event = field("data: ").map(|data| Event {
                    id: field("id: ").expect("an id").parse().unwrap(),
                    kind: field("event: ").expect("a type"),
                    data: serde_json::from_str(&data).expect("JSON"),
                });
                self.text = rest.to_owned();
                if event.is_some() {
                    return event;
                }
            }
            if !self.chunk() {
                return None;
            }
        }
    }
}
