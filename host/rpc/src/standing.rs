//! How a run stands, as clients of its socket are told.

use ralph_engine::fact::{EndReason, Phase};
use ralph_engine::types::{Severity, Usage};
use ralph_runner::steer::Now;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The word for how a run stands.
pub fn status_word(now: &Now) -> &'static str {
    match &now.end {
        Some(EndReason::Complete) => "completed",
        Some(EndReason::Error { .. } | EndReason::Unauthenticated { .. }) => "failed",
        Some(_) => "stopped",
        None if now.rests() && now.pause.is_some_and(|p| p.checkpoint) => "checkpointed",
        None if now.rests() => "paused",
        None => "running",
    }
}

/// How a gate stands.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateStatus {
    Running,
    Pass,
    Fail,
    Skip,
}

impl From<ralph_engine::types::Status> for GateStatus {
    fn from(status: ralph_engine::types::Status) -> GateStatus {
        use ralph_engine::types::Status;
        match status {
            Status::Pass => GateStatus::Pass,
            Status::Fail => GateStatus::Fail,
            Status::Skip => GateStatus::Skip,
        }
    }
}

/// A gate of an iteration that is on.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct GateNow {
    pub(crate) name: String,
    /// The task that it rules on.
    pub(crate) task: String,
    pub(crate) status: GateStatus,
    /// block, warn: what its failure does; null while it is at work. A `fail` with `warn` refuses nothing.
    #[schemars(with = "Option<String>")]
    pub(crate) severity: Option<Severity>,
    /// How long it took.
    pub(crate) millis: Option<u64>,
    /// What it says, in one line.
    pub(crate) summary: String,
}

/// Tokens and money.
#[derive(Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct Spent {
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    /// US dollars, where known.
    cost_usd: Option<f64>,
}

impl From<Usage> for Spent {
    fn from(usage: Usage) -> Spent {
        Spent {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            cost_usd: usage.cost_usd,
        }
    }
}

/// What a `state_change` tells of, by field.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunState {
    /// Within the run, the one that is on included.
    iteration: u32,
    max_iterations: u32,
    /// The task at hand; empty if there is none.
    current_story: String,
    current_title: String,
    agent: String,
    /// running, paused, stopped, checkpointed, completed, failed
    status: &'static str,
    /// The phase at hand; none between two iterations.
    #[schemars(with = "Option<String>")]
    phase: Option<Phase>,
    run_id: String,
    /// Over the life of the project.
    project_iteration: u32,
    /// Workers that are at a task each.
    workers: u32,
    /// Tasks that are worked on.
    working: Vec<String>,
    /// Tasks done.
    done: u32,
    /// Tasks in all.
    total: u32,
    pause_requested: bool,
    stop_requested: bool,
    /// Injected texts that wait for the next prompt.
    pending_prompts: usize,
    /// Tasks that this run takes up no more.
    skipped: Vec<String>,
    /// Of the iterations that are on.
    gates: Vec<GateNow>,
    /// Of this run so far.
    usage: Spent,
    /// Seconds this run was at work, up to the last iteration's end.
    seconds: u64,
    end_reason: Option<&'static str>,
}

pub(crate) fn state(now: &Now, gates: Vec<GateNow>) -> RunState {
    let (id, title) = now.task.clone().unwrap_or_default();
    RunState {
        // The document counts iterations within the run.
        iteration: now.iterations + u32::from(now.phase.is_some()) + now.at_work,
        max_iterations: now.max_iterations,
        current_story: id,
        current_title: title,
        agent: now.agent.clone(),
        status: status_word(now),
        phase: now.phase,
        run_id: now.run.clone(),
        project_iteration: now.iteration,
        workers: now.at_work,
        working: now.working.clone(),
        done: now.tasks.0,
        total: now.tasks.1,
        pause_requested: now.pause.is_some(),
        stop_requested: now.stop.is_some(),
        pending_prompts: now.injected,
        skipped: now.skipped.iter().cloned().collect(),
        gates,
        usage: now.usage.into(),
        seconds: now.seconds,
        end_reason: now.end.as_ref().map(EndReason::word),
    }
}

pub(crate) fn map(state: &RunState) -> Map<String, Value> {
    match serde_json::to_value(state) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
