//! Where clients come from, and who they are to the system.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::access::{self, Peer};
use crate::server::Client;
use crate::server::sink::Sink;

/// Where clients come from.
pub enum Listener {
    /// Of this machine and user.
    Unix(UnixListener),
    /// Of any machine that reaches the address.
    Tcp(TcpListener),
}

/// A client that came. It isn't yet served by the thread that will.
pub(crate) enum Came {
    Unix(std::os::unix::net::UnixStream),
    Tcp(std::net::TcpStream),
}

type Half<T> = Box<T>;
pub(crate) type Streams = (
    Half<dyn AsyncRead + Send + Unpin>,
    Half<dyn AsyncWrite + Send + Unpin>,
);

impl Listener {
    pub(crate) async fn accept(&self) -> io::Result<(Came, Option<Peer>)> {
        Ok(match self {
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let peer = access::wanted().then(|| stream.peer_cred().ok()).flatten();
                (Came::Unix(stream.into_std()?), peer.map(Peer::from))
            }
            Listener::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                (Came::Tcp(stream.into_std()?), Some(Peer::Address(address)))
            }
        })
    }
}

impl Came {
    pub(crate) fn is_tcp(&self) -> bool {
        matches!(self, Came::Tcp(_))
    }

    /// What that client sends, and where what it is sent goes.
    pub(crate) fn streams(self, client: &Arc<Client>) -> io::Result<Streams> {
        Ok(match self {
            Came::Unix(stream) => {
                let (read, write) = UnixStream::from_std(stream)?.into_split();
                (Box::new(read), Box::new(Sink::new(write, client.clone())))
            }
            Came::Tcp(stream) => {
                // An answer is one write; it isn't to wait for another.
                let _ = stream.set_nodelay(true);
                let (read, write) = TcpStream::from_std(stream)?.into_split();
                (Box::new(read), Box::new(write))
            }
        })
    }
}
