//! The methods of the TUI protocol: `get_status`, `stop`, `pause`, `resume`,
//! `checkpoint`, `inject_prompt`, `set_interactive_mode`, `write_pty`, `subscribe`,
//! `unsubscribe`.
//!
//! `pause` and `resume` are additions; so are `stop`'s `force`, `checkpoint`'s
//! `pause` and `subscribe`'s `since`. While the interactive mode is on, the agent
//! may be silent, one that starts runs on a terminal, and the run rests after the
//! iteration.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use ralph_engine::state::Stop;
use ralph_runner::console::{PIECE_MAX, Typed};
use ralph_runner::steer::Refused;
use ralph_runner::{Control, Desk};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::feed::{self, Feed, NAMES};
use crate::message::{INTERNAL_ERROR, INVALID_PARAMS, NOT_NOW, Params, RpcError, Service};
use crate::outbox::Marker;
use crate::server::{Client, Listener, Offer, Server};
use crate::socket::{self, Socket, SocketError};

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

#[derive(Deserialize)]
struct NoParams {}

#[derive(Deserialize)]
struct StopParams {
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
struct CheckpointParams {
    #[serde(default = "yes")]
    pause: bool,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct InjectParams {
    prompt: String,
}

#[derive(Deserialize)]
struct InteractiveParams {
    enabled: bool,
}

#[derive(Deserialize)]
struct WriteParams {
    data: String,
}

#[derive(Deserialize)]
struct SubscribeParams {
    events: Vec<String>,
    #[serde(default)]
    since: Option<u64>,
}

#[derive(Serialize)]
struct Subscribed {
    subscribed: BTreeSet<String>,
}

impl Tui {
    fn status(&self) -> Value {
        let now = self.desk.now();
        let (recent, sequence) = self.feed.recent();
        let interactive = self.control.console().interactive();
        let mut status = json!({
            "task_name": self.task,
            "task_dir": self.root,
            "interactive_mode": interactive,
            "mode_indicator": if interactive { "interactive" } else { "autonomous" },
            "started_at": self.started,
            "updated_at": now.updated_at,
            "recent_output": recent,
            "event_seq": sequence,
            "pid": std::process::id(),
            "project": self.root,
        });
        if let Value::Object(map) = &mut status {
            map.extend(feed::state(&now));
        }
        status
    }

    fn stop(&self, params: &StopParams) -> Value {
        // Who asks twice means it.
        let again = self.desk.now().stop.is_some();
        let how = self.desk.stop(&self.control, params.force || again);
        json!({ "status": "stop_requested", "force": how == Stop::Force })
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

    async fn set_interactive(&self, on: bool) -> Result<Value, RpcError> {
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
        Ok(json!({ "interactive_mode": on }))
    }

    fn write(&self, data: &str) -> Result<Value, RpcError> {
        if data.len() > PIECE_MAX {
            let message = format!(
                "Invalid params: `data` has {} bytes; {PIECE_MAX} are the most",
                data.len()
            );
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        Ok(match self.control.console().type_in(data.as_bytes()) {
            Typed::Forwarded => json!({ "status": "forwarded" }),
            Typed::Ignored(reason) => json!({ "status": "ignored", "reason": reason }),
        })
    }

    fn events(params: SubscribeParams) -> Result<(Vec<String>, Option<u64>), RpcError> {
        match params.events.iter().find(|e| !NAMES.contains(&e.as_str())) {
            None => Ok((params.events, params.since)),
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

fn subscribed(client: &Client) -> Result<Value, RpcError> {
    let subscribed = client.wants().clone();
    serde_json::to_value(Subscribed { subscribed })
        .map_err(|e| RpcError::new(INTERNAL_ERROR, e.to_string()))
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
            "get_status" => {
                let NoParams {} = params.read()?;
                Ok(self.status())
            }
            "stop" => Ok(self.stop(&params.read()?)),
            "pause" => {
                let NoParams {} = params.read()?;
                let new = self.at_the_desk(Desk::pause).await?;
                let status = match (new, self.desk.now().rests()) {
                    (false, _) => "already_paused",
                    (true, true) => "paused",
                    (true, false) => "pause_requested",
                };
                Ok(json!({ "status": status }))
            }
            "resume" => {
                let NoParams {} = params.read()?;
                let resumed = self.at_the_desk(Desk::resume).await?;
                let status = if resumed { "resumed" } else { "not_paused" };
                Ok(json!({ "status": status }))
            }
            "checkpoint" => {
                let CheckpointParams { pause } = params.read()?;
                let sequence = self.at_the_desk(move |d| d.checkpoint(pause)).await?;
                Ok(
                    json!({ "status": "checkpoint_requested", "sequence": sequence, "pause": pause }),
                )
            }
            "inject_prompt" => {
                let InjectParams { prompt } = params.read()?;
                let prompt = self.at_the_desk(move |d| d.inject(&prompt)).await?;
                Ok(json!({ "status": "prompt_injected", "prompt": prompt }))
            }
            "set_interactive_mode" => {
                let InteractiveParams { enabled } = params.read()?;
                self.set_interactive(enabled).await
            }
            "write_pty" => {
                let WriteParams { data } = params.read()?;
                self.write(&data)
            }
            "subscribe" => {
                let (names, since) = Tui::events(params.read()?)?;
                self.feed.subscribe(client, &names, since);
                subscribed(client)
            }
            "unsubscribe" => {
                let (names, _) = Tui::events(params.read()?)?;
                client.wants().retain(|name| !names.contains(name));
                subscribed(client)
            }
            _ => Err(RpcError::no_method(method)),
        }
    }
}

impl Offer for Tui {
    fn came(&self, client: &Arc<Client>) {
        self.feed.came(client);
    }

    fn marker(&self) -> Marker {
        feed::marker
    }
}
