//! The connection: one client, from `bridge_started` to `bridge_stopped`.

use std::fs::File;
use std::pin::pin;
use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use super::{Bridge, teller};
use crate::access::{Access, Peer};
use crate::apart::Apart;
use crate::pipes;
use crate::server::{CUT, Client, LAST, Offer, read_all, write_all};

/// Serves who is at standard input and at `out` until the client's end, or until `stop` is ready. Then
/// the run that is on is ended, its agent with it, and what is left to be told is written; a client that
/// doesn't read any more is waited for half a second.
///
/// # Errors
/// A panic of the connection's.
pub async fn serve(
    out: File,
    bridge: Arc<Bridge>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), JoinError> {
    let here = Handle::current();
    // A thread that is woken by what comes itself, and not by another.
    let apart = Apart::start(false);
    let (read, write) = {
        let _there = apart.handle().enter();
        (pipes::input(), pipes::output(out))
    };
    let served = attend(read, write, bridge, stop, here);
    apart.handle().spawn(served).await
}

async fn attend(
    read: impl AsyncRead + Unpin,
    write: impl AsyncWrite + Unpin,
    bridge: Arc<Bridge>,
    stop: impl Future<Output = ()>,
    work: Handle,
) {
    let offer: Arc<dyn Offer> = bridge.clone();
    let access = Access::came(offer.transport(), Some(Peer::Parent));
    let client = Arc::new(Client::told_of(access));
    // In one task with the reading: an answer is written without another having to be woken.
    let mut writing = pin!(write_all(write, &client, offer.as_ref()));
    offer.came(&client);
    let mut long = JoinSet::new();
    let gone = tokio::select! {
        () = read_all(read, &offer, &client, &mut long, &work) => false,
        () = stop => false,
        // Nobody is there to read any more.
        () = &mut writing => true,
    };
    let mut ending = pin!(async {
        bridge.end().await;
        // A step that was on has its answer now.
        let _ = timeout(LAST, long.join_all()).await;
        teller::tell(&client, "bridge_stopped", json!({}));
        client.outbox.finish();
    });
    let written = tokio::select! {
        () = &mut writing, if !gone => true,
        () = &mut ending => gone,
    };
    if written && !gone {
        ending.await;
    }
    if !written && timeout(LAST - CUT, &mut writing).await.is_err() {
        client.outbox.cut();
        let _ = timeout(CUT, writing).await;
    }
    if let Some(access) = client.access() {
        access.left();
    }
}
