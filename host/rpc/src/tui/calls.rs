//! What goes in and out of the TUI protocol's methods.

use std::collections::BTreeSet;

use ralph_engine::types::TaskState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::feed::Log;
use crate::schema::{Document, NoParams, calls};
use crate::standing::RunState;

calls! { methods:
    /// How the run stands, and the newest lines of its agents
    GetStatus = "get_status": NoParams => Status;
    /// All tasks, read anew from where they come from
    ListTasks = "list_tasks": NoParams => Tasks;
    /// What is still kept of what agents said
    GetLog = "get_log": LogParams => Log;
    /// Ends the run after its iteration; at once with `force`, or when asked again
    StopRun = "stop": StopParams => Stopped;
    /// Lets no new iteration start
    Pause = "pause": NoParams => Said;
    /// Lets new iterations start again
    Resume = "resume": NoParams => Said;
    /// Brings journal and state safely onto the disk; pauses too, unless told otherwise
    Checkpoint = "checkpoint": CheckpointParams => Checkpointed;
    /// Gives the next attempt's prompt a text
    InjectPrompt = "inject_prompt": InjectParams => Injected;
    /// Has this run take a task up no more, an attempt that is on goes to its end; or, with `undo`, again
    SkipTask = "skip_task": SkipParams => Skipped;
    /// Lets a person type at the agent's terminal, or no more
    SetInteractiveMode = "set_interactive_mode": InteractiveParams => Interactive;
    /// Types at the agent's terminal
    WritePty = "write_pty": WriteParams => Written;
    /// Sends events of these names from now on
    Subscribe = "subscribe": SubscribeParams => Subscribed;
    /// Sends events of these names no more
    Unsubscribe = "unsubscribe": UnsubscribeParams => Subscribed;
    /// This document
    Discover = "rpc.discover": NoParams => Document;
}

/// How the run stands.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Status {
    pub(crate) task_name: String,
    pub(crate) task_dir: String,
    pub(crate) interactive_mode: bool,
    /// autonomous, interactive
    pub(crate) mode_indicator: &'static str,
    /// When this process took the run up, RFC 3339.
    pub(crate) started_at: String,
    pub(crate) updated_at: String,
    pub(crate) recent_output: Vec<String>,
    /// The number of the newest event.
    pub(crate) event_seq: u64,
    pub(crate) pid: u32,
    /// The project's root.
    pub(crate) project: String,
    #[serde(flatten)]
    pub(crate) run: RunState,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Tasks {
    /// In their order.
    pub(crate) tasks: Vec<TaskNow>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct TaskNow {
    pub(crate) id: String,
    pub(crate) title: String,
    /// open, in_progress, blocked, done
    #[schemars(with = "String")]
    pub(crate) state: TaskState,
    /// Attempts that counted.
    pub(crate) attempts: u32,
    /// It is worked on.
    pub(crate) working: bool,
    /// This run takes it up no more.
    pub(crate) skipped: bool,
    pub(crate) depends_on: Vec<String>,
    pub(crate) priority: Option<i32>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct LogParams {
    /// The number of an event; lines after it are wanted.
    #[serde(default)]
    pub(crate) since: u64,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct StopParams {
    /// End the agent too, at once.
    #[serde(default)]
    pub(crate) force: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Stopped {
    pub(crate) status: &'static str,
    pub(crate) force: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Said {
    pub(crate) status: &'static str,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct CheckpointParams {
    /// Pause too.
    #[serde(default = "yes")]
    pub(crate) pause: bool,
}

fn yes() -> bool {
    true
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Checkpointed {
    pub(crate) status: &'static str,
    /// The number of the journal's last line.
    pub(crate) sequence: u64,
    pub(crate) pause: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct InjectParams {
    pub(crate) prompt: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Injected {
    pub(crate) status: &'static str,
    /// As it was taken.
    pub(crate) prompt: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SkipParams {
    /// The task's.
    pub(crate) id: String,
    /// Take it up again.
    #[serde(default)]
    pub(crate) undo: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Skipped {
    /// skipped, already_skipped; with `undo` unskipped, not_skipped
    pub(crate) status: &'static str,
    pub(crate) id: String,
    /// An attempt at it is on.
    pub(crate) working: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct InteractiveParams {
    pub(crate) enabled: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Interactive {
    pub(crate) interactive_mode: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteParams {
    pub(crate) data: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Written {
    /// forwarded, ignored
    pub(crate) status: &'static str,
    /// Why it is ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'static str>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SubscribeParams {
    /// `output`, `state_change`, `*`
    pub(crate) events: Vec<String>,
    /// The number of an event: what is still kept after it is sent again.
    #[serde(default)]
    pub(crate) since: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct UnsubscribeParams {
    /// `output`, `state_change`, `*`
    pub(crate) events: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Subscribed {
    pub(crate) subscribed: BTreeSet<String>,
}
