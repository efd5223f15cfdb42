//! The service: one run asked for again and again, against a bare handler of axum's that answers with
//! the same bytes; and readers of a run's events, of whom some read nothing, against the same
//! without these.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Bench;
use crate::child::memory_of;
use crate::scratch::{Plan, Scratch};
use crate::sse::{self, Readers};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Compare, Promise, Row, Unit};

const TOKEN: &str = "bench-0123456789abcdef0123456789abcdef";
const ROUNDS: usize = 15;
/// Requests of a round, over so many connections.
const REQUESTS: usize = 8000;
const CONNECTIONS: [usize; 2] = [1, 8];

const FLOOD_ROUNDS: usize = 3;
const READERS: usize = 450;
const STALLED: usize = 50;
/// Events while they follow.
const EVENTS: u64 = 10_000;
const RATE: u64 = 1000;
/// So long the system takes in what the deaf are sent.
const FILLING: Duration = Duration::from_secs(5);
/// What is still the beginning.
const EARLY: Duration = Duration::from_secs(2);
/// Before: what those that read nothing are full of.
const PAST: u64 = 3000;
const PAST_LENGTH: usize = 4000;
/// Memory may grow by this much meanwhile.
const LIMIT: f64 = (10 << 20) as f64;
const PATIENCE: Duration = Duration::from_secs(60);

fn said<T, E: std::fmt::Display>(what: &str, done: Result<T, E>) -> Result<T, String> {
    done.map_err(|e| format!("{what}: {e}"))
}

/// A server that is ended when it is dropped.
struct Server {
    child: Child,
    addr: SocketAddr,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Its first line tells where it is.
    fn start(
        command: &mut Command,
        place: impl Fn(&str) -> Option<SocketAddr>,
    ) -> Result<Server, String> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = said("spawn", quiet.stderr(Stdio::null()).spawn())?;
        let out = child.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        said("read", BufReader::new(out).read_line(&mut line))?;
        match place(&line) {
            Some(addr) => Ok(Server { child, addr }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("it says no address: {line:?}"))
            }
        }
    }

    fn ralph(scratch: &Scratch) -> Result<Server, String> {
        let file = scratch.path("serve.toml");
        let text = format!(
            "[serve]\nlisten = \"127.0.0.1:0\"\ndata = {:?}\nrate = 100000000\n[workspaces.bench]\npath = {:?}\n",
            scratch.path("service"),
            scratch.root()
        );
        said("serve.toml", std::fs::write(&file, text))?;
        let file = file.display().to_string();
        let mut command = scratch.ralph(&["serve", "--json", "--config", &file]);
        command.env("RALPH_SERVE_TOKEN", TOKEN);
        Server::start(&mut command, |line| {
            let said: Value = serde_json::from_str(line).ok()?;
            said["listen"].as_str()?.parse().ok()
        })
    }

    /// axum with one handler, which answers with what is in the file.
    fn bare(body: &std::path::Path) -> Result<Server, String> {
        let own = said("this program", std::env::current_exe())?;
        Server::start(
            Command::new(own).args(["--echo", "axum"]).arg(body),
            |line| {
                Some(SocketAddr::from((
                    [127, 0, 0, 1],
                    line.trim().parse().ok()?,
                )))
            },
        )
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<Value, String> {
        let mut talk = Talk::new(self.addr)?;
        let answer = talk.over(method, path, body)?;
        said("an answer", serde_json::from_slice(&answer))
    }

    /// Submits a run; its id.
    fn submit(&self) -> Result<String, String> {
        let run = self.ask(
            "POST",
            "/v1/runs",
            r#"{"workspace_slug":"bench","config":{"max_iterations":1}}"#,
        )?;
        let id = run["run_id"].as_str();
        Ok(id.ok_or_else(|| format!("no run: {run}"))?.to_owned())
    }
}

/// A connection that is kept.
struct Talk {
    read: BufReader<TcpStream>,
    addr: SocketAddr,
}

impl Talk {
    fn new(addr: SocketAddr) -> Result<Talk, String> {
        let stream = said("connect", TcpStream::connect(addr))?;
        said("nodelay", stream.set_nodelay(true))?;
        said("time-out", stream.set_read_timeout(Some(PATIENCE)))?;
        let read = BufReader::with_capacity(1 << 16, stream);
        Ok(Talk { read, addr })
    }

    fn over(&mut self, method: &str, path: &str, body: &str) -> Result<Vec<u8>, String> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.addr,
            body.len()
        );
        said("write", self.read.get_mut().write_all(request.as_bytes()))?;
        let (mut line, mut length, mut first) = (String::new(), 0, true);
        loop {
            line.clear();
            said(path, self.read.read_line(&mut line))?;
            if std::mem::take(&mut first) && !line.starts_with("HTTP/1.1 20") {
                return Err(format!("{path}: {line}"));
            }
            if line.trim_end().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = said("a length", value.trim().parse())?;
            }
        }
        let mut bytes = vec![0; length];
        said(path, self.read.read_exact(&mut bytes))?;
        Ok(bytes)
    }
}

/// Seconds for each of so many requests over so many connections.
fn trips(addr: SocketAddr, path: &str, connections: usize) -> Result<f64, String> {
    let talks: Vec<Talk> = (0..connections)
        .map(|_| Talk::new(addr))
        .collect::<Result<_, _>>()?;
    let each = REQUESTS / connections;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let all: Vec<_> = talks
            .into_iter()
            .map(|mut talk| {
                scope
                    .spawn(move || (0..each).try_for_each(|_| talk.over("GET", path, "").map(drop)))
            })
            .collect();
        let mut all = all.into_iter();
        all.try_for_each(|one| one.join().map_err(|_| "a client panicked")?)
    })?;
    Ok(begun.elapsed().as_secs_f64() / (each * connections) as f64)
}

/// The group `serve`.
pub fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let mut rows = requests(bench)?;
    rows.extend(flood(bench)?);
    Ok(rows)
}

fn requests(bench: &Bench) -> Result<Vec<Row>, String> {
    let config =
        "[loop]\nagent = \"idle\"\n\n[agents.idle]\nplugin = \"command\"\nargv = [\"/bin/true\"]\n";
    let plan = Plan {
        files: 10,
        tasks: 10,
        config,
    };
    let scratch = Scratch::new(bench, &plan)?;
    let ours = Server::ralph(&scratch)?;
    let path = format!("/v1/runs/{}", ours.submit()?);
    let until = Instant::now() + PATIENCE;
    let run = loop {
        let run = ours.ask("GET", &path, "")?;
        if run["ended_at"].is_string() {
            break run;
        }
        if Instant::now() > until {
            return Err(format!("the run doesn't end: {run}"));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let body: PathBuf = scratch.path("body.json");
    said("the answer", std::fs::write(&body, run.to_string()))?;
    let bare = Server::bare(&body)?;
    CONNECTIONS
        .iter()
        .map(|connections| {
            let side = |addr: SocketAddr| {
                let path = path.as_str();
                Box::new(move || trips(addr, path, *connections)) as Side<'_>
            };
            let measured = interleave(ROUNDS, &mut [side(ours.addr), side(bare.addr)])?;
            let name = match connections {
                1 => "GET /v1/runs/{id}, bare handler of axum's".to_owned(),
                n => format!("the same over {n} connections"),
            };
            Ok(Row::ratio(
                &name,
                &measured[0],
                &measured[1],
                Promise::AtMost(2.0),
            ))
        })
        .collect()
}

/// What one flood showed.
#[derive(Default)]
struct Flooded {
    /// Of each event to each reader.
    middle: f64,
    /// The slowest hundredth begins here.
    slowest: f64,
    /// Of the service, in the beginning and at most.
    before: f64,
    most: f64,
}

fn flood(bench: &Bench) -> Result<Vec<Row>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = said("a runtime", runtime)?;
    let measured = |stalled: usize| runtime.block_on(once(bench, stalled));
    let mut found = [const { Vec::new() }; 2];
    for round in 0..=FLOOD_ROUNDS {
        let mut turn = [STALLED, 0];
        if round % 2 == 1 {
            turn.reverse();
        }
        for stalled in turn {
            let flooded = measured(stalled)?;
            if round > 0 {
                found[usize::from(stalled == 0)].push(flooded);
            }
        }
    }
    let [with, without] = found;
    let samples = |all: &[Flooded], what: fn(&Flooded) -> f64| {
        let mut samples = Samples::default();
        all.iter().for_each(|one| samples.push(what(one)));
        samples
    };
    let delay = |name: &str, what: fn(&Flooded) -> f64, promise| {
        Row::ratio(
            name,
            &samples(&with, what),
            &samples(&without, what),
            promise,
        )
    };
    let name = format!(
        "delay of {RATE} events a second to {READERS} readers, {STALLED} others deaf, none deaf"
    );
    Ok(vec![
        delay(&name, |f| f.middle, Promise::AtMost(1.25)),
        delay(
            "the same of the slowest hundredth",
            |f| f.slowest,
            Promise::Nothing,
        ),
        Row {
            name: "memory of the service meanwhile, at most, in its first two seconds".to_owned(),
            ours: samples(&with, |f| f.most),
            theirs: Some(samples(&with, |f| f.before)),
            unit: Unit::Bytes,
            compare: Compare::Difference,
            promise: Promise::AtMost(LIMIT),
        },
    ])
}

async fn once(bench: &Bench, stalled: usize) -> Result<Flooded, String> {
    let own = said("this program", std::env::current_exe())?;
    let (own, go) = (own.display(), tempfile::NamedTempFile::new());
    let go = said("a file", go)?.into_temp_path();
    let wait = go.display();
    let config = format!(
        "[loop]\nagent = \"loud\"\n\n[agents.loud]\nplugin = \"command\"\n\
         argv = [\"/bin/sh\", \"-c\", \"'{own}' --print {PAST} 0 {PAST_LENGTH}; \
         while [ -e '{wait}' ]; do sleep 0.01; done; '{own}' --print {EVENTS} {RATE} 0; \
         echo x >>work.txt; echo 'EXIT_SIGNAL: true'\"]\n"
    );
    let plan = Plan {
        files: 10,
        tasks: 10,
        config: &config,
    };
    let scratch = Scratch::new(bench, &plan)?;
    let server = Server::ralph(&scratch)?;
    let run = server.submit()?;
    let after = past(&server, &run)?;
    let plan = sse::Plan {
        addr: server.addr,
        run,
        token: TOKEN.to_owned(),
        after,
        readers: READERS,
        stalled,
    };
    let readers = Readers::begin(&plan).await?;
    // Those that read nothing have room for megabytes, and are full then: what fills them isn't to be measured.
    tokio::time::sleep(FILLING).await;
    let pid = server.child.id();
    drop(go);
    // Each reader has had its first pages then.
    let early = Instant::now() + EARLY;
    let mut before = memory_of(pid)?;
    let mut most = before;
    let mut end = std::pin::pin!(readers.end());
    let heard = loop {
        tokio::select! {
            ended = &mut end => break ended?,
            () = tokio::time::sleep(Duration::from_millis(50)) => {
                most = most.max(memory_of(pid)?);
                if Instant::now() < early {
                    before = most;
                }
            }
        }
    };
    let lines: Vec<usize> = heard.iter().map(Vec::len).collect();
    if lines.iter().any(|count| *count != lines[0]) {
        return Err(format!(
            "readers heard different numbers of lines: {lines:?}"
        ));
    }
    // What an agent prints beyond what the service can keep up with is left out, for all readers alike.
    if (lines[0] as u64) < EVENTS / 100 * 99 {
        return Err(format!(
            "the service was too slow: {} lines of {EVENTS}",
            lines[0]
        ));
    }
    let mut sorted = heard.concat();
    sorted.sort_by(f64::total_cmp);
    Ok(Flooded {
        middle: sorted[sorted.len() / 2],
        slowest: sorted[sorted.len() / 100 * 99],
        before,
        most,
    })
}

/// Waits until the past is told; the number of its last event.
fn past(server: &Server, run: &str) -> Result<u64, String> {
    let until = Instant::now() + PATIENCE;
    let mut talk = Talk::new(server.addr)?;
    let mut known = 0;
    while Instant::now() < until {
        // Nobody says that nothing more comes.
        std::thread::sleep(Duration::from_millis(500));
        let text = talk.over("GET", "/metrics", "")?;
        let text = String::from_utf8_lossy(&text);
        let told = text
            .lines()
            .find_map(|l| l.strip_prefix("ralph_events_total "));
        let told = told.and_then(|n| n.parse().ok()).unwrap_or(0);
        if told > PAST && told == known {
            return Ok(told);
        }
        known = told;
    }
    Err(format!("{run} has told {known} events of {PAST}"))
}
