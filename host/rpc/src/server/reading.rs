//! What one client asks, read and carried out.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::context::TokioContext;

use super::{Client, Offer};
use crate::frame::{FRAME_MAX, Frames};
use crate::message::{self, INVALID_REQUEST, RpcError};

/// So many requests of one client that take long are carried out at once; then no further one is read.
const LONG_MAX: usize = 16;
/// Whoever asks one thing after another asks again within this time, which is a few times what it
/// takes to fall asleep and be woken.
const SOON: Duration = Duration::from_micros(100);

/// Carries out what comes, until the client's end or a broken limit. Whatever a request starts
/// belongs to that runtime (`at`); what takes long is carried out there, and may still be on then.
pub(crate) async fn read_all(
    mut read: impl AsyncRead + Unpin,
    offer: &Arc<dyn Offer>,
    client: &Arc<Client>,
    long: &mut JoinSet<()>,
    at: &Handle,
) {
    let mut frames = Frames::new(FRAME_MAX);
    let mut piece = vec![0; 16 * 1024];
    let mut since = Instant::now();
    let until = offer.may_idle(since);
    // It is set anew only when it comes: to do that with each request takes longer than many requests do.
    let mut timer = std::pin::pin!(sleep_until(until.unwrap_or(since)));
    let mut awake = false;
    loop {
        let len = loop {
            tokio::select! {
                len = read.read(&mut piece) => break len,
                () = soon(), if awake => awake = false,
                _ = long.join_next(), if !long.is_empty() => since = Instant::now(),
                () = &mut timer, if until.is_some() && long.is_empty() => {
                    match offer.may_idle(since) {
                        Some(later) if later > Instant::now() => timer.as_mut().reset(later),
                        _ => break Ok(0),
                    }
                }
            }
        };
        since = Instant::now();
        let Ok(len) = len else { return };
        awake = len > 0;
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
                    let reply = async move {
                        let reply = message::handle(offer.as_ref(), &client, &frame).await;
                        if let Some(line) = reply.line {
                            client.outbox.answer(line).await;
                        }
                        if reply.close {
                            client.outbox.finish();
                        }
                    };
                    long.spawn_on(reply, at);
                }
                Ok(Some(frame)) => {
                    if !answer(offer.as_ref(), client, &frame, at).await {
                        return;
                    }
                }
                Ok(None) => break,
                Err(e) => {
                    if let Some(access) = client.access() {
                        access.refused(None, INVALID_REQUEST);
                    }
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

/// Passes the time in which the next request is likely to come without falling asleep. Everything
/// else that this thread has to do is done meanwhile.
async fn soon() {
    let begun = std::time::Instant::now();
    while begun.elapsed() < SOON {
        tokio::task::yield_now().await;
    }
}

/// False if the connection is to end.
async fn answer(offer: &dyn Offer, client: &Arc<Client>, frame: &[u8], at: &Handle) -> bool {
    client.outbox.busy(true);
    let handled = message::handle(offer, client, frame);
    let reply = TokioContext::new(handled, at.clone()).await;
    if let Some(line) = reply.line {
        client.outbox.answer(line).await;
    }
    client.outbox.busy(false);
    !reply.close
}
