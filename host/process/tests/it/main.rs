//! Children of every ill behaviour, played by sh and the tools beside it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod host;
mod input;
mod limits;
mod output;
mod pty;
mod start;
mod tree;
mod warden;

use std::time::{Duration, Instant};

use ralph_process::{Finished, Running, Spawn};

/// `sh -c script` in the system's temporary directory.
fn sh(script: &str) -> Spawn {
    program("sh", &["-c", script])
}

fn program(name: &str, args: &[&str]) -> Spawn {
    let mut spawn = Spawn::new(name, std::env::temp_dir());
    spawn.args = args.iter().map(Into::into).collect();
    spawn.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    spawn
}

/// All the output there is, and the end.
async fn to_end(mut running: Running) -> (Vec<u8>, Finished) {
    let mut all = Vec::new();
    while let Some(piece) = running.next().await {
        assert!(!piece.is_empty() && piece.len() <= 64 * 1024);
        all.extend(piece);
    }
    (all, running.finish().await)
}

/// Reads until a whole line has come.
async fn line(running: &mut Running) -> String {
    let mut all = Vec::new();
    while !all.ends_with(b"\n") {
        all.extend(running.next().await.expect("a line"));
    }
    String::from_utf8(all).unwrap().trim().to_string()
}

fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

/// Is there a process with this pid, even a dead one that nobody buried?
fn is_listed(pid: &str) -> bool {
    std::fs::exists(format!("/proc/{pid}")).unwrap()
}

/// Not what it should have waited for: all of these last ten minutes.
fn within(limit: Duration, since: Instant) {
    let limit = limit + 60 * SECOND;
    let took = since.elapsed();
    assert!(took < limit, "took {took:?}, limit {limit:?}");
}

const SECOND: Duration = Duration::from_secs(1);
