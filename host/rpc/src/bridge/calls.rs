//! What goes in and out of the bridge protocol's methods.

use std::collections::BTreeSet;

use ralph_engine::types::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema::{Document, NoParams, calls};

calls! { methods:
    /// Is it there, and what does it speak?
    Ping = "ping": NoParams => Pong;
    /// Where the project stands
    Status = "status": NoParams => Standing;
    /// Starts the loop; it goes on by itself
    Run = "run": RunParams => Started;
    /// Runs one iteration and answers at its end
    RunStep = "step": StepParams => Step;
    /// Ends the run after its iteration; at once with `force`, or when asked again
    Stop = "stop": StopParams => Stopped;
    /// Lets no new iteration start
    Pause = "pause": NoParams => Paused;
    /// Lets new iterations start again
    Resume = "resume": NoParams => Paused;
    /// Sends these events too
    Subscribe = "subscribe": SubscribeParams => Subscribed;
    /// Sends these events no more
    Unsubscribe = "unsubscribe": SubscribeParams => Subscribed;
    /// This document
    Discover = "rpc.discover": NoParams => Document;
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Pong {
    pub(crate) ok: bool,
    pub(crate) version: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) cwd: String,
    /// RFC 3339.
    pub(crate) time: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Standing {
    pub(crate) version: &'static str,
    pub(crate) protocol: &'static str,
    /// The project's root.
    pub(crate) cwd: String,
    /// Where the tasks are.
    pub(crate) prd: String,
    pub(crate) progress: String,
    pub(crate) agents: Vec<String>,
    pub(crate) prompt: String,
    pub(crate) done: u32,
    pub(crate) total: u32,
    pub(crate) next: Option<Next>,
    pub(crate) running: bool,
    pub(crate) paused: bool,
    pub(crate) active_run_id: Option<String>,
    /// The newest iteration's record.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(crate) last: Option<Value>,
    /// Ids of blocked tasks.
    pub(crate) blocked: Vec<String>,
    /// Why the last run ended.
    pub(crate) last_end: Option<String>,
    /// Tokens and money over the life of the project.
    #[schemars(with = "Map<String, Value>")]
    pub(crate) usage: Usage,
}

/// The task that would run next, its id in both spellings.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Next {
    pub(crate) task_id: String,
    pub(crate) id: String,
    pub(crate) title: String,
    /// md, json, yaml, github_issues, beads
    pub(crate) kind: &'static str,
    pub(crate) attempts: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunParams {
    /// That of the configuration, if it is left out.
    pub(crate) agent: Option<String>,
    /// From 1 to 100000.
    pub(crate) max_iterations: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Started {
    pub(crate) run_id: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct StepParams {
    /// That of the configuration, if it is left out.
    pub(crate) agent: Option<String>,
}

/// What an iteration came to. The task's fields are null if there was none.
#[derive(Clone, Default, Serialize, JsonSchema)]
pub(crate) struct Step {
    /// Over the life of the project; 0 if there was none.
    pub(crate) iteration: u64,
    pub(crate) agent: String,
    pub(crate) task_id: Option<String>,
    pub(crate) story_id: Option<String>,
    pub(crate) task_title: Option<String>,
    pub(crate) exit_signal: bool,
    pub(crate) return_code: i64,
    pub(crate) log_path: String,
    pub(crate) progress_made: bool,
    /// Iterations in a row without progress.
    pub(crate) no_progress_streak: u32,
    pub(crate) gates_ok: Option<bool>,
    pub(crate) repo_clean: bool,
    pub(crate) judge_ok: Option<bool>,
    pub(crate) review_ok: Option<bool>,
    pub(crate) blocked: bool,
    pub(crate) attempt_id: Option<String>,
    pub(crate) receipts_dir: Option<String>,
    pub(crate) context_dir: Option<String>,
    /// accepted, rejected, environment, interrupted
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_seconds: Option<f64>,
    /// Why there was no iteration; or what cut it off (`stopped`, `limited`), in whatever phase it
    /// was: `status` is `interrupted` then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<&'static str>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct StopParams {
    /// End the agent too, at once.
    #[serde(default)]
    pub(crate) force: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Stopped {
    pub(crate) ok: bool,
    /// A run was on.
    pub(crate) stopped: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Paused {
    /// A run is on.
    pub(crate) ok: bool,
    pub(crate) run_id: Option<String>,
    pub(crate) paused: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SubscribeParams {
    /// `agent_event`, `gate_finished`, `output`
    pub(crate) events: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Subscribed {
    pub(crate) subscribed: BTreeSet<String>,
}
