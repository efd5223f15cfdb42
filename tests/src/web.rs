//! A web server on loopback that answers what a test tells it to, over TLS or plain.
//! `ca.pem` signed its certificate; for a hundred years, by a key that nobody has any more.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

const CERTIFICATE: &[u8] = include_bytes!("web/server.pem");
const KEY: &[u8] = include_bytes!("web/server.key");

/// What is answered to one path.
#[derive(Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    cut: bool,
    endless: bool,
}

impl Reply {
    /// 200 with this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Reply {
        Reply::status(200, body)
    }

    /// Another status.
    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply {
            status,
            headers: Vec::new(),
            body: body.into(),
            cut: false,
            endless: false,
        }
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Reply {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The connection ends in the middle of the body.
    #[must_use]
    pub fn cut(mut self) -> Reply {
        self.cut = true;
        self
    }

    /// The body comes again and again, in chunks, for as long as somebody reads.
    #[must_use]
    pub fn endless(mut self) -> Reply {
        self.endless = true;
        self
    }
}

#[derive(Default)]
struct State {
    replies: HashMap<String, Reply>,
    /// Replies to requests without an `Authorization`.
    bare: HashMap<String, Reply>,
    heard: Vec<String>,
    bodies: Vec<Vec<u8>>,
    /// Bytes of endless bodies.
    sent: u64,
}

/// The server; it ends with the test's process.
pub struct Web {
    port: u16,
    tls: bool,
    state: Arc<Mutex<State>>,
}

impl Web {
    /// Over TLS.
    pub fn https() -> Web {
        let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate")];
        let key = PrivateKeyDer::from_pem_slice(KEY).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("a pair");
        Web::start(Some(Arc::new(config)))
    }

    /// Plain.
    pub fn http() -> Web {
        Web::start(None)
    }

    fn start(tls: Option<Arc<ServerConfig>>) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let web = Web {
            port: listener.local_addr().expect("an address").port(),
            tls: tls.is_some(),
            state: Arc::default(),
        };
        let state = web.state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, tls) = (state.clone(), tls.clone());
                std::thread::spawn(move || {
                    // A client that breaks off is no fault of the server's.
                    let _ = match tls {
                        None => serve(stream, &state),
                        Some(config) => ServerConnection::new(config)
                            .map_err(std::io::Error::other)
                            .and_then(|tls| serve(StreamOwned::new(tls, stream), &state)),
                    };
                });
            }
        });
        web
    }

    /// The certificate that its own is signed by, as a file.
    pub fn ca() -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/web/ca.pem"))
    }

    /// Address of a path.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}{path}", self.port)
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Sets what is answered from now on. Everything else is a 404.
    pub fn on(&self, path: &str, reply: Reply) {
        self.state().replies.insert(path.into(), reply);
    }

    /// Sets what is answered to whoever isn't authorised.
    pub fn unless_authorised(&self, path: &str, reply: Reply) {
        self.state().bare.insert(path.into(), reply);
    }

    /// Forgets all replies.
    pub fn nothing_more(&self) {
        self.state().replies.clear();
    }

    /// Method, path and authorisation of each request so far.
    pub fn heard(&self) -> Vec<String> {
        self.state().heard.clone()
    }

    /// The body of each request so far.
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.state().bodies.clone()
    }

    /// How much of endless bodies was taken so far, by the client or on its way to it.
    pub fn sent(&self) -> u64 {
        self.state().sent
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("the state")
    }
}

fn serve(stream: impl Read + Write, state: &Mutex<State>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut first, mut authorisation, mut length) = (String::new(), String::new(), 0);
    stream.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        match name.to_ascii_lowercase().as_str() {
            "authorization" => authorisation = value.to_owned(),
            "content-length" => length = value.parse().unwrap_or(0),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let mut words = first.split(' ');
    let (method, path) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let reply = {
        let mut state = state.lock().expect("the state");
        let heard = format!("{method} {path} {authorisation}");
        state.heard.push(heard.trim_end().to_owned());
        state.bodies.push(body);
        let bare = state.bare.get(path).filter(|_| authorisation.is_empty());
        let reply = bare.or_else(|| state.replies.get(path)).cloned();
        reply.unwrap_or_else(|| Reply::status(404, "nothing here"))
    };
    let out = stream.get_mut();
    write!(out, "HTTP/1.1 {} x\r\n", reply.status)?;
    for (name, value) in &reply.headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    if reply.endless {
        write!(
            out,
            "transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        )?;
        loop {
            write!(out, "{:x}\r\n", reply.body.len())?;
            out.write_all(&reply.body)?;
            write!(out, "\r\n")?;
            out.flush()?;
            state.lock().expect("the state").sent += reply.body.len() as u64;
        }
    }
    write!(
        out,
        "content-length: {}\r\nconnection: close\r\n\r\n",
        reply.body.len()
    )?;
    let end = if reply.cut {
        reply.body.len() / 2
    } else {
        reply.body.len()
    };
    out.write_all(&reply.body[..end])?;
    out.flush()
}
