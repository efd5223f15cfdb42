//! What holds a native agent or a gate's program: from `[sandbox]` and what is
//! laid over it to one child's confinement.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_config::HostPattern;
use ralph_config::types::{
    Agent, Config, Confine, Gate, Layer as LayerKey, OsSandbox, Profile as ProfileKey, Rlimits,
    Sandbox,
};
use ralph_engine::types::Role;
use ralph_process::Spawn;
pub use ralph_sandbox::Enforced;
use ralph_sandbox::{Confined, Layer, Limits, Network, Place, Plan, Policy, Profile, SandboxError};
use ralph_workspace::{Workspace, repository};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::error::Error;
use crate::trust::user_dir;

/// Where the agents we know keep their own state: the variable that says so, and
/// what it is without it, relative to the home directory.
const STATE: [(&str, &str, &[&str]); 3] = [
    ("codex", "CODEX_HOME", &[".codex"]),
    ("claude", "CLAUDE_CONFIG_DIR", &[".claude", ".claude.json"]),
    (
        "copilot",
        "COPILOT_HOME",
        &[".copilot", ".config/github-copilot"],
    ),
];

/// Where tool chains keep what they download: the variable, and what below it.
const CACHES: [(&str, &[&str]); 6] = [
    ("XDG_CACHE_HOME", &[""]),
    (
        "CARGO_HOME",
        &[
            "registry",
            "git",
            ".package-cache",
            ".package-cache-mutate",
            ".global-cache",
        ],
    ),
    ("GOCACHE", &[""]),
    ("GOMODCACHE", &[""]),
    ("GRADLE_USER_HOME", &[""]),
    ("PNPM_HOME", &["store"]),
];

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
}

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

    /// Makes one child ready. `scratch` is for files of this call only.
    pub(crate) async fn confine(
        &self,
        ws: &Workspace,
        scratch: Option<&Path>,
        spawn: &mut Spawn,
    ) -> Result<Confined, SandboxError> {
        let place = self.place(ws, scratch, &spawn.env);
        self.plan().await.confine(&place, spawn)
    }

    fn place(&self, ws: &Workspace, scratch: Option<&Path>, env: &[(OsString, OsString)]) -> Place {
        if self.policy.profile == Profile::Off {
            return Place::default();
        }
        let root = ws.root();
        let of = |name: &str| {
            let found = env.iter().find(|(n, _)| n == name);
            found
                .map(|(_, v)| PathBuf::from(v))
                .filter(|p| p.is_absolute())
        };
        let home = of("HOME").unwrap_or_else(home);
        let (mut state, mut foreign) = (Vec::new(), Vec::new());
        for (name, variable, usual) in STATE {
            let cache = of("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache"));
            let dirs = of(variable)
                .into_iter()
                .chain(usual.iter().map(|dir| home.join(dir)))
                // It unpacks itself there, and can't make the directory in the sandbox.
                .chain((name == "copilot").then(|| cache.join("copilot")));
            match self.driver.as_deref() {
                Some(driver) if driver == name => {
                    if name == "copilot" {
                        make(&cache);
                    }
                    state.extend(dirs.inspect(|dir| make(dir)));
                }
                // Not one of those we know: it may be a wrapper around any of them.
                Some(driver) if !STATE.iter().any(|(n, ..)| *n == driver) => state.extend(dirs),
                _ => foreign.extend(dirs),
            }
        }
        let caches = CACHES.iter().flat_map(|(variable, below)| {
            let dir = of(variable);
            below
                .iter()
                .filter_map(move |name| Some(dir.as_ref()?.join(name)))
        });
        let own = [
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_CACHE_HOME", ".cache"),
            ("XDG_CONFIG_HOME", ".config"),
        ];
        let git = repository(root);
        Place {
            sealed: self.sealed(root, git.as_ref()),
            root: root.to_owned(),
            scratch: scratch.map(Path::to_owned),
            caches: caches.collect(),
            own: own
                .iter()
                .filter_map(|(v, dir)| user_dir(v, dir).ok())
                .collect(),
            tmp: of("TMPDIR"),
            git,
            home,
            state,
            foreign,
        }
    }

    /// What decides what runs here, and what records what was.
    fn sealed(&self, root: &Path, git: Option<&(PathBuf, PathBuf)>) -> Vec<PathBuf> {
        let mut sealed = Vec::new();
        if let Some((own, common)) = git {
            for name in ["config", "hooks", "info/attributes", "info/exclude"] {
                sealed.push(common.join(name));
            }
            sealed.push(own.join("config.worktree"));
        }
        let more = self.protect.iter().map(String::as_str);
        sealed.extend(
            ["ralph.toml", "ralph.lock"]
                .into_iter()
                .chain(more)
                .map(|name| root.join(name)),
        );
        for entry in std::fs::read_dir(root.join(".ralph"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = format!(".ralph/{}", entry.file_name().to_string_lossy());
            // The scratch directory is in there.
            let open =
                name == ".ralph/tmp" || self.open.iter().any(|o| Path::new(o).starts_with(&name));
            if !open {
                sealed.push(entry.path());
            }
        }
        sealed
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

/// An agent that starts for the first time can't make its directory itself any more.
fn make(dir: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    let is_file = dir.extension().is_some();
    if !is_file && dir.parent().is_some_and(Path::is_dir) && !dir.exists() {
        let made = std::fs::DirBuilder::new().mode(0o700).create(dir);
        if let Err(e) = made {
            tracing::warn!("{} can't be made: {e}", dir.display());
        }
    }
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
