//! Connections: as many as are allowed, each with a limit for what it may send how slowly, and all
//! brought to an end in good order.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;

use crate::app::Shared;
use crate::routes;

/// The head of a request has to be there within this time; idle connections are closed after it too.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// TLS has to be agreed on within this time.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// What of a head is read at most.
const HEAD_MAX: usize = 64 * 1024;
/// What the system takes in for a client that doesn't read: left to itself it takes in megabytes for
/// each, and whoever does read waits while it does.
const UNREAD_MAX: usize = 256 * 1024;
/// A client that takes nothing of what it is sent for so long is let go.
const UNREAD_TIME: Duration = Duration::from_secs(60);
/// At the end, answers have so long to be written.
const END_TIME: Duration = Duration::from_secs(2);

/// Serves until `ending` is done, then lets answers be written.
pub async fn serve(
    app: &Shared,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    ending: impl Future<Output = ()>,
) {
    let service = TowerToHyperService::new(routes::router(app));
    let places = Arc::new(Semaphore::new(app.settings.serve.max_connections as usize));
    let graceful = GracefulShutdown::new();
    let mut ending = std::pin::pin!(ending);
    loop {
        // Who finds no place waits in the system's queue.
        let place = tokio::select! {
            () = &mut ending => break,
            place = places.clone().acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let stream = tokio::select! {
            () = &mut ending => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(e) => {
                    // Out of files, most likely: some are given back soon.
                    tracing::warn!("a connection can't be taken: {e}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        let _ = stream.set_nodelay(true);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&stream, UNREAD_MAX);
        let (service, watcher, tls) = (service.clone(), graceful.watcher(), tls.clone());
        tokio::spawn(async move {
            let _place = place;
            match tls {
                None => speak(stream, service, watcher, UNREAD_TIME).await,
                Some(tls) => match tokio::time::timeout(HANDSHAKE_TIME, tls.accept(stream)).await {
                    Ok(Ok(stream)) => speak(stream, service, watcher, UNREAD_TIME).await,
                    Ok(Err(e)) => tracing::debug!("no TLS: {e}"),
                    Err(_) => tracing::debug!("no TLS in time"),
                },
            }
        });
    }
    drop(listener);
    app.acting.close();
    let over = async {
        graceful.shutdown().await;
        // Whose client went away in the middle of it.
        app.acting.wait().await;
    };
    let _ = tokio::time::timeout(END_TIME, over).await;
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: TowerToHyperService<Router>,
    watcher: Watcher,
    unread: Duration,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(unread));
    let stream = Box::pin(stream);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(e) = watcher.watch(connection).await {
        tracing::debug!("a connection ended: {e}");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn who_takes_nothing_is_let_go() {
        const LENGTH: usize = 1 << 20;
        let (mut mine, theirs) = tokio::io::duplex(1024);
        let router = Router::new().route("/", get(async || vec![b'x'; LENGTH]));
        let service = TowerToHyperService::new(router);
        let graceful = GracefulShutdown::new();
        mine.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        // To its end, though nothing is read.
        speak(
            theirs,
            service,
            graceful.watcher(),
            Duration::from_millis(50),
        )
        .await;
        let mut all = Vec::new();
        mine.read_to_end(&mut all).await.unwrap();
        assert!(all.starts_with(b"HTTP/1.1 200 OK") && all.len() < LENGTH);
    }
}
