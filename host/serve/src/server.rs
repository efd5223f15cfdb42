//! Connections: as many as are allowed, each with a limit for what it may send how slowly, and all
//! brought to an end in good order.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::app::Shared;
use crate::routes;

/// The head of a request has to be there within this time; idle connections are closed after it too.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// What of a head is read at most.
const HEAD_MAX: usize = 64 * 1024;
/// At the end, answers have so long to be written.
const END_TIME: Duration = Duration::from_secs(2);

/// Serves until `ending` is done, then lets answers be written.
pub async fn serve(app: &Shared, listener: TcpListener, ending: impl Future<Output = ()>) {
    let service = TowerToHyperService::new(routes::router(app));
    let places = Arc::new(Semaphore::new(app.settings.serve.max_connections as usize));
    let graceful = GracefulShutdown::new();
    let mut ending = std::pin::pin!(ending);
    loop {
        // Who finds no place waits in the system's queue.
        let Ok(place) = places.clone().acquire_owned().await else {
            break;
        };
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
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_MAX)
            .serve_connection(TokioIo::new(stream), service.clone());
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(e) = connection.await {
                tracing::debug!("a connection ended: {e}");
            }
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(END_TIME, graceful.shutdown()).await;
}
