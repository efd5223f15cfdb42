//! What a person and other programs find on disk after an iteration: receipts,
//! the attempt, the progress line, `state.json`. All of it is a projection of
//! the journal; none of it is believed over it.
//!
//! Field names follow the older Python loop where it had them, so that its
//! readers find what they know; `_schema` says which version wrote a file.

use std::collections::BTreeMap;

use ralph_engine::fact::{Claim, IterationResult, Rules};
use ralph_engine::gates;
use ralph_engine::state::Current;
use ralph_engine::types::{AgentOutcome, FileChange, Role, Usage};
use ralph_engine::{Fact, State};
use ralph_workspace::{Workspace, sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock;
use crate::error::Error;
use crate::history::HistoryEntry;
use crate::journal::{Checkpoint, Line};
use crate::names::Places;
use crate::project::Pinned;

/// Relative to the root.
pub const STATE: &str = ".ralph/state.json";
/// Keeps ralph's own records out of git: path and text.
pub const IGNORE: (&str, &str) = (".ralph/.gitignore", include_str!("../templates/gitignore"));
/// `_schema` of every receipt.
pub const RECEIPT_SCHEMA: &str = "ralph.receipt.v1";
/// This many iterations are kept in `state.json`.
const HISTORY: usize = 200;
/// `state.json` may be this big.
const STATE_MAX: u64 = 64 << 20;

/// `state.json`
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct StateFile {
    /// When the project's first iteration was.
    #[serde(rename = "createdAt", default)]
    pub created_at: String,
    /// The last run's id.
    #[serde(default)]
    pub session_id: String,
    /// Iterations in a row without progress.
    #[serde(rename = "noProgressStreak", default)]
    pub no_progress: u32,
    /// Counted attempts by task.
    #[serde(default)]
    pub task_attempts: serde_json::Map<String, Value>,
    /// Tokens and money over the life of the project.
    #[serde(default)]
    pub usage: Usage,
    /// The newest iterations, oldest first.
    #[serde(default)]
    pub history: Vec<HistoryEntry>,
    /// Where in the journal `engine` stands.
    #[serde(default)]
    pub checkpoint: Checkpoint,
    /// The loop's own state there.
    #[serde(default)]
    pub engine: State,
}

impl StateFile {
    /// Reads it; one that is missing or can't be read is as good as none, since the journal has it all.
    pub fn read(ws: &Workspace) -> Option<StateFile> {
        let bytes = ws.read(STATE, STATE_MAX).ok()??;
        match serde_json::from_slice(&bytes) {
            Ok(file) => Some(file),
            Err(e) => {
                tracing::warn!("{STATE} can't be read ({e}); it is made anew from the journal");
                None
            }
        }
    }

    /// Takes in where the project stands now. Only between two iterations: a
    /// checkpoint in the midst of one would hide its facts from a resumed run.
    pub fn update(&mut self, state: &State, at: &Checkpoint) {
        if state.current.is_some() {
            return;
        }
        if self.created_at.is_empty() {
            self.created_at = clock::now();
        }
        if let Some(run) = &state.run {
            self.session_id.clone_from(&run.id);
        }
        self.no_progress = state.no_progress;
        self.usage = state.usage;
        self.task_attempts = state
            .tasks
            .iter()
            .filter(|(_, t)| t.attempts > 0)
            .map(|(id, t)| (id.clone(), json!(t.attempts)))
            .collect();
        self.checkpoint = at.clone();
        self.engine = state.clone();
    }

    /// Writes it.
    pub fn write(&self, ws: &Workspace) -> Result<(), Error> {
        let bytes = serde_json::to_vec_pretty(self).map_err(|e| Error::Internal(e.to_string()))?;
        Ok(ws.write_relaxed(STATE, &bytes)?)
    }

    /// Adds an iteration, and drops the oldest beyond 200.
    ///
    /// # Errors
    /// None that is known.
    pub fn remember(&mut self, entry: &Value) -> Result<(), Error> {
        let attempt = entry["attempt_id"].as_str().unwrap_or_default();
        self.history.retain(|e| !e.is_of(attempt));
        self.history.push(HistoryEntry::new(entry)?);
        let extra = self.history.len().saturating_sub(HISTORY);
        self.history.drain(..extra);
        Ok(())
    }
}

/// One iteration, as its records need it.
pub struct Finished<'a> {
    /// The run's id.
    pub run: &'a str,
    /// What holds for the run.
    pub rules: &'a Rules,
    /// The iteration.
    pub current: &'a Current,
    /// Its journal lines.
    pub lines: &'a [Line],
    /// What changed.
    pub files: &'a [FileChange],
    /// What it came to.
    pub result: IterationResult,
    /// In one line.
    pub reason: &'a str,
    /// The branch it was on.
    pub branch: Option<&'a str>,
    /// The prompt that the run was given, if it is pinned.
    pub pinned: Option<&'a Pinned>,
}

/// What was written.
pub struct Written {
    /// The entry for `state.json`.
    pub entry: Value,
    /// SHA-256 of each file by its short name.
    pub files: BTreeMap<String, String>,
}

impl Finished<'_> {
    fn attempt_id(&self) -> &str {
        self.current.prepared.as_ref().map_or("", |p| &p.attempt_id)
    }

    fn places(&self) -> Places {
        Places::of(&self.current.task.id, self.attempt_id())
    }

    fn started_at(&self) -> &str {
        self.lines
            .iter()
            .find(|l| matches!(l.fact, Fact::Started { .. }))
            .map_or("", |l| &l.at)
    }

    fn gates_ok(&self) -> Option<bool> {
        let gates = &self.current.gates;
        (!gates.is_empty()).then(|| !gates::weigh(&self.rules.groups, gates).refuses())
    }

    fn blocked(&self) -> bool {
        ralph_engine::decide::blocks(self.current, self.rules)
    }

    fn return_code(&self) -> i32 {
        match self.current.ended.as_ref().map(|e| (&e.outcome, e.code)) {
            Some((AgentOutcome::TimedOut { .. }, _)) => 124,
            Some((_, Some(code))) => code,
            Some((AgentOutcome::Finished { .. }, None)) => 0,
            _ => 1,
        }
    }

    /// Writes receipts, attempt and progress line. Called again for the same
    /// iteration it writes the same again.
    pub fn write(&self, ws: &Workspace, progress_path: &str) -> Result<Written, Error> {
        let places = self.places();
        let ended_at = clock::now();
        let mut files = BTreeMap::new();
        for (name, receipt) in self.receipts(&places, &ended_at) {
            let path = format!("{}/{name}.json", places.receipts);
            files.insert(places.short(&path), put(ws, &path, &receipt)?);
        }
        let entry = self.entry(&places, &ended_at);
        files.insert(
            places.short(&places.attempt),
            put(ws, &places.attempt, &entry)?,
        );
        self.progress(ws, progress_path, &places)?;
        Ok(Written { entry, files })
    }

    fn receipts(&self, places: &Places, ended_at: &str) -> Vec<(String, Value)> {
        let c = self.current;
        let mut out = Vec::new();
        let mut gate = 0;
        let mut digests = serde_json::Map::new();
        for line in self.lines {
            match &line.fact {
                Fact::AgentEnded { outcome, usage, claim, code, plugin, millis, sandbox, session } => {
                    digests.insert(format!("agent {}", c.agent), json!(plugin));
                    out.push(("runner".to_owned(), json!({
                        "name": "runner", "agent": c.agent, "plugin_sha256": plugin,
                        "returncode": code, "outcome": outcome, "claim": claim, "usage": usage,
                        "ended_at": line.at, "duration_seconds": *millis as f64 / 1e3,
                        "stdout_path": places.log(&c.agent, ""), "sandbox": sandbox, "session": session, "_schema": RECEIPT_SCHEMA,
                    })));
                }
                Fact::GateAnswered { result, plugin, millis, sandbox, waited } => {
                    gate += 1;
                    digests.insert(format!("gate {}", result.name), json!(plugin));
                    out.push((format!("gate_{gate:02}"), json!({
                        "name": result.name, "severity": result.severity, "plugin_sha256": plugin, "verdict": result.verdict,
                        "returncode": i32::from(!result.verdict.passed()), "sandbox": sandbox,
                        "ended_at": line.at, "duration_seconds": *millis as f64 / 1e3,
                        "waited_seconds": *waited as f64 / 1e3, "_schema": RECEIPT_SCHEMA,
                    })));
                }
                Fact::Answered { role, verdict, plugin, usage, millis, sandbox } => {
                    let name = if *role == Role::Review { "review" } else { "judge" };
                    digests.insert(name.to_owned(), json!(plugin));
                    out.push((name.to_owned(), json!({
                        "name": name, "plugin_sha256": plugin, "verdict": verdict, "usage": usage, "sandbox": sandbox,
                        "ended_at": line.at, "duration_seconds": *millis as f64 / 1e3, "_schema": RECEIPT_SCHEMA,
                    })));
                }
                Fact::Committed { sha, note } => out.push(("commit".to_owned(), json!({
                    "name": "commit", "commit": sha, "note": note, "ended_at": line.at, "_schema": RECEIPT_SCHEMA,
                }))),
                _ => {}
            }
        }
        let prepared = c.prepared.as_ref();
        out.push(("iteration".to_owned(), json!({
            "name": "iteration", "run_id": self.run, "iteration": c.number, "attempt": c.attempt,
            "attempt_id": self.attempt_id(), "task": c.task,
            "prompt_fingerprint": prepared.map(|p| &p.fingerprint),
            "prompt_algorithm": prepared.map(|p| &p.algorithm),
            "prompt_path": format!("{}/prompt.md", places.context),
            "plugins_sha256": digests, "changed_files": self.files,
            "result": self.result, "reason": self.reason, "usage": c.usage,
            "started_at": self.started_at(), "ended_at": ended_at, "_schema": RECEIPT_SCHEMA,
        })));
        if let Some(pinned) = self.pinned {
            for (_, receipt) in &mut out {
                receipt["prompt_pinned"] = json!(pinned);
            }
        }
        out
    }

    /// The entry of `state.json`'s history, which is the attempt's record as well.
    fn entry(&self, places: &Places, ended_at: &str) -> Value {
        let c = self.current;
        let started = self.started_at();
        let claim = c.ended.as_ref().map(|e| e.claim);
        json!({
            "iteration_id": format!("iter{:04}", c.number), "iteration": c.number, "attempt": c.attempt,
            "attempt_id": self.attempt_id(), "run_id": self.run, "ts": clock::stamp(started),
            "task_id": c.task.id, "story_id": c.task.id, "task_title": c.task.title,
            "agent": c.agent, "branch": self.branch,
            "status": self.result, "reason": self.reason, "blocked": self.blocked(),
            "return_code": self.return_code(), "exit_code": self.return_code(),
            "timed_out": matches!(c.ended.as_ref().map(|e| &e.outcome), Some(AgentOutcome::TimedOut { .. })),
            "exit_signal": claim.map(|c| c == Claim::Done),
            "gates_ok": self.gates_ok(),
            "gate_results": c.gates.iter().map(|g| json!({
                "name": g.name, "status": g.verdict.status, "summary": g.verdict.summary,
            })).collect::<Vec<_>>(),
            "judge_ok": c.judge.as_ref().map(|v| v.passed()), "review_ok": c.review.as_ref().map(|v| v.passed()),
            "commit": c.committed.clone().flatten(), "usage": c.usage,
            "changed_files": self.files.iter().take(100).map(|f| &f.path).collect::<Vec<_>>(),
            "prompt_hash": c.prepared.as_ref().map(|p| &p.fingerprint),
            "log": places.log(&c.agent, ""), "log_path": places.log(&c.agent, ""),
            "receipts_dir": places.receipts, "context_dir": places.context,
            "started_at": started, "finished_at": ended_at, "duration_seconds": clock::seconds(started, ended_at),
        })
    }

    fn progress(&self, ws: &Workspace, path: &str, places: &Places) -> Result<(), Error> {
        let attempt = self.attempt_id();
        let old = tail(ws, path, 2048)?;
        if old.as_deref().is_some_and(|t| t.contains(attempt)) {
            return Ok(());
        }
        let c = self.current;
        let mut text = String::new();
        if old.is_none() {
            text.push_str("# Progress\n\nOne line per iteration, written by ralph. Newest last.\n\n## Iteration Log\n\n");
        }
        let status = if self.result == IterationResult::Accepted {
            "DONE"
        } else {
            "CONTINUE"
        };
        let checks = match self.gates_ok() {
            None => "NONE",
            Some(true) => "PASS",
            Some(false) => "FAIL",
        };
        let title = ralph_engine::text::one_line(&c.task.title, 80);
        let reason = ralph_engine::text::one_line(self.reason, 200);
        text.push_str(&format!(
            "- [{}] iter {} attempt={} status={status} checks={checks} story={} agent={} log={} | {title}: {reason}\n",
            attempt, c.number, c.attempt, c.task.id, c.agent, places.log(&c.agent, ""),
        ));
        if self.blocked() {
            text.push_str(&format!(
                "[{}] BLOCKED task {} ({title}) after {} attempts: {reason}\n",
                clock::now(),
                c.task.id,
                c.attempt,
            ));
        }
        Ok(ws.append(path, text.as_bytes())?)
    }
}

/// The end of a text file that grows for ever. It may begin in the midst of a line.
pub(crate) fn tail(ws: &Workspace, path: &str, max: u64) -> Result<Option<String>, Error> {
    let bytes = ws.read_end(path, max)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Writes a record; its SHA-256.
fn put(ws: &Workspace, path: &str, value: &Value) -> Result<String, Error> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|e| Error::Internal(e.to_string()))?;
    bytes.push(b'\n');
    ws.write_relaxed(path, &bytes)?;
    Ok(sha256_hex(&bytes))
}

/// Brings `state.json` as it stands safely onto the disk. The caller sees to it
/// that nobody writes it meanwhile.
pub(crate) fn sync_state(ws: &Workspace) -> Result<(), Error> {
    match ws.read(STATE, STATE_MAX)? {
        Some(bytes) => Ok(ws.write(STATE, &bytes)?),
        None => StateFile::default().write(ws),
    }
}
