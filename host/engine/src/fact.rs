//! What can happen. A run is the fold of its facts, in the order of the journal.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gates::Groups;
use crate::pace::{Budget, Limits, Waiting};
use crate::state::TaskRecord;
use crate::tasks::Ids;
use crate::types::{AgentOutcome, GateResult, Role, Task, TaskState, Usage, Verdict};

/// The parts of one iteration, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Snapshot, prompt, fingerprint.
    Prepare,
    /// The agent works.
    Agent,
    /// What did it change, does the task file claim anything?
    Changes,
    /// All gates.
    Gates,
    /// Was the task met?
    Judge,
    /// Is the change good?
    Review,
    /// Write the task's state into the task file.
    Mark,
    /// Commit accepted work.
    Commit,
    /// Receipts, progress line, state.
    Close,
}

/// What a run is held to. Fixed at its start: editing the configuration during a run changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Iterations of this run.
    pub max_iterations: u32,
    /// Attempts at one task.
    pub max_attempts: u32,
    /// Iterations in a row without progress.
    pub no_progress_limit: u32,
    /// Names of the gates.
    pub gates: Vec<String>,
    /// Gates of which not each has to pass.
    #[serde(default, skip_serializing_if = "Groups::is_empty")]
    pub groups: Groups,
    /// Start no further gate once one failed.
    pub fail_fast: bool,
    /// Is there a judge?
    pub judge: bool,
    /// Is there a reviewer?
    pub review: bool,
    /// Commit accepted work?
    pub commit: bool,
    /// The tasks are in no file of the commit: they are told once it is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_last: bool,
    /// What it may spend.
    #[serde(default)]
    pub budget: Budget,
    /// What is done at a provider's limit.
    #[serde(default)]
    pub limits: Limits,
}

/// What a budget is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spent {
    /// `[budget] time`
    Time,
    /// `[budget] tokens`
    Tokens,
    /// `[budget] cost_usd`
    Cost,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum EndReason {
    /// Every task is done.
    Complete,
    /// Tasks are open, but none can be selected.
    Blocked {
        /// Task ids and why each can't run.
        open: Vec<(String, String)>,
    },
    /// The run's number of iterations is used up.
    MaxIterations,
    /// Too many iterations in a row brought nothing.
    NoProgress,
    /// A budget is used up.
    Budget {
        /// Which.
        what: Spent,
    },
    /// Attempts in a row failed in the same way.
    RepeatedFailure {
        /// How many.
        count: u32,
    },
    /// Somebody asked for it.
    Stopped,
    /// The provider wants a pause.
    Limited {
        /// In its words.
        message: String,
        /// RFC 3339, if known.
        resets_at: Option<String>,
    },
    /// The agent isn't logged in.
    Unauthenticated {
        /// In its words.
        message: String,
    },
    /// Something that is nobody's work failed: a missing program, git, the disk.
    Error {
        /// What and where.
        message: String,
    },
}

impl EndReason {
    /// The word for transports and records.
    pub fn word(&self) -> &'static str {
        match self {
            EndReason::Complete => "complete",
            EndReason::Blocked { .. } => "blocked",
            EndReason::MaxIterations => "max_iterations",
            EndReason::NoProgress => "no_progress",
            EndReason::Budget { what: Spent::Time } => "budget_time",
            EndReason::Budget {
                what: Spent::Tokens,
            } => "budget_tokens",
            EndReason::Budget { what: Spent::Cost } => "budget_cost",
            EndReason::RepeatedFailure { .. } => "repeated_failure",
            EndReason::Stopped => "stopped",
            EndReason::Limited { .. } => "limited",
            EndReason::Unauthenticated { .. } => "unauthenticated",
            EndReason::Error { .. } => "error",
        }
    }

    /// The process's exit code: 0 all done, 1 ended without being done, 2 failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            EndReason::Complete => 0,
            EndReason::Error { .. } | EndReason::Unauthenticated { .. } => 2,
            _ => 1,
        }
    }
}

/// What an iteration came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationResult {
    /// Claimed, and every check agreed.
    Accepted,
    /// Something spoke against it; costs an attempt.
    Rejected,
    /// The provider or the login stood in the way; costs no attempt.
    Environment,
    /// Host or agent was ended; costs no attempt.
    Interrupted,
}

/// What the agent's final words claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// They say nothing of it.
    #[default]
    None,
    /// They say the task is done.
    Done,
    /// They say it isn't.
    NotDone,
}

/// A fact out of another journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// When, RFC 3339.
    pub at: String,
    /// Its number there, if it stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What.
    #[serde(flatten)]
    pub fact: Fact,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// A run begins, or takes up where a dead one stood.
    RunStarted {
        /// `run-…`; that of the dead run when it is taken up.
        run: String,
        /// The agent that works.
        agent: String,
        /// What holds for it.
        rules: Rules,
        /// Only this task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// What time it is.
    Clock {
        /// Seconds since 1970.
        now: u64,
    },
    /// A provider's limit.
    LimitMet {
        /// Whose.
        agent: String,
        /// Seconds since 1970; reckoned by the host if the provider doesn't say.
        until: u64,
        /// In the provider's words.
        message: String,
        /// RFC 3339, if the provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resets_at: Option<String>,
        /// Judge or reviewer met it; the iteration waits.
        #[serde(default)]
        asking: bool,
    },
    /// The run waits.
    Waiting {
        /// Seconds since 1970.
        until: u64,
        /// What for.
        #[serde(flatten)]
        why: Waiting,
    },
    /// The tracker chose a task.
    Selected {
        /// The chosen one.
        task: Task,
        /// Tasks done.
        done: u32,
        /// Tasks in all.
        total: u32,
    },
    /// The tracker had nothing to choose.
    NothingSelectable {
        /// Tasks done.
        done: u32,
        /// Tasks in all.
        total: u32,
        /// What is open, and why it can't run.
        open: Vec<(String, String)>,
    },
    /// A phase is about to be carried out.
    Started {
        /// Which.
        phase: Phase,
    },
    /// Prompt and snapshot are there.
    Prepared {
        /// Names the attempt in every record; never used twice.
        attempt_id: String,
        /// `sha256:…` of the canonical prompt.
        fingerprint: String,
        /// The canonical form's name.
        algorithm: String,
        /// The workspace's state which the task's work is measured against; opaque here.
        base: Value,
        /// Tree at the iteration's start.
        start_tree: String,
    },
    /// The agent came to an end.
    AgentEnded {
        /// How.
        outcome: AgentOutcome,
        /// Tokens and money.
        usage: Usage,
        /// What its final words claim.
        claim: Claim,
        /// Exit code of the native program, if there was one.
        code: Option<i32>,
        /// Digest of the component that drove it.
        plugin: String,
        /// How long it took.
        millis: u64,
        /// What the operating system held it to; opaque here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<Value>,
        /// By which id the agent's program knows the session, if it told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// Workspace and task file were looked at.
    ChangesSeen {
        /// The workspace's state now; opaque here.
        now: Value,
        /// Its tree.
        tree: String,
        /// Changed paths since the base.
        files: u32,
        /// What the task file says of the task.
        file_state: TaskState,
        /// What the agent did to the task file that it may not do. Undone by the host already.
        problems: Vec<String>,
        /// Files that decide what runs here, changed while the agent was at work:
        /// git's hooks and configuration, ralph's own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tampered: Vec<String>,
        /// Changed files that decide whether work is accepted, and that the task doesn't name: a
        /// gate's script, a plugin, a prompt.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rigged: Vec<String>,
    },
    /// A run is taken up, and somebody changed the workspace since the changes
    /// were seen: they are looked at again, and nothing said of them counts any more.
    WorkspaceMoved,
    /// At a resume: a power cut or a failing disk took what the task's work was measured
    /// against. It is measured anew from here, and what the agent had begun is interrupted.
    BaseLost {
        /// The workspace's state now; opaque here.
        base: Value,
        /// Its tree.
        tree: String,
    },
    /// A gate ruled.
    GateAnswered {
        /// Its name and ruling.
        result: GateResult,
        /// Digest of its component.
        plugin: String,
        /// How long it took.
        millis: u64,
        /// What the operating system held its programs to, if it ran any; opaque here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<Value>,
        /// How long it had waited for its turn before.
        #[serde(default, skip_serializing_if = "is_zero")]
        waited: u64,
    },
    /// Judge or reviewer was asked, and has not ruled: what it cost.
    Asked {
        /// Tokens and money.
        usage: Usage,
    },
    /// Judge or reviewer ruled, or could not.
    Answered {
        /// Which of the two.
        role: Role,
        /// A `Fail` when there was no readable answer.
        verdict: Verdict,
        /// Digest of its component.
        plugin: String,
        /// Tokens and money of asking.
        usage: Usage,
        /// How long it took.
        millis: u64,
        /// What the operating system held the agent to that answered; opaque here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<Value>,
    },
    /// The task file was written, or already said so.
    Marked {
        /// What it says of the task now.
        state: TaskState,
    },
    /// The work is in git, or there was nothing to commit.
    Committed {
        /// The commit.
        sha: Option<String>,
        /// Anything a person should know, e.g. a path left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A worker in a worktree of its own was given the selected task.
    Claimed {
        /// Its id.
        task: String,
        /// Who works.
        #[serde(default)]
        agent: String,
        /// The worktree is new: nothing of its journal was absorbed.
        fresh: bool,
    },
    /// A worker's iteration, as that worker's journal has it. One fact, so that
    /// a death leaves all of it or nothing.
    Absorbed {
        /// The worker's task.
        task: String,
        /// Up to this line of the worker's journal.
        upto: u64,
        /// From `Selected` to `IterationEnded`.
        facts: Vec<Past>,
    },
    /// A worker ended without an iteration that could be absorbed; its task is free again.
    Released {
        /// The worker's task.
        task: String,
    },
    /// Within [`Fact::Absorbed`]: the worker's host died here, and the worker was taken up.
    TakenUp,
    /// In a worker's journal: what the project knows of its task from earlier attempts.
    Recalled {
        /// The task.
        task: String,
        /// What earlier attempts left behind.
        record: TaskRecord,
        /// Iterations of the project so far.
        iterations: u32,
    },
    /// The task file has items without ids of their own that were not known yet, or stand
    /// otherwise: these are the ids from now on.
    IdsAssigned {
        /// All of them.
        ids: Ids,
    },
    /// A person wants a task tried afresh: its attempts are forgotten.
    Forgotten {
        /// The task.
        task: String,
    },
    /// A person says why a task is blocked; its next attempt is told.
    Noted {
        /// The task.
        task: String,
        /// Why.
        text: String,
    },
    /// The work can't be brought together with what was merged meanwhile.
    MergeRefused {
        /// What is in the way.
        output: String,
    },
    /// A hook refused the commit.
    CommitRefused {
        /// What it printed.
        output: String,
    },
    /// The iteration is over and its records are written.
    IterationEnded {
        /// What it came to.
        result: IterationResult,
        /// In one line.
        reason: String,
        /// Did it bring anything?
        progress: bool,
    },
    /// Somebody wants the run to end.
    StopAsked {
        /// At once, instead of after this iteration.
        force: bool,
    },
    /// No new iteration is to start; the one that is on goes to its end.
    PauseAsked {
        /// Asked for together with a checkpoint, which views tell apart.
        #[serde(default)]
        checkpoint: bool,
    },
    /// New iterations may start again.
    ResumeAsked,
    /// This run takes the task up no more; an attempt that is on goes to its end. Holds over a
    /// death of the run's, not beyond the run.
    SkipAsked {
        /// Its id.
        task: String,
    },
    /// The task may be taken up again after all.
    UnskipAsked {
        /// Its id.
        task: String,
    },
    /// A person wants the next attempt to know something. Kept until a prompt holds it,
    /// over restarts too.
    Injected {
        /// What.
        text: String,
    },
    /// This many of the injected texts, the oldest, stand in the prompt that was just prepared.
    Delivered {
        /// How many.
        injected: u32,
    },
    /// The iteration's records are on disk.
    Recorded {
        /// SHA-256 of each file by its short name (`receipts/…`, `context/…`, `log-…`, `attempt`).
        files: std::collections::BTreeMap<String, String>,
    },
    /// Receipts, context and logs of old iterations were removed to save room.
    Cleaned {
        /// Of this iteration and all before it.
        through: u32,
    },
    /// The run can't go on, through nobody's work: a missing program, git, a
    /// limit met by the judge. The iteration keeps its place for the next run.
    Faulted {
        /// Why.
        #[serde(flatten)]
        end: EndReason,
    },
    /// The run is over.
    RunEnded {
        /// Why.
        #[serde(flatten)]
        end: EndReason,
    },
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
