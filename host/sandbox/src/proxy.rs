//! A CONNECT proxy that lets a program reach the hosts it may reach, and no other.
//!
//! Bounds: [`CLIENTS`] connections at a time, [`HEAD_MAX`] bytes of a request's
//! head within [`HEAD_TIME`], [`CONNECT_TIME`] to connect. A connection that is
//! open lives as long as both sides want it, at most as long as the proxy.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use ralph_config::{HostPattern, split_port};

/// Connections at a time; further ones wait to be accepted.
const CLIENTS: usize = 64;
/// Bytes of a request's head.
const HEAD_MAX: usize = 8 * 1024;
/// From the connection to the end of the head.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// For the connection to the host, looking up its address included.
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// This many hosts that were refused are remembered.
const REFUSED_MAX: usize = 32;

/// A proxy at work; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    task: JoinHandle<()>,
    refused: Arc<Mutex<BTreeSet<String>>>,
}

impl Proxy {
    /// Serves a socket that listens already. Inside a tokio runtime.
    pub(crate) fn serve(
        listener: std::net::TcpListener,
        hosts: Vec<HostPattern>,
    ) -> io::Result<Proxy> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let refused = Arc::<Mutex<BTreeSet<String>>>::default();
        let shared = Arc::new(Shared {
            hosts,
            refused: refused.clone(),
        });
        let task = tokio::spawn(accept(listener, shared));
        Ok(Proxy { task, refused })
    }

    /// Hosts that were asked for and refused so far.
    pub(crate) fn refused(&self) -> Vec<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.iter().cloned().collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Shared {
    hosts: Vec<HostPattern>,
    refused: Arc<Mutex<BTreeSet<String>>>,
}

impl Shared {
    fn remember(&self, asked: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSED_MAX {
            refused.insert(asked.chars().filter(|c| !c.is_control()).collect());
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CLIENTS));
    // Dropped with this task, and every connection with it.
    let mut clients = tokio::task::JoinSet::new();
    while let Ok(place) = places.clone().acquire_owned().await {
        while clients.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((client, _)) => {
                let shared = shared.clone();
                clients.spawn(async move {
                    if let Err(e) = serve(client, &shared).await {
                        tracing::debug!("a connection through the proxy ended: {e}");
                    }
                    drop(place);
                });
            }
            Err(e) => {
                tracing::warn!("the proxy accepts no more connections: {e}");
                return;
            }
        }
    }
}

async fn serve(mut client: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut head = Vec::with_capacity(512);
    let asked = match timeout(HEAD_TIME, read_head(&mut client, &mut head)).await {
        Ok(read) => read?,
        Err(_) => {
            return answer(
                &mut client,
                "408 Request Timeout",
                "no whole request in time",
            )
            .await;
        }
    };
    let (asked, rest) = match asked {
        Asked::Connect { authority, rest } => (authority, rest),
        Asked::Other => {
            let why = "this proxy only passes encrypted connections on (CONNECT)";
            return answer(&mut client, "405 Method Not Allowed", why).await;
        }
        Asked::Bad => return answer(&mut client, "400 Bad Request", "this is no request").await,
    };
    let target = split_port(&asked).and_then(|(host, port)| Some((host, port?)));
    let Some((host, port)) = target else {
        return answer(&mut client, "400 Bad Request", "CONNECT needs HOST:PORT").await;
    };
    if !shared.hosts.iter().any(|p| p.allows(host, port)) {
        shared.remember(&asked);
        let why = "this host is not in `network` of the sandbox, in ralph.toml";
        return answer(&mut client, "403 Forbidden", why).await;
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut host = match timeout(CONNECT_TIME, TcpStream::connect((bare, port))).await {
        Ok(Ok(host)) => host,
        Ok(Err(e)) => return answer(&mut client, "502 Bad Gateway", &e.to_string()).await,
        Err(_) => {
            return answer(
                &mut client,
                "504 Gateway Timeout",
                "the host doesn't answer",
            )
            .await;
        }
    };
    client
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    host.write_all(&rest).await?;
    tokio::io::copy_bidirectional(&mut client, &mut host).await?;
    Ok(())
}

enum Asked {
    /// With what came behind the head already.
    Connect {
        authority: String,
        rest: Vec<u8>,
    },
    Other,
    Bad,
}

async fn read_head(client: &mut TcpStream, head: &mut Vec<u8>) -> io::Result<Asked> {
    loop {
        if head.len() >= HEAD_MAX || client.read_buf(head).await? == 0 {
            return Ok(Asked::Bad);
        }
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(head) {
            Ok(httparse::Status::Partial) => {}
            Err(_) => return Ok(Asked::Bad),
            Ok(httparse::Status::Complete(end)) => {
                return Ok(match (request.method, request.path) {
                    (Some("CONNECT"), Some(path)) => Asked::Connect {
                        authority: path.to_owned(),
                        rest: head.split_off(end),
                    },
                    _ => Asked::Other,
                });
            }
        }
    }
}

async fn answer(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\nralph: {why}\n",
        why.len() + "ralph: \n".len()
    );
    client.write_all(text.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    /// Sends these bytes; all that comes back.
    async fn say(to: SocketAddr, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(to).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut text = Vec::new();
        // A proxy that hangs up on what it hasn't read resets the connection.
        let _ = stream.read_to_end(&mut text).await;
        String::from_utf8_lossy(&text).into_owned()
    }

    async fn with_host(allow: impl Fn(u16) -> String) -> (Proxy, SocketAddr, u16) {
        let host = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = host.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = host.accept().await {
                let mut word = [0; 4];
                stream.read_exact(&mut word).await.unwrap();
                stream.write_all(b"heard ").await.unwrap();
                stream.write_all(&word).await.unwrap();
            }
        });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let proxy =
            Proxy::serve(listener, vec![HostPattern::parse(&allow(port)).unwrap()]).unwrap();
        (proxy, at, port)
    }

    #[tokio::test]
    async fn a_listed_host_is_reached_also_with_bytes_right_behind_the_head() {
        let (proxy, at, port) = with_host(|port| format!("127.0.0.1:{port}")).await;
        let head = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\nabcd");
        let said = say(at, head.as_bytes()).await;
        assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
        assert!(said.ends_with("\r\n\r\nheard abcd"), "{said}");
        assert_eq!(proxy.refused(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn other_hosts_and_ports_are_refused_and_remembered() {
        let (proxy, at, port) = with_host(|port| format!("localhost:{port}")).await;
        for target in [
            format!("127.0.0.1:{port}"),
            "localhost:1".into(),
            "evil.example:443".into(),
        ] {
            let said = say(at, format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).await;
            assert!(
                said.starts_with("HTTP/1.1 403 ") && said.contains("ralph.toml"),
                "{said}"
            );
        }
        assert_eq!(proxy.refused().len(), 3);
    }

    #[tokio::test]
    async fn what_is_no_connect_gets_an_answer() {
        let (_proxy, at, _) = with_host(|port| format!("127.0.0.1:{port}")).await;
        for (bytes, status) in [
            ("GET http://example.org/ HTTP/1.1\r\n\r\n".to_owned(), "405"),
            ("\u{0}\u{1}\u{2}\r\n\r\n".to_owned(), "400"),
            ("CONNECT nowhere HTTP/1.1\r\n\r\n".to_owned(), "400"),
            ("CONNECT a:b HTTP/1.1\r\n\r\n".to_owned(), "400"),
            (
                format!(
                    "CONNECT a:1 HTTP/1.1\r\nX: {}\r\n\r\n",
                    "y".repeat(HEAD_MAX)
                ),
                "400",
            ),
        ] {
            let said = say(at, bytes.as_bytes()).await;
            assert!(
                said.is_empty() || said.starts_with(&format!("HTTP/1.1 {status} ")),
                "{said}"
            );
        }
    }
}
