//! `[sandbox]`: what the operating system lets native agents and gates' programs do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Size;

/// How much a native program may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Whatever its user may.
    Off,
    /// It reads everything but secrets, and writes only its own state and its scratch directory.
    ReadOnly,
    /// As `read-only`, and it writes the project, temporary directories and tool chains' caches.
    WorkspaceWrite,
    /// It reads the system's programs and what is listed, and writes what is listed.
    Custom,
}

/// Who enforces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// `landlock`.
    Auto,
    /// The kernel itself: Landlock and seccomp.
    Landlock,
    /// The program `bwrap`, which has to be installed, and seccomp.
    Bubblewrap,
}

/// `[sandbox]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OsSandbox {
    /// What native programs may do.
    pub profile: Profile,
    /// Who enforces it.
    pub layer: Layer,
    /// Refuse to run where less than all of it can be enforced.
    pub require: bool,
    /// What they may read beside that: absolute, `~/…`, or relative to the project's root.
    pub read: Vec<String>,
    /// What they may read and change beside that.
    pub write: Vec<String>,
    /// Hosts that agents may reach; `*` is any, none closes the network.
    pub network: Vec<String>,
    /// Files and directories of the project that run something on a person's machine: an agent
    /// that changes one has tampered.
    pub protect: Vec<String>,
    /// What one program and all it starts may use.
    pub limits: Rlimits,
    /// What is different for the programs of gates; without `network` theirs is closed.
    pub gates: Confine,
}

impl Default for OsSandbox {
    fn default() -> Self {
        let protect = [
            ".vscode",
            ".idea",
            ".envrc",
            ".bashrc",
            ".bash_profile",
            ".profile",
            ".zshrc",
            ".zprofile",
            ".gitconfig",
            ".mcp.json",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/commands",
            ".claude/agents",
            ".claude/hooks",
            ".codex",
        ];
        OsSandbox {
            profile: Profile::WorkspaceWrite,
            layer: Layer::Auto,
            require: false,
            read: Vec::new(),
            write: Vec::new(),
            network: vec!["*".into()],
            protect: protect.map(str::to_owned).to_vec(),
            limits: Rlimits::default(),
            gates: Confine::default(),
        }
    }
}

/// What is different for some of them: `[sandbox.gates]`, `[agents.<name>.confine]`, `confine` of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Confine {
    /// Instead of the outer `profile`.
    pub profile: Option<Profile>,
    /// Beside the outer `read`.
    pub read: Vec<String>,
    /// Beside the outer `write`.
    pub write: Vec<String>,
    /// Instead of the outer `network`.
    pub network: Option<Vec<String>>,
    /// Each instead of the outer one.
    pub limits: Rlimits,
}

/// `limits` of a sandbox. Without a value there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Rlimits {
    /// Processes and threads of the user, whoever started them; the kernel doesn't hold root to it.
    #[schemars(range(min = 1, max = 4_194_304))]
    pub processes: Option<u32>,
    /// Of any file that is written.
    pub file_size: Option<Size>,
    /// Descriptors that each process has open.
    #[schemars(range(min = 16, max = 1_048_576))]
    pub open_files: Option<u32>,
    /// Address space of each process.
    pub memory: Option<Size>,
}

impl Rlimits {
    /// `inner` laid over this.
    #[must_use]
    pub fn with(self, inner: Rlimits) -> Rlimits {
        Rlimits {
            processes: inner.processes.or(self.processes),
            file_size: inner.file_size.or(self.file_size),
            open_files: inner.open_files.or(self.open_files),
            memory: inner.memory.or(self.memory),
        }
    }
}
