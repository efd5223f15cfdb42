//! What holds a native agent or a gate's program: from `[sandbox]` and what is
//! laid over it to one child's confinement.

mod kept;
mod place;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ralph_config::HostPattern;
use ralph_config::types::{
    Agent, Config, Confine, Gate, Layer as LayerKey, OsSandbox, Profile as ProfileKey, Rlimits,
    Sandbox,
};
use ralph_engine::types::Role;
use ralph_process::Spawn;
pub use ralph_sandbox::Enforced;
use ralph_sandbox::{
    Confined, Foreseen, Layer, Limits, Network, Plan, Policy, Profile, SandboxError,
};
use ralph_workspace::Workspace;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

pub use self::kept::keep;
use self::place::STATE;
use crate::error::Error;

/// A policy with what it is about; what this machine makes of it is found out when it is first asked for.
#[derive(Debug)]
pub struct Hold {
    policy: Policy,
    require: bool,
    /// The plugin that drives the agent; `None` for a gate.
    driver: Option<String>,
    /// Files below `.ralph/` that an agent may write.
    open: Vec<String>,
    /// `[sandbox] protect`
    protect: Vec<String>,
    plan: OnceCell<Plan>,
    foreseen: Mutex<Soon>,
}

/// Since when, and what comes of it.
type Soon = Option<(Instant, JoinHandle<Result<Foreseen, SandboxError>>)>;

/// What was looked at longer ago than this is looked at again.
const FORESEEN_MAX: Duration = Duration::from_secs(10);

impl Hold {
    /// For an agent that a plugin drives in this role; `own_home` is where its settings are, if not in the user's.
    ///
    /// # Errors
    /// A host that is none; the configuration's own checks have refused it before.
    pub fn of_agent(
        config: &Config,
        root: &Path,
        agent: &Agent,
        role: Role,
        driver: &str,
        own_home: Option<&Path>,
    ) -> Result<Hold, Error> {
        let mut hold = Hold::new(config, root, &[&agent.confine], true)?;
        // What another driver starts may be one of those we know all the same.
        let program = agent
            .argv
            .first()
            .map_or(driver, |p| p.rsplit('/').next().unwrap_or(p));
        let known = STATE.iter().find(|(name, ..)| *name == program);
        // What the CLI is told not to write, the system keeps it from writing. Those we know
        // are told so when they judge or review; a profile chosen for just this agent stays.
        let told = role != Role::Work && known.is_some() && agent.confine.profile.is_none();
        if (told || agent.sandbox == Sandbox::ReadOnly)
            && hold.policy.profile == Profile::WorkspaceWrite
        {
            hold.policy.profile = Profile::ReadOnly;
        }
        let driver = known.map_or(driver, |(name, ..)| *name);
        if driver == "copilot" {
            hold.policy.read.push(home().join(".config/gh"));
        }
        hold.policy.write.extend(own_home.map(Path::to_owned));
        hold.driver = Some(driver.to_owned());
        Ok(hold)
    }

    /// For a gate's programs.
    ///
    /// # Errors
    /// As above.
    pub fn of_gate(config: &Config, root: &Path, gate: &Gate) -> Result<Hold, Error> {
        Hold::new(config, root, &[&config.sandbox.gates, &gate.confine], false)
    }

    /// For the programs of a tool, a notifier or a tracker: as for those of gates.
    ///
    /// # Errors
    /// As above.
    pub fn of_plugin(config: &Config, root: &Path) -> Result<Hold, Error> {
        Hold::new(config, root, &[&config.sandbox.gates], false)
    }

    fn new(config: &Config, root: &Path, inner: &[&Confine], agent: bool) -> Result<Hold, Error> {
        let outer = &config.sandbox;
        let mut profile = outer.profile;
        let mut limits = outer.limits;
        let (mut read, mut write) = (outer.read.clone(), outer.write.clone());
        let mut network = if agent {
            outer.network.clone()
        } else {
            Vec::new()
        };
        for confine in inner {
            profile = confine.profile.unwrap_or(profile);
            limits = limits.with(confine.limits);
            read.extend(confine.read.iter().cloned());
            write.extend(confine.write.iter().cloned());
            network = confine.network.clone().unwrap_or(network);
        }
        let files = &config.files;
        Ok(Hold {
            policy: Policy {
                profile: profile_of(profile),
                layer: match outer.layer {
                    LayerKey::Auto | LayerKey::Landlock => Layer::Landlock,
                    LayerKey::Bubblewrap => Layer::Bubblewrap,
                },
                read: paths(&read, root),
                write: paths(&write, root),
                network: network_of(&network)?,
                limits: limits_of(limits),
            },
            require: outer.require,
            driver: None,
            open: files
                .tasks
                .iter()
                .chain([&files.progress])
                .cloned()
                .collect(),
            protect: outer.protect.clone(),
            plan: OnceCell::new(),
            foreseen: Mutex::default(),
        })
    }

    /// What this machine makes of it.
    pub async fn plan(&self) -> &Plan {
        self.plan
            .get_or_init(|| Plan::new(self.policy.clone()))
            .await
    }

    /// Refuses if less holds than `[sandbox] require` asks for.
    ///
    /// # Errors
    /// Then.
    pub async fn demand(&self, who: &str) -> Result<(), Error> {
        if !self.require {
            return Ok(());
        }
        let enforced = self.plan().await.enforced();
        if enforced.is_whole() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "[sandbox] require: {who} would run with less than was asked for ({}): {}",
            enforced.level.word(),
            enforced.missing.join("; ")
        )))
    }

    /// Is it worth a word to a person that less holds than was asked for?
    pub async fn warning(&self) -> Option<String> {
        // A closed network is only probed where it is needed, not at a run's start.
        if self.policy.network == Network::Closed {
            return None;
        }
        let enforced = self.plan().await.enforced();
        (!enforced.is_whole()).then(|| format!("sandbox: {}", enforced.line()))
    }

    /// What the driver is to tell the CLI of its own sandbox. That of codex makes
    /// mounts, which Landlock forbids: every command would fail in it. The one
    /// around it holds the same, so it is switched off there.
    pub async fn cli_sandbox(&self, asked: Sandbox) -> Value {
        let own_mounts = self.driver.as_deref() == Some("codex");
        if own_mounts && self.plan().await.forbids_mounts() {
            return json!("held");
        }
        json!(asked)
    }

    /// A child with this environment is to be made ready soon: what takes a while is begun
    /// in the background, if it isn't already.
    pub(crate) async fn foresee(&self, ws: &Workspace, env: &[(OsString, OsString)]) {
        let begun = |(since, _): &(Instant, _)| since.elapsed() < FORESEEN_MAX / 2;
        if self.soon().as_ref().is_some_and(begun) {
            return;
        }
        let (plan, place) = (self.plan().await.clone(), self.place(ws, None, env));
        let made = tokio::task::spawn_blocking(move || plan.foresee(place));
        *self.soon() = Some((Instant::now(), made));
    }

    fn soon(&self) -> MutexGuard<'_, Soon> {
        self.foreseen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one child ready. `scratch` is for files of this call only.
    pub(crate) async fn confine(
        &self,
        ws: &Workspace,
        scratch: Option<&Path>,
        spawn: &mut Spawn,
    ) -> Result<Confined, SandboxError> {
        let place = self.place(ws, scratch, &spawn.env);
        let soon = self.soon().take();
        let foreseen = match soon.filter(|(since, _)| since.elapsed() < FORESEEN_MAX) {
            // What can't be foreseen is told when it is asked for.
            Some((_, made)) => made.await.ok().and_then(Result::ok),
            None => None,
        };
        self.plan().await.confine(&place, foreseen, spawn)
    }
}

/// For records: what held a child, and whom it asked for in vain.
pub(crate) fn record(confined: &Confined) -> Option<Value> {
    let mut value = serde_json::to_value(confined.enforced()).ok()?;
    let refused = confined.refused_hosts();
    if !refused.is_empty()
        && let Some(map) = value.as_object_mut()
    {
        map.insert("refused_hosts".into(), json!(refused));
    }
    Some(value)
}

/// Is this path one of those that `[sandbox] protect` names?
pub(crate) fn is_protected(sandbox: &OsSandbox, path: &str) -> bool {
    protected(sandbox)
        .iter()
        .any(|p| Path::new(path).starts_with(p))
}

/// What is watched beside what git and ralph run. Nothing without a sandbox.
pub(crate) fn protected(sandbox: &OsSandbox) -> &[String] {
    match sandbox.profile {
        ProfileKey::Off => &[],
        _ => &sandbox.protect,
    }
}

/// For `ralph doctor`: who would be held by what.
pub struct Held {
    /// `agents` or `gates`.
    pub who: &'static str,
    /// By what.
    pub enforced: Enforced,
    /// What a person may wonder about.
    pub remark: Option<&'static str>,
}

/// What would hold the agent that works, and gates' programs.
///
/// # Errors
/// As for [`Hold::of_agent`].
pub async fn overview(config: &Config, root: &Path) -> Result<[Held; 2], Error> {
    let agent = config.agent(&config.run.agent).unwrap_or_default();
    let driver = config.agent_plugin(&config.run.agent).unwrap_or_default();
    let hold = Hold::of_agent(config, root, &agent, Role::Work, &driver, None)?;
    let own_off = hold.cli_sandbox(agent.sandbox).await != json!(agent.sandbox);
    let gates = Hold::new(config, root, &[&config.sandbox.gates], false)?;
    Ok([
        Held {
            who: "agents",
            enforced: hold.plan().await.enforced().clone(),
            remark: own_off.then_some(
                "codex's own sandbox is off inside of it: Landlock forbids the mounts it makes; layer = \"bubblewrap\" allows them",
            ),
        },
        Held {
            who: "gates",
            enforced: gates.plan().await.enforced().clone(),
            remark: None,
        },
    ])
}

fn home() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    home.filter(|h| h.is_absolute())
        .unwrap_or_else(|| "/".into())
}

fn paths(listed: &[String], root: &Path) -> Vec<PathBuf> {
    let one = |path: &String| match path.strip_prefix('~') {
        Some(rest) => home().join(rest.trim_start_matches('/')),
        // An absolute path stays one.
        None => root.join(path),
    };
    listed.iter().map(one).collect()
}

fn network_of(hosts: &[String]) -> Result<Network, Error> {
    if hosts.is_empty() {
        return Ok(Network::Closed);
    }
    if hosts.iter().any(|h| h == "*") {
        return Ok(Network::Open);
    }
    let hosts: Result<_, _> = hosts.iter().map(|h| HostPattern::parse(h)).collect();
    Ok(Network::Hosts(hosts.map_err(Error::Usage)?))
}

fn profile_of(profile: ProfileKey) -> Profile {
    match profile {
        ProfileKey::Off => Profile::Off,
        ProfileKey::ReadOnly => Profile::ReadOnly,
        ProfileKey::WorkspaceWrite => Profile::WorkspaceWrite,
        ProfileKey::Custom => Profile::Custom,
    }
}

fn limits_of(limits: Rlimits) -> Limits {
    Limits {
        processes: limits.processes.map(u64::from),
        file_size: limits.file_size.map(|s| s.bytes()),
        open_files: limits.open_files.map(u64::from),
        memory: limits.memory.map(|s| s.bytes()),
    }
}
