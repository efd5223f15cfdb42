//! The other end of a teller's queue: beside the loop, in the facts' order, with what an attempt's
//! record and git say.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ralph_runner::Desk;
use ralph_runner::names::Places;
use ralph_workspace::{Git, Workspace};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::calls::Step;
use super::teller::tell;
use crate::server::Client;

/// An attempt's record is read to this size.
const RECORD_MAX: u64 = 4 << 20;

/// The newest iteration that was told.
pub(super) type Last = Arc<Mutex<Option<Value>>>;

/// What is to be told.
pub(super) enum Told {
    /// An iteration of the run's own begins a phase.
    Phase {
        iteration: u32,
        agent: String,
        task: Option<(String, String)>,
        attempt: Option<String>,
    },
    Selected {
        id: String,
        title: String,
    },
    /// A worker took it up.
    Claimed {
        iteration: u32,
        task: String,
        agent: String,
    },
    /// The run's own iteration.
    Ended {
        progress: bool,
    },
    Absorbed {
        task: String,
        attempt: Option<String>,
        progress: bool,
    },
    Released {
        task: String,
    },
    Paused(bool),
}

/// The other end of the queue.
pub(super) struct Telling {
    client: Arc<Client>,
    queue: mpsc::UnboundedReceiver<Told>,
    ws: Workspace,
    git: Git,
    last: Last,
    open: Vec<Open>,
    selected: (String, String),
    run: String,
    step: Option<Step>,
}

/// An iteration that was told to have started.
struct Open {
    /// A worker's.
    claimed: bool,
    iteration: u32,
    agent: String,
    task: String,
    title: String,
    attempt: Option<String>,
    begun: Instant,
}

impl Telling {
    pub(super) fn new(
        client: Arc<Client>,
        queue: mpsc::UnboundedReceiver<Told>,
        ws: Workspace,
        git: Git,
        last: Last,
    ) -> Telling {
        Telling {
            client,
            queue,
            ws,
            git,
            last,
            open: Vec::new(),
            selected: Default::default(),
            run: String::new(),
            step: None,
        }
    }

    /// Tells what comes until nothing more does; the last iteration, as `step` answers it.
    pub(super) async fn go(mut self, desk: Desk) -> Option<Step> {
        let now = desk.now();
        self.run = now.run;
        if now.phase.is_some() {
            // A run that was cut off goes on in the midst of it.
            self.phase(now.iteration, now.agent, now.task, now.attempt);
        }
        while let Some(told) = self.queue.recv().await {
            match told {
                Told::Selected { id, title } => self.selected = (id, title),
                Told::Phase {
                    iteration,
                    agent,
                    task,
                    attempt,
                } => self.phase(iteration, agent, task, attempt),
                Told::Claimed {
                    iteration,
                    task,
                    agent,
                } => {
                    let (id, title) = &self.selected;
                    let title = if *id == task {
                        title.clone()
                    } else {
                        String::new()
                    };
                    self.started(Open {
                        claimed: true,
                        iteration,
                        agent,
                        task,
                        title,
                        attempt: None,
                        begun: Instant::now(),
                    });
                }
                Told::Ended { progress } => {
                    if let Some(open) = self.take(|o| !o.claimed) {
                        let streak = desk.now().no_progress;
                        self.finished(open, Some(progress), streak).await;
                    }
                }
                Told::Absorbed {
                    task,
                    attempt,
                    progress,
                } => {
                    if let Some(open) = self.take(|o| o.claimed && o.task == task) {
                        let open = Open { attempt, ..open };
                        let streak = desk.now().no_progress;
                        self.finished(open, Some(progress), streak).await;
                    }
                }
                Told::Released { task } => {
                    if let Some(open) = self.take(|o| o.claimed && o.task == task) {
                        let streak = desk.now().no_progress;
                        self.finished(open, None, streak).await;
                    }
                }
                Told::Paused(paused) => {
                    let name = if paused { "run_paused" } else { "run_resumed" };
                    tell(&self.client, name, json!({ "runId": self.run }));
                }
            }
        }
        while let Some(open) = self.take(|_| true) {
            let streak = desk.now().no_progress;
            self.finished(open, None, streak).await;
        }
        self.step
    }

    fn take(&mut self, which: impl Fn(&Open) -> bool) -> Option<Open> {
        let at = self.open.iter().position(which)?;
        Some(self.open.remove(at))
    }

    fn phase(
        &mut self,
        iteration: u32,
        agent: String,
        task: Option<(String, String)>,
        attempt: Option<String>,
    ) {
        if let Some(open) = self.open.iter_mut().find(|o| !o.claimed) {
            open.attempt = attempt;
            open.agent = agent;
            return;
        }
        let (task, title) = task.unwrap_or_default();
        self.started(Open {
            claimed: false,
            iteration,
            agent,
            task,
            title,
            attempt,
            begun: Instant::now(),
        });
    }

    fn started(&mut self, open: Open) {
        let data = json!({
            "runId": self.run, "iteration": open.iteration, "agent": open.agent,
            "task_id": open.task, "storyId": open.task, "title": open.title,
        });
        tell(&self.client, "iteration_started", data);
        self.open.push(open);
    }

    /// With what its record says; one that was cut off has none, and counts as interrupted in
    /// whatever phase it was. `streak`: iterations in a row without progress.
    async fn finished(&mut self, open: Open, ended: Option<bool>, streak: u32) {
        let record = ended.and_then(|_| self.record(&open));
        let progress = ended.unwrap_or(false);
        let clean = self.git.is_clean().await.unwrap_or(false);
        let of = |key: &str| record.as_ref().map_or(Value::Null, |r| r[key].clone());
        let signal = of("exit_signal").as_bool().unwrap_or(false);
        let code = of("return_code").as_i64().unwrap_or(130);
        let blocked = of("blocked").as_bool().unwrap_or(false);
        let seconds = of("duration_seconds");
        let seconds = seconds
            .as_f64()
            .unwrap_or_else(|| open.begun.elapsed().as_secs_f64());
        let iteration = of("iteration").as_u64().unwrap_or(open.iteration.into());
        let agent = match of("agent") {
            Value::Null => json!(open.agent),
            agent => agent,
        };
        let status = match of("status") {
            Value::Null => json!("interrupted"),
            status => status,
        };
        let log = of("log_path").as_str().unwrap_or_default().to_owned();
        let data = json!({
            "runId": self.run, "iteration": iteration, "agent": agent,
            "task_id": open.task, "storyId": open.task, "title": open.title,
            "exitSignal": signal, "returnCode": code, "repoClean": clean,
            "gatesOk": of("gates_ok"), "judgeOk": of("judge_ok"), "reviewOk": of("review_ok"),
            "blocked": blocked, "attemptId": open.attempt, "receiptsDir": of("receipts_dir"),
            "contextDir": of("context_dir"), "durationSeconds": seconds, "logPath": log,
            "status": status, "reason": of("reason"),
        });
        let text = |key: &str| of(key).as_str().map(str::to_owned);
        self.step = Some(Step {
            iteration,
            agent: agent.as_str().unwrap_or_default().to_owned(),
            task_id: Some(open.task.clone()),
            story_id: Some(open.task.clone()),
            task_title: Some(open.title.clone()),
            exit_signal: signal,
            return_code: code,
            log_path: log,
            progress_made: progress,
            no_progress_streak: streak,
            gates_ok: of("gates_ok").as_bool(),
            repo_clean: clean,
            judge_ok: of("judge_ok").as_bool(),
            review_ok: of("review_ok").as_bool(),
            blocked,
            attempt_id: open.attempt.clone(),
            receipts_dir: text("receipts_dir"),
            context_dir: text("context_dir"),
            status: status.as_str().map(str::to_owned),
            reason: text("reason"),
            duration_seconds: Some(seconds),
            end: None,
        });
        if record.is_some() {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = record;
        }
        tell(&self.client, "iteration_finished", data);
    }

    fn record(&self, open: &Open) -> Option<Value> {
        let path = Places::of(&open.task, open.attempt.as_deref()?).attempt;
        let bytes = self.ws.read(&path, RECORD_MAX).ok()??;
        serde_json::from_slice(&bytes).ok()
    }
}
