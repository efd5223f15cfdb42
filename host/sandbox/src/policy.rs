//! What is asked for.

use std::path::PathBuf;

use ralph_config::HostPattern;
use serde::Serialize;

/// How much a program may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Whatever its user may.
    Off,
    /// Reads everything but secrets; writes its scratch directory and its own state.
    ReadOnly,
    /// As `ReadOnly`, and writes the project, temporary directories and the caches of tool chains.
    WorkspaceWrite,
    /// Reads the system's programs and what is listed; writes its scratch directory and what is listed.
    Custom,
}

impl Profile {
    /// As the configuration has it.
    pub fn word(self) -> &'static str {
        match self {
            Profile::Off => "off",
            Profile::ReadOnly => "read-only",
            Profile::WorkspaceWrite => "workspace-write",
            Profile::Custom => "custom",
        }
    }
}

/// Whom a program may talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Everybody.
    Open,
    /// These, over HTTPS and whatever else goes through a CONNECT proxy.
    Hosts(Vec<HostPattern>),
    /// Nobody but itself.
    Closed,
}

/// Who enforces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Landlock and seccomp.
    Landlock,
    /// bubblewrap and seccomp.
    Bubblewrap,
}

/// Limits of one program and what it starts; none where there is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Limits {
    /// Processes and threads of the user, all programs taken together. The kernel doesn't hold root to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Bytes of any file that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// Descriptors that each process has open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// Bytes of address space of each process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// What is asked for. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Where it starts from.
    pub profile: Profile,
    /// Who enforces it.
    pub layer: Layer,
    /// What may be read beside that.
    pub read: Vec<PathBuf>,
    /// What may be read and changed beside that.
    pub write: Vec<PathBuf>,
    /// Whom it may talk to.
    pub network: Network,
    /// What it may use.
    pub limits: Limits,
}

/// Where it is asked for. Paths are absolute; those that aren't there are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The project, or the worktree that is worked in.
    pub root: PathBuf,
    /// The repository's own directory and the one that all its work trees share; the same if there is one only.
    pub git: Option<(PathBuf, PathBuf)>,
    /// For files of this call only.
    pub scratch: Option<PathBuf>,
    /// The user's home.
    pub home: PathBuf,
    /// Where the program keeps its own state: written under every profile.
    pub state: Vec<PathBuf>,
    /// State of other programs: not even read.
    pub foreign: Vec<PathBuf>,
    /// What belongs to the host: read, never written.
    pub own: Vec<PathBuf>,
    /// What the host keeps to itself: neither read nor written, also where it is listed.
    pub kept: Vec<PathBuf>,
    /// What lies in there and is held like anything elsewhere.
    pub shown: Vec<PathBuf>,
    /// Files and directories inside the writable tree that may not change.
    pub sealed: Vec<PathBuf>,
    /// What tool chains download and keep, beside the usual places below `home`.
    pub caches: Vec<PathBuf>,
    /// For temporary files, beside `/tmp` and `/var/tmp`.
    pub tmp: Option<PathBuf>,
}
