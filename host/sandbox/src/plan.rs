//! From what is asked for and what this machine can do to one confined child.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use landlock::RulesetCreated;
use ralph_process::{Confinement, OwnNetwork, Resource, Spawn};

use crate::bubblewrap;
use crate::confined::{Confined, proxied, set};
use crate::enforced::{BY_BOTH, BY_HASH, BY_VIEW, CLOSED_WHOLLY, Enforced, Level};
use crate::grants::Grants;
use crate::policy::{Layer, Network, Place, Policy, Profile};
use crate::probe;
use crate::proxy::Proxy;
use crate::rules::{self, Kernel, Tcp};
use crate::seccomp::{self, Filter, Sockets};

/// The proxy's port in a network of its own, where nobody else has one.
const PROXY_PORT: u16 = 3128;

/// Not promised by Landlock on any kernel this program knows.
const OPEN_UNDER_LANDLOCK: &[&str] = &[
    "names, sizes and times of files, and command lines of other processes, can be seen",
    "modes, owners and times of the user's own files can be changed",
    "Unix sockets that have a path can be connected to",
    "terminals of the user can be opened",
];
/// Not promised by a view.
const OPEN_UNDER_BUBBLEWRAP: &[&str] =
    &["Unix sockets that have a path outside of /run and /tmp can be connected to"];

const NO_LANDLOCK: &str = "this kernel has no Landlock (Linux 5.13, and `landlock` in its list of security modules): \
                           files are not held";

/// A child can't be confined as planned. It isn't started then.
#[derive(Debug, thiserror::Error)]
#[error("the sandbox can't be made: {0}")]
pub struct SandboxError(pub(crate) String);

impl From<landlock::RulesetError> for SandboxError {
    fn from(e: landlock::RulesetError) -> Self {
        SandboxError(e.to_string())
    }
}

impl From<io::Error> for SandboxError {
    fn from(e: io::Error) -> Self {
        SandboxError(e.to_string())
    }
}

/// A policy, and what of it this machine can enforce.
#[derive(Debug, Clone)]
pub struct Plan {
    policy: Policy,
    how: How,
    network: Held,
    kernel: Kernel,
    enforced: Enforced,
}

#[derive(Debug, Clone)]
enum How {
    /// As its user.
    Off,
    /// Landlock as far as there is one, and seccomp.
    Rules,
    /// In a view.
    View(PathBuf),
}

/// How the network is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// Not at all.
    Free,
    /// By a namespace.
    Namespace,
    /// By TCP rules and a filter over socket families.
    Rules,
}

/// What [`Plan::confine`] makes of a place, but for what is one call's own.
#[derive(Debug)]
pub struct Foreseen {
    /// Without a scratch directory.
    place: Place,
    grants: Grants,
    ruleset: Option<RulesetCreated>,
}

impl Foreseen {
    /// What is sealed matters to a view only.
    fn is_of(&self, place: &Place) -> bool {
        let same = Place {
            scratch: None,
            sealed: self.place.sealed.clone(),
            ..place.clone()
        };
        self.place == same
    }
}

impl Plan {
    /// Looks at what can be enforced. Costs a few system calls; a millisecond or
    /// two once per process where a network is closed, and where bubblewrap is asked for.
    /// Inside a tokio runtime.
    pub async fn new(policy: Policy) -> Plan {
        let namespace = match policy.network {
            Network::Open => Ok(()),
            _ if policy.profile == Profile::Off => Ok(()),
            _ => probe::own_network().await,
        };
        Plan::on(policy, Kernel::ask(), namespace).await
    }

    /// On a machine that can do this; `namespace`: can it give a child a network of its own?
    pub(crate) async fn on(policy: Policy, kernel: Kernel, namespace: Result<(), String>) -> Plan {
        if policy.profile == Profile::Off {
            return Plan {
                policy,
                how: How::Off,
                network: Held::Free,
                kernel,
                enforced: Enforced::off(),
            };
        }
        let mut missing = Vec::new();
        let view = match policy.layer {
            Layer::Landlock => None,
            Layer::Bubblewrap => match probe::bubblewrap().await {
                Ok(program) => Some(program),
                Err(why) => {
                    missing.push(format!("{why}: Landlock takes its place"));
                    None
                }
            },
        };
        if view.is_none() && kernel.files {
            missing.extend(kernel.missing());
        } else if view.is_none() {
            missing.push(NO_LANDLOCK.into());
        }
        let (layer, open) = match (&view, kernel.files) {
            (Some(_), _) => ("bubblewrap", OPEN_UNDER_BUBBLEWRAP),
            (None, true) => ("landlock", OPEN_UNDER_LANDLOCK),
            (None, false) => ("seccomp", OPEN_UNDER_LANDLOCK),
        };
        let how = view.map_or(How::Rules, How::View);
        if seccompiler::TargetArch::try_from(std::env::consts::ARCH).is_err() {
            missing.push("there is no table of system calls for this processor".into());
        }
        let (network, words) = held(&policy.network, kernel, namespace, &mut missing);
        if policy.limits.processes.is_some() && rustix::process::geteuid().is_root() {
            missing.push("the kernel doesn't hold root to a number of processes".into());
        }
        if layer == "landlock" && rustix::process::geteuid().is_root() && !may_lose_privileges() {
            missing.push(
                "root keeps its capabilities, since it lacks CAP_SETPCAP to give them up".into(),
            );
        }
        let level = if missing.is_empty() {
            Level::Full
        } else {
            Level::Partial
        };
        let enforced = Enforced {
            profile: policy.profile,
            level,
            layer,
            network: words,
            protected: if matches!(how, How::View(_)) {
                BY_VIEW
            } else {
                BY_HASH
            },
            limits: policy.limits,
            missing,
            open: open.to_vec(),
        };
        Plan {
            policy,
            how,
            network,
            kernel,
            enforced,
        }
    }

    /// What holds wherever it is carried out.
    pub fn enforced(&self) -> &Enforced {
        &self.enforced
    }

    /// Would the sandbox that a program makes for itself out of mounts fail in this one?
    pub fn forbids_mounts(&self) -> bool {
        matches!(self.how, How::Rules) && self.kernel.files
    }

    /// Does beforehand what takes a while and is the same for all calls at one place: a
    /// millisecond or more of looking at directories. What is made then and not there yet,
    /// a child doesn't get to see.
    ///
    /// # Errors
    /// The kernel refuses what it offered before, or a file descriptor is lacking.
    pub fn foresee(&self, place: Place) -> Result<Foreseen, SandboxError> {
        let place = Place {
            scratch: None,
            ..place
        };
        let grants = Grants::of(&self.policy, &place);
        let ruleset = match self.how {
            How::Rules => Some(rules::begin(&grants, self.tcp())?),
            How::Off | How::View(_) => None,
        };
        Ok(Foreseen {
            place,
            grants,
            ruleset,
        })
    }

    /// Makes one child ready: its confinement, its command line, its environment.
    /// To be called in a tokio runtime right before the child is started. What was
    /// foreseen is taken if it is of the same place.
    ///
    /// # Errors
    /// The kernel refuses what it offered before, or a file descriptor is lacking.
    pub fn confine(
        &self,
        place: &Place,
        foreseen: Option<Foreseen>,
        spawn: &mut Spawn,
    ) -> Result<Confined, SandboxError> {
        let mut confined = Confined {
            enforced: self.enforced.clone(),
            listener: None,
            proxy: None,
        };
        if matches!(self.how, How::Off) {
            return Ok(confined);
        }
        let mut with = Confinement {
            limits: self.limits(),
            ..Confinement::default()
        };
        let port = self.reach(&mut with, &mut confined, spawn)?;
        if let Some(dir) = place
            .scratch
            .as_ref()
            .filter(|_| self.policy.profile != Profile::WorkspaceWrite)
        {
            set(&mut spawn.env, "TMPDIR", dir.as_os_str().to_owned());
        }
        let sockets = match (self.network, &self.policy.network) {
            (Held::Rules, Network::Hosts(_)) => Sockets::Tcp,
            (Held::Rules, Network::Closed) => Sockets::Unix,
            _ => Sockets::Any,
        };
        let view = matches!(self.how, How::View(_));
        let filters = seccomp::filters(Filter {
            no_tracing: !view && !self.kernel.files,
            // In a view they are worth nothing outside, and an agent's own sandbox needs them.
            // Landlock forbids the mounts of such a sandbox anyway.
            namespaces: view || !self.kernel.files,
            no_metadata: !view && self.policy.profile == Profile::ReadOnly,
            sockets,
        })
        .map_err(|e| SandboxError(e.to_string()))?;
        match &self.how {
            How::View(program) => {
                let grants = Grants::of(&self.policy, place);
                with.ruleset = rules::around_view(self.tcp(), port)?;
                for filter in &filters {
                    with.keep.push(bubblewrap::compiled(filter)?);
                }
                let path = spawn
                    .env
                    .iter()
                    .find(|(name, _)| name == "PATH")
                    .map(|(_, v)| v.as_os_str());
                if bubblewrap::finds(&spawn.program, &spawn.cwd, path) {
                    let mut args =
                        bubblewrap::arguments(&self.policy, place, &grants, &spawn.cwd, &with.keep);
                    args.push(std::mem::replace(&mut spawn.program, program.into()));
                    args.append(&mut spawn.args);
                    spawn.args = args;
                }
            }
            _ => {
                let Foreseen {
                    grants, ruleset, ..
                } = match foreseen.filter(|f| f.is_of(place)) {
                    Some(foreseen) => foreseen,
                    None => self.foresee(place.clone())?,
                };
                if let Some(ruleset) = ruleset {
                    with.ruleset = rules::end(ruleset, place.scratch.as_deref(), port)?;
                }
                with.filters = filters;
                with.fewer_privileges = may_lose_privileges();
                if grants.git_apart {
                    confined.enforced.protected = BY_BOTH;
                }
            }
        }
        spawn.confinement = Some(Arc::new(with));
        Ok(confined)
    }

    fn limits(&self) -> Vec<(Resource, u64)> {
        let l = &self.policy.limits;
        [
            (Resource::Processes, l.processes),
            (Resource::FileSize, l.file_size),
            (Resource::OpenFiles, l.open_files),
            (Resource::Memory, l.memory),
        ]
        .into_iter()
        .filter_map(|(resource, most)| Some((resource, most?)))
        .collect()
    }

    fn tcp(&self) -> Tcp {
        match (self.network, &self.policy.network) {
            (Held::Rules, Network::Hosts(_)) => Tcp::OnePort,
            (Held::Rules, _) if self.kernel.tcp => Tcp::Nothing,
            _ => Tcp::Free,
        }
    }

    /// Network, and the way to the proxy if there is one: its port, where nothing but
    /// Landlock keeps the child from others.
    fn reach(
        &self,
        with: &mut Confinement,
        confined: &mut Confined,
        spawn: &mut Spawn,
    ) -> Result<Option<u16>, SandboxError> {
        let hosts = match &self.policy.network {
            Network::Hosts(hosts) => Some(hosts),
            _ => None,
        };
        match self.network {
            Held::Free => Ok(None),
            Held::Namespace => {
                let mut own = OwnNetwork::default();
                if let Some(hosts) = hosts {
                    let (inside, outside) = std::os::unix::net::UnixDatagram::pair()?;
                    outside.set_nonblocking(true)?;
                    own.listen = Some((PROXY_PORT, inside.into()));
                    confined.listener = Some((outside.into(), hosts.clone()));
                    proxied(&mut spawn.env, PROXY_PORT);
                }
                with.own_network = Some(own);
                Ok(None)
            }
            Held::Rules => {
                let Some(hosts) = hosts else {
                    return Ok(None);
                };
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let port = listener.local_addr()?.port();
                confined.proxy = Some(Proxy::serve(listener, hosts.clone())?);
                proxied(&mut spawn.env, port);
                Ok(Some(port))
            }
        }
    }
}

fn held(
    network: &Network,
    kernel: Kernel,
    namespace: Result<(), String>,
    missing: &mut Vec<String>,
) -> (Held, String) {
    let hosts = match network {
        Network::Open => return (Held::Free, "open".into()),
        Network::Closed => None,
        Network::Hosts(hosts) => Some(
            hosts
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        ),
    };
    match (namespace, hosts) {
        (Ok(()), None) => (
            Held::Namespace,
            "closed; it has a loopback of its own".into(),
        ),
        (Ok(()), Some(hosts)) => (
            Held::Namespace,
            format!("only {hosts}, through ralph's proxy"),
        ),
        (Err(why), None) => (Held::Rules, format!("{CLOSED_WHOLLY}, since {why}")),
        (Err(why), Some(hosts)) if kernel.tcp => {
            missing.push(format!("{why}: any host that listens on the port of ralph's proxy can be reached beside the listed ones"));
            (
                Held::Rules,
                format!("only {hosts}, through ralph's proxy, and any host on the proxy's port"),
            )
        }
        (Err(why), Some(_)) => {
            missing.push(format!(
                "{why}, and this kernel's Landlock has no TCP rules (Linux 6.7): hosts are not held"
            ));
            (Held::Free, "open".into())
        }
    }
}

/// Root in a container may lack even the right to give up rights.
fn may_lose_privileges() -> bool {
    let own = rustix::thread::capabilities(None);
    own.is_ok_and(|c| c.effective.contains(rustix::thread::CapabilitySet::SETPCAP))
}
