//! The writing side of a Unix socket. A client that doesn't keep up has a full buffer, and the system
//! wakes the writer only when a good part of that was read. At the very end there is no time to wait for
//! it: then the buffer is made wider, and what is left is put behind what waits there. It is kept
//! for the client when the connection is closed. That isn't before its queue was cut: all that was
//! in it would fill any buffer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::AsyncWrite;
use tokio::net::unix::OwnedWriteHalf;

use crate::server::Client;

/// The system grants less, but more than there was.
const WIDE: usize = 1 << 20;

pub(crate) struct Sink {
    half: OwnedWriteHalf,
    client: Arc<Client>,
    wide: bool,
}

impl Sink {
    pub(crate) fn new(half: OwnedWriteHalf, client: Arc<Client>) -> Sink {
        Sink {
            half,
            client,
            wide: false,
        }
    }
}

impl AsyncWrite for Sink {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.half).poll_write(cx, bytes);
        if polled.is_ready() || !self.client.outbox.is_cut() {
            return polled;
        }
        let wide = std::mem::replace(&mut self.wide, true);
        let stream = self.half.as_ref();
        if !wide {
            // Where that fails, it is as it was.
            let _ = set_socket_send_buffer_size(stream, WIDE);
        }
        match rustix::io::write(stream, bytes) {
            Ok(len) => Poll::Ready(Ok(len)),
            Err(Errno::AGAIN | Errno::INTR) => Poll::Pending,
            Err(e) => Poll::Ready(Err(e.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.half).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.half).poll_shutdown(cx)
    }
}
