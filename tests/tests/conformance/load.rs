//! Many clients, deaf ones among them, and a flood of output. Short here; `RALPH_LOAD=full` has a
//! thousand clients and a million lines, and holds the loop's speed against that without clients.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use ralph_tests::{LIMIT, Live, Project, socket};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

/// How much.
pub struct Size {
    clients: usize,
    /// Of them, those that never read.
    deaf: usize,
    lines: u64,
    /// A second.
    rate: u64,
    rounds: usize,
}

/// The long version is wanted: `RALPH_LOAD=full cargo test --release -p ralph-tests --test conformance`
/// after `cargo build --release`.
pub fn full() -> bool {
    std::env::var("RALPH_LOAD").is_ok_and(|v| v == "full")
}

pub fn size() -> Size {
    match full() {
        true => Size {
            clients: 1000,
            deaf: 200,
            // An unoptimised loop takes minutes for a million.
            lines: if cfg!(debug_assertions) {
                100_000
            } else {
                1_000_000
            },
            rate: 200_000,
            rounds: if cfg!(debug_assertions) { 3 } else { 5 },
        },
        false => Size {
            clients: 150,
            deaf: 30,
            lines: 60_000,
            rate: 200_000,
            rounds: 1,
        },
    }
}

/// A run whose agent waits, prints its lines, and ends.
pub fn printing(size: &Size) -> Project {
    let printer = env!("CARGO_BIN_EXE_fake-printer");
    let (lines, rate) = (size.lines, size.rate);
    let p = Project::build()
        .in_loop("max_iterations = 1")
        .agent(&format!(
            "cat >/dev/null; tell here x; cat \"$SIDE/go.fifo\" >/dev/null\n\
             '{printer}' {lines} {rate} \"$SIDE/took\"\ntell here x; cat \"$SIDE/go.fifo\" >/dev/null\n\
             echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n"
        ))
        .ready();
    p.fifo("here");
    p.fifo("go");
    p
}

/// A figure of the process's memory, in KiB.
pub fn memory(run: &Live, which: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", run.pid())).unwrap();
    let line = text.lines().find(|l| l.starts_with(which)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What one reader saw.
#[derive(Default)]
struct Seen {
    lines: u64,
    missed: u64,
    /// The newest of the printer's lines.
    newest: Option<u64>,
}

impl Seen {
    /// Checks one event: the lines come in order, and are missing nowhere but at a gap that was told.
    fn event(&mut self, event: &str, gap: &mut u64) {
        if event.contains(r#""type":"missed""#) {
            let event: Value = serde_json::from_str(event).unwrap();
            let count = event["params"]["data"]["count"].as_u64().unwrap();
            self.missed += count;
            *gap += count;
            return;
        }
        self.lines += 1;
        let text = event.split_once(r#""line":""#).unwrap().1;
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = digits.parse::<u64>() else {
            return;
        };
        let expected = self.newest.map_or(0, |n| n + 1) + *gap;
        assert_eq!(number, expected, "after {:?} and {gap} missed", self.newest);
        self.newest = Some(number);
        *gap = 0;
    }
}

/// Reads to the end; meets the others once it listens, and once it knows of so many lines.
async fn read(stream: UnixStream, meet: Arc<Barrier>, lines: u64) -> Seen {
    let mut stream = BufReader::with_capacity(64 * 1024, stream);
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["output"]}}"#;
    stream
        .write_all(format!("{ask}\n").as_bytes())
        .await
        .unwrap();
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    assert!(line.contains("subscribed"), "{line}");
    meet.wait().await;
    let (mut seen, mut gap) = (Seen::default(), 0);
    loop {
        line.clear();
        match stream.read_line(&mut line).await {
            Ok(0) | Err(_) => return seen,
            Ok(_) => assert!(line.ends_with('\n'), "cut off: {line}"),
        }
        seen.event(&line, &mut gap);
        if seen.lines + seen.missed == lines {
            meet.wait().await;
        }
    }
}

/// The clients, on a thread that goes behind everything else: told is when all listen and when all know
/// of all lines; what the readers saw in the end.
fn clients(path: PathBuf, size: &Size) -> (Receiver<()>, JoinHandle<Vec<Seen>>) {
    let (ready, there) = channel();
    let (count, deaf, lines) = (size.clients, size.deaf, size.lines);
    let work = move || {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, 19);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let (mut readers, mut kept) = (JoinSet::new(), Vec::new());
            let meet = Arc::new(Barrier::new(count - deaf + 1));
            for n in 0..count {
                let mut stream = UnixStream::connect(&path).await.unwrap();
                if n < deaf {
                    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["*"]}}"#;
                    stream.write_all(format!("{ask}\n").as_bytes()).await.unwrap();
                    kept.push(stream);
                } else {
                    readers.spawn(read(stream, meet.clone(), lines));
                }
            }
            for _ in 0..2 {
                meet.wait().await;
                ready.send(()).unwrap();
            }
            let seen = readers.join_all().await;
            drop(kept);
            seen
        })
    };
    (there, std::thread::spawn(work))
}

/// One run; the seconds its agent took to be rid of its lines, and its memory.
struct Round {
    took: f64,
    /// Once all clients are there, and at the end.
    memory: [u64; 2],
}

fn round(size: &Size, with_clients: bool) -> Round {
    let p = printing(size);
    let run = p.start(&["run"]);
    p.hear("here");
    let readers = with_clients.then(|| {
        let (there, thread) = clients(socket(&p), size);
        there.recv_timeout(LIMIT).unwrap();
        (there, thread)
    });
    let before = memory(&run, "VmRSS:");
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    p.hear("here");
    let took = p.noted("took").parse().unwrap();
    if let Some((there, _)) = &readers {
        there.recv_timeout(LIMIT).unwrap();
    }
    let after = memory(&run, "VmHWM:");
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    run.wait().expect(1);
    let seen = readers.map(|(_, thread)| thread.join().unwrap());
    for seen in seen.unwrap_or_default() {
        assert!(seen.lines > 0 && seen.lines + seen.missed >= size.lines);
    }
    p.run(&["verify"]).expect(0);
    Round {
        took,
        memory: [before, after],
    }
}

/// G02
#[test]
fn a_run_goes_on_at_its_own_speed_however_many_watch_it_and_however_few_read() {
    let size = size();
    let mut took: BTreeMap<bool, Vec<f64>> = BTreeMap::new();
    for _ in 0..size.rounds {
        for with in [false, true] {
            let round = round(&size, with);
            let [before, after] = round.memory;
            eprintln!(
                "clients {with}: {:.3} s, {before} KiB, at most {after} KiB",
                round.took
            );
            // What is kept for all of them, and a piece for each on its way.
            let bound = (48 * 1024 + 64 * size.clients as u64) * u64::from(with) + 24 * 1024;
            assert!(after < before + bound, "{before} KiB, then {after} KiB");
            took.entry(with).or_default().push(round.took);
        }
    }
    let median = |with: bool| {
        let mut all = took[&with].clone();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let ratio = median(true) / median(false);
    eprintln!("with clients against without: {ratio:.3}");
    // Times say little on a machine that does other things as well.
    assert!(
        !full() || cfg!(debug_assertions) || ratio <= 1.05,
        "{ratio}"
    );
}
