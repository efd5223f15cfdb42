//! The Model Context Protocol on standard input and output: an agent asks for the tools that other
//! programs ask for over TCP. The protocol is the crate `rmcp`'s.
//!
//! - here: the connection, from its first line to its last
//! - [`wire`]: between lines and the crate's messages; [`lines`]: those that come; [`typed`]: what
//!   there is to be asked and answered
//! - [`offer`]: what is offered; [`progress`]: what is told of a call that takes long

mod lines;
mod offer;
mod progress;
mod typed;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use ralph_plugins::Host;
use rmcp::service::serve_directly;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::access::{Access, Peer};
use crate::server::{Client, LAST, write_out};
use crate::tools::{Roots, Tools, Waits};

/// Once nothing more comes, what was asked before may take this long.
const BRIEFLY: Duration = Duration::from_secs(3);

/// What is served.
pub struct Mcp {
    /// Projects lie in these.
    pub roots: Roots,
    /// The component host.
    pub host: Host,
    /// Told to the client.
    pub version: &'static str,
}

/// Serves until the client's end, or until `stop` is ready. Then the run that is on is ended, its
/// agent with it, and so is a step or a check; what else was asked has its answer, unless it was
/// `stop`. A client that doesn't read any more is waited for half a second.
pub async fn serve(
    read: impl AsyncRead + Unpin,
    write: impl AsyncWrite + Unpin + Send + 'static,
    mcp: Mcp,
    stop: impl Future<Output = ()>,
) {
    let access = Access::came("mcp", Some(Peer::Parent));
    let client = Arc::new(Client::told_of(access));
    let tools = Arc::new(Tools::new(mcp.roots, mcp.host, mcp.version));
    let (leave, waits) = watch::channel(Waits::Long);
    let mut writing = tokio::spawn({
        let client = client.clone();
        // There are no events but what `rmcp` sends.
        async move { write_out(write, &client, |_| String::new(), &|_, _| {}).await }
    });
    let (lines, wire) = wire::ends(client.clone());
    let offer = offer::Offer::new(tools.clone(), waits, mcp.version);
    // Whether the client has introduced itself is the wire's to know: a mistake there is answered, and
    // doesn't end the connection.
    let service = serve_directly(offer, wire, None);
    let mut service = tokio::spawn(async move { drop(service.waiting().await) });
    let mut stop = std::pin::pin!(stop);
    let ended = tokio::select! {
        () = lines.read(read) => Waits::Briefly,
        () = &mut stop => Waits::No,
        // Nobody is there to read any more.
        _ = &mut writing => Waits::No,
        _ = &mut service => Waits::No,
    };
    leave.send_replace(ended);
    tools.end().await;
    if !service.is_finished() {
        if ended == Waits::Briefly {
            tokio::select! {
                _ = timeout(BRIEFLY, &mut service) => {}
                () = &mut stop => {}
            }
        }
        leave.send_replace(Waits::No);
        if !service.is_finished() && timeout(LAST, &mut service).await.is_err() {
            service.abort();
        }
    }
    // What was about to begin has begun meanwhile.
    tools.end().await;
    client.outbox.finish();
    if !writing.is_finished() && timeout(LAST, &mut writing).await.is_err() {
        writing.abort();
    }
    if let Some(access) = client.access() {
        access.left();
    }
}
