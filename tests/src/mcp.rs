//! A client of `ralph mcp` that speaks the protocol by hand.

use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};

use crate::{Bridge, Ended, Project};

/// What is asked for first.
pub const MCP_VERSION: &str = "2025-06-18";

/// A server that runs. What isn't a line of JSON-RPC on its standard output fails the test.
pub struct Mcp(Bridge);

impl Mcp {
    /// Started in the project, and nothing said.
    pub fn raw(p: &Project, args: &[&str], env: &[(&str, &str)]) -> Mcp {
        Mcp(Bridge::start(p, &[&["mcp"], args].concat(), env))
    }

    /// Started in the project, and introduced to each other.
    pub fn of(p: &Project) -> Mcp {
        Mcp::with(p, &[], &[])
    }

    /// The same with these arguments and variables.
    pub fn with(p: &Project, args: &[&str], env: &[(&str, &str)]) -> Mcp {
        let mut mcp = Mcp::raw(p, args, env);
        mcp.introduce();
        mcp
    }

    /// `initialize` and what belongs to it; what the server says of itself.
    pub fn introduce(&mut self) -> Value {
        let said = self.call(
            "initialize",
            json!({"protocolVersion": MCP_VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
        );
        assert!(said["result"].is_object(), "{said}");
        self.notify("notifications/initialized", json!({}));
        said["result"].clone()
    }

    /// Tells something.
    pub fn notify(&mut self, method: &str, params: Value) {
        let frame = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(format!("{frame}\n"));
    }

    /// Calls a tool; the whole answer.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Asks for a tool, without waiting; the id. Progress is told with the id as its token.
    pub fn ask_tool(&mut self, name: &str, arguments: Value) -> u64 {
        let token = self.next_id();
        let meta = json!({"progressToken": token});
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        self.ask("tools/call", params)
    }

    /// The next step that is told of a call.
    pub fn progress(&mut self, token: u64) -> Value {
        let found = self.find("progress", |said| {
            said["method"] == "notifications/progress" && said["params"]["progressToken"] == token
        });
        found["params"].clone()
    }

    /// Closes its standard input, and waits for its end.
    pub fn close(self) -> Ended {
        self.0.close()
    }

    /// Waits for its end.
    pub fn ended(self) -> Ended {
        self.0.ended()
    }
}

impl Deref for Mcp {
    type Target = Bridge;

    fn deref(&self) -> &Bridge {
        &self.0
    }
}

impl DerefMut for Mcp {
    fn deref_mut(&mut self) -> &mut Bridge {
        &mut self.0
    }
}
