//! `--interactive`: the terminal is the agent's while one works, and a person's again in between.

use std::io::{IsTerminal, PipeReader, PipeWriter, Write};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ralph_engine::state::Stop;
use ralph_process::WindowSize;
use ralph_runner::console::Hands;
use ralph_runner::{Control, Error};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use crate::view::{Held, Plain};

/// Ctrl-]: the way out, for the agent gets every other key.
const OUT: u8 = 0x1d;

/// Undoes what a program may have done to a terminal: the alternate screen, a
/// hidden cursor, colours, mouse reports, bracketed paste.
const RESET: &str = "\u{1b}[?1049l\u{1b}[?25h\u{1b}[0m\u{1b}[?1000l\u{1b}[?1002l\u{1b}[?1003l\u{1b}[?1006l\u{1b}[?2004l\r\n";

/// A person at a terminal.
pub struct Person {
    usual: Termios,
    control: Control,
    pub view: Arc<Held<Plain>>,
    keys: Mutex<Option<(PipeWriter, JoinHandle<()>)>>,
}

/// Is there a terminal to hand over?
pub fn refuse(json: bool) -> Result<(), Error> {
    let streams = [
        ("standard input", std::io::stdin().is_terminal()),
        ("standard output", std::io::stdout().is_terminal()),
    ];
    if let Some((name, _)) = streams.iter().find(|(_, is)| !is) {
        return Err(Error::Usage(format!(
            "--interactive hands this terminal to the agent, but {name} is no terminal; call it in one, or leave the switch out"
        )));
    }
    if json {
        return Err(Error::Usage(
            "--interactive gives standard output to the agent, --json to one object; leave one of them out".into(),
        ));
    }
    Ok(())
}

impl Person {
    /// At this process's own terminal, which is as it is now whenever no agent has it.
    pub fn new(control: &Control) -> Result<Arc<Person>, Error> {
        let usual = tcgetattr(std::io::stdin())
            .map_err(|e| Error::Usage(format!("this terminal can't be read: {e}")))?;
        Ok(Arc::new(Person {
            usual,
            control: control.clone(),
            view: Arc::new(Held::new(Plain::new(false))),
            keys: Mutex::new(None),
        }))
    }

    /// Agents get this terminal from now on; its size is passed on when it changes.
    pub fn attach(self: &Arc<Self>) {
        self.control.console().attach(self.clone());
        let console = self.control.console().clone();
        let Ok(mut changed) = signal(SignalKind::window_change()) else {
            return;
        };
        tokio::spawn(async move {
            while changed.recv().await.is_some() {
                console.resize(size());
            }
        });
    }

    fn raw(&self) -> rustix::io::Result<()> {
        let mut raw = self.usual.clone();
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw)
    }

    /// Keys go to the agent until the other end of the pipe is closed.
    fn read(control: &Control, until: &PipeReader) {
        let mut piece = [0; 4096];
        loop {
            let stdin = std::io::stdin();
            let mut fds = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::new(until, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) if !fds[1].revents().is_empty() => return,
                Ok(_) => {}
            }
            // Past the buffer of std, which would keep keys from who reads next.
            let count = match rustix::io::read(&stdin, &mut piece) {
                Ok(0) => return control.stop(Stop::Force),
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
            };
            let typed = &piece[..count];
            let end = typed.iter().position(|b| *b == OUT);
            let _ = control.console().type_in(&typed[..end.unwrap_or(count)]);
            if end.is_some() {
                control.stop(Stop::Force);
            }
        }
    }
}

fn size() -> WindowSize {
    match tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => WindowSize {
            rows: size.ws_row,
            columns: size.ws_col,
        },
        _ => WindowSize::default(),
    }
}

impl Hands for Person {
    fn take(&self) -> WindowSize {
        self.view.hold();
        if let Err(e) = self.raw() {
            tracing::warn!("the terminal can't be set for the agent: {e}");
        }
        if let (Ok((until, close)), Ok(mut keys)) = (std::io::pipe(), self.keys.lock()) {
            let control = self.control.clone();
            let reading = std::thread::spawn(move || Person::read(&control, &until));
            *keys = Some((close, reading));
        }
        size()
    }

    fn show(&self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    fn give_back(&self) {
        if let Some((close, reading)) = self.keys.lock().ok().and_then(|mut keys| keys.take()) {
            drop(close);
            let _ = reading.join();
        }
        self.show(RESET.as_bytes());
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.usual);
        self.view.release();
    }
}
