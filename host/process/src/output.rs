//! Where a child's output comes from and its input goes to: a pipe, or a terminal.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};

use crate::pty::Terminal;

#[derive(Debug)]
pub(crate) enum Output {
    Pipe(ChildStdout),
    Terminal(Terminal),
}

impl Output {
    /// Into what is left of the vector's capacity. Nothing: the end. Safe to cancel.
    pub(crate) async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Output::Pipe(pipe) => pipe.read_buf(into).await,
            Output::Terminal(terminal) => terminal.read(into).await,
        }
    }

    /// The same without waiting; an error if nothing is there.
    pub(crate) fn read_now(&self, into: &mut Vec<u8>) -> rustix::io::Result<usize> {
        match self {
            Output::Pipe(pipe) => rustix::io::read(pipe, rustix::buffer::spare_capacity(into)),
            Output::Terminal(terminal) => terminal.read_now(into),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Input {
    Pipe(ChildStdin),
    Terminal(Terminal),
}

impl Input {
    pub(crate) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Input::Pipe(pipe) => pipe.write_all(bytes).await,
            Input::Terminal(terminal) => terminal.write_all(bytes).await,
        }
    }

    /// A pipe is closed with the value; at a terminal one presses Ctrl-D.
    pub(crate) async fn close(&mut self) {
        if let Input::Terminal(terminal) = self {
            let _ = terminal.write_all(&[0x04]).await;
        }
    }
}
