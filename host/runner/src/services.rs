//! What the host does for a plugin during one call.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use ralph_engine::event::Event;
use ralph_engine::types::{AgentEvent, DiffText, FileChange, Role, Usage};
use ralph_plugins::{
    CallContext, Command, Level, Notification, Output, ProcessError, Services, StateAsk,
    StateError, StateTold,
};
use ralph_process::{Spawn, SpawnError, Stdin};
use ralph_workspace::{Git, Snapshot, ValueError, Values, Workspace};

use crate::bus::Bus;
use crate::control::Stopping;
use crate::holding::{self, Hold};
use crate::leftover;
use crate::notify::Outlet;
use crate::rawlog::RawLog;
use crate::redact;
use crate::replay::tape::{Asked, Ran};

/// Each stream of a program that a plugin runs is kept to this many bytes, at its end.
const OUTPUT_TAIL: usize = 256 * 1024;

/// Of what one gate asks this much is kept for a replay.
pub(crate) const ASKED_MAX: usize = 32;

/// What an iteration changed, looked at once and shown to many.
#[derive(Clone)]
pub struct Looked {
    /// Against what.
    pub base: Snapshot,
    /// What.
    pub now: Snapshot,
    /// Paths left out.
    pub ignore: Vec<String>,
    /// The changed paths.
    pub files: Arc<Vec<FileChange>>,
}

/// The host's side of one call.
pub struct CallServices {
    /// Shown in logs.
    pub name: String,
    /// Where an agent's events go.
    pub bus: Bus,
    /// Set for agents.
    pub role: Option<Role>,
    /// Is the run to end?
    pub stopping: Stopping,
    /// Sums what an agent component reports.
    pub usage: Mutex<Usage>,
    /// For agents: what they let be seen, one JSON object per line.
    pub log: Option<Mutex<RawLog>>,
    /// For drivers: what the agent is told.
    pub prompt: String,
    /// For gates, tools, notifiers and trackers.
    pub gate: Option<GateAccess>,
    /// For agents: where the values are that they keep.
    pub keeps: Option<Workspace>,
    /// What a gate asked of the host, and was told.
    pub asked: Mutex<Asked>,
    /// What held the program that a gate had run last, for records.
    pub held: Mutex<Option<serde_json::Value>>,
}

/// What a plugin may reach, if it is granted: a gate; and without changes a tool, a notifier, a tracker.
#[derive(Clone)]
pub struct GateAccess {
    /// The guard.
    pub ws: Workspace,
    /// For diffs, and what changed.
    pub changes: Option<(Git, Looked)>,
    /// For programs.
    pub timeout: Duration,
    /// For programs.
    pub env: Vec<String>,
    /// For programs.
    pub hold: Arc<Hold>,
    /// For what it tells people.
    pub outlet: Outlet,
}

impl CallServices {
    /// For a call that needs nothing.
    pub fn plain(name: &str, bus: &Bus, stopping: &Stopping) -> CallServices {
        CallServices {
            name: name.to_owned(),
            bus: bus.clone(),
            role: None,
            stopping: stopping.clone(),
            usage: Mutex::default(),
            log: None,
            prompt: String::new(),
            gate: None,
            keeps: None,
            asked: Mutex::default(),
            held: Mutex::default(),
        }
    }

    /// Keeps what a gate was told. A gate that asks without end is not kept.
    fn note(&self, what: impl FnOnce(&mut Asked)) {
        if let Ok(mut asked) = self.asked.lock()
            && asked.runs.len() + asked.diffs.len() < ASKED_MAX
        {
            what(&mut asked);
        }
    }

    /// The call's context. `seed` fixes what the plugin sees as randomness.
    pub fn context(
        self: &Arc<Self>,
        config: &str,
        root: Option<PathBuf>,
        seed: &str,
    ) -> CallContext {
        CallContext {
            services: self.clone(),
            config: config.to_owned(),
            root,
            now: SystemTime::now(),
            seed: format!("{seed}/{}", self.name),
        }
    }
}

#[async_trait]
impl Services for CallServices {
    fn log(&self, plugin: &str, level: Level, message: &str) {
        let message = redact::text(ralph_engine::text::strip_escapes(message));
        match level {
            Level::Trace => tracing::trace!(plugin, "{message}"),
            Level::Debug => tracing::debug!(plugin, "{message}"),
            Level::Info => tracing::info!(plugin, "{message}"),
            Level::Warn => tracing::warn!(plugin, "{message}"),
            Level::Error => tracing::error!(plugin, "{message}"),
        }
    }

    fn event(&self, event: AgentEvent) {
        let event = redact::clean(event);
        if let AgentEvent::Usage(usage) = &event
            && let Ok(mut sum) = self.usage.lock()
        {
            *sum = *usage;
        }
        if let Some(Ok(mut log)) = self.log.as_ref().map(Mutex::lock)
            && let Ok(mut line) = serde_json::to_vec(&event)
        {
            line.push(b'\n');
            log.write(&line);
        }
        if let Some(role) = self.role {
            self.bus.send(&Event::Agent { role, what: event });
        }
    }

    fn prompt(&self) -> String {
        self.prompt.clone()
    }

    fn stop_asked(&self) -> bool {
        self.stopping.forced()
    }

    async fn files(&self) -> Vec<FileChange> {
        let changes = self.gate.as_ref().and_then(|g| g.changes.as_ref());
        changes
            .map(|(_, looked)| looked.files.as_ref().clone())
            .unwrap_or_default()
    }

    async fn diff(&self, max_bytes: u64) -> DiffText {
        let Some((git, looked)) = self.gate.as_ref().and_then(|g| g.changes.as_ref()) else {
            return DiffText::default();
        };
        match git
            .diff(&looked.base, &looked.now, &looked.ignore, max_bytes)
            .await
        {
            Ok(diff) => {
                self.note(|asked| asked.diffs.push((max_bytes, diff.clone())));
                diff
            }
            Err(e) => {
                // A gate must not take an unreadable diff for an empty one.
                tracing::error!(plugin = self.name, "no diff: {e}");
                DiffText {
                    text: String::new(),
                    omitted_bytes: u64::MAX,
                }
            }
        }
    }

    async fn run(&self, command: Command) -> Result<Output, ProcessError> {
        let Some(gate) = &self.gate else {
            return Err(ProcessError::Denied(
                "a plugin of this kind runs no programs".into(),
            ));
        };
        let asking = command.clone();
        let program = if command.program.contains('/') {
            gate.ws.root().join(&command.program).into_os_string()
        } else {
            OsString::from(&command.program)
        };
        let mut env = ralph_process::environment(&gate.env);
        for (name, value) in &command.env {
            env.retain(|(n, _)| n.as_os_str() != name.as_str());
            env.push((name.into(), value.into()));
        }
        let asked = command.timeout_ms.map(Duration::from_millis);
        let mut spawn = Spawn {
            program,
            args: command.args.iter().map(OsString::from).collect(),
            cwd: gate.ws.root().to_path_buf(),
            env,
            stdin: command.stdin.map_or(Stdin::Empty, Stdin::Bytes),
            timeout: Some(asked.map_or(gate.timeout, |a| a.min(gate.timeout))),
            idle_timeout: None,
            startup_timeout: None,
            secrets: ralph_process::secrets(),
            terminal: None,
            grace: Duration::from_secs(2),
            confinement: None,
        };
        let mut confined = gate
            .hold
            .confine(&gate.ws, None, &mut spawn)
            .await
            .map_err(|e| ProcessError::Failed(e.to_string()))?;
        static SAID: Once = Once::new();
        if confined.enforced().lacks_loopback() {
            SAID.call_once(|| {
                self.bus.notice(format!(
                    "gates have no loopback; one that needs a network gets it with `confine = {{ network = [\"*\"] }}`. Their network is {}",
                    confined.enforced().network
                ));
            });
        }
        let mut remembered = None;
        let mut served = Ok(());
        let started = |pid, start_time| {
            remembered = Some(leftover::remember(&gate.ws, pid, start_time));
            served = confined.started();
        };
        let ran = ralph_process::run_noted(spawn, OUTPUT_TAIL, started).await;
        if let Ok(mut held) = self.held.lock() {
            *held = holding::record(&confined);
        }
        let answer = match ran {
            Ok(_) if served.is_err() => Err(ProcessError::Failed(
                "its way to the hosts it may reach could not be opened".into(),
            )),
            Ok(out) => Ok(Output {
                code: out.finished.code,
                timed_out: out.finished.ended_by == ralph_process::EndedBy::Timeout,
                stdout: out.stdout,
                stderr: out.stderr,
                truncated: out.truncated,
            }),
            Err(e @ SpawnError::NotFound { .. }) => Err(ProcessError::NotFound(e.to_string())),
            Err(e) => Err(ProcessError::Failed(e.to_string())),
        };
        self.note(|asked| asked.runs.push(Ran::of(&asking, &answer)));
        answer
    }

    async fn state(&self, plugin: &str, ask: StateAsk) -> Result<StateTold, StateError> {
        let ws = self
            .gate
            .as_ref()
            .map(|gate| &gate.ws)
            .or(self.keeps.as_ref());
        let Some(ws) = ws.cloned() else {
            return Err(StateError::Failed(
                "a plugin of this kind keeps nothing".into(),
            ));
        };
        let plugin = plugin.to_owned();
        let kept = move || {
            let values = Values::of(&ws, &plugin)?;
            Ok(match ask {
                StateAsk::Get(key) => StateTold::Value(values.get(&key)?),
                StateAsk::Keys(prefix) => StateTold::Keys(values.keys(&prefix)?),
                StateAsk::Set(key, value) => {
                    values.set(&key, &value)?;
                    StateTold::Done
                }
                StateAsk::Delete(key) => {
                    values.delete(&key)?;
                    StateTold::Done
                }
            })
        };
        let kept = tokio::task::spawn_blocking(kept).await;
        let kept = kept.map_err(|e| StateError::Failed(e.to_string()))?;
        kept.map_err(|error| match error {
            ValueError::Invalid(why) => StateError::Invalid(why),
            ValueError::Full(why) => StateError::Full(why),
            ValueError::Failed(why) => StateError::Failed(why),
        })
    }

    async fn notify(&self, plugin: &str, what: Notification) -> Result<(), String> {
        let Some(gate) = &self.gate else {
            return Err("a plugin of this kind tells nobody anything".into());
        };
        let Notification { level, title, text } = what;
        let rest = if text.is_empty() { "" } else { "\n" };
        let said = redact::text(format!("{plugin}: {title}{rest}{text}"));
        self.log(plugin, level, &said);
        self.bus.notice(&said);
        match gate.outlet.tell(plugin, level, said).await {
            failed if failed.is_empty() => Ok(()),
            failed => Err(failed.join("; ")),
        }
    }
}
