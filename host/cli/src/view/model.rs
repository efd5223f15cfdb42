//! The run as a person follows it: which lines stay, and what is going on now.
//! Both views draw from it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use ralph_engine::Fact;
use ralph_engine::event::Event;
use ralph_engine::fact::{EndReason, IterationResult, Phase, Spent};
use ralph_engine::pace::Waiting;
use ralph_engine::text::{one_line, strip_escapes};
use ralph_engine::types::{
    AgentEvent, AgentOutcome, Finding, Role, Severity, Status, Usage, Verdict,
};
use ralph_runner::clock;

/// Agent lines that a live view shows.
const RECENT: usize = 3;
/// Of what a failed check found this many lines are shown, the last ones.
const FOUND: usize = 6;
/// A line of text is cut to this many bytes.
const WIDTH: usize = 160;

/// How a line is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Title,
    Good,
    Bad,
    Quiet,
}

/// A line that stays.
pub struct Said {
    pub tone: Tone,
    pub text: String,
}

/// What is going on.
pub struct Model {
    pub began: Instant,
    pub iteration: u32,
    pub title: String,
    pub phase: Option<Phase>,
    pub gates: (usize, usize),
    pub usage: Usage,
    pub recent: VecDeque<String>,
    /// Until when, and what for.
    pub waiting: Option<(u64, String)>,
    call: Usage,
    done: (u32, u32),
    iterations: u32,
    selected: String,
    workers: BTreeMap<String, Model>,
}

impl Model {
    pub fn new() -> Model {
        Model {
            began: Instant::now(),
            iteration: 0,
            title: String::new(),
            phase: None,
            gates: (0, 0),
            usage: Usage::default(),
            recent: VecDeque::new(),
            waiting: None,
            call: Usage::default(),
            done: (0, 0),
            iterations: 0,
            selected: String::new(),
            workers: BTreeMap::new(),
        }
    }

    /// The tokens so far, those of the call that is on included.
    pub fn tokens(&self) -> Usage {
        self.usage.plus(self.call)
    }

    /// Takes an event in; the lines that stay.
    pub fn event(&mut self, event: &Event) -> Vec<Said> {
        match event {
            Event::Fact(fact) => self.fact(fact),
            Event::Agent { role, what } => self.agent(*role, what),
            Event::GateStarted { .. } => Vec::new(),
            Event::Worker { task, what } => self.worker(task, what),
            Event::Notice { text } => vec![said(Tone::Quiet, one_line(text, WIDTH * 2))],
        }
    }

    /// The same lines, with the task before them.
    fn worker(&mut self, task: &str, event: &Event) -> Vec<Said> {
        let done = self.done;
        let worker = self
            .workers
            .entry(task.to_owned())
            .or_insert_with(Model::new);
        worker.done = done;
        let lines = worker.event(event);
        // One iteration is a run of the worker's; nobody else cares where that begins and ends.
        if matches!(
            event,
            Event::Fact(Fact::RunStarted { .. } | Fact::RunEnded { .. })
        ) {
            return Vec::new();
        }
        lines
            .into_iter()
            .map(|l| said(l.tone, format!("{task:<6} {}", l.text)))
            .collect()
    }

    fn agent(&mut self, role: Role, what: &AgentEvent) -> Vec<Said> {
        let (mark, text) = match what {
            AgentEvent::Text(text) => ("", text),
            AgentEvent::Thinking(text) => ("~ ", text),
            AgentEvent::ToolUse(text) => ("> ", text),
            AgentEvent::ToolResult(_) => return Vec::new(),
            AgentEvent::Notice(text) => ("! ", text),
            AgentEvent::Usage(usage) => {
                self.call = *usage;
                return Vec::new();
            }
        };
        let who = match role {
            Role::Work => "",
            Role::Judge => "judge: ",
            Role::Review => "review: ",
        };
        let clean = strip_escapes(text);
        let mut lines = Vec::new();
        for line in clean.lines().filter(|l| !l.trim().is_empty()) {
            let line = format!("{who}{mark}{}", one_line(line, WIDTH));
            self.recent.push_back(line.clone());
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
            lines.push(said(Tone::Quiet, line));
        }
        lines
    }

    fn fact(&mut self, fact: &Fact) -> Vec<Said> {
        match fact {
            Fact::RunStarted {
                run,
                agent,
                rules,
                target,
            } => {
                let mut text = format!("{run}: agent {agent}, {} gates", rules.gates.len());
                for (on, what) in [
                    (rules.judge, ", judge"),
                    (rules.review, ", review"),
                    (!rules.commit, ", no commits"),
                ] {
                    text.push_str(if on { what } else { "" });
                }
                if let Some(target) = target {
                    text.push_str(&format!(", only task {target}"));
                }
                vec![said(Tone::Title, text)]
            }
            Fact::Selected { task, done, total } => {
                self.done = (*done, *total);
                self.selected = format!("{} {}", task.id, one_line(&task.title, 80));
                Vec::new()
            }
            Fact::NothingSelectable { done, total, .. } => {
                self.done = (*done, *total);
                Vec::new()
            }
            Fact::LimitMet { agent, message, .. } => vec![said(
                Tone::Bad,
                format!("{agent} met its limit: {}", one_line(message, WIDTH)),
            )],
            Fact::Waiting { until, why } => {
                let what = match why {
                    Waiting::Rate => "for the hour's iterations".to_owned(),
                    Waiting::Limit { agent, .. } => format!("for {agent}'s limit"),
                };
                self.waiting = Some((*until, what.clone()));
                let left = time(until.saturating_sub(clock::unix()).saturating_mul(1000));
                let at = clock::local(*until);
                vec![said(
                    Tone::Quiet,
                    format!("waiting {what} until {at}, {left}; ctrl-c ends"),
                )]
            }
            Fact::Clock { .. } => {
                self.waiting = None;
                Vec::new()
            }
            Fact::Started { phase } => self.started(*phase),
            Fact::AgentEnded {
                outcome,
                usage,
                millis,
                ..
            } => {
                self.settle(*usage);
                let (tone, text) = outcome_words(outcome);
                vec![said(tone, format!("agent {text} ({})", time(*millis)))]
            }
            Fact::ChangesSeen {
                files, problems, ..
            } => {
                let mut lines = vec![said(
                    Tone::Quiet,
                    format!(
                        "{files} changed {}",
                        if *files == 1 { "file" } else { "files" }
                    ),
                )];
                lines.extend(
                    problems
                        .iter()
                        .map(|p| said(Tone::Bad, one_line(p, WIDTH * 2))),
                );
                lines
            }
            Fact::GateAnswered {
                result,
                millis,
                waited,
                ..
            } => {
                self.gates.0 += 1;
                let mut who = format!("gate {}", result.name);
                // Shorter waits are nobody's concern.
                if *waited >= 1000 {
                    who.push_str(&format!(" (after {} for its turn)", time(*waited)));
                }
                verdict_lines(&who, &result.verdict, result.severity, *millis)
            }
            Fact::Answered {
                role,
                verdict,
                usage,
                millis,
                ..
            } => {
                self.settle(*usage);
                let who = if *role == Role::Review {
                    "review"
                } else {
                    "judge"
                };
                verdict_lines(who, verdict, Severity::Block, *millis)
            }
            Fact::Committed { sha, note } => {
                let mut lines = Vec::new();
                if let Some(sha) = sha {
                    lines.push(said(
                        Tone::Good,
                        format!("commit {}", sha.get(..10).unwrap_or(sha)),
                    ));
                }
                lines.extend(
                    note.iter()
                        .map(|n| said(Tone::Quiet, one_line(n, WIDTH * 2))),
                );
                lines
            }
            Fact::PauseAsked { .. } => vec![said(
                Tone::Quiet,
                "no new iteration starts until `ralph resume`".into(),
            )],
            Fact::SkipAsked { task } => vec![said(
                Tone::Quiet,
                format!("{task} is passed over from here on"),
            )],
            Fact::UnskipAsked { task } => {
                vec![said(Tone::Quiet, format!("{task} is passed over no more"))]
            }
            Fact::ResumeAsked => vec![said(Tone::Quiet, "new iterations may start again".into())],
            Fact::Injected { text } => vec![said(
                Tone::Quiet,
                format!("for the next prompt: {}", one_line(text, WIDTH)),
            )],
            Fact::CommitRefused { output } => {
                vec![said(
                    Tone::Bad,
                    format!("a git hook refused the commit: {}", one_line(output, WIDTH)),
                )]
            }
            Fact::IterationEnded { result, reason, .. } => {
                self.iterations += 1;
                self.recent.clear();
                let (tone, word) = match result {
                    IterationResult::Accepted => (Tone::Good, "accepted"),
                    IterationResult::Rejected => (Tone::Bad, "rejected"),
                    IterationResult::Environment => (Tone::Bad, "put off"),
                    IterationResult::Interrupted => (Tone::Bad, "interrupted"),
                };
                vec![said(
                    tone,
                    format!("{word}: {}", one_line(reason, WIDTH * 2)),
                )]
            }
            Fact::Absorbed { task, facts, .. } => {
                self.workers.remove(task);
                let mut lines = Vec::new();
                for past in facts {
                    match &past.fact {
                        Fact::AgentEnded { usage, .. } | Fact::Answered { usage, .. } => {
                            self.settle(*usage);
                        }
                        Fact::Committed { sha: Some(sha), .. } => {
                            let sha = sha.get(..10).unwrap_or(sha);
                            lines.push(said(Tone::Good, format!("{task:<6} merged as {sha}")));
                        }
                        Fact::MergeRefused { .. } => {
                            lines.push(said(Tone::Bad, format!("{task:<6} not merged")));
                        }
                        Fact::IterationEnded { .. } => self.iterations += 1,
                        _ => {}
                    }
                }
                lines
            }
            Fact::RunEnded { end } => vec![self.end(end)],
            _ => Vec::new(),
        }
    }

    fn started(&mut self, phase: Phase) -> Vec<Said> {
        self.phase = Some(phase);
        match phase {
            Phase::Prepare => {
                self.iteration += 1;
                self.title = self.selected.clone();
                self.gates = (0, 0);
                vec![said(
                    Tone::Title,
                    format!("[{} of {} done] {}", self.done.0, self.done.1, self.title),
                )]
            }
            _ => Vec::new(),
        }
    }

    fn settle(&mut self, usage: Usage) {
        self.usage = self.usage.plus(usage);
        self.call = Usage::default();
    }

    fn end(&self, end: &EndReason) -> Said {
        let usage = self.usage;
        let cost = usage
            .cost_usd
            .map_or_else(String::new, |c| format!(", ${c:.2}"));
        let sum = format!(
            "{} of {} tasks done, {} iterations, {}, {} tokens in, {} out{cost}",
            self.done.0,
            self.done.1,
            self.iterations,
            time(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)),
            usage.input_tokens,
            usage.output_tokens,
        );
        let why = match end {
            EndReason::Complete => return said(Tone::Good, format!("complete: {sum}")),
            EndReason::Blocked { open } => {
                let open: Vec<_> = open
                    .iter()
                    .map(|(id, why)| format!("{id} ({why})"))
                    .collect();
                format!("nothing can run: {}", open.join(", "))
            }
            EndReason::MaxIterations => "the number of iterations is used up".into(),
            EndReason::NoProgress => "no progress".into(),
            EndReason::Budget { what } => format!(
                "the budget is used up ([budget] {})",
                match what {
                    Spent::Time => "time",
                    Spent::Tokens => "tokens",
                    Spent::Cost => "cost_usd",
                }
            ),
            EndReason::RepeatedFailure { count } => {
                format!("{count} attempts in a row failed in the same way")
            }
            EndReason::Stopped => "stopped; `ralph run` takes it up".into(),
            EndReason::Limited { message, .. } => {
                format!("the agent's limit is reached: {message}")
            }
            EndReason::Unauthenticated { message } => {
                format!("the agent isn't logged in: {message}")
            }
            EndReason::Error { message } => message.clone(),
        };
        said(Tone::Bad, format!("ended, {}: {sum}", strip_escapes(&why)))
    }
}

fn said(tone: Tone, text: String) -> Said {
    Said { tone, text }
}

/// A verdict in one line; below a failed one the end of what it found.
fn verdict_lines(who: &str, verdict: &Verdict, severity: Severity, millis: u64) -> Vec<Said> {
    let (tone, word) = match verdict.status {
        Status::Pass => (Tone::Good, "pass"),
        Status::Skip => (Tone::Quiet, "skip"),
        Status::Fail if severity == Severity::Warn => (Tone::Quiet, "warn"),
        Status::Fail => (Tone::Bad, "fail"),
    };
    let summary = one_line(&verdict.summary, WIDTH);
    let text = format!("{who:<18} {word}  {:>6}  {summary}", time(millis));
    let mut lines = vec![said(tone, text)];
    if verdict.status == Status::Fail {
        let found: Vec<String> = verdict.findings.iter().flat_map(found).collect();
        let from = found.len().saturating_sub(FOUND);
        if from > 0 {
            lines.push(said(Tone::Quiet, format!("  … {from} lines before")));
        }
        lines.extend(
            found[from..]
                .iter()
                .map(|l| said(Tone::Quiet, format!("  {l}"))),
        );
    }
    lines
}

/// A finding's lines.
fn found(finding: &Finding) -> Vec<String> {
    let place = match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!("{path}:{line}: "),
        (Some(path), None) => format!("{path}: "),
        (None, _) => String::new(),
    };
    let text = strip_escapes(&finding.message);
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    lines
        .map(|l| format!("{place}{}", one_line(l, WIDTH)))
        .collect()
}

fn outcome_words(outcome: &AgentOutcome) -> (Tone, String) {
    match outcome {
        AgentOutcome::Finished { text } => {
            let last = text
                .lines()
                .rev()
                .find(|l| !l.trim().is_empty())
                .unwrap_or("");
            (Tone::Quiet, format!("finished: {}", one_line(last, WIDTH)))
        }
        AgentOutcome::Limited { message, .. } => (
            Tone::Bad,
            format!("met its limit: {}", one_line(message, WIDTH)),
        ),
        AgentOutcome::Unauthenticated { message } => (
            Tone::Bad,
            format!("isn't logged in: {}", one_line(message, WIDTH)),
        ),
        AgentOutcome::Failed { message } => {
            (Tone::Bad, format!("failed: {}", one_line(message, WIDTH)))
        }
        AgentOutcome::TimedOut { message } => (Tone::Bad, one_line(message, WIDTH)),
        AgentOutcome::Interrupted => (Tone::Bad, "was interrupted".into()),
    }
}

/// Milliseconds as people read them.
pub fn time(millis: u64) -> String {
    match millis {
        0..=59_999 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        60_000..=3_599_999 => format!("{}m{:02}s", millis / 60_000, millis / 1000 % 60),
        _ => format!("{}h{:02}m", millis / 3_600_000, millis / 60_000 % 60),
    }
}
