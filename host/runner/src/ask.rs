//! Judge and reviewer: the component writes the question, an agent answers, the component reads it.

use std::sync::Arc;

use ralph_engine::fact::EndReason;
use ralph_engine::types::{AgentOutcome, Evidence, Iteration, Role, Usage, Verdict};
use ralph_plugins::{PluginError, RefusalKind};
use ralph_workspace::{Workspace, sha256_hex};

use crate::agent::{self, AgentCall};
use crate::bus::Bus;
use crate::control::Stopping;
use crate::error::Error;
use crate::journal::Syncing;
use crate::redact;
use crate::registry::{Bound, BoundAgent};
use crate::replay::tape::{self, Given, JudgeTape};
use crate::services::CallServices;

/// What asking needs.
pub struct Question<'a> {
    /// Writes and reads.
    pub judge: &'a Bound,
    /// Answers.
    pub agent: &'a BoundAgent,
    /// Where in the loop; its role says which of the two it is.
    pub it: Iteration,
    /// What is shown.
    pub evidence: Evidence,
    /// Fixes randomness.
    pub seed: &'a str,
    /// Raw output goes here.
    pub log: &'a str,
    /// Of it this many bytes are kept.
    pub log_size: u64,
    /// The question is kept here.
    pub context: &'a str,
    /// The guard.
    pub ws: &'a Workspace,
    /// Where events go.
    pub bus: &'a Bus,
    /// Is the run to end?
    pub stopping: &'a Stopping,
    /// What held the agent that answered, for records.
    pub held: &'a mut Option<serde_json::Value>,
}

/// What came of it.
pub enum Answer {
    /// A verdict; `Fail` when two answers in a row could not be read.
    Verdict(Verdict, Usage),
    /// The run has to end, or to wait.
    End(EndReason, Usage),
    /// It was told to stop.
    Interrupted,
}

/// Asks, and asks once more with the complaint if the answer can't be read.
pub async fn ask(mut q: Question<'_>) -> Result<Answer, Error> {
    let word = if q.it.role == Role::Review {
        "review"
    } else {
        "judge"
    };
    let services = Arc::new(CallServices::plain(
        q.judge.plugin.name(),
        q.bus,
        q.stopping,
    ));
    let ctx = services.context(&q.judge.config, None, q.seed);
    let mut usage = Usage::default();
    for turn in 1..=2 {
        let prompt = match q.judge.plugin.judge_prompt(&ctx, &q.it, &q.evidence).await {
            Ok(prompt) => redact::text(prompt),
            Err(
                e @ PluginError::Refused {
                    kind: RefusalKind::InvalidConfig,
                    ..
                },
            ) => return Err(e.into()),
            Err(e) => {
                return Ok(Answer::Verdict(
                    Verdict::could_not(format!("{word}: {e}")),
                    usage,
                ));
            }
        };
        let mut tape = JudgeTape {
            given: Given::of(&ctx, &q.it, q.judge.plugin.digest()),
            evidence: q.evidence.clone(),
            question: sha256_hex(prompt.as_bytes()),
            answer: None,
            verdict: None,
            refused: None,
        };
        q.ws.write_relaxed(
            &format!("{}/{word}-{turn}.md", q.context),
            prompt.as_bytes(),
        )?;
        let done = agent::call(AgentCall {
            agent: q.agent,
            it: q.it.clone(),
            prompt: &prompt,
            seed: q.seed,
            log: q.log,
            log_size: q.log_size,
            tape: &format!("{}/replay/{word}-{turn}-agent.json", q.context),
            ws: q.ws,
            bus: q.bus,
            stopping: q.stopping,
            announced: Syncing::done(),
        })
        .await?;
        usage = usage.plus(done.usage);
        *q.held = done.sandbox;
        let text = match done.outcome {
            AgentOutcome::Finished { text } => text,
            AgentOutcome::Limited { message, resets_at } => {
                return Ok(Answer::End(
                    EndReason::Limited { message, resets_at },
                    usage,
                ));
            }
            AgentOutcome::Unauthenticated { message } => {
                return Ok(Answer::End(EndReason::Unauthenticated { message }, usage));
            }
            AgentOutcome::Interrupted if q.stopping.forced() => return Ok(Answer::Interrupted),
            AgentOutcome::Interrupted => {
                return Ok(Answer::Verdict(
                    Verdict::could_not(format!("{word}: its agent was interrupted")),
                    usage,
                ));
            }
            AgentOutcome::Failed { message } | AgentOutcome::TimedOut { message } => {
                return Ok(Answer::Verdict(
                    Verdict::could_not(format!("{word}: its agent failed: {message}")),
                    usage,
                ));
            }
        };
        let read = q.judge.plugin.judge_decide(&ctx, &text).await;
        tape.answer = Some(text);
        match &read {
            Ok(verdict) => tape.verdict = Some(verdict.clone()),
            Err(e) => tape.refused = Some(e.to_string()),
        }
        let path = format!("{}/replay/{word}-{turn}.json", q.context);
        tape::save(q.ws, &path, &tape);
        match read {
            Ok(verdict) => return Ok(Answer::Verdict(verdict, usage)),
            Err(PluginError::Refused { message, .. }) => {
                q.bus
                    .notice(format!("{word}: the answer can't be read ({message})"));
                q.evidence.complaint = Some(message);
            }
            Err(e) => {
                return Ok(Answer::Verdict(
                    Verdict::could_not(format!("{word}: {e}")),
                    usage,
                ));
            }
        }
    }
    let why = q.evidence.complaint.unwrap_or_default();
    Ok(Answer::Verdict(
        Verdict::could_not(format!(
            "{word}: two answers in a row could not be read: {why}"
        )),
        usage,
    ))
}
