//! The loop: what comes from keys, runs and signals goes into the [`App`], and that onto the screen.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEventKind};

use crate::app::{App, Do};
use crate::link::{Link, Said};
use crate::screen::Screen;
use crate::theme::Theme;
use crate::{draw, keys};

/// The clock on the screen.
const TICK: Duration = Duration::from_secs(1);
/// Runs that begin meanwhile are looked for so often.
const LOOK: Duration = Duration::from_secs(2);
/// So much is taken in before the screen is drawn anew.
const BATCH: usize = 512;

/// What is asked with no key pressed.
const BY_ITSELF: [&str; 4] = ["get_status", "get_log", "subscribe", "list_tasks"];

/// What is to be shown.
pub struct Options {
    /// The root of the project whose run is shown first.
    pub project: Option<String>,
    /// All runs side by side from the start.
    pub side: bool,
    /// The task that is marked first.
    pub task: Option<String>,
    /// Are colours wanted?
    pub color: bool,
    /// Finds the sockets that there are now.
    pub find: Box<dyn Fn() -> Vec<PathBuf> + Send>,
}

/// Something that happened.
#[derive(Debug)]
pub enum Message {
    /// A key, a paste, another size.
    Terminal(Event),
    /// A run says something.
    Said(usize, PathBuf, Said),
    /// A signal ends the process.
    Signal(i32),
    /// There are no keys any more.
    Gone,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// A person went.
    Detached,
    /// This signal came.
    Signal(i32),
    /// Nobody answers.
    NoRun,
}

struct Attached {
    app: App,
    links: HashMap<usize, Link>,
    send: Sender<Message>,
}

/// Shows runs until a person detaches. Whoever has a clone of the sender can say that a signal came.
///
/// # Errors
/// The terminal can't be taken or drawn on.
pub fn attach(
    options: Options,
    send: Sender<Message>,
    came: &Receiver<Message>,
) -> io::Result<Left> {
    let theme = Theme {
        color: options.color,
    };
    let mut at = Attached {
        app: App {
            wanted: options.project,
            side: options.side,
            task: options.task,
            ..App::default()
        },
        links: HashMap::new(),
        send,
    };
    at.look((options.find)());
    if at.links.is_empty() {
        return Ok(Left::NoRun);
    }
    let mut screen = Screen::take()?;
    at.read_keys()?;
    let mut looked = Instant::now();
    loop {
        screen.terminal.draw(|frame| {
            draw::draw(frame, &mut at.app, theme, jiff::Timestamp::now());
        })?;
        match came.recv_timeout(TICK) {
            Ok(first) => {
                for message in std::iter::once(first).chain(came.try_iter().take(BATCH)) {
                    if let Some(left) = at.take(message) {
                        at.carry_out(at.app.farewell());
                        return Ok(left);
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Left::Detached),
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            at.look((options.find)());
        }
    }
}

impl Attached {
    /// Keys come by a thread, which ends with the process.
    fn read_keys(&self) -> io::Result<()> {
        let send = self.send.clone();
        let read = move || {
            loop {
                let message = event::read().map_or(Message::Gone, Message::Terminal);
                let last = matches!(message, Message::Gone);
                if send.send(message).is_err() || last {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("keys".into())
            .spawn(read)?;
        Ok(())
    }

    fn look(&mut self, paths: Vec<PathBuf>) {
        for path in paths {
            if self.app.runs.iter().any(|r| r.path == path && !r.closed) {
                continue;
            }
            let known = self.app.runs.iter().position(|r| r.path == path);
            let at = known.unwrap_or(self.app.runs.len());
            let (send, name) = (self.send.clone(), path.clone());
            let hear = move |said| send.send(Message::Said(at, name.clone(), said)).is_ok();
            // What a killed run left behind refuses.
            let Ok(link) = Link::open(&path, hear) else {
                continue;
            };
            if let Some((at, asks)) = self.app.found(path) {
                self.links.insert(at, link);
                self.carry_out(asks.into_iter().map(|ask| Do::Ask(at, ask)).collect());
            }
        }
    }

    fn take(&mut self, message: Message) -> Option<Left> {
        let done = match message {
            Message::Signal(signal) => return Some(Left::Signal(signal)),
            Message::Gone => return Some(Left::Detached),
            Message::Said(at, path, said) => {
                if self.app.runs.get(at).is_none_or(|r| r.path != path) {
                    return None;
                }
                if said == Said::Closed {
                    self.links.remove(&at);
                }
                self.app.said(at, said)
            }
            Message::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                keys::key(&mut self.app, key)
            }
            Message::Terminal(Event::Paste(text)) => keys::paste(&mut self.app, &text),
            Message::Terminal(_) => Vec::new(),
        };
        let detach = done.contains(&Do::Detach);
        self.carry_out(done);
        detach.then_some(Left::Detached)
    }

    fn carry_out(&mut self, all: Vec<Do>) {
        for one in all {
            let Do::Ask(at, (method, params)) = one else {
                continue;
            };
            let Some(link) = self.links.get_mut(&at) else {
                continue;
            };
            match link.ask(method, &params) {
                Ok(id) => {
                    if let Some(run) = self.app.runs.get_mut(at) {
                        run.asked(id, method);
                    }
                }
                // Nobody asked for that, and the connection tells its end by itself.
                Err(_) if BY_ITSELF.contains(&method) => {}
                Err(e) => self.app.note = format!("{method}: {e}"),
            }
        }
    }
}
