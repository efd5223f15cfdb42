//! The methods of the TUI protocol; [`calls`] has what goes in and comes out.
//!
//! `pause`, `resume`, `list_tasks`, `get_log`, `skip_task` and `rpc.discover` are additions; so are `stop`'s `force`, `checkpoint`'s
//! `pause` and `subscribe`'s `since`. While the interactive mode is on, the agent
//! may be silent, one that starts runs on a terminal, and the run rests after the
//! iteration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use ralph_engine::state::Stop;
use ralph_engine::tasks::Entry;
use ralph_runner::console::{PIECE_MAX, Typed};
use ralph_runner::steer::Refused;
use ralph_runner::{Control, Desk};
use serde_json::Value;

use crate::feed::{self, Feed, NAMES};
use crate::message::{INTERNAL_ERROR, INVALID_PARAMS, NOT_NOW, Params, RpcError, Service};
use crate::outbox::{Marker, Until};
use crate::schema::{Call, Document, NoParams};
use crate::server::{Client, Listener, Offer, Server};
use crate::socket::{self, Socket, SocketError};
use crate::standing::state;

mod calls;
use calls::*;

/// One run's methods.
pub struct Tui {
    desk: Desk,
    control: Control,
    feed: Arc<Feed>,
    task: String,
    root: PathBuf,
    started: String,
    /// The run is to rest because the interactive mode is on, and for no other reason.
    rests: AtomicBool,
}

/// A run's socket, open.
pub struct Open {
    server: Server,
    socket: Socket,
}

/// A run's socket, taken before the run begins; clients that come wait.
pub struct Taken(Socket, tokio::net::UnixListener);

/// Takes the socket of a project's run.
///
/// # Errors
/// [`SocketError`]: somebody else is there, or it can't be made.
pub async fn take(root: &Path) -> Result<Taken, SocketError> {
    let (socket, listener) = socket::bind(root).await?;
    Ok(Taken(socket, listener))
}

impl Taken {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Serves a run that has begun.
    pub fn open(self, root: &Path, desk: &Desk, control: &Control, feed: &Arc<Feed>) -> Open {
        feed.attach(desk.clone());
        let tui = Tui {
            started: desk.now().started_at,
            desk: desk.clone(),
            control: control.clone(),
            feed: feed.clone(),
            task: socket::task_name(root),
            root: root.to_owned(),
            rests: AtomicBool::new(false),
        };
        let tui: Arc<dyn Offer> = Arc::new(tui);
        let offers = Box::new(move || tui.clone());
        Open {
            server: Server::start(Listener::Unix(self.1), offers),
            socket: self.0,
        }
    }
}

impl Open {
    /// Sends what is left to be sent, closes every connection, removes the socket's file.
    pub async fn close(self) {
        self.server.close().await;
        drop(self.socket);
    }
}

impl Tui {
    fn status(&self) -> Status {
        let now = self.desk.now();
        let (recent, sequence) = self.feed.recent();
        let interactive = self.control.console().interactive();
        Status {
            task_name: self.task.clone(),
            task_dir: self.root.to_string_lossy().into_owned(),
            interactive_mode: interactive,
            mode_indicator: if interactive {
                "interactive"
            } else {
                "autonomous"
            },
            started_at: self.started.clone(),
            run: state(&now, self.feed.gates()),
            updated_at: now.updated_at,
            recent_output: recent,
            event_seq: sequence,
            pid: std::process::id(),
            project: self.root.to_string_lossy().into_owned(),
        }
    }

    async fn tasks(&self) -> Result<Tasks, RpcError> {
        let list = self.desk.tasks().await.map_err(|e| refused(&e))?;
        let now = self.desk.now();
        let shown = |entry: &Entry| TaskNow {
            id: entry.task.id.clone(),
            title: entry.task.title.clone(),
            state: entry.state,
            attempts: now.attempts.get(&entry.task.id).copied().unwrap_or(0),
            working: now.working.contains(&entry.task.id),
            skipped: now.skipped.contains(&entry.task.id),
            depends_on: entry.task.depends_on.clone(),
            priority: entry.task.priority,
        };
        Ok(Tasks {
            tasks: list.entries().iter().map(shown).collect(),
        })
    }

    async fn skip(&self, SkipParams { id, undo }: SkipParams) -> Result<Skipped, RpcError> {
        let list = self.desk.tasks().await.map_err(|e| refused(&e))?;
        // One that is gone from the list can still be skipped no more.
        if list.get(&id).is_none() && !(undo && self.desk.now().skipped.contains(&id)) {
            let shown = ralph_engine::text::one_line(&id, 60);
            let text = format!("Invalid params: there is no task `{shown}`");
            return Err(RpcError::new(INVALID_PARAMS, text));
        }
        let task = id.clone();
        let new = self.at_the_desk(move |d| match undo {
            true => d.unskip(&task),
            false => d.skip(&task),
        });
        Ok(Skipped {
            status: match (new.await?, undo) {
                (true, false) => "skipped",
                (false, false) => "already_skipped",
                (true, true) => "unskipped",
                (false, true) => "not_skipped",
            },
            working: self.desk.now().working.contains(&id),
            id,
        })
    }

    fn stop(&self, params: &StopParams) -> Stopped {
        // Who asks twice means it.
        let again = self.desk.now().stop.is_some();
        let how = self.desk.stop(&self.control, params.force || again);
        Stopped {
            status: "stop_requested",
            force: how == Stop::Force,
        }
    }

    /// The journal's disk may be slow: not on a thread that serves others.
    async fn at_the_desk<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Desk) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, RpcError> {
        let desk = self.desk.clone();
        match tokio::task::spawn_blocking(move || what(&desk)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(e)) => Err(refused(&e)),
            Err(_) => Err(RpcError::new(INTERNAL_ERROR, "Internal error")),
        }
    }

    async fn set_interactive(&self, on: bool) -> Result<Interactive, RpcError> {
        let console = self.control.console();
        if on {
            // Whoever paused it before means it beyond this mode.
            if self.at_the_desk(Desk::pause).await? {
                self.rests.store(true, Ordering::Relaxed);
            }
            console.set_interactive(true);
        } else {
            console.set_interactive(false);
            if self.rests.swap(false, Ordering::Relaxed) {
                self.at_the_desk(Desk::resume).await?;
            }
        }
        Ok(Interactive {
            interactive_mode: on,
        })
    }

    fn write(&self, data: &str) -> Result<Written, RpcError> {
        if data.len() > PIECE_MAX {
            let message = format!(
                "Invalid params: `data` has {} bytes; {PIECE_MAX} are the most",
                data.len()
            );
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        let (status, reason) = match self.control.console().type_in(data.as_bytes()) {
            Typed::Forwarded => ("forwarded", None),
            Typed::Ignored(reason) => ("ignored", Some(reason)),
        };
        Ok(Written { status, reason })
    }

    fn known(events: &[String]) -> Result<(), RpcError> {
        match events.iter().find(|e| !NAMES.contains(&e.as_str())) {
            None => Ok(()),
            Some(odd) => Err(RpcError::new(
                INVALID_PARAMS,
                format!(
                    "Invalid params: there is no event `{}`; there are {}",
                    ralph_engine::text::one_line(odd, 60),
                    NAMES.join(", ")
                ),
            )),
        }
    }
}

fn refused(e: &Refused) -> RpcError {
    let code = match e {
        Refused::NoRun => NOT_NOW,
        Refused::Bad(_) => INVALID_PARAMS,
        Refused::Failed(_) => INTERNAL_ERROR,
    };
    RpcError::new(code, e.to_string())
}

fn subscribed(client: &Client) -> Subscribed {
    Subscribed {
        subscribed: client.wants().clone(),
    }
}

/// What a run's socket offers.
pub(crate) fn document(version: &str) -> Document {
    let about = "A Unix socket; one JSON-RPC 2.0 object per line. `subscribe` has it send events: notifications `event` with `type`, `timestamp`, `seq`, `data`.";
    Document::new("ralph: a run's socket", about, version, calls::methods())
}

#[async_trait]
impl Service for Tui {
    async fn call(
        &self,
        client: &Arc<Client>,
        method: &str,
        params: Params<'_>,
    ) -> Result<Value, RpcError> {
        match method {
            GetStatus::NAME => {
                let NoParams {} = GetStatus::read(params)?;
                GetStatus::done(self.status())
            }
            ListTasks::NAME => {
                let NoParams {} = ListTasks::read(params)?;
                ListTasks::done(self.tasks().await?)
            }
            GetLog::NAME => GetLog::done(self.feed.log(GetLog::read(params)?.since)),
            StopRun::NAME => StopRun::done(self.stop(&StopRun::read(params)?)),
            Pause::NAME => {
                let NoParams {} = Pause::read(params)?;
                let new = self.at_the_desk(Desk::pause).await?;
                let status = match (new, self.desk.now().rests()) {
                    (false, _) => "already_paused",
                    (true, true) => "paused",
                    (true, false) => "pause_requested",
                };
                Pause::done(Said { status })
            }
            Resume::NAME => {
                let NoParams {} = Resume::read(params)?;
                let resumed = self.at_the_desk(Desk::resume).await?;
                let status = if resumed { "resumed" } else { "not_paused" };
                Resume::done(Said { status })
            }
            Checkpoint::NAME => {
                let CheckpointParams { pause } = Checkpoint::read(params)?;
                let sequence = self.at_the_desk(move |d| d.checkpoint(pause)).await?;
                Checkpoint::done(Checkpointed {
                    status: "checkpoint_requested",
                    sequence,
                    pause,
                })
            }
            InjectPrompt::NAME => {
                let InjectParams { prompt } = InjectPrompt::read(params)?;
                let prompt = self.at_the_desk(move |d| d.inject(&prompt)).await?;
                InjectPrompt::done(Injected {
                    status: "prompt_injected",
                    prompt,
                })
            }
            SkipTask::NAME => SkipTask::done(self.skip(SkipTask::read(params)?).await?),
            SetInteractiveMode::NAME => {
                let InteractiveParams { enabled } = SetInteractiveMode::read(params)?;
                SetInteractiveMode::done(self.set_interactive(enabled).await?)
            }
            WritePty::NAME => WritePty::done(self.write(&WritePty::read(params)?.data)?),
            Subscribe::NAME => {
                let SubscribeParams { events, since } = Subscribe::read(params)?;
                Tui::known(&events)?;
                self.feed.subscribe(client, &events, since);
                Subscribe::done(subscribed(client))
            }
            Unsubscribe::NAME => {
                let UnsubscribeParams { events } = Unsubscribe::read(params)?;
                Tui::known(&events)?;
                client.wants().retain(|name| !events.contains(name));
                Unsubscribe::done(subscribed(client))
            }
            Discover::NAME => {
                let NoParams {} = Discover::read(params)?;
                Discover::done(document(env!("CARGO_PKG_VERSION")))
            }
            _ => Err(RpcError::no_method(method)),
        }
    }

    /// A tracker's program may have to be asked.
    fn takes_long(&self, method: &str) -> bool {
        method == ListTasks::NAME
    }
}

impl Offer for Tui {
    fn came(&self, client: &Arc<Client>) {
        self.feed.came(client);
    }

    fn marker(&self) -> Marker {
        feed::marker
    }

    fn transport(&self) -> &'static str {
        "socket"
    }

    fn fetch(&self, client: &Client, piece: &mut Vec<u8>, until: Until) {
        self.feed.fetch(client, piece, until);
    }
}
