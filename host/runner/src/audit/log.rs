//! `ralph log` and `ralph show`: iterations, in a line and in full.

use std::collections::VecDeque;

use ralph_engine::fact::{Claim, IterationResult};
use ralph_engine::types::{AgentOutcome, Finding, Status, Task, TaskState, Usage};
use serde::Serialize;
use serde_json::Value;

use super::history::{self, Answer, Record};
use crate::error::Error;
use crate::names::Places;
use crate::project::Project;

/// A receipt is read to this size.
const RECEIPT_MAX: u64 = 64 << 20;

/// One iteration in a line.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// Counts from 1 over the life of the project.
    pub iteration: u32,
    /// The task's id.
    pub task: String,
    /// Its title.
    pub title: String,
    /// Attempt at this task; counts from 1.
    pub attempt: u32,
    /// Who worked.
    pub agent: String,
    /// The run's id.
    pub run: String,
    /// What it came to; `None` if it hasn't ended.
    pub result: Option<IterationResult>,
    /// In one line.
    pub reason: String,
    /// The commit its work went into.
    pub commit: Option<String>,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339.
    pub ended_at: Option<String>,
    /// From start to end.
    pub seconds: f64,
    /// Tokens and money, judge and review included.
    pub usage: Usage,
}

impl From<&Record> for Entry {
    fn from(record: &Record) -> Entry {
        let c = &record.current;
        Entry {
            iteration: c.number,
            task: c.task.id.clone(),
            title: c.task.title.clone(),
            attempt: c.attempt,
            agent: c.agent.clone(),
            run: record.run.clone(),
            result: record.end.as_ref().map(|e| e.result),
            reason: record.end.as_ref().map_or_else(
                || format!("in its {:?} phase", c.phase).to_lowercase(),
                |e| e.reason.clone(),
            ),
            commit: record.commit().map(str::to_owned),
            started_at: record.started_at().to_owned(),
            ended_at: record.end.as_ref().map(|e| e.at.clone()),
            seconds: record.seconds(),
            usage: c.usage,
        }
    }
}

/// The newest iterations, the newest last.
///
/// # Errors
/// The journal can't be read.
pub fn log(project: &Project, newest: usize, task: Option<&str>) -> Result<Vec<Entry>, Error> {
    let mut entries = VecDeque::new();
    history::scan(&project.ws, |record| {
        if task.is_none_or(|task| record.current.task.id == task) {
            if entries.len() == newest {
                entries.pop_front();
            }
            entries.push_back(Entry::from(&record));
        }
    })?;
    Ok(entries.into())
}

/// One who ruled.
#[derive(Debug, Clone, Serialize)]
pub struct Ruled {
    /// A gate's name, `judge` or `review`.
    pub name: String,
    /// What was ruled.
    pub status: Status,
    /// In one line.
    pub summary: String,
    /// The details.
    pub findings: Vec<Finding>,
    /// SHA-256 of the component.
    pub plugin_sha256: String,
    /// How long it took.
    pub seconds: f64,
    /// Tokens and money of asking.
    pub usage: Usage,
}

impl From<Answer> for Ruled {
    fn from(a: Answer) -> Ruled {
        Ruled {
            name: a.name,
            status: a.verdict.status,
            summary: a.verdict.summary,
            findings: a.verdict.findings,
            plugin_sha256: a.plugin,
            seconds: a.millis as f64 / 1e3,
            usage: a.usage,
        }
    }
}

/// Everything of one iteration.
#[derive(Debug, Clone, Serialize)]
pub struct Show {
    /// As in the log.
    #[serde(flatten)]
    pub entry: Entry,
    /// The task as it was then.
    pub task_then: Task,
    /// Names the attempt in every record.
    pub attempt_id: String,
    /// Where the prompt is, relative to the root; `None` if it isn't there any more.
    pub prompt_path: Option<String>,
    /// `sha256:…` of the canonical prompt.
    pub prompt_fingerprint: Option<String>,
    /// The canonical form's name.
    pub prompt_algorithm: Option<String>,
    /// Where the agent's raw output is, if it is there.
    pub log_path: Option<String>,
    /// How the agent ended; its last words are in there.
    pub outcome: Option<AgentOutcome>,
    /// What these words claim.
    pub claim: Option<Claim>,
    /// Exit code of the native program.
    pub exit_code: Option<i32>,
    /// By which id the agent's program knows the session.
    pub session: Option<String>,
    /// SHA-256 of the agent's component.
    pub agent_sha256: Option<String>,
    /// How long the agent worked.
    pub agent_seconds: Option<f64>,
    /// Changed paths; fewer than `files` if the receipt is gone.
    pub changed_files: Vec<Value>,
    /// How many paths changed.
    pub files: Option<u32>,
    /// What the agent did to the task file that it may not do.
    pub problems: Vec<String>,
    /// What it changed that decides what runs here.
    pub tampered: Vec<String>,
    /// The gates.
    pub gates: Vec<Ruled>,
    /// The judge, if one was asked.
    pub judge: Option<Ruled>,
    /// The reviewer, if one was asked.
    pub review: Option<Ruled>,
    /// What a git hook said that refused the commit.
    pub hook_refused: Option<String>,
    /// On whose word it was accepted; empty if it wasn't.
    pub accepted_by: Vec<String>,
    /// Where the receipts are, relative to the root.
    pub receipts_dir: String,
    /// Its lines in the journal, first and last.
    pub journal_lines: (u64, u64),
}

/// Shows one iteration.
///
/// # Errors
/// There is no such iteration, or the journal can't be read.
pub fn show(project: &Project, number: u32) -> Result<Show, Error> {
    let record = history::find(&project.ws, number)?;
    let c = &record.current;
    let places = Places::of(&c.task.id, record.attempt_id());
    let there = |path: String| project.ws.exists(&path).then_some(path);
    let receipt: Option<Value> = project
        .ws
        .read(&format!("{}/iteration.json", places.receipts), RECEIPT_MAX)
        .ok()
        .flatten()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let mut answers = record.answers();
    let mut answer = |name: &str| {
        let at = answers.iter().position(|a| a.name == name)?;
        Some(Ruled::from(answers.remove(at)))
    };
    let (judge, review) = (answer("judge"), answer("review"));
    let gates: Vec<Ruled> = record.gates().into_iter().map(Ruled::from).collect();
    let accepted_by = accepted_by(&record, &gates, judge.is_some(), review.is_some());
    let seen = c.seen.as_ref();
    let lines = |l: Option<&crate::journal::Line>| l.map_or(0, |l| l.seq);
    Ok(Show {
        entry: Entry::from(&record),
        task_then: c.task.clone(),
        attempt_id: record.attempt_id().to_owned(),
        prompt_path: there(format!("{}/prompt.md", places.context)),
        prompt_fingerprint: c.prepared.as_ref().map(|p| p.fingerprint.clone()),
        prompt_algorithm: c.prepared.as_ref().map(|p| p.algorithm.clone()),
        log_path: there(places.log(&c.agent, "")),
        outcome: c.ended.as_ref().map(|e| e.outcome.clone()),
        claim: c.ended.as_ref().map(|e| e.claim),
        exit_code: c.ended.as_ref().and_then(|e| e.code),
        session: c.ended.as_ref().and_then(|e| e.session.clone()),
        agent_sha256: record.agent_call().map(|(digest, _)| digest.to_owned()),
        agent_seconds: record.agent_call().map(|(_, ms)| ms as f64 / 1e3),
        changed_files: receipt
            .and_then(|r| r.get("changed_files").and_then(Value::as_array).cloned())
            .unwrap_or_default(),
        files: seen.map(|s| s.files),
        problems: seen.map(|s| s.problems.clone()).unwrap_or_default(),
        tampered: seen.map(|s| s.tampered.clone()).unwrap_or_default(),
        gates,
        judge,
        review,
        hook_refused: c.refused.clone(),
        accepted_by,
        receipts_dir: places.receipts,
        // The line of its own end follows the others.
        journal_lines: (
            lines(record.lines.first()),
            lines(record.lines.last()) + u64::from(record.end.is_some()),
        ),
    })
}

/// The host's rule as it was met: the claim, the gates, judge and reviewer.
fn accepted_by(record: &Record, gates: &[Ruled], judge: bool, review: bool) -> Vec<String> {
    let accepted = record
        .end
        .as_ref()
        .is_some_and(|e| e.result == IterationResult::Accepted);
    if !accepted {
        return Vec::new();
    }
    let c = &record.current;
    let mut by = Vec::new();
    if c.ended.as_ref().is_some_and(|e| e.claim == Claim::Done) {
        by.push("the agent's final words claimed it".to_owned());
    } else if c
        .seen
        .as_ref()
        .is_some_and(|s| s.file_state == TaskState::Done)
    {
        by.push("the agent ticked it in the task file".to_owned());
    }
    let passed = |name: &str| c.gates.iter().all(|g| g.name != name || g.verdict.passed());
    let passed = gates.iter().filter(|g| passed(&g.name));
    by.extend(passed.map(|g| format!("gate {}", g.name)));
    for (asked, name) in [(judge, "judge"), (review, "review")] {
        by.extend(asked.then(|| name.to_owned()));
    }
    by
}
