//! The log on standard error.
//!
//! A command that serves others never waits for who reads it: what doesn't fit is left out, and
//! said so. An editor or an agent that holds the pipe and reads nothing would stop it otherwise.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::out::{Clean, color};

/// Lines that may wait.
const WAITING: usize = 1024;
/// At the end those that wait may take this long.
const LAST: Duration = Duration::from_millis(500);

/// How much is told, and how. `serves`: see [`crate::args::Command::serves`]. What goes wrong with
/// such a command's clients nobody but its log can tell, so warnings are told without being asked for.
pub fn start(verbose: u8, serves: bool) {
    let level = match verbose {
        0 if serves => LevelFilter::WARN,
        0 => LevelFilter::ERROR,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // `ralph_runner=debug,ralph::rpc=info`; what can't be read counts as not said.
    let wanted = std::env::var("RALPH_LOG").ok();
    let filter = wanted
        .and_then(|text| text.parse::<Targets>().ok())
        .unwrap_or_else(|| {
            let crates = [
                "artifacts",
                "cli",
                "plugins",
                "process",
                "rpc",
                "prompts",
                "runner",
                "sandbox",
                "serve",
                "workspace",
            ];
            let crates = crates.map(|name| (format!("ralph_{name}"), level));
            Targets::new()
                .with_targets(crates)
                .with_target(ralph_rpc::access::TARGET, level)
        })
        // It tells of whole messages, and what is in them is nobody's who reads a log.
        .with_target("rmcp", LevelFilter::OFF);
    if serves {
        let (send, lines) = sync_channel(WAITING);
        let spawned = std::thread::Builder::new().name("log".into());
        if spawned.spawn(move || write(&lines)).is_ok() {
            let _ = QUEUE.set(send);
        }
    }
    let text = tracing_subscriber::fmt::layer()
        .with_writer(|| Clean(Line))
        .with_ansi(color(&io::stderr()))
        .with_target(false);
    tracing_subscriber::registry()
        .with(text.with_filter(filter))
        .init();
}

/// What waits is written, if anybody reads it.
pub fn end() {
    let Some(queue) = QUEUE.get() else { return };
    let (done, written) = sync_channel(1);
    if queue.try_send(Said::Done(done)).is_ok() {
        let _ = written.recv_timeout(LAST);
    }
}

enum Said {
    Line(Vec<u8>),
    Done(SyncSender<()>),
}

static QUEUE: OnceLock<SyncSender<Said>> = OnceLock::new();
static LOST: AtomicU64 = AtomicU64::new(0);

fn write(lines: &Receiver<Said>) {
    for said in lines {
        let lost = LOST.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(io::stderr(), "{lost} lines of the log are missing here");
        }
        match said {
            Said::Line(line) => {
                let _ = io::stderr().write_all(&line);
            }
            Said::Done(done) => {
                let _ = done.try_send(());
            }
        }
    }
}

/// One line at a time.
struct Line;

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match QUEUE.get() {
            None => io::stderr().write_all(line)?,
            Some(queue) if queue.try_send(Said::Line(line.to_vec())).is_err() => {
                LOST.fetch_add(1, Ordering::Relaxed);
            }
            Some(_) => {}
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
