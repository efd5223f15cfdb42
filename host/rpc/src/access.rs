//! Rows of the log: who came, what was asked, what came of it, who left. Over every transport.
//!
//! Ids, methods and what clients say of themselves are their own words: shortened, on one line.
//! Parameters, results and tokens never get here. While nobody wants such rows, none is made.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use ralph_engine::text::one_line;
use tokio::net::unix::UCred;
use tracing::{Level, debug, enabled, info};

/// For `RALPH_LOG`, as in `ralph::rpc=debug`: comings and goings are `info`, requests `debug`.
pub const TARGET: &str = "ralph::rpc";

/// Of a client's words this many bytes are shown.
const SHOWN: usize = 60;

/// Where a client is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Peer {
    /// At a Unix socket: a process of this machine. Not every system tells its number.
    Process { pid: Option<i32>, uid: u32 },
    /// Who has started this process, and holds its standard input.
    Parent,
    /// At a TCP port.
    Address(SocketAddr),
}

impl From<UCred> for Peer {
    fn from(told: UCred) -> Peer {
        Peer::Process {
            pid: told.pid(),
            uid: told.uid(),
        }
    }
}

/// One client that came, for the log.
#[derive(Debug)]
pub struct Access {
    /// Counted over all transports.
    number: u64,
    transport: &'static str,
    since: Instant,
    requests: AtomicU64,
    left: AtomicBool,
}

/// Does anybody want to know who comes?
pub(crate) fn wanted() -> bool {
    enabled!(target: TARGET, Level::INFO)
}

/// What came of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    Result,
    /// With its code.
    Error(i32),
    /// Who asked wanted no answer any more.
    Cancelled,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Result => f.write_str("ok"),
            Outcome::Error(code) => code.fmt(f),
            Outcome::Cancelled => f.write_str("cancelled"),
        }
    }
}

fn shown(text: &str) -> String {
    one_line(text, SHOWN)
}

impl Access {
    /// A client came. `None` if nobody wants to know.
    pub(crate) fn came(transport: &'static str, peer: Option<Peer>) -> Option<Access> {
        static CAME: AtomicU64 = AtomicU64::new(1);
        if !wanted() {
            return None;
        }
        let client = CAME.fetch_add(1, Ordering::Relaxed);
        match peer {
            Some(Peer::Process { pid, uid }) => {
                info!(target: TARGET, client, transport, pid, uid, "connected");
            }
            Some(Peer::Parent) => {
                let pid = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
                info!(target: TARGET, client, transport, pid, "connected");
            }
            Some(Peer::Address(address)) => {
                info!(target: TARGET, client, transport, %address, "connected");
            }
            None => info!(target: TARGET, client, transport, "connected"),
        }
        Some(Access {
            number: client,
            transport,
            since: Instant::now(),
            requests: AtomicU64::new(0),
            left: AtomicBool::new(false),
        })
    }

    /// It says who it is.
    pub(crate) fn named(&self, [name, version, agent]: [Option<&str>; 3], pid: Option<u64>) {
        let [name, version, agent] = [name, version, agent].map(|text| text.map(shown));
        info!(
            target: TARGET, client = self.number, transport = self.transport,
            name, version, agent, pid, "named itself"
        );
    }

    /// What it asked is over.
    pub(crate) fn answered(
        &self,
        method: &str,
        id: Option<&str>,
        outcome: Outcome,
        begun: Instant,
    ) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if enabled!(target: TARGET, Level::DEBUG) {
            debug!(
                target: TARGET, client = self.number, transport = self.transport,
                id = id.map(shown), method = shown(method), %outcome,
                ms = millis(begun), "request"
            );
        }
    }

    /// What it sent is no request that could be carried out.
    pub(crate) fn refused(&self, id: Option<&str>, code: i32) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        debug!(
            target: TARGET, client = self.number, transport = self.transport,
            id = id.map(shown), outcome = code, "no request"
        );
    }

    /// It is gone.
    pub(crate) fn left(&self) {
        if !self.left.swap(true, Ordering::Relaxed) {
            info!(
                target: TARGET, client = self.number, transport = self.transport,
                requests = self.requests.load(Ordering::Relaxed),
                ms = millis(self.since), "left"
            );
        }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        self.left();
    }
}

/// With three digits behind the point.
fn millis(since: Instant) -> f64 {
    since.elapsed().as_micros() as f64 / 1000.0
}
