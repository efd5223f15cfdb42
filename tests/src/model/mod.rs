//! A model's HTTP service on loopback, which real agent programs take for the real one: OpenAI
//! Responses and Chat Completions, Anthropic Messages, streamed and not. What it answers is
//! decided by the test, request by request. It knows nothing and learns nothing: each request
//! brings the whole conversation.

mod asked;
mod chat;
mod http;
mod messages;
mod responses;
mod tools;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

pub use asked::{Asked, Protocol};
use http::{Connection, Request};
pub use tools::Tool;

/// What a request is answered with.
#[derive(Debug, Clone)]
pub enum Step {
    /// Words, which end the turn.
    Say(String),
    /// Thoughts and words, then tools to call.
    Call {
        /// Shown as reasoning.
        think: Option<String>,
        /// Said before the calls.
        say: Option<String>,
        /// What is called, in this order.
        tools: Vec<Tool>,
    },
    /// The model declines, in the way its protocol has for that.
    Refuse(String),
    /// An HTTP status and an error in its body.
    Status(u16, Trouble),
    /// Part of an answer, then the connection is cut.
    Cut,
    /// Nothing, for as long as the client waits.
    Hang,
}

/// What an error's body says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// What usually belongs to the status.
    Plain,
    /// The same, and when to come back, in seconds.
    RetryAfter(u32),
    /// The account has nothing left.
    Quota,
    /// The conversation is too long.
    Context,
}

impl Step {
    /// Calls one tool.
    pub fn call(tool: Tool) -> Step {
        Step::Call {
            think: None,
            say: None,
            tools: vec![tool],
        }
    }
}

/// What each answer takes, in tokens: with it a test can tell whether usage was counted right.
pub const INPUT: u64 = 1000;
/// Of [`INPUT`], or beside it where the protocol counts so.
pub const CACHED: u64 = 200;
/// Of each answer.
pub const OUTPUT: u64 = 50;

type Answer = dyn Fn(&Asked) -> Step + Send + Sync;

struct Shared {
    answer: Box<Answer>,
    count: AtomicU32,
    over: AtomicBool,
    /// What of it went wrong, for the test to see.
    complaints: Mutex<Vec<String>>,
}

/// The service. Ends when it is dropped.
pub struct Model {
    at: SocketAddr,
    shared: Arc<Shared>,
}

impl Model {
    /// Starts it. `answer` is asked once for every request for an answer of the model.
    pub fn start(answer: impl Fn(&Asked) -> Step + Send + Sync + 'static) -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let at = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            count: AtomicU32::new(0),
            over: AtomicBool::new(false),
            complaints: Mutex::default(),
        });
        let theirs = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.over.load(Ordering::Relaxed) {
                    return;
                }
                let (Ok(stream), theirs) = (stream, theirs.clone()) else {
                    continue;
                };
                std::thread::spawn(move || serve(stream, &theirs));
            }
        });
        Model { at, shared }
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// How many answers were asked for.
    pub fn requests(&self) -> u32 {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// Requests that it did not understand.
    pub fn complaints(&self) -> Vec<String> {
        lock(&self.shared.complaints).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.at);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, shared: &Shared) {
    let Ok(mut connection) = Connection::new(stream) else {
        return;
    };
    // A client that goes away in between is none of our business.
    while let Ok(Some(request)) = connection.request() {
        match answer(&mut connection, &request, shared) {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
    }
}

/// Says whether the connection can go on.
fn answer(to: &mut Connection, request: &Request, shared: &Shared) -> io::Result<bool> {
    let path = request.path.split('?').next().unwrap_or_default();
    let Some(protocol) = Protocol::of(path).filter(|_| request.method == "POST") else {
        return aside(to, request, path, shared);
    };
    let asked = match serde_json::from_slice::<Value>(&request.body) {
        Ok(body) => Asked::read(protocol, body, shared.count.fetch_add(1, Ordering::Relaxed)),
        Err(e) => {
            lock(&shared.complaints).push(format!("{path}: the body is no JSON: {e}"));
            to.json(400, &[], &json!({"error": {"message": "no JSON"}}))?;
            return Ok(true);
        }
    };
    let step = (shared.answer)(&asked);
    match &step {
        Step::Hang => {
            to.wait_until_gone();
            return Ok(false);
        }
        Step::Status(code, trouble) => {
            let body = trouble_body(protocol, *code, *trouble);
            let wait = match trouble {
                Trouble::RetryAfter(seconds) => vec![("retry-after", seconds.to_string())],
                _ => Vec::new(),
            };
            to.json(*code, &wait, &body)?;
            return Ok(true);
        }
        // Some ask again without a stream when a stream was cut.
        Step::Cut if !asked.stream => return Ok(false),
        _ => {}
    }
    match protocol {
        Protocol::Responses => responses::answer(to, &asked, &step)?,
        Protocol::Chat => chat::answer(to, &asked, &step)?,
        Protocol::Messages => messages::answer(to, &asked, &step)?,
    }
    Ok(!matches!(step, Step::Cut))
}

/// What clients ask beside answers of a model.
fn aside(to: &mut Connection, request: &Request, path: &str, shared: &Shared) -> io::Result<bool> {
    match (request.method.as_str(), path) {
        ("POST", p) if p.ends_with("/count_tokens") => {
            to.json(200, &[], &json!({"input_tokens": INPUT}))?;
        }
        ("GET", p) if p.ends_with("/models") => {
            let models = ["gpt-5.5", "gpt-5.4", "claude-sonnet-4-5"].map(|id| {
                json!({"id": id, "object": "model", "type": "model", "display_name": id,
                       "created": 0, "owned_by": "test"})
            });
            to.json(
                200,
                &[],
                &json!({"object": "list", "data": models, "has_more": false}),
            )?;
        }
        ("HEAD" | "GET", _) => to.json(200, &[], &json!({}))?,
        (method, p) => {
            lock(&shared.complaints).push(format!("{method} {p}: not known here"));
            to.json(404, &[], &json!({"error": {"message": "no such thing"}}))?;
        }
    }
    Ok(true)
}

fn trouble_body(protocol: Protocol, code: u16, trouble: Trouble) -> Value {
    let anthropic = protocol == Protocol::Messages;
    let (kind, short, message) = match (trouble, code) {
        (Trouble::Quota, _) if anthropic => (
            "billing_error",
            "",
            "Your credit balance is too low to access the Anthropic API.".to_owned(),
        ),
        (Trouble::Quota, _) => (
            "insufficient_quota",
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.".into(),
        ),
        (Trouble::Context, _) if anthropic => (
            "invalid_request_error",
            "",
            "prompt is too long: 250000 tokens > 200000 maximum".into(),
        ),
        (Trouble::Context, _) => (
            "invalid_request_error",
            "context_length_exceeded",
            "Your input exceeds the context window of this model.".into(),
        ),
        (_, 401) => (
            "authentication_error",
            "invalid_api_key",
            "the key is wrong".into(),
        ),
        (_, 429) => (
            "rate_limit_error",
            "rate_limit_exceeded",
            "too many requests".into(),
        ),
        (_, 529) => ("overloaded_error", "overloaded", "too busy".into()),
        (_, code) => ("api_error", "server_error", format!("it fails with {code}")),
    };
    if anthropic {
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_t"})
    } else {
        json!({"error": {"message": message, "type": kind, "param": null, "code": short}})
    }
}
