//! The clients of a listening socket, each on its own: none can stall another, or the loop.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::frame::{FRAME_MAX, Frames};
use crate::message::{self, INVALID_REQUEST, NOT_NOW, RpcError, Service};
use crate::outbox::{Marker, Outbox};

/// So many clients at once; the next one is told so, and closed.
pub const CLIENTS_MAX: usize = 128;
/// So many requests of one client that take long are carried out at once; then no further one is read.
const LONG_MAX: usize = 16;
/// At the end, what is queued may take this long to be written.
pub(crate) const LAST: Duration = Duration::from_millis(500);

/// One connected client.
#[derive(Debug, Default)]
pub struct Client {
    /// What waits to be written to it.
    pub outbox: Outbox,
    wants: Mutex<BTreeSet<String>>,
}

impl Client {
    /// The names of events it subscribed to.
    pub fn wants(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.wants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a server offers.
pub trait Offer: Service {
    /// A client came.
    fn came(&self, client: &Arc<Client>);
    /// The line that tells a client of lost events.
    fn marker(&self) -> Marker;
}

/// A server at work.
#[derive(Debug)]
pub struct Server {
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves on a socket until it is closed.
    pub fn start(listener: UnixListener, offer: Arc<dyn Offer>) -> Server {
        let (closing, closed) = watch::channel(false);
        let task = tokio::spawn(accept(listener, offer, closed));
        Server { closing, task }
    }

    /// Writes what is queued, closes every connection, and is over within a second.
    pub async fn close(self) {
        self.closing.send_replace(true);
        if let Err(e) = self.task.await {
            tracing::warn!("the server ended oddly: {e}");
        }
    }
}

async fn accept(listener: UnixListener, offer: Arc<dyn Offer>, closed: watch::Receiver<bool>) {
    let mut clients = JoinSet::new();
    let mut end = std::pin::pin!(ended(closed.clone()));
    loop {
        tokio::select! {
            came = listener.accept() => match came {
                Ok((stream, _)) => {
                    let crowded = clients.len() >= CLIENTS_MAX;
                    clients.spawn(serve(stream, offer.clone(), closed.clone(), crowded));
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
    let all = async { while clients.join_next().await.is_some() {} };
    if tokio::time::timeout(LAST, all).await.is_err() {
        clients.shutdown().await;
    }
}

/// Waits until the server is to close, or is gone.
async fn ended(mut closed: watch::Receiver<bool>) {
    let _ = closed.wait_for(|closed| *closed).await;
}

async fn serve(
    stream: UnixStream,
    offer: Arc<dyn Offer>,
    closed: watch::Receiver<bool>,
    crowded: bool,
) {
    let client = Arc::new(Client::default());
    let (read, write) = stream.into_split();
    let mut writing = std::pin::pin!(write_all(write, &client, offer.marker()));
    if crowded {
        let e = RpcError::new(
            NOT_NOW,
            format!("{CLIENTS_MAX} clients are connected already"),
        );
        client.outbox.answer(message::failure(None, &e)).await;
        client.outbox.finish();
        writing.await;
        return;
    }
    offer.came(&client);
    let reading = async {
        tokio::select! {
            () = async {
                let mut long = JoinSet::new();
                read_all(read, &offer, &client, &mut long).await;
                // It may have closed its writing side only, and want its events still.
                if !client.wants().is_empty() {
                    std::future::pending::<()>().await;
                }
                long.join_all().await;
            } => {}
            () = ended(closed) => {}
        }
        client.outbox.finish();
    };
    tokio::select! {
        // Nobody is there to read any more: whatever is still asked is of no use.
        () = &mut writing => return,
        () = reading => {}
    }
    writing.await;
}

/// Carries out what comes, until the client's end or a broken limit. What takes long may still
/// be on then.
pub(crate) async fn read_all(
    mut read: impl AsyncRead + Unpin,
    offer: &Arc<dyn Offer>,
    client: &Arc<Client>,
    long: &mut JoinSet<()>,
) {
    let mut frames = Frames::new(FRAME_MAX);
    let mut piece = vec![0; 16 * 1024];
    loop {
        let len = match read.read(&mut piece).await {
            Ok(len) => len,
            Err(_) => return,
        };
        if len > 0 {
            frames.push(&piece[..len]);
        }
        loop {
            let frame = match frames.next() {
                Ok(None) if len == 0 => frames.last(),
                other => other,
            };
            match frame {
                Ok(Some(frame)) if message::takes_long(offer.as_ref(), &frame) => {
                    while long.len() >= LONG_MAX {
                        long.join_next().await;
                    }
                    let (offer, client) = (offer.clone(), client.clone());
                    long.spawn(async move {
                        let reply = message::handle(offer.as_ref(), &client, &frame).await;
                        if let Some(line) = reply.line {
                            client.outbox.answer(line).await;
                        }
                    });
                }
                Ok(Some(frame)) => {
                    if !answer(offer.as_ref(), client, &frame).await {
                        return;
                    }
                }
                Ok(None) => break,
                Err(e) => {
                    let e = RpcError::new(INVALID_REQUEST, format!("Invalid request: {e}"));
                    client.outbox.answer(message::failure(None, &e)).await;
                    return;
                }
            }
        }
        if len == 0 {
            return;
        }
    }
}

/// False if the connection is to end.
async fn answer(offer: &dyn Offer, client: &Arc<Client>, frame: &[u8]) -> bool {
    client.outbox.busy(true);
    let reply = message::handle(offer, client, frame).await;
    if let Some(line) = reply.line {
        client.outbox.answer(line).await;
    }
    client.outbox.busy(false);
    !reply.close
}

/// Writes until there is nothing more, or nobody reads.
pub(crate) async fn write_all(
    mut write: impl AsyncWrite + Unpin,
    client: &Arc<Client>,
    marker: Marker,
) {
    while let Some(line) = client.outbox.next(marker).await {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        let sent = async {
            write.write_all(&bytes).await?;
            write.flush().await
        };
        if sent.await.is_err() {
            return;
        }
    }
    let _ = write.shutdown().await;
}
