//! A running child: its output, its input, its end.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::idle::{Alive, Idle};
use crate::keeper::{End, EndedBy, Stopper, at, keep};
use crate::output::{Input, Output};
use crate::pty::Terminal;
use crate::secrets::Stream;
use crate::spawn::{Spawn, Stdin};
use crate::tail::Tail;
use crate::tree::Root;

/// The largest piece of output, which is also what a Linux pipe holds.
const PIECE: usize = 64 * 1024;

/// How long a child's output is awaited after its end, if something it has
/// left behind holds the pipe.
const AFTER_END: Duration = Duration::from_millis(500);

/// Grace for what a child leaves behind at its own end.
const STRAY_GRACE: Duration = Duration::from_millis(500);

/// Bytes for standard input that may wait for the child to read them.
const STDIN_WAITING: usize = 16 * 1024 * 1024;

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// None if a signal ended it.
    pub code: Option<i32>,
    /// None unless a signal ended it.
    pub signal: Option<i32>,
    /// What brought the end about.
    pub ended_by: EndedBy,
    /// The last 64 KiB of standard error.
    pub stderr_tail: Vec<u8>,
    /// From start to end.
    pub duration: Duration,
}

/// Why bytes for standard input were not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StdinError {
    /// It was not kept open, is closed, or the program has ended.
    #[error("the program's standard input is closed")]
    Closed,
    /// More than 16 MiB wait for the program to read them.
    #[error("the program does not read its standard input: more than 16 MiB are waiting")]
    Full,
}

/// A running child. Dropping it kills the child and all its descendants.
#[derive(Debug)]
pub struct Running {
    root: Arc<Root>,
    started: Instant,
    idle: Idle,
    grace: Duration,
    stdout: Option<Output>,
    terminal: Option<Terminal>,
    /// Takes secrets out of it.
    clean: Stream,
    /// Bytes still to be read once [`AFTER_END`] is over.
    rest: Option<usize>,
    stderr: JoinHandle<()>,
    stderr_tail: Arc<Mutex<Tail>>,
    stdin: Option<mpsc::UnboundedSender<Vec<u8>>>,
    waiting: Arc<AtomicU64>,
    alive: Alive,
    stopper: Stopper,
    ended: watch::Receiver<Option<End>>,
    finished: bool,
}

impl Running {
    pub(crate) fn new(
        mut child: Child,
        root: Root,
        spawn: Spawn,
        terminal: Option<Terminal>,
        tail: usize,
    ) -> Self {
        let started = Instant::now();
        let root = Arc::new(root);
        let alive = Alive::since(started);
        let stderr_tail = Arc::new(Mutex::new(Tail::new(tail)));
        let stdout = match &terminal {
            Some(terminal) => Some(Output::Terminal(terminal.clone())),
            None => child.stdout.take().map(Output::Pipe),
        };
        let stderr = tokio::spawn(drain(
            child.stderr.take(),
            stderr_tail.clone(),
            spawn.secrets.stream(),
            alive.clone(),
        ));
        let waiting = Arc::new(AtomicU64::new(0));
        let stdin = match (child.stdin.take(), &terminal) {
            (Some(pipe), _) => feed(Input::Pipe(pipe), spawn.stdin, &waiting),
            (None, Some(terminal)) => {
                feed(Input::Terminal(terminal.clone()), spawn.stdin, &waiting)
            }
            (None, None) => None,
        };
        let stopper = Stopper::new();
        let ended = keep(child, root.clone(), &stopper, spawn.timeout, spawn.grace);
        Running {
            root,
            started,
            idle: Idle::new(
                spawn.idle_timeout,
                spawn.startup_timeout,
                alive.clone(),
                stopper.clone(),
            ),
            grace: spawn.grace,
            stdout,
            terminal,
            clean: spawn.secrets.stream(),
            rest: None,
            stderr,
            stderr_tail,
            stdin,
            waiting,
            alive,
            stopper,
            ended,
            finished: false,
        }
    }

    /// Also the id of its session and process group.
    pub fn pid(&self) -> u32 {
        self.root.pid()
    }

    /// In clock ticks since the machine's start, as in `/proc/<pid>/stat`; 0
    /// where there is no such thing. With the pid it names this process and no other.
    pub fn start_time(&self) -> u64 {
        self.root.start_time()
    }

    /// A handle that can end it from elsewhere.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// While a person works with it, it may be silent for as long as they like.
    pub fn hold_idle(&mut self, held: bool) {
        self.idle.hold(held);
    }

    /// The terminal it runs on.
    pub fn terminal(&self) -> Option<&Terminal> {
        self.terminal.as_ref()
    }

    /// The next piece of standard output, some 64 KiB at most, cut anywhere and
    /// without [`Spawn::secrets`]. None at
    /// its end: when all writers have closed it, or 500 ms after the child's end
    /// if something it left behind holds it. What the child itself wrote comes
    /// whole, however late it is asked for.
    ///
    /// The child waits when nobody asks: there is no queue in between. The idle
    /// limit is counted here and in [`Self::finish`], so that a slow reader
    /// isn't taken for a silent child. Safe to cancel.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let piece = match self.next_raw().await {
                Some(piece) => self.clean.push(piece),
                None => return Some(self.clean.finish()).filter(|rest| !rest.is_empty()),
            };
            if !piece.is_empty() {
                return Some(piece);
            }
        }
    }

    async fn next_raw(&mut self) -> Option<Vec<u8>> {
        let mut piece = Vec::with_capacity(PIECE);
        loop {
            let end = *self.ended.borrow();
            let stdout = self.stdout.as_mut()?;
            if let Some(end) = end
                && end.at.elapsed() >= AFTER_END
            {
                return self.what_is_there();
            }
            let idle = self.idle.deadline().filter(|_| end.is_none());
            tokio::select! {
                biased;
                read = stdout.read(&mut piece) => match read {
                    Ok(count) if count > 0 => {
                        self.alive.sign();
                        return Some(piece);
                    }
                    _ => {
                        self.stdout = None;
                        return None;
                    }
                },
                told = self.ended.wait_for(Option::is_some), if end.is_none() => {
                    // The keeper went down with its runtime.
                    told.ok()?;
                }
                () = at(end.map(|end| end.at + AFTER_END)) => {}
                () = at(idle) => self.idle.check(),
            }
        }
    }

    /// Reads without waiting, no more than a pipe can have held when
    /// [`AFTER_END`] was over: a stray may go on writing for ever.
    fn what_is_there(&mut self) -> Option<Vec<u8>> {
        let rest = self.rest.get_or_insert(PIECE);
        let stdout = self.stdout.as_ref()?;
        let mut piece = Vec::with_capacity(*rest);
        let read = match *rest {
            // There must be room to read into.
            0 => Ok(0),
            _ => stdout.read_now(&mut piece),
        };
        match read {
            Ok(count) if count > 0 => {
                *rest = rest.saturating_sub(count);
                Some(piece)
            }
            _ => {
                self.stdout = None;
                None
            }
        }
    }

    /// Hands bytes to a standard input that was kept open ([`Stdin::Keep`]).
    /// They are written while the output is read, so that neither waits for the
    /// other; this returns at once.
    ///
    /// # Errors
    /// [`StdinError`]; the bytes are not written then.
    pub async fn write_stdin(&mut self, bytes: &[u8]) -> Result<(), StdinError> {
        let stdin = self.stdin.as_ref().ok_or(StdinError::Closed)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let count = bytes.len() as u64;
        if self.waiting.load(Ordering::Relaxed).saturating_add(count) > STDIN_WAITING as u64 {
            return Err(StdinError::Full);
        }
        self.waiting.fetch_add(count, Ordering::Relaxed);
        stdin.send(bytes.to_vec()).map_err(|_| StdinError::Closed)
    }

    /// Closes it once what was handed over is written.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end, throwing away further output and closing standard
    /// input, and ends the child if its time is over; then ends every
    /// descendant that is left. Dropping the future kills them all.
    pub async fn finish(self) -> Finished {
        self.finish_with_loss().await.0
    }

    pub(crate) async fn finish_with_loss(mut self) -> (Finished, bool) {
        self.close_stdin();
        while self.next().await.is_some() {}
        let end = self.wait_for_end().await;
        let root = self.root.clone();
        let grace = self.grace.min(STRAY_GRACE);
        if root.has_strays() {
            let _ = tokio::task::spawn_blocking(move || root.end(grace)).await;
        }
        // With the last descendant gone the stream ends; a limit, as always.
        if tokio::time::timeout(AFTER_END, &mut self.stderr)
            .await
            .is_err()
        {
            self.stderr.abort();
        }
        self.finished = true;
        let (stderr_tail, lost) = {
            let mut tail = self
                .stderr_tail
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            tail.take()
        };
        let finished = Finished {
            code: end.status.and_then(|s| s.code()),
            signal: end.status.and_then(|s| s.signal()),
            ended_by: end.by,
            stderr_tail,
            duration: end.at.duration_since(self.started),
        };
        (finished, lost)
    }

    async fn wait_for_end(&mut self) -> End {
        loop {
            if let Some(end) = *self.ended.borrow() {
                return end;
            }
            let idle = self.idle.deadline();
            tokio::select! {
                told = self.ended.wait_for(Option::is_some) => if told.is_err() {
                    // The keeper went down with its runtime.
                    return End { at: Instant::now(), status: None, by: EndedBy::Stopped };
                },
                () = at(idle) => self.idle.check(),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.finished {
            self.root.kill();
            self.stopper.stop();
            self.stderr.abort();
        }
    }
}

/// Reads standard error to its end, so that the child never waits for it.
async fn drain(pipe: Option<ChildStderr>, tail: Arc<Mutex<Tail>>, mut clean: Stream, alive: Alive) {
    let Some(mut pipe) = pipe else { return };
    let mut piece = Vec::with_capacity(PIECE);
    while matches!(pipe.read_buf(&mut piece).await, Ok(count) if count > 0) {
        alive.sign();
        let told = clean.push(std::mem::replace(&mut piece, Vec::with_capacity(PIECE)));
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.push(&told);
    }
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.push(&clean.finish());
}

/// Writes to standard input in a task of its own.
fn feed(
    mut pipe: Input,
    stdin: Stdin,
    waiting: &Arc<AtomicU64>,
) -> Option<mpsc::UnboundedSender<Vec<u8>>> {
    let (sender, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
    let (first, sender) = match stdin {
        Stdin::Empty => return None,
        Stdin::Bytes(first) => (first, None),
        Stdin::Keep(first) => (first, Some(sender)),
    };
    let waiting = waiting.clone();
    tokio::spawn(async move {
        // An error means that the child reads no more; its exit tells the rest.
        if pipe.write_all(&first).await.is_err() {
            return;
        }
        drop(first);
        while let Some(bytes) = queue.recv().await {
            if pipe.write_all(&bytes).await.is_err() {
                return;
            }
            waiting.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
        }
        pipe.close().await;
    });
    sender
}
