#![allow(clippy::unwrap_used, reason = "tests")]

use async_trait::async_trait;
use ralph_engine::event::Event;
use ralph_engine::types::{AgentEvent, Role};
use ralph_runner::View;
use serde_json::Value;
use tokio::io::{DuplexStream, duplex};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::yield_now;

use tokio::io::AsyncReadExt;

use super::*;
use crate::feed::{Feed, marker};
use crate::message::Params;

/// A run of which nothing but its output is told.
struct Run(Arc<Feed>);

#[async_trait]
impl Service for Run {
    async fn call(
        &self,
        client: &Arc<Client>,
        _method: &str,
        _params: Params<'_>,
    ) -> Result<Value, RpcError> {
        self.0.subscribe(client, &["output".into()], None);
        Ok(Value::Null)
    }
}

impl Offer for Run {
    fn came(&self, client: &Arc<Client>) {
        self.0.came(client);
    }

    fn marker(&self) -> Marker {
        marker
    }

    fn transport(&self) -> &'static str {
        "test"
    }

    fn fetch(&self, client: &Client, piece: &mut Vec<u8>, until: Until) {
        self.0.fetch(client, piece, until);
    }
}

/// All that comes, to the end.
async fn all(mut client: DuplexStream) -> Vec<Value> {
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    let lines = text.lines();
    lines.map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// How many lines came, or were told to be missing; and the last one.
fn counted(said: &[Value]) -> (u64, String) {
    let of = |event: &Value| match event["type"].as_str().unwrap() {
        "missed" => event["data"]["count"].as_u64().unwrap(),
        _ => 1,
    };
    let count = said.iter().map(|line| of(&line["params"])).sum();
    let last = said.last().unwrap()["params"]["data"]["line"].as_str();
    (count, last.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_client_that_is_cut_off_at_the_end_is_told_exactly_what_it_loses() {
    let feed = Arc::new(Feed::default());
    let offer: Arc<dyn Offer> = Arc::new(Run(feed.clone()));
    // Its buffer is full long before everything is written.
    let (mut client, server) = duplex(4096);
    let (close, closed) = watch::channel(false);
    let (cut, too_late) = watch::channel(false);
    let ends = Ends {
        at: tokio::runtime::Handle::current(),
        closed,
        too_late,
    };
    let (read, write) = tokio::io::split(server);
    let served = tokio::spawn(async move {
        let client = Arc::new(Client::default());
        attend((read, write), &client, &offer, ends, false).await
    });
    client
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscribe\"}\n")
        .await
        .unwrap();
    let mut answer = [0; 64];
    let len = client.read(&mut answer).await.unwrap();
    assert!(answer[..len].ends_with(b"\n"));
    const LINES: u64 = 3000;
    for n in 1..=LINES {
        feed.event(&Event::Agent {
            role: Role::Work,
            what: AgentEvent::Text(format!("line {n}")),
        });
    }
    close.send_replace(true);
    // It doesn't read for so long that there is no time for all of that.
    for _ in 0..100 {
        yield_now().await;
    }
    cut.send_replace(true);
    let said = all(client).await;
    assert!(
        said.len() < 1000,
        "{} lines: nothing was cut off",
        said.len()
    );
    assert_eq!(counted(&said), (LINES, format!("line {LINES}")));
    assert!(!served.await.unwrap());
}

/// What was written to a Unix socket is kept for a client that reads it later.
#[tokio::test]
async fn who_reads_nothing_until_it_is_over_finds_an_exact_account_in_its_buffer() {
    let feed = Arc::new(Feed::default());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let run = Arc::new(Run(feed.clone()));
    let offers = Box::new(move || run.clone() as Arc<dyn Offer>);
    let server = Server::start(Listener::Unix(listener), offers);
    let mut client = UnixStream::connect(&path).await.unwrap();
    client
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscribe\"}\n")
        .await
        .unwrap();
    let mut answer = [0; 64];
    let len = client.read(&mut answer).await.unwrap();
    assert!(answer[..len].ends_with(b"\n"));
    // More than a buffer holds.
    const LINES: u64 = 3000;
    let long = "x".repeat(1000);
    for n in 1..=LINES {
        feed.event(&Event::Agent {
            role: Role::Work,
            what: AgentEvent::Text(format!("line {n} {long}")),
        });
    }
    server.close().await;
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    let said: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(counted(&said), (LINES, format!("line {LINES} {long}")));
}
