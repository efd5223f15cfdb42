//! A pseudo-terminal for a child.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::net::unix::pipe;

/// How large a terminal is, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

impl Default for WindowSize {
    /// 40 lines of 120 characters.
    fn default() -> Self {
        WindowSize {
            rows: 40,
            columns: 120,
        }
    }
}

impl From<WindowSize> for Winsize {
    fn from(size: WindowSize) -> Winsize {
        Winsize {
            ws_row: size.rows,
            ws_col: size.columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

/// Both ends, before a child has the one.
#[derive(Debug)]
pub(crate) struct Pty {
    host: Terminal,
    child: OwnedFd,
}

impl Pty {
    /// Inside a runtime only.
    pub(crate) fn open(size: WindowSize) -> io::Result<Pty> {
        let host = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&host)?;
        unlockpt(&host)?;
        let name = ptsname(&host, Vec::new())?;
        let path = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let no_control = OFlags::NOCTTY.bits().cast_signed();
        let child = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(no_control)
            .open(path)?;
        tcsetwinsize(&host, size.into())?;
        fcntl_setfl(&host, fcntl_getfl(&host)? | OFlags::NONBLOCK)?;
        let writing = host.try_clone()?;
        // No pipes, but they are read, written and waited for in the same way.
        let host = Terminal(Arc::new(Ends {
            from: pipe::Receiver::from_owned_fd_unchecked(host)?,
            to: pipe::Sender::from_owned_fd_unchecked(writing)?,
        }));
        // What is typed before a person sits there isn't to be read back.
        host.echo(false)?;
        Ok(Pty {
            host,
            child: child.into(),
        })
    }

    /// The child's end, for one of its streams.
    pub(crate) fn child(&self) -> io::Result<Stdio> {
        Ok(self.child.try_clone()?.into())
    }

    /// Only the host's end.
    pub(crate) fn host(self) -> Terminal {
        self.host
    }
}

/// The host's end of a child's terminal. Clones are the same terminal.
#[derive(Debug, Clone)]
pub struct Terminal(Arc<Ends>);

#[derive(Debug)]
struct Ends {
    from: pipe::Receiver,
    to: pipe::Sender,
}

impl Terminal {
    /// Types bytes. Waits while the child doesn't read what was typed before.
    ///
    /// # Errors
    /// What the system says. Typing at a terminal that nobody reads any more is
    /// no error on Linux.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.0.to.writable().await?;
            match self.0.to.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if again(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The child is told with SIGWINCH.
    ///
    /// # Errors
    /// What the system says.
    pub fn resize(&self, size: WindowSize) -> io::Result<()> {
        Ok(tcsetwinsize(&self.0.from, size.into())?)
    }

    /// Does it show what is typed, unless the child has decided on that itself?
    ///
    /// # Errors
    /// What the system says.
    pub fn echo(&self, on: bool) -> io::Result<()> {
        let mut modes = tcgetattr(&self.0.from)?;
        // A child that reads key by key draws them itself.
        if modes.local_modes.contains(LocalModes::ICANON) {
            modes.local_modes.set(LocalModes::ECHO, on);
            tcsetattr(&self.0.from, OptionalActions::Now, &modes)?;
        }
        Ok(())
    }

    /// Nothing: everybody has closed it. Safe to cancel.
    pub(crate) async fn read(&self, into: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            self.0.from.readable().await?;
            match self.0.from.try_read_buf(into) {
                Err(error) if again(&error) => {}
                Err(error) if closed(&error) => return Ok(0),
                done => return done,
            }
        }
    }

    /// The same without waiting.
    pub(crate) fn read_now(&self, into: &mut Vec<u8>) -> rustix::io::Result<usize> {
        rustix::io::read(&self.0.from, rustix::buffer::spare_capacity(into))
    }
}

fn again(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// What Linux says when nobody has the other end open any more.
fn closed(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}
