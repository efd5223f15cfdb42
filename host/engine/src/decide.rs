//! Is the work accepted? The host's rule, in one place: a task is accepted when
//! it is claimed, something changed, and the gates, the judge and the review agree.

use crate::claim;
use crate::fact::{IterationResult, Rules};
use crate::gates::{self, Weighed};
use crate::state::{Current, Note};
use crate::text;
use crate::types::{AgentOutcome, GateResult, Role, Status, TaskState, Verdict};

/// What is known of an iteration's fate at this point.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// More has to be asked before it can be said.
    Open(Need),
    /// It is settled.
    Settled(Ruling),
}

/// What has to be asked next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// These gates.
    Gates(Vec<String>),
    /// Judge or reviewer.
    Answer(Role),
}

/// The end of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// What the iteration came to.
    pub result: IterationResult,
    /// In one line.
    pub reason: String,
    /// What the next attempt has to know.
    pub notes: Vec<Note>,
    /// Another attempt would end the same way: a person has to act first.
    pub needs_input: bool,
}

impl Ruling {
    /// The state the task is left in. `last`: no further attempt is allowed.
    pub fn leaves(&self, last: bool) -> TaskState {
        match self.result {
            IterationResult::Accepted => TaskState::Done,
            IterationResult::Rejected if last || self.needs_input => TaskState::Blocked,
            _ => TaskState::Open,
        }
    }
}

/// Opens the reason of an attempt that ended with a question.
pub const NEEDS_INPUT: &str = "needs input";

/// One finding's text in a note is cut to this many bytes.
const NOTE_MAX: usize = 6_000;

/// Rules on an iteration whose agent ended and whose changes were seen.
pub fn standing(c: &Current, rules: &Rules) -> Standing {
    let (Some(ended), Some(seen)) = (&c.ended, &c.seen) else {
        return Standing::Open(Need::Gates(Vec::new()));
    };
    let settled = |result, reason: String| {
        Standing::Settled(Ruling {
            result,
            reason,
            notes: Vec::new(),
            needs_input: false,
        })
    };
    match &ended.outcome {
        AgentOutcome::Limited { message, .. } => {
            return settled(IterationResult::Environment, format!("limit: {message}"));
        }
        AgentOutcome::Unauthenticated { message } => {
            return settled(IterationResult::Environment, format!("login: {message}"));
        }
        AgentOutcome::Interrupted => {
            return settled(
                IterationResult::Interrupted,
                "the agent was interrupted".into(),
            );
        }
        AgentOutcome::Failed { message } | AgentOutcome::TimedOut { message } if !c.claimed() => {
            return rejected(
                format!("the agent failed: {}", text::one_line(message, 300)),
                vec![note("agent", message)],
                seen,
            );
        }
        _ => {}
    }
    if !seen.tampered.is_empty() {
        let reason = format!("tampered with {}", seen.tampered.join(", "));
        return rejected(reason.clone(), vec![note("ralph", &reason)], seen);
    }
    if !seen.rigged.is_empty() {
        let paths = seen.rigged.join(", ");
        let reason = format!("tampered with {paths}");
        let advice = format!(
            "{paths}: this decides whether work is accepted, and the task doesn't name it. Put it back as it was."
        );
        return rejected(reason, vec![note("ralph", &advice)], seen);
    }
    if let Some(output) = &c.unmerged {
        let reason = format!("conflict: {}", text::one_line(output, 200));
        return rejected(reason, vec![note("merge", output)], seen);
    }
    if let Some(output) = &c.refused {
        let reason = "a git hook refused the commit".to_owned();
        return rejected(
            reason.clone(),
            vec![note("git hook", output), note("ralph", &reason)],
            seen,
        );
    }
    let claimed = c.claimed();
    if seen.files == 0 {
        if let (false, AgentOutcome::Finished { text }) = (claimed, &ended.outcome)
            && let Some(question) = claim::question(text)
        {
            return needs_input(&question, text, seen);
        }
        let reason = if claimed {
            "the task was claimed, but nothing had changed"
        } else {
            "nothing changed and nothing was claimed"
        };
        return rejected(reason.into(), vec![note("ralph", reason)], seen);
    }
    let weighed = gates::weigh(&rules.groups, &c.gates);
    let warned = |notes: Vec<Note>| with_warnings(notes, &weighed);
    let missing: Vec<_> = rules
        .gates
        .iter()
        .filter(|name| !c.gates.iter().any(|g| g.name == **name))
        .cloned()
        .collect();
    let enough = rules.fail_fast && weighed.refuses();
    if !missing.is_empty() && !enough {
        return Standing::Open(Need::Gates(missing));
    }
    if weighed.refuses() {
        let notes = (weighed.against.iter())
            .map(|g| verdict_note(&format!("gate {}", g.name), &g.verdict))
            .collect();
        return rejected(weighed.reason(), warned(notes), seen);
    }
    if !claimed {
        let reason = "all gates passed, but the agent did not claim the task done";
        return rejected(reason.into(), warned(vec![note("ralph", reason)]), seen);
    }
    for (role, asked, name) in [
        (Role::Judge, rules.judge, "judge"),
        (Role::Review, rules.review, "review"),
    ] {
        if !asked {
            continue;
        }
        match c.answer(role) {
            None => return Standing::Open(Need::Answer(role)),
            Some(v) if v.status == Status::Fail => {
                return rejected(
                    format!("{name}: {}", text::one_line(&v.summary, 300)),
                    warned(vec![verdict_note(name, v)]),
                    seen,
                );
            }
            Some(_) => {}
        }
    }
    let mut reason = "claimed, and every check agreed".to_owned();
    if !weighed.warnings.is_empty() {
        let names: Vec<_> = weighed.warnings.iter().map(|g| g.name.as_str()).collect();
        reason.push_str(&format!("; warnings of {}", names.join(", ")));
    }
    Standing::Settled(Ruling {
        result: IterationResult::Accepted,
        reason,
        notes: warned(Vec::new()),
        needs_input: false,
    })
}

fn with_warnings(mut notes: Vec<Note>, weighed: &Weighed<'_>) -> Vec<Note> {
    let from = |g: &&GateResult| {
        let from = format!("gate {} (a warning, it refuses nothing)", g.name);
        verdict_note(&from, &g.verdict)
    };
    notes.extend(weighed.warnings.iter().map(from));
    notes
}

/// Is the task blocked by this iteration?
pub fn blocks(c: &Current, rules: &Rules) -> bool {
    let last = c.attempt >= rules.max_attempts;
    matches!(standing(c, rules), Standing::Settled(ruling) if ruling.leaves(last) == TaskState::Blocked)
}

/// Nothing was done but to ask. Nobody answers while a run is on, so it would ask again.
fn needs_input(question: &str, asked: &str, seen: &crate::state::Seen) -> Standing {
    let reason = format!("{NEEDS_INPUT}: {}", text::one_line(question, 300));
    let advice = "nobody answers while you work: take what a person has said above as the answer, decide the rest \
                  yourself, and say what you assumed";
    let notes = vec![note("agent", asked), note("ralph", advice)];
    match rejected(reason, notes, seen) {
        Standing::Settled(ruling) => Standing::Settled(Ruling {
            needs_input: true,
            ..ruling
        }),
        open @ Standing::Open(_) => open,
    }
}

fn rejected(reason: String, mut notes: Vec<Note>, seen: &crate::state::Seen) -> Standing {
    notes.extend(seen.problems.iter().map(|p| note("ralph", p)));
    Standing::Settled(Ruling {
        result: IterationResult::Rejected,
        reason,
        notes,
        needs_input: false,
    })
}

fn note(from: &str, text: &str) -> Note {
    Note {
        from: from.into(),
        text: text::tail(&text::collapse(text.trim()), NOTE_MAX),
    }
}

fn verdict_note(from: &str, verdict: &Verdict) -> Note {
    let mut out = verdict.summary.trim().to_owned();
    for f in &verdict.findings {
        out.push_str("\n- ");
        if let Some(path) = &f.path {
            out.push_str(path);
            if let Some(line) = f.line {
                out.push_str(&format!(":{line}"));
            }
            out.push_str(": ");
        }
        out.push_str(f.message.trim());
        if let Some(rule) = &f.rule {
            out.push_str(&format!(" ({rule})"));
        }
        if out.len() > NOTE_MAX {
            break;
        }
    }
    Note {
        from: from.into(),
        text: text::head(&text::collapse(&out), NOTE_MAX),
    }
}
