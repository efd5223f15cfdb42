//! A client of `ralph listen` that speaks the protocol by hand.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use serde_json::{Value, json};

use crate::{LIMIT, Live, Project};

/// A server that listens, and where.
pub struct Listening {
    /// Its process.
    pub live: Live,
    /// Where tools are called.
    pub tools: SocketAddr,
    /// Where commands are given.
    pub commands: SocketAddr,
}

impl Listening {
    /// On any free ports.
    pub fn of(p: &Project, args: &[&str], change: impl Fn(&mut Command)) -> Listening {
        let mut command = p.command(
            &[
                &["listen", "--port", "0", "--repl-port", "0", "--json"],
                args,
            ]
            .concat(),
        );
        change(&mut command);
        let live = p.start_command(command);
        // Its first line says where.
        let said: Value = live.first_line();
        let at = |key: &str| said[key].as_str().unwrap().parse().unwrap();
        Listening {
            tools: at("tools"),
            commands: at("commands"),
            live,
        }
    }
}

/// One connection.
pub struct Peer {
    lines: BufReader<TcpStream>,
    asked: u64,
}

impl Peer {
    /// Connected, and nothing said.
    pub fn to(addr: SocketAddr) -> Peer {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Peer {
            lines: BufReader::new(stream),
            asked: 0,
        }
    }

    /// Connected, with `hello` answered.
    pub fn hello(addr: SocketAddr) -> Peer {
        let mut peer = Peer::to(addr);
        let said = peer.call(
            "hello",
            json!({"name": "test", "version": "1", "agent": "t", "pid": 7}),
        );
        assert_eq!(said["result"]["success"], true, "{said}");
        peer
    }

    /// Writes as it is.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.lines.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Its other half, to be written to meanwhile.
    pub fn writer(&self) -> TcpStream {
        self.lines.get_ref().try_clone().unwrap()
    }

    /// The next line; none at the connection's end.
    pub fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Asks with this id; the next line is the answer.
    pub fn call_as(&mut self, id: Value, method: &str, params: Value) -> Value {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(format!("{frame}\n"));
        let said = self.line().unwrap();
        assert_eq!(said["id"], id, "{said}");
        said
    }

    /// Asks with an id of its own.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.call_as(json!(self.asked), method, params)
    }

    /// Calls a tool.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({"name": name, "arguments": arguments}))
    }
}
