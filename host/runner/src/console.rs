//! The way from a person's keys to an agent's terminal, and back.
//!
//! An agent takes its seat here while it runs on a terminal. Who wants to work
//! with it turns the interactive mode on: then what is typed goes to it, it may
//! be silent for as long as one likes, and the run rests after its iteration.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ralph_process::{Terminal, WindowSize};
use tokio::sync::{mpsc, watch};

use crate::screen::Screen;

/// So many pieces of typed text may wait for an agent.
const WAITING: usize = 256;
/// One piece may have this many bytes.
pub const PIECE_MAX: usize = 64 * 1024;

/// A person's own terminal, handed over while an agent is at work.
pub trait Hands: Send + Sync {
    /// From here on it is the agent's. How large it is.
    fn take(&self) -> WindowSize;
    /// What the agent prints, as it came.
    fn show(&self, bytes: &[u8]);
    /// It is ours again.
    fn give_back(&self);
}

/// Clones are the same console.
#[derive(Clone)]
pub struct Console(Arc<Inner>);

struct Inner {
    on: watch::Sender<bool>,
    seat: Mutex<Option<(Terminal, mpsc::Sender<Vec<u8>>)>>,
    hands: Mutex<Option<Arc<dyn Hands>>>,
}

/// What became of typed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// It goes to the agent.
    Forwarded,
    /// It goes nowhere, for this reason.
    Ignored(&'static str),
}

impl Default for Console {
    fn default() -> Self {
        Console(Arc::new(Inner {
            on: watch::Sender::new(false),
            seat: Mutex::default(),
            hands: Mutex::default(),
        }))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Console {
    /// Is the interactive mode on?
    pub fn interactive(&self) -> bool {
        *self.0.on.borrow()
    }

    /// Turns it on or off. An agent that is started while it is on runs on a terminal.
    pub fn set_interactive(&self, on: bool) {
        self.0.on.send_replace(on);
        self.echo();
    }

    /// With a terminal of a person's, which agents get from now on, one after another.
    pub fn attach(&self, hands: Arc<dyn Hands>) {
        *lock(&self.0.hands) = Some(hands);
        self.set_interactive(true);
    }

    /// Types at the agent's terminal. Never waits.
    pub fn type_in(&self, bytes: &[u8]) -> Typed {
        if !self.interactive() {
            return Typed::Ignored("not in interactive mode");
        }
        let seat = lock(&self.0.seat);
        let Some((_, keys)) = seat.as_ref() else {
            return Typed::Ignored("no agent runs on a terminal now");
        };
        match keys.try_send(bytes.to_vec()) {
            Ok(()) => Typed::Forwarded,
            Err(_) => Typed::Ignored("the agent does not read what was typed before"),
        }
    }

    /// The person's terminal has another size now.
    pub fn resize(&self, size: WindowSize) {
        if let Some((terminal, _)) = lock(&self.0.seat).as_ref()
            && let Err(e) = terminal.resize(size)
        {
            tracing::warn!("the agent's terminal can't be resized: {e}");
        }
    }

    fn echo(&self) {
        if let Some((terminal, _)) = lock(&self.0.seat).as_ref()
            && let Err(e) = terminal.echo(self.interactive())
        {
            tracing::debug!("the echo of the agent's terminal can't be set: {e}");
        }
    }

    /// Waits until the mode is another one than this.
    pub(crate) async fn changes(&self, from: bool) {
        let mut rx = self.0.on.subscribe();
        if rx.wait_for(|on| *on != from).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The terminal of one agent call, or that it has none. Dropped, it is nobody's,
/// and the person's is theirs again.
pub(crate) struct Seat {
    console: Console,
    size: Option<WindowSize>,
    screen: Option<Screen>,
    hands: Option<Arc<dyn Hands>>,
    /// May a person work with it?
    open: bool,
}

impl Seat {
    /// For an agent that is about to start. `open`: a person may work with it, and
    /// gives their terminal if there is one; else it runs on one only if it is `wanted`.
    pub(crate) fn new(console: &Console, wanted: bool, open: bool) -> Seat {
        let hands = lock(&console.0.hands).clone().filter(|_| open);
        let size = match &hands {
            Some(hands) => Some(hands.take()),
            None => (wanted || open && console.interactive()).then(WindowSize::default),
        };
        Seat {
            console: console.clone(),
            screen: size.map(Screen::new),
            size,
            hands,
            open: open && size.is_some(),
        }
    }

    /// How large it is; `None`: pipes.
    pub(crate) fn size(&self) -> Option<WindowSize> {
        self.size
    }

    /// Is a person at it from start to end? Then no time is limited.
    pub(crate) fn attended(&self) -> bool {
        self.hands.is_some()
    }

    /// What is typed goes to this terminal now. To be called inside a runtime.
    pub(crate) fn sit(&self, terminal: Option<&Terminal>) {
        let Some(terminal) = terminal.filter(|_| self.open) else {
            return;
        };
        let (keys, mut typed) = mpsc::channel::<Vec<u8>>(WAITING);
        let to = terminal.clone();
        tokio::spawn(async move {
            while let Some(bytes) = typed.recv().await {
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        *lock(&self.console.0.seat) = Some((terminal.clone(), keys));
        self.console.echo();
    }

    /// Is the agent a person's now?
    pub(crate) fn held(&self) -> bool {
        self.open && self.console.interactive()
    }

    /// Waits until that is otherwise.
    pub(crate) async fn changes(&self, held: bool) {
        match self.open {
            true => self.console.changes(held).await,
            false => std::future::pending().await,
        }
    }

    /// What a driver reads of a piece of output.
    pub(crate) fn text(&mut self, piece: Vec<u8>) -> Vec<u8> {
        if let Some(hands) = &self.hands {
            hands.show(&piece);
        }
        match &mut self.screen {
            Some(screen) => screen.draw(&piece),
            None => piece,
        }
    }

    /// What it reads at the end.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.screen.as_mut().map(Screen::end).unwrap_or_default()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.open {
            *lock(&self.console.0.seat) = None;
        }
        if let Some(hands) = &self.hands {
            hands.give_back();
        }
    }
}
