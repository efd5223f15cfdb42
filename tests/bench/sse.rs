//! Readers of a run's events: some that follow, some that read nothing.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// What stands before the time at which a line was printed.
const MARK: &str = "printed at ";
/// What a reader that reads nothing lets the system keep for it.
const LITTLE: u32 = 8 << 10;
/// One in so many readers is timed.
const TIMED: usize = 10;
/// Nobody waits longer.
const LIMIT: Duration = Duration::from_secs(120);

fn nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// This program as the agent: `bench --print LINES RATE LENGTH` prints so many lines, so many a second
/// (0: at once), each with its time and of at least such a length.
pub fn main(lines: &str, rate: &str, length: &str) -> ExitCode {
    let number = |text: &str| text.parse::<u64>().unwrap_or_default();
    match print(
        number(lines),
        number(rate),
        &"x".repeat(number(length) as usize),
    ) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn print(lines: u64, rate: u64, filling: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let begun = Instant::now();
    let mut printed = 0;
    while printed < lines {
        let due = match rate {
            0 => lines,
            rate => (begun.elapsed().as_secs_f64() * rate as f64) as u64,
        };
        while printed < due.min(lines) {
            writeln!(out, "{MARK}{} {filling}", nanos())?;
            printed += 1;
        }
        out.flush()?;
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// What readers are to do.
#[derive(Clone)]
pub struct Plan {
    /// The service.
    pub addr: SocketAddr,
    /// Its run.
    pub run: String,
    /// A token.
    pub token: String,
    /// Those that follow begin behind this event.
    pub after: u64,
    /// How many follow, and how many read nothing.
    pub readers: usize,
    /// See `readers`.
    pub stalled: usize,
}

impl Plan {
    async fn connect(&self, stalled: bool) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        let last = match stalled {
            // It has all of the past before it, and so is full at once.
            true => {
                socket.set_recv_buffer_size(LITTLE)?;
                String::new()
            }
            false => format!("last-event-id: {}\r\n", self.after),
        };
        let mut stream = socket.connect(self.addr).await?;
        let request = format!(
            "GET /v1/runs/{}/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{last}\r\n",
            self.run, self.addr, self.token
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(stream)
    }
}

/// Follows to the run's end; an error if an event is missing. Looks at what it says only if it is timed:
/// the readers have to be faster than what they measure.
async fn follow(
    mut stream: TcpStream,
    after: u64,
    timed: bool,
    ready: oneshot::Sender<()>,
) -> Result<Option<Vec<f64>>, String> {
    let mut ready = Some(ready);
    let (mut buffer, mut delays) = (Vec::with_capacity(1 << 16), Vec::new());
    let mut at = after;
    loop {
        let read = stream
            .read_buf(&mut buffer)
            .await
            .map_err(|e| e.to_string())?;
        let now = nanos();
        if let Some(ready) = ready.take() {
            let _ = ready.send(());
        }
        let Some(end) = buffer.iter().rposition(|b| *b == b'\n') else {
            continue;
        };
        for line in buffer[..end].split(|b| *b == b'\n') {
            if !timed && line.starts_with(b"data: ") {
                continue;
            }
            if let Some(id) = line.strip_prefix(b"id: ") {
                let id = std::str::from_utf8(id)
                    .ok()
                    .and_then(|id| id.trim().parse().ok());
                if id != Some(at + 1) {
                    return Err(format!("after event {at} comes {id:?}"));
                }
                at += 1;
            } else if line.starts_with(b"event: resync") {
                return Err("a reader has missed events".to_owned());
            } else if line.starts_with(b"event: terminal") {
                return Ok(timed.then_some(delays));
            } else if line.starts_with(b"data: ") {
                let delay = |printed: u64| now.saturating_sub(printed) as f64 / 1e9;
                delays.extend(printed(line).map(delay));
            }
        }
        buffer.drain(..=end);
        if read == 0 {
            return Err(format!("the stream ends after event {at}"));
        }
    }
}

/// What was printed at once may be one event.
fn printed(line: &[u8]) -> impl Iterator<Item = u64> {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let times = text.split(MARK).skip(1);
    times.filter_map(|rest| rest.split(' ').next()?.parse().ok())
}

/// Readers at work.
pub struct Readers {
    following: Vec<JoinHandle<Result<Option<Vec<f64>>, String>>>,
    _stalled: Vec<TcpStream>,
}

impl Readers {
    /// All of them, once each that follows has heard something.
    pub async fn begin(plan: &Plan) -> Result<Readers, String> {
        let failed = |e: std::io::Error| format!("a reader: {e}");
        let mut stalled = Vec::new();
        for _ in 0..plan.stalled {
            stalled.push(plan.connect(true).await.map_err(failed)?);
        }
        let (mut following, mut ready) = (Vec::new(), Vec::new());
        for number in 0..plan.readers {
            let stream = plan.connect(false).await.map_err(failed)?;
            let (tell, hear) = oneshot::channel();
            following.push(tokio::spawn(follow(
                stream,
                plan.after,
                number % TIMED == 0,
                tell,
            )));
            ready.push(hear);
        }
        for hear in ready {
            let heard = tokio::time::timeout(LIMIT, hear).await;
            heard
                .map_err(|_| "a reader hears nothing")?
                .map_err(|_| "a reader is gone")?;
        }
        Ok(Readers {
            following,
            _stalled: stalled,
        })
    }

    /// Waits for the run's end; how long each line was on its way to each reader that is timed, in seconds.
    pub async fn end(self) -> Result<Vec<Vec<f64>>, String> {
        let mut all = Vec::new();
        for reader in self.following {
            let joined = tokio::time::timeout(LIMIT, reader).await;
            let joined = joined.map_err(|_| "a reader doesn't come to the end")?;
            all.extend(joined.map_err(|e| e.to_string())??);
        }
        Ok(all)
    }
}
