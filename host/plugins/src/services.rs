//! What a call is given, and what it may ask of the loop.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use ralph_engine::types::{AgentEvent, DiffText, FileChange};

/// What one call is given.
#[derive(Clone)]
pub struct CallContext {
    /// What the plugin may ask for while it runs.
    pub services: Arc<dyn Services>,
    /// What `config.get` returns: one JSON object.
    pub config: String,
    /// Absolute path of the project's root, below which granted directories lie.
    /// Needed by agents and by plugins with a `read` or `write` grant only.
    pub root: Option<PathBuf>,
    /// The time at which the plugin's clock stands, unless it is granted the real one.
    pub now: SystemTime,
    /// Fixes the plugin's randomness, unless it is granted the real one.
    pub seed: String,
}

/// How much a log line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Finest.
    Trace,
    /// For whoever develops the plugin.
    Debug,
    /// For users who want to know more.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something failed.
    Error,
}

/// A program which a plugin wants run in the project's root. No shell is involved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// A name that is looked up in PATH, or a path relative to the project's root.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Laid over the environment which the host gives.
    pub env: Vec<(String, String)>,
    /// Its standard input; `None` means an empty one.
    pub stdin: Option<Vec<u8>>,
    /// How long it may take, in milliseconds; `None` leaves it to the host.
    pub timeout_ms: Option<u64>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// `None` if a signal ended it or its time was over.
    pub code: Option<i32>,
    /// Its time was over.
    pub timed_out: bool,
    /// The end of its standard output.
    pub stdout: Vec<u8>,
    /// The end of its standard error.
    pub stderr: Vec<u8>,
    /// Either lost its beginning.
    pub truncated: bool,
}

/// Why a program did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessError {
    /// Not in the plugin's grant; says which key to change.
    Denied(String),
    /// There is no such program.
    NotFound(String),
    /// Anything else.
    Failed(String),
}

/// What a plugin asks of the values it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateAsk {
    /// The value under a key.
    Get(String),
    /// To put a value under a key.
    Set(String, Vec<u8>),
    /// To remove a key.
    Delete(String),
    /// The keys that begin so.
    Keys(String),
}

/// What it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateTold {
    /// To `Get`.
    Value(Option<Vec<u8>>),
    /// To `Set` and `Delete`.
    Done,
    /// To `Keys`, sorted.
    Keys(Vec<String>),
}

/// Why a value could not be read or kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateError {
    /// A key or value that can't be.
    Invalid(String),
    /// There is no room for it.
    Full(String),
    /// Anything else.
    Failed(String),
}

/// What a plugin tells people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// `Info`, `Warn` or `Error`.
    pub level: Level,
    /// One line.
    pub title: String,
    /// More of it; may be empty.
    pub text: String,
}

/// A request that a plugin sends, to a host that it was granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpRequest {
    /// `GET`, …
    pub method: String,
    /// The whole of it, with its scheme.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// May be empty.
    pub body: Vec<u8>,
    /// For the connection; a minute if it isn't said.
    pub connect_timeout: Option<Duration>,
    /// Until the response begins; as above.
    pub first_byte_timeout: Option<Duration>,
    /// Between two pieces of the response; as above.
    pub between_bytes_timeout: Option<Duration>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpResponse {
    /// 200, …
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole of it.
    pub body: Vec<u8>,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpFault {
    /// A time-out was over.
    Timeout,
    /// The response has more than so many bytes.
    TooLarge(u64),
    /// Anything else.
    Failed(String),
}

/// What the loop does for a plugin while a call runs. The time spent in here is
/// not the plugin's. Grants are checked before any of it is called.
#[async_trait]
pub trait Services: Send + Sync {
    /// A line for the log: from `log.log`, or from the plugin's standard output
    /// (`Info`) or standard error (`Warn`). At most 64 KiB per call and source;
    /// control characters other than newline and tab have been replaced.
    fn log(&self, plugin: &str, level: Level, message: &str);

    /// Something an agent lets one see.
    fn event(&self, event: AgentEvent) {
        let _ = event;
    }

    /// The prompt of the agent call that a driver's session follows.
    fn prompt(&self) -> String {
        String::new()
    }

    /// True once somebody wants the run to end.
    fn stop_asked(&self) -> bool {
        false
    }

    /// A call is over; its instance has so many bytes of memory.
    fn used(&self, memory: u64) {
        let _ = memory;
    }

    /// The iteration's changed paths, sorted.
    async fn files(&self) -> Vec<FileChange>;

    /// The iteration's diff, at most `max_bytes` of it.
    async fn diff(&self, max_bytes: u64) -> DiffText;

    /// Runs a program and waits for its end. Dropping the future ends it.
    async fn run(&self, command: Command) -> Result<Output, ProcessError>;

    /// The values which this plugin keeps.
    async fn state(&self, plugin: &str, ask: StateAsk) -> Result<StateTold, StateError> {
        let _ = (plugin, ask);
        Err(StateError::Failed("nothing is kept here".into()))
    }

    /// Sends a request and waits for the response, of at most `max` bytes.
    async fn http(
        &self,
        plugin: &str,
        request: HttpRequest,
        max: u64,
    ) -> Result<HttpResponse, HttpFault> {
        let _ = plugin;
        crate::http::send(request, max).await
    }

    /// Tells people something; what could not be told, and why.
    async fn notify(&self, plugin: &str, what: Notification) -> Result<(), String> {
        let _ = (plugin, what);
        Ok(())
    }
}
