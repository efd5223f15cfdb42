//! Server-sent events. A stream reads what comes next when it has room to send it, so a reader
//! that doesn't read costs a few pages of events, and nobody's time.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::live::{Live, Mark};
use crate::app::Shared;
use crate::store::{StoreError, StoredEvent};

/// Events that are read at a time; one more than so many bytes is none more.
const PAGE: usize = 128;
const PAGE_BYTES: usize = 32 << 10;

struct Stream {
    app: Shared,
    run: String,
    /// The last event that was sent.
    at: u64,
    live: Option<Arc<Live>>,
    to: mpsc::Sender<Bytes>,
}

/// Why a stream ends before its run.
enum Gone {
    /// The reader is.
    Reader,
    /// Its token isn't good any more.
    Expired,
    /// The store can't be read.
    Store(StoreError),
}

impl From<StoreError> for Gone {
    fn from(e: StoreError) -> Gone {
        Gone::Store(e)
    }
}

/// Answers with a run's events after `after`, to the run's end or as long as the reader may read.
pub fn respond(
    app: Shared,
    run: String,
    after: After,
    live: Option<Arc<Live>>,
    time: Option<Duration>,
) -> Response {
    let (to, from) = mpsc::channel(1);
    let stream = Stream {
        app,
        run,
        at: 0,
        live,
        to,
    };
    tokio::spawn(stream.go(after, time));
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::new(Chunks(from))).into_response()
}

/// Where a reader wants to begin.
pub enum After {
    /// Behind this event.
    Event(u64),
    /// What it says is no event's id.
    Garbage,
}

impl Stream {
    async fn go(mut self, after: After, time: Option<Duration>) {
        let streams = &self.app.clone().metrics.streams;
        streams.fetch_add(1, Relaxed);
        let expired = async {
            match time {
                Some(time) => tokio::time::sleep(time).await,
                None => std::future::pending().await,
            }
        };
        let told = tokio::select! {
            told = self.tell(after) => told,
            () = expired => Err(Gone::Expired),
        };
        match told {
            // It comes again with its last event's id and another token.
            Err(Gone::Expired) => {
                let _ = self.to.try_send(Bytes::from(": the token has expired\n\n"));
            }
            Err(Gone::Store(e)) => tracing::error!("events of {}: {e}", self.run),
            Err(Gone::Reader) => tracing::debug!("a reader of {} is gone", self.run),
            Ok(()) => {}
        }
        streams.fetch_sub(1, Relaxed);
    }

    async fn tell(&mut self, after: After) -> Result<(), Gone> {
        // A run that is over has all its events in the store.
        let ended = watch::channel(Mark {
            last: u64::MAX,
            over: true,
        });
        let mut mark = self.live.as_ref().map_or(ended.1, |live| live.follow());
        let mut closing = self.app.closing.subscribe();
        let heartbeat = self.app.settings.serve.heartbeat.get();
        self.begin(after).await?;
        loop {
            let now = *mark.borrow_and_update();
            self.catch_up(now.last).await?;
            if now.over || *closing.borrow() {
                return Ok(());
            }
            tokio::select! {
                changed = mark.changed() => if changed.is_err() { return Ok(()) },
                _ = closing.changed() => {}
                () = self.to.closed() => return Err(Gone::Reader),
                () = tokio::time::sleep(heartbeat) => self.send(": heartbeat\n\n".to_owned()).await?,
            }
        }
    }

    async fn begin(&mut self, after: After) -> Result<(), Gone> {
        // Something comes at once, so that the reader knows that it is connected.
        self.send(": events\nretry: 1000\n\n".to_owned()).await?;
        let (first, last) = self.app.store.bounds(&self.run).await?;
        match after {
            After::Event(id) if id <= last && id + 1 >= first => self.at = id,
            After::Event(_) | After::Garbage => self.resync(first, last).await?,
        }
        Ok(())
    }

    /// What the reader has isn't followed by what is here: it has to begin anew.
    async fn resync(&mut self, first: u64, last: u64) -> Result<(), Gone> {
        self.at = first.saturating_sub(1);
        let data =
            json!({ "type": "resync", "run_id": self.run, "first_id": first, "last_id": last });
        let at = self.at;
        self.send(format!("id: {at}\nevent: resync\ndata: {data}\n\n"))
            .await
    }

    async fn catch_up(&mut self, last: u64) -> Result<(), Gone> {
        while self.at < last {
            let ring = self
                .live
                .as_ref()
                .and_then(|l| l.after(self.at, PAGE, PAGE_BYTES));
            let page = match ring {
                Some(page) if !page.is_empty() => page,
                _ => {
                    let page = self
                        .app
                        .store
                        .events(&self.run, self.at, PAGE, PAGE_BYTES)
                        .await?;
                    page.into_iter().map(Arc::new).collect()
                }
            };
            let Some(first) = page.first().map(|e| e.id) else {
                return Ok(());
            };
            if first != self.at + 1 {
                // Slower than events are thrown away.
                self.resync(first, page.last().map_or(first, |e| e.id))
                    .await?;
            }
            let text: String = page.iter().map(|e| frame(e)).collect();
            self.at = page.last().map_or(self.at, |e| e.id);
            drop(page);
            self.send(text).await?;
        }
        Ok(())
    }

    async fn send(&self, text: String) -> Result<(), Gone> {
        let sent = self.to.send(Bytes::from(text)).await;
        sent.map_err(|_| Gone::Reader)
    }
}

fn frame(event: &StoredEvent) -> String {
    format!(
        "id: {}\nevent: {}\ndata: {}\n\n",
        event.id, event.kind, event.data
    )
}

/// A body of what comes through a channel.
struct Chunks(mpsc::Receiver<Bytes>);

impl HttpBody for Chunks {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        self.0
            .poll_recv(cx)
            .map(|bytes| bytes.map(|b| Ok(hyper::body::Frame::data(b))))
    }
}
