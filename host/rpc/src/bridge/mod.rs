//! The bridge protocol: one client on standard input and output, which has this process run loops.
//!
//! - here: the methods; [`calls`]: what goes in and comes out; [`active`]: the run they act on
//! - [`teller`], [`telling`]: a run's facts as the protocol's events
//! - [`rate`]: how often one may ask
//! - [`stdio`]: the connection, from its first event to its last
//!
//! Both spellings are sent where the document and older servers part (`task_id` and `story_id`,
//! `storyId`, `id`). Additions to the document: `subscribe`, `unsubscribe`, `stop`'s `force`,
//! the fields `protocol`, `status`, `reason`, `end`.

mod active;
mod calls;
mod rate;
mod stdio;
mod teller;
mod telling;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ralph_engine::fact::EndReason;
use ralph_engine::state::Stop as Ending;
use ralph_plugins::Host;
use ralph_runner::registry::agent_names;
use ralph_runner::{Error, Project, Trust, clock, status};
use serde_json::{Value, json};

use crate::message::{
    INTERNAL_ERROR, INVALID_PARAMS, NOT_NOW, Params, RATE_LIMITED, RpcError, Service,
};
use crate::outbox::Marker;
use crate::schema::{Call, Document, NoParams};
use crate::server::{Client, Offer};
use crate::tools::Caller;

use active::{Active, Slot, Wanted};
use calls::*;
use rate::Bucket;
pub use stdio::serve;
use telling::Last;

/// What is spoken here: the document's first version, with additions.
pub const PROTOCOL: &str = "1.1";

/// Events that are sent only to who asks for them.
const EXTRA: [&str; 3] = ["agent_event", "gate_finished", "output"];

/// The bridge of one directory.
pub struct Bridge {
    dir: PathBuf,
    host: Host,
    slot: Arc<Mutex<Slot>>,
    last: Last,
    rate: Mutex<Bucket>,
    version: &'static str,
}

impl Bridge {
    /// For the project that `dir` is in; it is looked for anew with every request. `version` is
    /// told to the client.
    pub fn new(dir: PathBuf, host: Host, version: &'static str) -> Bridge {
        Bridge {
            dir,
            host,
            slot: Arc::default(),
            last: Last::default(),
            rate: Mutex::new(Bucket::full()),
            version,
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn active(&self) -> Option<Active> {
        match &*self.slot() {
            Slot::On(active) => Some(active.clone()),
            Slot::Free | Slot::Starting => None,
        }
    }

    fn cwd(&self) -> String {
        self.dir.to_string_lossy().into_owned()
    }

    fn allow(&self) -> Result<(), RpcError> {
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        if rate.take() {
            return Ok(());
        }
        let text = format!(
            "Rate limited: more than {} requests a second",
            rate::PER_SECOND
        );
        Err(RpcError::new(RATE_LIMITED, text).with(json!({ "perSecond": rate::PER_SECOND })))
    }

    fn ping(&self) -> Pong {
        Pong {
            ok: true,
            version: self.version,
            protocol: PROTOCOL,
            cwd: self.cwd(),
            time: clock::now(),
        }
    }

    /// What was told of last may not stand in `state.json` yet.
    fn newest(&self, kept: Option<Value>) -> Option<Value> {
        let told = self
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let number = |of: &Option<Value>| of.as_ref().and_then(|v| v["iteration"].as_u64());
        if number(&told) > number(&kept) {
            told
        } else {
            kept
        }
    }

    async fn status(&self) -> Result<Standing, RpcError> {
        let mut project = Project::open(&self.dir).map_err(failed)?;
        // Asking how things stand runs a tracker's program only where that was accepted for good.
        project.accepted = Trust::of(&project).map_err(failed)?.given;
        let s = status::status(&project).await.map_err(failed)?;
        let active = self.active();
        let now = active.as_ref().map(|a| a.desk.now());
        // One of another process, if it isn't ours.
        let other = s.run.as_ref().filter(|run| run.alive && active.is_none());
        let config = &project.config;
        let kind = kind(&project);
        Ok(Standing {
            version: self.version,
            protocol: PROTOCOL,
            cwd: s.root,
            prd: s.task_file,
            progress: config.files.progress.clone(),
            agents: agent_names(config),
            prompt: project.prompt_path().unwrap_or_default(),
            done: s.done,
            total: s.total,
            next: s.next.map(|next| Next {
                task_id: next.id.clone(),
                id: next.id,
                title: next.title,
                kind,
                attempts: next.attempts,
            }),
            running: active.is_some() || other.is_some(),
            paused: now.map_or(other.is_some_and(|o| o.paused), |n| n.pause.is_some()),
            active_run_id: active.map(|a| a.id).or(other.map(|o| o.id.clone())),
            last: self.newest(s.last),
            blocked: s.blocked,
            last_end: s.last_end,
            usage: s.usage,
        })
    }

    async fn run(&self, client: &Arc<Client>, params: RunParams) -> Result<Started, RpcError> {
        if params.max_iterations.is_some_and(|n| n == 0 || n > 100_000) {
            let text = "Invalid params: maxIterations is a whole number from 1 to 100000";
            return Err(RpcError::new(INVALID_PARAMS, text));
        }
        let wanted = Wanted {
            agent: params.agent,
            max_iterations: params.max_iterations,
            step: false,
            views: Vec::new(),
        };
        let active = self.begin(client, wanted).await?;
        Ok(Started { run_id: active.id })
    }

    /// Runs one iteration and waits for its end. If the caller goes away, so does the iteration.
    pub(crate) async fn step(
        &self,
        client: &Arc<Client>,
        agent: Option<String>,
        caller: &Caller,
    ) -> Result<Step, RpcError> {
        let wanted = Wanted {
            agent,
            max_iterations: Some(1),
            step: true,
            views: caller.views(),
        };
        let active = self.begin(client, wanted).await?;
        let ended = tokio::select! {
            ended = active.ended() => ended,
            () = caller.leaves() => {
                active.control.stop(Ending::Force);
                active.ended().await
            }
        };
        let end = match &ended.end {
            Ok(end) => end,
            Err(message) => return Err(RpcError::new(INTERNAL_ERROR, message.clone())),
        };
        if let Some(step) = ended.last_iteration.clone() {
            let interrupted = step.status.as_deref() == Some("interrupted");
            let why = Some(end.word());
            match end {
                // Cut off, in whatever phase: an iteration's result, with what cut it off.
                EndReason::Stopped | EndReason::Limited { .. } if interrupted => {
                    return Ok(Step { end: why, ..step });
                }
                EndReason::Error { .. } | EndReason::Unauthenticated { .. } if interrupted => {}
                _ => return Ok(step),
            }
        }
        let reason = json!({ "reason": end.word() });
        match end {
            EndReason::Stopped => Err(RpcError::new(NOT_NOW, "stopped").with(reason)),
            EndReason::Error { message } | EndReason::Unauthenticated { message } => {
                Err(RpcError::new(INTERNAL_ERROR, message.clone()).with(reason))
            }
            // Nothing was there to be done.
            end => Ok(teller::no_iteration(&active.agent, end)),
        }
    }

    fn stop(&self, params: &StopParams) -> Stopped {
        let stopped = self.active().map(|active| {
            // A step has no end to wait for but its own; who asks twice means it.
            let again = active.desk.now().stop.is_some();
            active
                .desk
                .stop(&active.control, params.force || active.step || again);
        });
        Stopped {
            ok: true,
            stopped: stopped.is_some(),
        }
    }

    /// Pauses or lets go on.
    async fn rest(&self, pause: bool) -> Result<Paused, RpcError> {
        let none = Paused {
            ok: false,
            run_id: None,
            paused: false,
        };
        let Some(active) = self.active() else {
            return Ok(none);
        };
        let desk = active.desk.clone();
        // The journal's disk may be slow.
        let done = tokio::task::spawn_blocking(move || match pause {
            true => desk.pause(),
            false => desk.resume(),
        });
        match done.await {
            Ok(Ok(_)) => Ok(Paused {
                ok: true,
                run_id: Some(active.id),
                paused: pause,
            }),
            // It has ended in this moment.
            Ok(Err(ralph_runner::steer::Refused::NoRun)) => Ok(none),
            Ok(Err(e)) => Err(RpcError::new(INTERNAL_ERROR, e.to_string())),
            Err(_) => Err(RpcError::new(INTERNAL_ERROR, "Internal error")),
        }
    }
}

/// What a person or an editor is told of a failure.
fn failed(e: Error) -> RpcError {
    let kind = match &e {
        Error::Lock(_) => return busy(&e.to_string()),
        Error::Config(_) => "config",
        Error::Untrusted(_) => "untrusted",
        Error::Tasks(_) | Error::Source { .. } => "tasks",
        Error::Plugin(_) => "plugin",
        Error::Git(_) => "git",
        Error::Root(_) => "no_project",
        Error::Usage(_) => "usage",
        _ => "internal",
    };
    let data = json!({ "kind": kind, "exitCode": e.exit_code() });
    RpcError::new(INTERNAL_ERROR, e.with_advice()).with(data)
}

fn busy(why: &str) -> RpcError {
    RpcError::new(NOT_NOW, "A run is already active").with(json!({ "detail": why }))
}

fn kind(project: &Project) -> &'static str {
    use ralph_config::types::TaskSource;
    match project.config.tasks.source {
        TaskSource::Github => "github_issues",
        TaskSource::Beads => "beads",
        TaskSource::Plugin => "plugin",
        TaskSource::File => match project.task_path() {
            Ok(path) if path.ends_with(".json") => "json",
            Ok(path) if path.ends_with(".yaml") || path.ends_with(".yml") => "yaml",
            _ => "md",
        },
    }
}

fn names(params: SubscribeParams) -> Result<Vec<String>, RpcError> {
    match params.events.iter().find(|e| !EXTRA.contains(&e.as_str())) {
        None => Ok(params.events),
        Some(odd) => Err(RpcError::new(
            INVALID_PARAMS,
            format!(
                "Invalid params: there is no event `{}` to subscribe to; there are {}",
                ralph_engine::text::one_line(odd, 60),
                EXTRA.join(", ")
            ),
        )),
    }
}

#[async_trait]
impl Service for Bridge {
    async fn call(
        &self,
        client: &Arc<Client>,
        method: &str,
        params: Params<'_>,
    ) -> Result<Value, RpcError> {
        self.allow()?;
        self.carry_out(client, method, params).await
    }

    fn takes_long(&self, method: &str) -> bool {
        method == RunStep::NAME
    }
}

impl Bridge {
    /// Is a run on, or about to be?
    pub(crate) fn is_busy(&self) -> bool {
        !matches!(&*self.slot(), Slot::Free)
    }

    /// One method, however often one asks.
    pub(crate) async fn carry_out(
        &self,
        client: &Arc<Client>,
        method: &str,
        params: Params<'_>,
    ) -> Result<Value, RpcError> {
        match method {
            Ping::NAME => {
                let NoParams {} = Ping::read(params)?;
                Ping::done(self.ping())
            }
            Status::NAME => {
                let NoParams {} = Status::read(params)?;
                Status::done(self.status().await?)
            }
            Run::NAME => Run::done(self.run(client, Run::read(params)?).await?),
            RunStep::NAME => {
                let StepParams { agent } = RunStep::read(params)?;
                RunStep::done(self.step(client, agent, &Caller::default()).await?)
            }
            Stop::NAME => Stop::done(self.stop(&Stop::read(params)?)),
            Pause::NAME => {
                let NoParams {} = Pause::read(params)?;
                Pause::done(self.rest(true).await?)
            }
            Resume::NAME => {
                let NoParams {} = Resume::read(params)?;
                Resume::done(self.rest(false).await?)
            }
            Subscribe::NAME => {
                let names = names(Subscribe::read(params)?)?;
                client.wants().extend(names);
                Subscribe::done(subscribed(client))
            }
            Unsubscribe::NAME => {
                let names = names(Unsubscribe::read(params)?)?;
                client.wants().retain(|name| !names.contains(name));
                Unsubscribe::done(subscribed(client))
            }
            Discover::NAME => {
                let NoParams {} = Discover::read(params)?;
                Discover::done(document(self.version))
            }
            _ => Err(RpcError::no_method(method)),
        }
    }
}

fn subscribed(client: &Client) -> Subscribed {
    Subscribed {
        subscribed: client.wants().clone(),
    }
}

/// What a bridge offers.
pub(crate) fn document(version: &str) -> Document {
    let about = "Standard input and output of `ralph bridge`; one JSON-RPC 2.0 object per line. Events are notifications `event` with `type` and fields.";
    Document::new("ralph bridge", about, version, calls::methods())
}

impl Offer for Bridge {
    fn came(&self, client: &Arc<Client>) {
        let cwd = self.cwd();
        let started = json!({ "version": self.version, "protocol": PROTOCOL, "cwd": cwd });
        teller::tell(client, "bridge_started", started);
    }

    fn marker(&self) -> Marker {
        teller::missed
    }

    fn transport(&self) -> &'static str {
        "bridge"
    }
}
