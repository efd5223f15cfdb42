//! The asking side: finds a run's socket, asks, never waits for ever.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::frame::Frames;
use crate::socket;

/// A run that answers takes no longer.
const PATIENCE: Duration = Duration::from_secs(5);
/// An answer may be this long.
const ANSWER_MAX: usize = 4 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody serves there.
    #[error("no run answers")]
    Nobody,
    /// It is there and says nothing.
    #[error("the run doesn't answer; its process may be suspended")]
    Silent,
    /// It says no.
    #[error("{message}")]
    Refused {
        /// The error's code.
        code: i64,
        /// In its words.
        message: String,
    },
    /// It speaks something else.
    #[error("what answers there isn't a run of ralph's")]
    Foreign,
}

/// A connection to a run.
#[derive(Debug)]
pub struct Caller {
    stream: UnixStream,
    frames: Frames,
    asked: u64,
    /// Its socket.
    pub path: PathBuf,
    /// What it said of itself when it was found.
    pub status: Value,
}

impl Caller {
    /// Connects, and asks how the run stands.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn connect(path: &Path) -> Result<Caller, CallError> {
        let stream = match timeout(PATIENCE, UnixStream::connect(path)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(e)) if e.kind() == std::io::ErrorKind::WouldBlock => {
                return Err(CallError::Silent);
            }
            Ok(Err(_)) => return Err(CallError::Nobody),
            Err(_) => return Err(CallError::Silent),
        };
        let mut caller = Caller {
            stream,
            frames: Frames::new(ANSWER_MAX),
            asked: 0,
            path: path.to_owned(),
            status: Value::Null,
        };
        caller.status = caller.call("get_status", json!({})).await?;
        Ok(caller)
    }

    /// The run of the project at `root`.
    ///
    /// # Errors
    /// [`CallError::Nobody`] if none is on, or what the one that is there says.
    pub async fn of(root: &Path) -> Result<Caller, CallError> {
        let mut worst = CallError::Nobody;
        for path in socket::candidates(root) {
            match Caller::connect(&path).await {
                Ok(caller) if caller.status["project"] == json!(root) => return Ok(caller),
                Ok(_) | Err(CallError::Nobody) => {}
                Err(e) => worst = e,
            }
        }
        Err(worst)
    }

    /// Asks for something.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, CallError> {
        timeout(PATIENCE, self.ask(method, params))
            .await
            .unwrap_or(Err(CallError::Silent))
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, CallError> {
        self.asked += 1;
        let id = self.asked;
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let sent = self.stream.write_all(format!("{line}\n").as_bytes()).await;
        sent.map_err(|_| CallError::Nobody)?;
        let mut piece = vec![0; 16 * 1024];
        loop {
            while let Some(frame) = self.frames.next().map_err(|_| CallError::Foreign)? {
                let said: Value = serde_json::from_slice(&frame).map_err(|_| CallError::Foreign)?;
                if said["id"] != id {
                    continue;
                }
                return match said.get("error") {
                    None => Ok(said["result"].clone()),
                    Some(error) => Err(CallError::Refused {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                    }),
                };
            }
            match self.stream.read(&mut piece).await {
                Ok(0) | Err(_) => return Err(CallError::Nobody),
                Ok(len) => self.frames.push(&piece[..len]),
            }
        }
    }
}

/// How every run of this user's stands, those that don't answer included.
pub async fn all() -> Vec<(PathBuf, Result<Value, CallError>)> {
    let mut found = Vec::new();
    for path in socket::all() {
        match Caller::connect(&path).await {
            Ok(caller) => found.push((path, Ok(caller.status))),
            // What a killed run left behind.
            Err(CallError::Nobody) => {}
            Err(e) => found.push((path, Err(e))),
        }
    }
    found
}
