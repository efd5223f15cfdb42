//! Between the domain's types and those generated from `wit/`.

use ralph_engine::types as domain;

use crate::bindings::exports::ralph::plugin::{agent_driver as driver, judge};
use crate::bindings::ralph::plugin::{changes, process, types};
use crate::driver::{Exit, Launch, Reaction};
use crate::error::{PluginError, RefusalKind, Who};
use crate::services::{Command, Output, ProcessError};

/// `workspace` is the path by which the plugin knows the project.
pub(crate) fn iteration(it: &domain::Iteration, workspace: Option<&str>) -> types::Iteration {
    types::Iteration {
        run_id: it.run_id.clone(),
        number: it.number,
        attempt: it.attempt,
        agent: it.agent.clone(),
        role: match it.role {
            domain::Role::Work => types::Role::Work,
            domain::Role::Judge => types::Role::Judge,
            domain::Role::Review => types::Role::Review,
        },
        workspace: workspace.unwrap_or(&it.workspace).to_string(),
        scratch: it.scratch.clone(),
        task: it.task.as_ref().map(|task| types::Task {
            id: task.id.clone(),
            title: task.title.clone(),
            description: task.description.clone(),
            acceptance: task.acceptance.clone(),
            priority: task.priority,
            depends_on: task.depends_on.clone(),
        }),
    }
}

pub(crate) fn evidence(evidence: &domain::Evidence) -> judge::Evidence {
    judge::Evidence {
        diff: evidence.diff.text.clone(),
        omitted_bytes: evidence.diff.omitted_bytes,
        files: evidence.files.iter().cloned().map(Into::into).collect(),
        gates: evidence
            .gates
            .iter()
            .map(|gate| judge::GateResult {
                name: gate.name.clone(),
                verdict: gate.verdict.clone().into(),
            })
            .collect(),
        final_text: evidence.final_text.clone(),
        complaint: evidence.complaint.clone(),
    }
}

/// What a plugin said instead of an answer.
pub(crate) fn refusal(who: &Who, error: types::PluginError) -> PluginError {
    let (kind, message) = match error {
        types::PluginError::InvalidConfig(message) => (RefusalKind::InvalidConfig, message),
        types::PluginError::Denied(message) => (RefusalKind::Denied, message),
        types::PluginError::Failed(message) => (RefusalKind::Failed, message),
    };
    PluginError::Refused {
        who: who.clone(),
        kind,
        message,
    }
}

impl From<domain::FileChange> for types::FileChange {
    fn from(change: domain::FileChange) -> Self {
        types::FileChange {
            path: change.path,
            kind: match change.kind {
                domain::ChangeKind::Added => types::ChangeKind::Added,
                domain::ChangeKind::Modified => types::ChangeKind::Modified,
                domain::ChangeKind::Deleted => types::ChangeKind::Deleted,
                domain::ChangeKind::Renamed => types::ChangeKind::Renamed,
            },
            added_lines: change.added_lines,
            deleted_lines: change.deleted_lines,
        }
    }
}

impl From<domain::DiffText> for changes::DiffText {
    fn from(diff: domain::DiffText) -> Self {
        changes::DiffText {
            text: diff.text,
            omitted_bytes: diff.omitted_bytes,
        }
    }
}

impl From<domain::Verdict> for types::Verdict {
    fn from(verdict: domain::Verdict) -> Self {
        types::Verdict {
            status: match verdict.status {
                domain::Status::Pass => types::Status::Pass,
                domain::Status::Fail => types::Status::Fail,
                domain::Status::Skip => types::Status::Skip,
            },
            summary: verdict.summary,
            findings: verdict
                .findings
                .into_iter()
                .map(|f| types::Finding {
                    message: f.message,
                    path: f.path,
                    line: f.line,
                    rule: f.rule,
                })
                .collect(),
        }
    }
}

impl From<types::Verdict> for domain::Verdict {
    fn from(verdict: types::Verdict) -> Self {
        domain::Verdict {
            status: match verdict.status {
                types::Status::Pass => domain::Status::Pass,
                types::Status::Fail => domain::Status::Fail,
                types::Status::Skip => domain::Status::Skip,
            },
            summary: verdict.summary,
            findings: verdict
                .findings
                .into_iter()
                .map(|f| domain::Finding {
                    message: f.message,
                    path: f.path,
                    line: f.line,
                    rule: f.rule,
                })
                .collect(),
        }
    }
}

impl From<process::Command> for Command {
    fn from(command: process::Command) -> Self {
        Command {
            program: command.program,
            args: command.args,
            env: command.env,
            stdin: command.stdin,
            timeout_ms: command.timeout_ms,
        }
    }
}

impl From<Output> for process::Output {
    fn from(output: Output) -> Self {
        process::Output {
            code: output.code,
            timed_out: output.timed_out,
            stdout: output.stdout,
            stderr: output.stderr,
            truncated: output.truncated,
        }
    }
}

impl From<ProcessError> for process::ProcessError {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Denied(text) => process::ProcessError::Denied(text),
            ProcessError::NotFound(text) => process::ProcessError::NotFound(text),
            ProcessError::Failed(text) => process::ProcessError::Failed(text),
        }
    }
}

impl From<driver::Launch> for Launch {
    fn from(launch: driver::Launch) -> Self {
        Launch {
            program: launch.program,
            args: launch.args,
            env: launch.env,
            stdin: launch.stdin,
            keep_stdin: launch.keep_stdin,
            pty: launch.pty,
            collect: launch.collect,
        }
    }
}

impl From<driver::Reaction> for Reaction {
    fn from(reaction: driver::Reaction) -> Self {
        Reaction {
            events: reaction.events.into_iter().map(Into::into).collect(),
            stdin: reaction.stdin,
            close_stdin: reaction.close_stdin,
        }
    }
}

impl From<Exit> for driver::Exit {
    fn from(exit: Exit) -> Self {
        driver::Exit {
            code: exit.code,
            signal: exit.signal,
            stderr_tail: exit.stderr_tail,
            collected: exit.collected,
        }
    }
}

impl From<types::Outcome> for domain::AgentOutcome {
    fn from(outcome: types::Outcome) -> Self {
        match outcome {
            types::Outcome::Finished(text) => domain::AgentOutcome::Finished { text },
            types::Outcome::Limited(limit) => domain::AgentOutcome::Limited {
                message: limit.message,
                resets_at: limit.resets_at,
            },
            types::Outcome::Unauthenticated(message) => {
                domain::AgentOutcome::Unauthenticated { message }
            }
            types::Outcome::Failed(message) => domain::AgentOutcome::Failed { message },
            types::Outcome::Interrupted => domain::AgentOutcome::Interrupted,
        }
    }
}

impl From<types::Event> for domain::AgentEvent {
    fn from(event: types::Event) -> Self {
        match event {
            types::Event::Text(text) => domain::AgentEvent::Text(text),
            types::Event::Thinking(text) => domain::AgentEvent::Thinking(text),
            types::Event::ToolUse(text) => domain::AgentEvent::ToolUse(text),
            types::Event::ToolResult(text) => domain::AgentEvent::ToolResult(text),
            types::Event::Usage(usage) => domain::AgentEvent::Usage(domain::Usage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cached_tokens: usage.cached_tokens,
                cost_usd: usage.cost_usd,
            }),
            types::Event::Notice(text) => domain::AgentEvent::Notice(text),
        }
    }
}
