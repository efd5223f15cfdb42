//! The TCP protocol: tools and commands for other programs of this machine, or, if a person says so,
//! of others.
//!
//! - here: the two ports
//! - [`session`]: one connection: who it is, what it may ask
//! - [`repeats`]: what was called before; what can be called is in [`crate::tools`]
//! - [`calls`]: what goes in and out of methods; [`commands`]: the port for `ralph`'s own commands
//! - [`token`]: who may ask at all

mod calls;
mod commands;
mod repeats;
mod session;
mod token;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ralph_plugins::Host;
use tokio::net::TcpListener;

use crate::schema::Document;
use crate::server::{Listener, Offer, Server};
use crate::tools::Roots;

pub use commands::{Commands, Evaluated};
pub use token::Token;

/// What is served, and to whom.
pub struct Listen {
    /// Projects lie in these.
    pub roots: Roots,
    /// Who may ask; anybody who reaches the port, if there is none.
    pub token: Option<Token>,
    /// So long a client may say nothing.
    pub idle: Duration,
    /// The component host.
    pub host: Host,
    /// Carries out what the port for commands is given.
    pub commands: Arc<dyn Commands>,
    /// Told to clients.
    pub version: &'static str,
}

/// Both ports, open.
pub struct Listening {
    servers: [Server; 2],
    shared: Arc<session::Shared>,
    /// Where tools are called.
    pub tools: SocketAddr,
    /// Where commands are given.
    pub commands: SocketAddr,
}

impl Listen {
    /// Opens both ports. Port 0 is any that is free.
    ///
    /// # Errors
    /// A port is taken, or the address isn't this machine's.
    pub async fn open(self, [tools, commands]: [SocketAddr; 2]) -> Result<Listening, Taken> {
        let bind = async |addr: SocketAddr| {
            let listener = TcpListener::bind(addr).await;
            listener
                .and_then(|l| Ok((l.local_addr()?, l)))
                .map_err(|source| Taken { addr, source })
        };
        let (tools, calls) = bind(tools).await?;
        let (commands, evals) = bind(commands).await?;
        let shared = Arc::new(session::Shared::new(self));
        let offers = |which| {
            let shared = shared.clone();
            Box::new(move || -> Arc<dyn Offer> {
                Arc::new(session::Session::new(shared.clone(), which))
            })
        };
        Ok(Listening {
            servers: [
                Server::start(Listener::Tcp(calls), offers(session::Port::Tools)),
                Server::start(Listener::Tcp(evals), offers(session::Port::Commands)),
            ],
            shared,
            tools,
            commands,
        })
    }
}

/// What these ports offer together.
fn document_of(ports: &[session::Port], version: &str) -> Document {
    let mut methods = calls::both();
    for port in ports {
        methods.extend(match port {
            session::Port::Tools => calls::of_tools(),
            session::Port::Commands => calls::of_commands(),
        });
    }
    let about = "TCP; one JSON-RPC 2.0 object per line. `hello` comes first; tools on one port, commands on the other.";
    Document::new("ralph listen", about, version, methods)
}

/// What both ports offer.
pub(crate) fn document(version: &str) -> Document {
    document_of(&[session::Port::Tools, session::Port::Commands], version)
}

impl Listening {
    /// Ends the runs that were started here, then every connection.
    pub async fn close(self) {
        self.shared.tools.end().await;
        for server in self.servers {
            server.close().await;
        }
    }
}

/// Why a port can't be opened.
#[derive(Debug, thiserror::Error)]
#[error("{addr} can't be listened on: {source}; another port is chosen by --port and --repl-port")]
pub struct Taken {
    /// Where.
    pub addr: SocketAddr,
    /// Why.
    pub source: std::io::Error,
}

/// Reads `RALPH_AUTH_TOKEN`'s kind of file.
///
/// # Errors
/// It can't be read, or holds no token.
pub fn token_file(path: &PathBuf) -> Result<Token, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let token = Token::new(text.trim()).map_err(|e| format!("{}: {e}", path.display()))?;
    ralph_process::also_secret("the token", text.trim());
    Ok(token)
}
