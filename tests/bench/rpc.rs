//! A request and its answer over each transport, against a bare echo of lines and against a server in
//! Python; and a flood of events to a hundred clients, against the same run that nobody watches.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scratch::{Plan, RAN, Scratch};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Compare, Promise, Row, Unit};
use crate::{Bench, echo};

const ROUNDS: usize = 15;
/// Requests of a round. A bridge takes thirty at once and ten a second, so it is given few, anew.
const TRIPS: usize = 2000;
const FEW_TRIPS: usize = 25;
/// So many are sent before the first answer is read, where that is measured.
const TOGETHER: usize = 100;

const FLOOD_ROUNDS: usize = 5;
const EVENTS: u64 = 100_000;
const CLIENTS: usize = 100;

/// Something that can't be waited for otherwise is there within this time.
const PATIENCE: Duration = Duration::from_secs(30);

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}}\n";
/// A run's socket has no `ping`; this changes nothing and says nothing much.
const NOTHING: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"unsubscribe\",\"params\":{\"events\":[]}}\n";
const HELLO: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"name\":\"bench\"}}\n";

/// A connection, and who is at its other end.
struct Talk {
    read: BufReader<Box<dyn Read>>,
    write: Option<Box<dyn Write>>,
    child: Child,
    frame: &'static str,
}

fn said<T, E: std::fmt::Display>(what: &str, done: Result<T, E>) -> Result<T, String> {
    done.map_err(|e| format!("{what}: {e}"))
}

impl Talk {
    fn new(
        child: Child,
        read: impl Read + 'static,
        write: impl Write + 'static,
        frame: &'static str,
    ) -> Talk {
        Talk {
            read: BufReader::new(Box::new(read)),
            write: Some(Box::new(write)),
            child,
            frame,
        }
    }

    fn over(&mut self, text: &str) -> Result<String, String> {
        self.send(text)?;
        self.line()
    }

    fn send(&mut self, text: &str) -> Result<(), String> {
        let write = self.write.as_mut().ok_or("closed")?;
        said("write", write.write_all(text.as_bytes()))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match said("read", self.read.read_line(&mut line))? {
            0 => Err("it has ended".into()),
            _ => Ok(line),
        }
    }

    /// Seconds for each of so many requests, of which so many are on their way at once.
    fn trips(&mut self, count: usize, together: usize) -> Result<f64, String> {
        let together = together.min(count);
        let frames = self.frame.repeat(together);
        let begun = Instant::now();
        for _ in 0..count / together {
            self.send(&frames)?;
            for _ in 0..together {
                let line = self.line()?;
                if line.contains("\"error\"") {
                    return Err(line);
                }
            }
        }
        Ok(begun.elapsed().as_secs_f64() / (count / together * together) as f64)
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.write.take();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> Result<(Child, BufReader<ChildStdout>), String> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = said("spawn", piped.stderr(Stdio::null()).spawn())?;
    let out = child.stdout.take().ok_or("no standard output")?;
    Ok((child, BufReader::new(out)))
}

/// One that is talked with over its socket only.
fn quiet(command: &mut Command) -> Result<Child, String> {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    said("spawn", quiet.stderr(Stdio::null()).spawn())
}

/// An echo or Python's server: its first line is its port.
fn other(
    command: &mut Command,
    how: &str,
    path: &Path,
    frame: &'static str,
) -> Result<Talk, String> {
    let _ = std::fs::remove_file(path);
    let (mut child, mut out) = spawn(command.arg(how).arg(path))?;
    let mut port = String::new();
    said("read", out.read_line(&mut port))?;
    let port: u16 = said("its port", port.trim().parse())?;
    if how == "stdio" {
        let input = child.stdin.take().ok_or("no standard input")?;
        return Ok(Talk::new(child, out, input, frame));
    }
    connect(child, how, path, port, frame)
}

fn connect(
    child: Child,
    how: &str,
    path: &Path,
    port: u16,
    frame: &'static str,
) -> Result<Talk, String> {
    if how == "unix" {
        let stream = waited(path)?;
        let write = said("clone", stream.try_clone())?;
        return Ok(Talk::new(child, stream, write, frame));
    }
    let stream = said("connect", TcpStream::connect(("127.0.0.1", port)))?;
    said("nodelay", stream.set_nodelay(true))?;
    let write = said("clone", stream.try_clone())?;
    Ok(Talk::new(child, stream, write, frame))
}

/// Connects as soon as somebody listens.
fn waited(path: &Path) -> Result<UnixStream, String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return Ok(stream),
            Err(e) if Instant::now() > until => return Err(format!("{}: {e}", path.display())),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn ralph(scratch: &Scratch, how: &str) -> Result<Talk, String> {
    match how {
        "unix" => {
            let child = quiet(&mut scratch.ralph(&["run", "-n", "1"]))?;
            connect(child, how, &socket(scratch), 0, NOTHING)
        }
        "tcp" => {
            let args = ["listen", "--port", "0", "--repl-port", "0", "--json"];
            let (child, mut out) = spawn(&mut scratch.ralph(&args))?;
            let mut line = String::new();
            said("read", out.read_line(&mut line))?;
            let told: Value = said("its ports", serde_json::from_str(&line))?;
            let addr = told["tools"].as_str().unwrap_or_default();
            let port = addr.rsplit(':').next().unwrap_or_default();
            let mut talk = connect(
                child,
                how,
                Path::new(""),
                said("its port", port.parse())?,
                PING,
            )?;
            talk.over(HELLO)?;
            Ok(talk)
        }
        _ => {
            let (mut child, out) = spawn(&mut scratch.ralph(&["bridge"]))?;
            let input = child.stdin.take().ok_or("no standard input")?;
            let mut talk = Talk::new(child, out, input, PING);
            talk.line()?;
            Ok(talk)
        }
    }
}

fn socket(scratch: &Scratch) -> PathBuf {
    scratch.path("home/.local/share/ralph/sockets/project.sock")
}

/// Measures one who answers: one connection for all rounds, or a few requests of a new one.
fn side<'a>(
    how: &str,
    together: usize,
    start: impl Fn() -> Result<Talk, String> + 'a,
) -> Result<Side<'a>, String> {
    if how == "stdio" {
        return Ok(Box::new(move || {
            let mut talk = start()?;
            talk.trips(1, 1)?;
            talk.trips(FEW_TRIPS, together)
        }));
    }
    let mut talk = start()?;
    Ok(Box::new(move || talk.trips(TRIPS, together)))
}

/// The group `rpc`.
pub fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let config = "[loop]\nagent = \"slow\"\n\n[agents.slow]\nplugin = \"command\"\n\
                  argv = [\"/bin/sh\", \"-c\", \"exec sleep 600\"]\n";
    let plan = Plan {
        files: 10,
        tasks: 10,
        config,
    };
    let scratch = Scratch::new(bench, &plan)?;
    let own = said("this program", std::env::current_exe())?;
    let python = Command::new("python3").arg("--version").output();
    let python = python.is_ok_and(|out| out.status.success());
    if !python {
        eprint!(" (there is no python3) ");
    }
    let mut rows = Vec::new();
    for (how, together) in [
        ("unix", 1),
        ("stdio", 1),
        ("tcp", 1),
        ("unix", TOGETHER),
        ("tcp", TOGETHER),
    ] {
        let paths = [scratch.path("echo.sock"), scratch.path("python.sock")];
        let mut sides = vec![
            side(how, together, || ralph(&scratch, how))?,
            side(how, together, || {
                other(Command::new(&own).arg("--echo"), how, &paths[0], PING)
            })?,
        ];
        if python {
            let start = || {
                let mut command = Command::new("python3");
                let command = command.args(["-I", "-c", echo::PYTHON]);
                other(command, how, &paths[1], PING)
            };
            sides.push(side(how, together, start)?);
        }
        let measured = interleave(ROUNDS, &mut sides)?;
        let what = match together {
            1 => format!("request over {how}"),
            _ => format!("{together} requests at once over {how}"),
        };
        // The echo answers a hundred lines without having read one of them as JSON.
        let promise = match together {
            1 => Promise::AtMost(1.5),
            _ => Promise::Nothing,
        };
        let (ours, echo) = (&measured[0], &measured[1]);
        let name = format!("{what}, bare echo of lines");
        rows.push(Row::ratio(&name, ours, echo, promise));
        if let Some(theirs) = measured.get(2) {
            let name = format!("{what}, asyncio");
            let row = Row::ratio(&name, ours, theirs, Promise::AtLeast(5.0));
            let compare = Compare::Faster;
            rows.push(Row { compare, ..row });
        }
    }
    rows.push(flood(bench)?);
    Ok(rows)
}

/// From the agent's first line until it is rid of its last, and every client has it or was told that it
/// missed it.
fn flood(bench: &Bench) -> Result<Row, String> {
    let config = format!(
        "[loop]\nagent = \"loud\"\n\n[agents.loud]\nplugin = \"command\"\n\
         argv = [\"/bin/sh\", \"-c\", \"while [ ! -e ../go ]; do sleep 0.01; done; \
         yes 'a line of what an agent says while it is at work' | head -n {EVENTS}; : >../printed; \
         while [ ! -e ../done ]; do sleep 0.01; done; date +%N >>work.txt; echo 'EXIT_SIGNAL: true'\"]\n"
    );
    let plan = Plan {
        files: 10,
        tasks: 1000,
        config: &config,
    };
    let scratch = Scratch::new(bench, &plan)?;
    let once = |clients: usize| -> Result<f64, String> {
        let mark = |name: &str| said(name, std::fs::write(scratch.path(name), ""));
        for name in ["go", "printed", "done"] {
            let _ = std::fs::remove_file(scratch.path(name));
        }
        let mut run = quiet(&mut scratch.ralph(&["run", "-n", "1"]))?;
        drop(waited(&socket(&scratch))?);
        let readers: Vec<_> = (0..clients)
            .map(|_| {
                let mut stream = said("connect", UnixStream::connect(socket(&scratch)))?;
                let ask = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscribe\",\"params\":{\"events\":[\"output\"]}}\n";
                said("write", stream.write_all(ask.as_bytes()))?;
                let mut stream = BufReader::with_capacity(1 << 16, stream);
                said("read", stream.read_line(&mut String::new()))?;
                Ok(std::thread::spawn(move || count(stream)))
            })
            .collect::<Result<_, String>>()?;
        let begun = Instant::now();
        mark("go")?;
        while !scratch.path("printed").exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        for reader in readers {
            reader.join().map_err(|_| "a reader panicked")??;
        }
        let took = begun.elapsed().as_secs_f64();
        mark("done")?;
        let code = said("wait", run.wait())?.code();
        match code.is_some_and(|code| RAN.contains(&code)) {
            true => Ok(took),
            false => Err(format!("the run ended with {code:?}")),
        }
    };
    let mut sides: Vec<Side<'_>> = vec![Box::new(|| once(CLIENTS)), Box::new(|| once(0))];
    let measured: [Samples; 2] = interleave(FLOOD_ROUNDS, &mut sides)?
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    let name = "100,000 events to 100 clients, the run alone";
    let row = Row::ratio(name, &measured[0], &measured[1], Promise::Nothing);
    Ok(Row {
        unit: Unit::Seconds,
        ..row
    })
}

/// Reads until so many events came, or were told to be missing.
fn count(stream: BufReader<UnixStream>) -> Result<(), String> {
    let mut seen = 0;
    for line in stream.lines() {
        let line = said("read", line)?;
        if line.contains("\"type\":\"missed\"") {
            let told: Value = said("an event", serde_json::from_str(&line))?;
            seen += told["params"]["data"]["count"].as_u64().unwrap_or_default();
        } else {
            seen += 1;
        }
        if seen >= EVENTS {
            return Ok(());
        }
    }
    Err(format!("a client knows of {seen} events"))
}
