//! Takes what a plugin says (`log.log`) and prints (standard output and error),
//! and hands it to the log: line by line, bounded, without control characters.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::services::{Level, Services};

/// Taken from the guest at a time.
const PIECE: usize = 64 << 10;

/// A line that is longer is handed on in pieces.
const LINE: usize = 8 << 10;

/// One per store; shared with the guest's output streams.
#[derive(Clone)]
pub(crate) struct Log(Arc<Mutex<Book>>);

struct Book {
    services: Arc<dyn Services>,
    plugin: String,
    said: Budget,
    printed: Budget,
    out: Vec<u8>,
    err: Vec<u8>,
    /// Kept per call from `log.log`, and as much again from output and error together.
    limit: usize,
}

struct Budget {
    left: usize,
    dropped: u64,
}

impl Budget {
    fn full(limit: usize) -> Budget {
        Budget {
            left: limit,
            dropped: 0,
        }
    }

    /// How many of `wanted` bytes there is room for.
    fn take(&mut self, wanted: usize) -> usize {
        let taken = wanted.min(self.left);
        self.left -= taken;
        self.dropped = self.dropped.saturating_add((wanted - taken) as u64);
        taken
    }
}

impl Log {
    pub(crate) fn new(services: Arc<dyn Services>, plugin: &str, limit: u64) -> Log {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Log(Arc::new(Mutex::new(Book {
            services,
            plugin: plugin.into(),
            said: Budget::full(limit),
            printed: Budget::full(limit),
            out: Vec::new(),
            err: Vec::new(),
            limit,
        })))
    }

    /// `log.log`
    pub(crate) fn say(&self, level: Level, message: &str) {
        let mut book = self.lock();
        // An empty line isn't free either.
        let mut end = book.said.take(message.len().max(1)).min(message.len());
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        if end > 0 || message.is_empty() && book.said.dropped == 0 {
            book.emit(level, &message[..end]);
        }
    }

    /// A call is over: what is left of a line goes out, what was dropped is told,
    /// and the next call has its full budget.
    pub(crate) fn end_of_call(&self) {
        self.lock().end_of_call();
    }

    /// A stream for the guest's standard output or error.
    pub(crate) fn stream(&self, level: Level) -> Stream {
        Stream {
            log: self.clone(),
            level,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn emit(&self, level: Level, text: &str) {
        let clean: String = text
            .chars()
            .map(|c| {
                if c.is_control() && c != '\n' && c != '\t' {
                    '\u{fffd}'
                } else {
                    c
                }
            })
            .collect();
        self.services.log(&self.plugin, level, &clean);
    }

    fn print(&mut self, level: Level, bytes: &[u8]) {
        let end = self.printed.take(bytes.len());
        for piece in bytes[..end].split_inclusive(|b| *b == b'\n') {
            self.partial(level).extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.partial(level).len() >= LINE {
                self.flush(level);
            }
        }
    }

    fn partial(&mut self, level: Level) -> &mut Vec<u8> {
        if level == Level::Warn {
            &mut self.err
        } else {
            &mut self.out
        }
    }

    fn flush(&mut self, level: Level) {
        let line = std::mem::take(self.partial(level));
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            self.emit(level, &String::from_utf8_lossy(line));
        }
    }

    fn end_of_call(&mut self) {
        self.flush(Level::Info);
        self.flush(Level::Warn);
        let limit = self.limit;
        let said = std::mem::replace(&mut self.said, Budget::full(limit)).dropped;
        let printed = std::mem::replace(&mut self.printed, Budget::full(limit)).dropped;
        for (dropped, what) in [(said, "log messages"), (printed, "output")] {
            if dropped > 0 {
                self.emit(
                    Level::Warn,
                    &format!("dropped {dropped} bytes of {what}: one call may write {limit}"),
                );
            }
        }
    }
}

/// Also when a call is given up or its instance crashed.
impl Drop for Book {
    fn drop(&mut self) {
        self.end_of_call();
    }
}

pub(crate) struct Stream {
    log: Log,
    level: Level,
}

impl IsTerminal for Stream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stream {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 would ask for it, and that isn't linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.log.stream(self.level))
    }
}

#[async_trait]
impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.lock().print(self.level, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PIECE)
    }
}

#[async_trait]
impl Pollable for Stream {
    async fn ready(&mut self) {}
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const BUDGET: usize = 64 << 10;
    use ralph_engine::types::{DiffText, FileChange};

    use crate::services::{Command, Output, ProcessError};

    #[derive(Default)]
    struct Lines(Mutex<Vec<(Level, String)>>);

    #[async_trait]
    impl Services for Lines {
        fn log(&self, _: &str, level: Level, message: &str) {
            self.0.lock().unwrap().push((level, message.into()));
        }
        async fn files(&self) -> Vec<FileChange> {
            Vec::new()
        }
        async fn diff(&self, _: u64) -> DiffText {
            DiffText::default()
        }
        async fn run(&self, _: Command) -> Result<Output, ProcessError> {
            Ok(Output::default())
        }
    }

    fn log() -> (Arc<Lines>, Log) {
        let lines = Arc::new(Lines::default());
        (lines.clone(), Log::new(lines, "p", BUDGET as u64))
    }

    #[test]
    fn printed_lines_are_put_together_and_the_rest_comes_at_the_end() {
        let (lines, log) = log();
        let mut out = log.stream(Level::Info);
        let mut err = log.stream(Level::Warn);
        for piece in ["a", "b\r\nc\n", "\n", "rest"] {
            out.write(Bytes::from(piece)).unwrap();
        }
        err.write(Bytes::from_static(b"bad \xff\x1b[31m")).unwrap();
        drop((log, out, err));
        let found = lines.0.lock().unwrap().clone();
        let expected = [
            (Level::Info, "ab"),
            (Level::Info, "c"),
            (Level::Info, "rest"),
            (Level::Warn, "bad \u{fffd}\u{fffd}[31m"),
        ];
        assert_eq!(
            found,
            expected.map(|(level, text)| (level, text.to_string()))
        );
    }

    #[test]
    fn what_is_over_the_budget_is_dropped_with_a_count_and_the_next_call_starts_anew() {
        let (lines, log) = log();
        log.say(Level::Debug, &"é".repeat(BUDGET));
        log.say(Level::Debug, "more");
        log.end_of_call();
        log.say(Level::Debug, "next");
        let found = lines.0.lock().unwrap().clone();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].1.len(), BUDGET);
        assert!(
            found[1]
                .1
                .starts_with(&format!("dropped {} bytes", BUDGET + 4)),
            "{}",
            found[1].1
        );
        assert_eq!(found[2].1, "next");
    }

    #[test]
    fn a_line_without_end_is_handed_on_in_pieces() {
        let (lines, log) = log();
        let mut out = log.stream(Level::Info);
        for _ in 0..32 {
            out.write(Bytes::from(vec![b'x'; 4096])).unwrap();
        }
        drop((log, out));
        let found = lines.0.lock().unwrap().clone();
        assert_eq!(
            found.iter().filter(|line| line.1.starts_with('x')).count(),
            BUDGET / LINE
        );
        assert!(
            found
                .last()
                .unwrap()
                .1
                .starts_with("dropped 65536 bytes of output")
        );
    }
}
