//! What a person may do about a task that got nowhere, told from why it did.

use ralph_engine::decide::NEEDS_INPUT;
use ralph_engine::fact::IterationResult;
use ralph_engine::types::AgentOutcome;

use super::history::Record;

/// One sentence.
pub fn after(record: &Record, task_file: &str) -> String {
    let c = &record.current;
    let (id, number) = (&c.task.id, c.number);
    let again = format!("then `ralph task unblock {id}`, or open it again in {task_file}");
    let failed: Vec<&str> = c
        .gates
        .iter()
        .filter(|g| g.severity.blocks() && !g.verdict.passed())
        .map(|g| g.name.as_str())
        .collect();
    let seen = c.seen.as_ref();
    if seen.is_some_and(|s| !s.tampered.is_empty()) {
        return format!(
            "look at what the agent changed there (`ralph show {number}`), put it back, {again}"
        );
    }
    if c.refused.is_some() {
        return format!(
            "read what the hook said (`ralph show {number}`); run it by hand on the work that is still in the workspace, {again}"
        );
    }
    if !failed.is_empty() {
        return format!(
            "read what {} said (`ralph show {number}`); run it by hand on the work that is still in the workspace; make the task smaller or mend the check, {again}",
            failed.join(" and ")
        );
    }
    for (verdict, who) in [(&c.judge, "judge"), (&c.review, "reviewer")] {
        if verdict.as_ref().is_some_and(|v| !v.passed()) {
            return format!(
                "read what the {who} missed (`ralph show {number}`), say it in the task's acceptance criteria, {again}"
            );
        }
    }
    let reason = record.end.as_ref().map(|e| e.reason.as_str());
    if reason.is_some_and(|r| r.starts_with(NEEDS_INPUT)) {
        return format!(
            "read its questions (`ralph show {number}`), answer them in the feedback file or the task, {again}"
        );
    }
    match c.ended.as_ref().map(|e| &e.outcome) {
        Some(AgentOutcome::TimedOut { .. }) => format!(
            "make the task smaller, or give `[agents.{}] timeout` more, {again}",
            c.agent
        ),
        Some(AgentOutcome::Failed { .. }) => format!(
            "look at the agent's log (`ralph show {number}`) and at `ralph doctor`, {again}"
        ),
        _ if seen.is_some_and(|s| s.files == 0) => {
            format!("it may be done already, or not say what to change: sharpen the task, {again}")
        }
        _ if record
            .end
            .as_ref()
            .is_some_and(|e| e.result == IterationResult::Rejected) =>
        {
            format!("see what it lacked (`ralph show {number}`), sharpen the task, {again}")
        }
        _ => format!("see `ralph show {number}`, {again}"),
    }
}
