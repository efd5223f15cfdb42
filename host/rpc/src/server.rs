//! The clients of a listening socket, each on its own: none can stall another, or the loop.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, timeout};

use crate::access::{Access, Peer};
use crate::apart::Apart;
use crate::feed::Place;
use crate::listener::Came;
pub use crate::listener::Listener;
use crate::message::{self, NOT_NOW, RpcError, Service};
use crate::outbox::{Fetch, Marker, Outbox, Until};

mod reading;
pub(crate) mod sink;

pub(crate) use reading::read_all;

/// So many clients at once; the next one is told so, and closed. Fewer, where the process may not
/// have as many files open: see [`room`].
pub const CLIENTS_MAX: usize = 1024;
/// So many find room anyway.
const FEW: usize = 64;
/// So many files the process may have open, if it may choose.
const FILES: u64 = 4096;
/// At the end, what is queued may take this long to be written.
pub(crate) const LAST: Duration = Duration::from_millis(500);
/// The end of that time is for telling clients which haven't had all of it how much they lose. It
/// counts from when the thread that tells them gets to it: on a busy machine that may be later.
pub(crate) const CUT: Duration = Duration::from_millis(200);
/// So long that thread is waited for.
const STARVED: Duration = Duration::from_secs(5);

/// One connected client.
#[derive(Debug, Default)]
pub struct Client {
    /// What waits to be written to it.
    pub outbox: Outbox,
    wants: Mutex<BTreeSet<String>>,
    place: Mutex<Place>,
    access: Option<Access>,
}

impl Client {
    /// One whose coming, asking and going is told in the log.
    pub(crate) fn told_of(access: Option<Access>) -> Client {
        Client {
            access,
            ..Client::default()
        }
    }

    /// For rows of the log, if there are any of it.
    pub(crate) fn access(&self) -> Option<&Access> {
        self.access.as_ref()
    }

    /// One that hears nothing.
    pub fn deaf() -> Client {
        let client = Client::default();
        client.outbox.finish();
        client
    }

    /// The names of events it subscribed to.
    pub fn wants(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.wants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is in a run's events.
    pub(crate) fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server offers.
pub trait Offer: Service {
    /// A client came.
    fn came(&self, client: &Arc<Client>);
    /// The line that tells a client of lost events.
    fn marker(&self) -> Marker;
    /// What it is called in the log.
    fn transport(&self) -> &'static str;

    /// Adds events that aren't queued for each client; see [`crate::outbox::Fetch`].
    fn fetch(&self, client: &Client, piece: &mut Vec<u8>, until: Until) {
        let _ = (client, piece, until);
    }

    /// Until when a client may say nothing, while nothing of its is carried out, if it last said
    /// something then.
    fn may_idle(&self, since: Instant) -> Option<Instant> {
        let _ = since;
        None
    }
}

/// May one more come? Each is a file, and so is much of what a run needs; it has as many for itself.
fn room(clients: usize) -> bool {
    use rustix::process::{Resource, getrlimit, setrlimit};
    if clients < FEW {
        return true;
    }
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES, |most| most.min(FILES));
    if limit.current.is_some_and(|now| now < wanted) {
        let more = rustix::process::Rlimit {
            current: Some(wanted),
            maximum: limit.maximum,
        };
        if setrlimit(Resource::Nofile, more).is_ok() {
            limit.current = Some(wanted);
        }
    }
    let files = limit.current.map_or(usize::MAX, |n| n as usize);
    clients < CLIENTS_MAX.min((files / 2).saturating_sub(FEW))
}

/// Makes what one connection is offered.
pub type Offers = Box<dyn Fn() -> Arc<dyn Offer> + Send>;

/// A server at work.
#[derive(Debug)]
pub struct Server {
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves on a socket until it is closed.
    pub fn start(listener: Listener, offers: Offers) -> Server {
        let (closing, closed) = watch::channel(false);
        let task = tokio::spawn(accept(listener, offers, closed));
        Server { closing, task }
    }

    /// Writes what is queued, closes every connection, and is over within a second, unless the machine
    /// is too busy for even that.
    pub async fn close(self) {
        self.closing.send_replace(true);
        if let Err(e) = self.task.await {
            tracing::warn!("the server ended oddly: {e}");
        }
    }
}

async fn accept(listener: Listener, offers: Offers, closed: watch::Receiver<bool>) {
    let mut clients = JoinSet::new();
    // One thread serves them all: however many there are, work has its own threads for itself. A run goes
    // before those who watch it.
    let mut apart = None;
    let behind = matches!(listener, Listener::Unix(_));
    let (cut, too_late) = watch::channel(false);
    let mut end = std::pin::pin!(ended(closed.clone()));
    loop {
        tokio::select! {
            came = listener.accept() => match came {
                Ok((came, peer)) => {
                    let crowded = !room(clients.len());
                    let ends = Ends {
                        at: Handle::current(),
                        closed: closed.clone(),
                        too_late: too_late.clone(),
                    };
                    let client = serve(came, peer, offers(), ends, crowded);
                    let first = || Apart::start(behind);
                    clients.spawn_on(client, apart.get_or_insert_with(first).handle());
                }
                Err(e) => {
                    tracing::warn!("a client can't be let in: {e}");
                    // Out of descriptors: nothing tells when there are some again.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            _ = clients.join_next(), if !clients.is_empty() => {}
            () = &mut end => break,
        }
    }
    drop(listener);
    if let Some(apart) = &mut apart {
        apart.hurry();
    }
    if timeout(LAST - CUT, all_gone(&mut clients)).await.is_err() {
        cut.send_replace(true);
        if timeout(STARVED, all_gone(&mut clients)).await.is_err() {
            clients.shutdown().await;
        }
    }
}

async fn all_gone(clients: &mut JoinSet<()>) {
    while clients.join_next().await.is_some() {}
}

/// However its connection ends.
struct Leaves<'a>(&'a Client);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        if let Some(access) = self.0.access() {
            access.left();
        }
    }
}

/// Waits until that is so, or nobody can say so any more.
async fn ended(mut so: watch::Receiver<bool>) {
    let _ = so.wait_for(|so| *so).await;
}

/// What ends a connection from this side.
#[derive(Clone)]
struct Ends {
    /// Requests are carried out there; the clients' thread is for reading and writing.
    at: Handle,
    /// The server closes: what is queued is still written,
    closed: watch::Receiver<bool>,
    /// until there is no time for all of it.
    too_late: watch::Receiver<bool>,
}

async fn serve(came: Came, peer: Option<Peer>, offer: Arc<dyn Offer>, ends: Ends, crowded: bool) {
    let over_tcp = came.is_tcp();
    let access = Access::came(offer.transport(), peer);
    let client = Arc::new(Client::told_of(access));
    let _leaves = Leaves(&client);
    let (mut read, write) = match came.streams(&client) {
        Ok(streams) => streams,
        Err(e) => return tracing::warn!("a client can't be served: {e}"),
    };
    let closes = attend((&mut read, write), &client, &offer, ends, crowded).await;
    // Closed with something unread, TCP throws away what was written last too: why it is closed. A Unix
    // socket keeps that.
    if closes && over_tcp {
        let mut nowhere = tokio::io::sink();
        let rest = tokio::io::copy(&mut read, &mut nowhere);
        let _ = timeout(LAST, rest).await;
    }
}

/// One client, to the last that is written to it. True if it is the client that is closed, and may
/// have sent more than was read.
async fn attend(
    (mut read, write): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    client: &Arc<Client>,
    offer: &Arc<dyn Offer>,
    ends: Ends,
    crowded: bool,
) -> bool {
    let mut writing = std::pin::pin!(write_all(write, client, offer.as_ref()));
    if crowded {
        tracing::warn!(
            transport = offer.transport(),
            "a client is turned away: there are too many"
        );
        let e = RpcError::new(NOT_NOW, "too many clients are connected already");
        client.outbox.answer(message::failure(None, &e)).await;
        client.outbox.finish();
        writing.await;
        return false;
    }
    offer.came(client);
    let reading = async {
        let closes = tokio::select! {
            () = async {
                let mut long = JoinSet::new();
                read_all(&mut read, offer, client, &mut long, &ends.at).await;
                // It may have closed its writing side only, and want its events still.
                if !client.wants().is_empty() {
                    std::future::pending::<()>().await;
                }
                long.join_all().await;
            } => true,
            () = ended(ends.closed) => false,
        };
        client.outbox.finish();
        closes
    };
    let closes = tokio::select! {
        // Nobody is there to read any more: whatever is still asked is of no use.
        () = &mut writing => return false,
        closes = reading => closes,
    };
    tokio::select! {
        () = &mut writing => return closes,
        () = ended(ends.too_late) => client.outbox.cut(),
    }
    let _ = timeout(CUT, writing).await;
    closes
}

/// Writes until there is nothing more, or nobody reads.
pub(crate) async fn write_all(
    mut write: impl AsyncWrite + Unpin,
    client: &Arc<Client>,
    offer: &dyn Offer,
) {
    let fetch = |piece: &mut Vec<u8>, until| offer.fetch(client, piece, until);
    write_out(&mut write, client, offer.marker(), &fetch).await;
    let _ = write.shutdown().await;
}

/// The same for who offers nothing; the stream stays open.
pub(crate) async fn write_out(
    mut write: impl AsyncWrite + Unpin,
    client: &Client,
    marker: Marker,
    fetch: Fetch<'_>,
) {
    while let Some(piece) = client.outbox.next(marker, fetch).await {
        let sent = async {
            write.write_all(&piece).await?;
            write.flush().await
        };
        if sent.await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
