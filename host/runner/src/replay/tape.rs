//! What a component was given and what it answered, kept so that it can be asked again.
//!
//! One file per call below `.ralph/context/<task>/<attempt>/replay/`. A call whose
//! tape would be longer than [`TAPE_MAX`] has none, and a replay says so.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ralph_engine::types::{
    AgentEvent, AgentOutcome, DiffText, Evidence, FileChange, Iteration, Usage, Verdict,
};
use ralph_plugins::{CallContext, Command, Exit, Launch, Output, ProcessError};
use ralph_workspace::{Workspace, sha256_hex};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// A tape may have this many bytes.
pub const TAPE_MAX: usize = 8 << 20;
/// Of how many pieces of output the lengths are kept.
const CHUNKS_MAX: usize = 100_000;

/// Bytes as JSON can hold them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bytes {
    /// UTF-8.
    Text(String),
    /// Anything else.
    Hex {
        /// Two digits each.
        hex: String,
    },
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        match std::str::from_utf8(bytes) {
            Ok(text) => Bytes::Text(text.to_owned()),
            Err(_) => Bytes::Hex {
                hex: bytes.iter().map(|b| format!("{b:02x}")).collect(),
            },
        }
    }
}

impl Bytes {
    /// The bytes; `None` if the digits are none.
    pub fn get(&self) -> Option<Vec<u8>> {
        match self {
            Bytes::Text(text) => Some(text.clone().into_bytes()),
            Bytes::Hex { hex } => hex
                .as_bytes()
                .chunks(2)
                .map(|pair| {
                    let pair = std::str::from_utf8(pair).ok()?;
                    u8::from_str_radix(pair, 16).ok()
                })
                .collect(),
        }
    }
}

/// What every call is given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Given {
    /// SHA-256 of the component.
    pub plugin: String,
    /// What `config.get` answered.
    pub config: String,
    /// Fixed its randomness.
    pub seed: String,
    /// Where its clock stood: nanoseconds since 1970, UTC.
    pub now: u64,
    /// Where in the loop.
    pub it: Iteration,
}

impl Given {
    /// Of a call that is about to be made.
    pub fn of(ctx: &CallContext, it: &Iteration, plugin: &str) -> Given {
        let now = ctx.now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Given {
            plugin: plugin.to_owned(),
            config: ctx.config.clone(),
            seed: ctx.seed.clone(),
            now: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
            it: it.clone(),
        }
    }

    /// The same time again.
    pub fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.now)
    }
}

/// One call of a driver, from `prepare` to `finish`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentTape {
    /// What it was given.
    pub given: Given,
    /// SHA-256 of what it wanted launched.
    pub launch: String,
    /// Where the program's output is, relative to the root.
    pub log: String,
    /// The output begins there in the log.
    pub from: u64,
    /// It came by a terminal of so many lines and columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<(u16, u16)>,
    /// The lengths of the pieces in which it came.
    pub chunks: Vec<u32>,
    /// Is all of it in the log, and every length here?
    pub whole: bool,
    /// SHA-256 over all it made of the output.
    pub events: String,
    /// How the program ended; nothing if the host ended it.
    pub exit: Option<ExitTape>,
    /// What the driver said came of it.
    pub outcome: Option<AgentOutcome>,
    /// Tokens and money.
    pub usage: Usage,
    #[serde(skip)]
    hash: Sha256,
}

/// How a program ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(missing_docs, reason = "as in `Exit`")]
pub struct ExitTape {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stderr_tail: Bytes,
    pub collected: Vec<(String, Bytes)>,
}

impl ExitTape {
    /// Keeps it.
    pub fn of(exit: &Exit) -> ExitTape {
        ExitTape {
            code: exit.code,
            signal: exit.signal,
            stderr_tail: exit.stderr_tail.as_slice().into(),
            collected: exit
                .collected
                .iter()
                .map(|(name, bytes)| (name.clone(), bytes.as_slice().into()))
                .collect(),
        }
    }

    /// Gives it again.
    pub fn exit(&self) -> Option<Exit> {
        let collected: Option<Vec<_>> = self
            .collected
            .iter()
            .map(|(name, bytes)| Some((name.clone(), bytes.get()?)))
            .collect();
        Some(Exit {
            code: self.code,
            signal: self.signal,
            stderr_tail: self.stderr_tail.get()?,
            collected: collected?,
        })
    }
}

impl AgentTape {
    /// Of a call whose program is about to be launched.
    pub fn new(given: Given, launch: &Launch, log: &str, from: u64) -> AgentTape {
        AgentTape {
            given,
            launch: launch_hash(launch),
            log: log.to_owned(),
            from,
            terminal: None,
            chunks: Vec::new(),
            whole: true,
            events: String::new(),
            exit: None,
            outcome: None,
            usage: Usage::default(),
            hash: Sha256::new(),
        }
    }

    /// A piece of output came; `logged` if all of it is in the log.
    pub fn chunk(&mut self, len: usize, logged: bool) {
        self.whole &= logged && self.chunks.len() < CHUNKS_MAX;
        if self.whole {
            self.chunks.push(u32::try_from(len).unwrap_or(u32::MAX));
        }
    }

    /// The driver made this of it.
    pub fn event(&mut self, event: &AgentEvent) {
        if let AgentEvent::Usage(usage) = event {
            self.usage = *usage;
        }
        self.hash
            .update(serde_json::to_vec(event).unwrap_or_default());
        self.hash.update(b"\n");
    }

    /// The driver had this written to the program.
    pub fn wrote(&mut self, stdin: &[u8], close: bool) {
        if !stdin.is_empty() || close {
            self.hash.update(stdin.len().to_be_bytes());
            self.hash.update(stdin);
            self.hash.update([u8::from(close)]);
        }
    }

    /// It is over.
    pub fn end(&mut self, exit: Option<ExitTape>, outcome: Option<AgentOutcome>) {
        self.events = hex(self.hash.clone());
        self.exit = exit;
        self.outcome = outcome;
    }
}

/// SHA-256 over everything that a driver wants launched.
pub fn launch_hash(launch: &Launch) -> String {
    let value = serde_json::json!([
        launch.program,
        launch.args,
        launch.env,
        launch.stdin.as_deref().map(sha256_hex),
        launch.keep_stdin,
        launch.pty,
        launch.collect,
    ]);
    sha256_hex(value.to_string().as_bytes())
}

/// One call of a gate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GateTape {
    /// What it was given.
    pub given: Given,
    /// What it could see beside that: directories, variables, the clock. None of it is kept.
    pub sees: Vec<String>,
    /// It came to an answer, or to an error of its own, within its time.
    pub answered: bool,
    /// What it asked of the host, and was told.
    pub asked: Asked,
}

/// What a gate asked of the host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Asked {
    /// For diffs: how long at most, and what was shown.
    pub diffs: Vec<(u64, DiffText)>,
    /// For programs, in order.
    pub runs: Vec<Ran>,
}

/// A program that was run for a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// SHA-256 over what was to be run.
    pub command: String,
    /// Its program, for people.
    pub program: String,
    /// What came of it.
    pub answer: Result<RanOutput, (String, String)>,
}

/// See [`Output`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "as in `Output`")]
pub struct RanOutput {
    pub code: Option<i32>,
    pub timed_out: bool,
    pub stdout: Bytes,
    pub stderr: Bytes,
    pub truncated: bool,
}

impl Ran {
    /// Keeps it.
    pub fn of(command: &Command, answer: &Result<Output, ProcessError>) -> Ran {
        Ran {
            command: command_hash(command),
            program: command.program.clone(),
            answer: match answer {
                Ok(out) => Ok(RanOutput {
                    code: out.code,
                    timed_out: out.timed_out,
                    stdout: out.stdout.as_slice().into(),
                    stderr: out.stderr.as_slice().into(),
                    truncated: out.truncated,
                }),
                Err(ProcessError::Denied(why)) => Err(("denied".into(), why.clone())),
                Err(ProcessError::NotFound(why)) => Err(("not-found".into(), why.clone())),
                Err(ProcessError::Failed(why)) => Err(("failed".into(), why.clone())),
            },
        }
    }

    /// Gives it again.
    pub fn again(&self) -> Result<Output, ProcessError> {
        match &self.answer {
            Ok(out) => Ok(Output {
                code: out.code,
                timed_out: out.timed_out,
                stdout: out.stdout.get().unwrap_or_default(),
                stderr: out.stderr.get().unwrap_or_default(),
                truncated: out.truncated,
            }),
            Err((kind, why)) => Err(match kind.as_str() {
                "denied" => ProcessError::Denied(why.clone()),
                "not-found" => ProcessError::NotFound(why.clone()),
                _ => ProcessError::Failed(why.clone()),
            }),
        }
    }
}

/// SHA-256 over everything about a command.
pub fn command_hash(command: &Command) -> String {
    let value = serde_json::json!([
        command.program,
        command.args,
        command.env,
        command.stdin.as_deref().map(sha256_hex),
        command.timeout_ms,
    ]);
    sha256_hex(value.to_string().as_bytes())
}

/// One question to a judge or reviewer, and its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgeTape {
    /// What it was given.
    pub given: Given,
    /// What it was shown.
    pub evidence: Evidence,
    /// SHA-256 of the question it wrote.
    pub question: String,
    /// What the agent answered, if it did.
    pub answer: Option<String>,
    /// What the component read in it.
    pub verdict: Option<Verdict>,
    /// Why it could not be read.
    pub refused: Option<String>,
}

/// What the iteration changed, as gates saw it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ChangesTape {
    /// The changed paths.
    pub files: Vec<FileChange>,
}

/// Keeps a tape. What can't be kept is no reason to fail: it only can't be replayed.
pub fn save(ws: &Workspace, path: &str, tape: &impl Serialize) {
    let Ok(bytes) = serde_json::to_vec(tape) else {
        return;
    };
    let bytes = ralph_process::secrets().bytes(&bytes);
    if bytes.len() > TAPE_MAX {
        tracing::info!("{path} would have {} bytes; not kept", bytes.len());
        return;
    }
    if let Err(e) = ws.write_relaxed(path, &bytes) {
        tracing::warn!("{path} can't be written: {e}");
    }
}

/// Reads a tape back; `None` if there is none.
pub fn load<T: DeserializeOwned>(ws: &Workspace, path: &str) -> Result<Option<T>, String> {
    let bytes = ws
        .read(path, 2 * TAPE_MAX as u64)
        .map_err(|e| e.to_string())?;
    let Some(bytes) = bytes else { return Ok(None) };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|e| format!("{path} can't be read: {e}"))
}

/// The digest as text.
pub fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were_whatever_they_are() {
        for bytes in [&b"text"[..], b"", b"\xff\x00\x80", "é\u{2028}".as_bytes()] {
            let kept = Bytes::from(bytes);
            let text = serde_json::to_string(&kept).unwrap_or_default();
            let back: Option<Bytes> = serde_json::from_str(&text).ok();
            assert_eq!(back.and_then(|b| b.get()).as_deref(), Some(bytes));
        }
    }
}
