//! Landlock: what the kernel can do, and a ruleset made of grants.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::grants::{DEVICES, Grants};

/// File accesses as of this version are asked for; later ones aren't known to this program.
const FILES: ABI = ABI::V5;

/// What this kernel can hold a program to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Files at all.
    pub(crate) files: bool,
    /// Renames and links between directories, inside the writable tree.
    pub(crate) refer: bool,
    /// Truncation apart from writing.
    pub(crate) truncate: bool,
    /// TCP by port.
    pub(crate) tcp: bool,
    /// Commands to devices.
    pub(crate) ioctl: bool,
    /// Signals and abstract sockets.
    pub(crate) scopes: bool,
}

impl Kernel {
    /// Asks it, once: a few system calls.
    pub(crate) fn ask() -> Kernel {
        static KERNEL: OnceLock<Kernel> = OnceLock::new();
        *KERNEL.get_or_init(Kernel::probe)
    }

    fn probe() -> Kernel {
        let new = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let file = |access: AccessFs| new().handle_access(access).is_ok();
        Kernel {
            files: file(AccessFs::Execute),
            refer: file(AccessFs::Refer),
            truncate: file(AccessFs::Truncate),
            tcp: new().handle_access(AccessNet::from_all(ABI::V4)).is_ok(),
            ioctl: file(AccessFs::IoctlDev),
            scopes: new().scope(Scope::from_all(ABI::V6)).is_ok(),
        }
    }

    /// What it can't do of what a file ruleset asks for, in words.
    pub(crate) fn missing(self) -> Vec<String> {
        [
            (
                self.refer,
                "moving files between directories inside the writable tree (Linux 5.19)",
            ),
            (
                self.truncate,
                "keeping files outside from being truncated (Linux 6.2)",
            ),
            (self.ioctl, "keeping commands from devices (Linux 6.10)"),
            (
                self.scopes,
                "keeping signals and abstract sockets inside (Linux 6.12)",
            ),
        ]
        .into_iter()
        .filter(|(can, _)| !can)
        .map(|(_, what)| format!("this kernel's Landlock lacks {what}"))
        .collect()
    }
}

/// How TCP is held where there is no network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tcp {
    /// It isn't.
    Free,
    /// Connections to one port only; listening is free.
    OnePort,
    /// Neither connect nor listen.
    Nothing,
}

/// A ruleset over files, network and scopes, to which a call may still add what is its own.
pub(crate) fn begin(grants: &Grants, tcp: Tcp) -> Result<RulesetCreated, RulesetError> {
    let ruleset = Ruleset::default().handle_access(AccessFs::from_all(FILES))?;
    let mut ruleset = net(ruleset, tcp)?
        .scope(Scope::from_all(ABI::V6))?
        .create()?;
    let read = AccessFs::from_read(FILES);
    for path in &grants.read {
        ruleset = add(ruleset, path, read)?;
    }
    // Names can be seen everywhere, or nobody could list `/` or a home directory; what is in the files can't.
    if grants.read_trees.contains(&PathBuf::from("/")) {
        ruleset = add(ruleset, Path::new("/"), AccessFs::ReadDir.into())?;
    }
    for path in &grants.write {
        ruleset = add(ruleset, path, change())?;
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::ReadDir | AccessFs::IoctlDev;
    for path in DEVICES.iter().map(Path::new) {
        ruleset = add(ruleset, path, device)?;
    }
    // Ids of a user namespace, the order in which memory is freed. Root could change the system there.
    if !rustix::process::geteuid().is_root() {
        ruleset = add(ruleset, Path::new("/proc"), AccessFs::WriteFile.into())?;
    }
    Ok(ruleset)
}

/// A device is told more than reading and writing by nobody but a terminal's user.
fn change() -> BitFlags<AccessFs> {
    AccessFs::from_all(FILES) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

/// With a tree that this call may change and the port it may connect to; `None` if the kernel
/// has no Landlock.
pub(crate) fn end(
    mut ruleset: RulesetCreated,
    scratch: Option<&Path>,
    port: Option<u16>,
) -> Result<Option<OwnedFd>, RulesetError> {
    if let Some(scratch) = scratch {
        ruleset = add(ruleset, scratch, change())?;
    }
    Ok(Option::<OwnedFd>::from(opened(ruleset, port)?))
}

/// A ruleset over network and abstract sockets, for around a layer that makes mounts: one that
/// handles files would forbid them.
pub(crate) fn around_view(tcp: Tcp, port: Option<u16>) -> Result<Option<OwnedFd>, RulesetError> {
    let ruleset = net(Ruleset::default(), tcp)?
        .scope(Scope::AbstractUnixSocket)?
        .create()?;
    Ok(Option::<OwnedFd>::from(opened(ruleset, port)?))
}

fn net(ruleset: Ruleset, tcp: Tcp) -> Result<Ruleset, RulesetError> {
    match tcp {
        Tcp::Free => Ok(ruleset),
        Tcp::OnePort => ruleset.handle_access(AccessNet::ConnectTcp),
        Tcp::Nothing => ruleset.handle_access(AccessNet::from_all(ABI::V4)),
    }
}

fn opened(ruleset: RulesetCreated, port: Option<u16>) -> Result<RulesetCreated, RulesetError> {
    match port {
        Some(port) => ruleset.add_rule(NetPort::new(port, AccessNet::ConnectTcp)),
        None => Ok(ruleset),
    }
}

/// What went away meanwhile, or can't be opened, is left out: it is less to reach.
fn add(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else {
        return Ok(ruleset);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(FILES)
    };
    ruleset.add_rule(PathBeneath::new(fd, access))
}
