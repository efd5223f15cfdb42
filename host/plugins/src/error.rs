//! What can go wrong with a plugin. Every text says which plugin, what happened,
//! which side refused, and which key to change if there is one.

use std::fmt;
use std::time::Duration;

use crate::kind::Kind;

/// The plugin an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// What it was to be; unknown while it is only being loaded.
    pub kind: Option<Kind>,
    /// Its name, as in `[plugins.<name>]`.
    pub name: String,
}

impl Who {
    /// The table of `ralph.toml` that holds this plugin's `part`.
    pub(crate) fn table(&self, part: &str) -> String {
        let bare = !self.name.is_empty()
            && self
                .name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if bare {
            format!("[plugins.{}.{part}]", self.name)
        } else {
            format!("[plugins.{:?}.{part}]", self.name)
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Some(kind) => write!(f, "{kind} {:?}", self.name),
            None => write!(f, "plugin {:?}", self.name),
        }
    }
}

/// How a plugin itself refused (`plugin-error` in `wit/types.wit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// Its configuration can't be used.
    InvalidConfig,
    /// It needs something that was not granted.
    Denied,
    /// Anything else that kept it from answering.
    Failed,
}

impl RefusalKind {
    fn says(self) -> &'static str {
        match self {
            RefusalKind::InvalidConfig => "the plugin refuses its configuration",
            RefusalKind::Denied => "the plugin says it was not granted what it needs",
            RefusalKind::Failed => "the plugin says it could not answer",
        }
    }
}

/// Why a plugin could not be loaded, bound or called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// The file is something else.
    #[error("{who}: {origin} is not a WebAssembly component: {what}")]
    NotAComponent {
        /// Which plugin.
        who: Who,
        /// Where the bytes came from.
        origin: String,
        /// What the file is instead.
        what: String,
    },
    /// A component by its first bytes, but not valid as a whole.
    #[error(
        "{who}: {origin} cannot be compiled: {reason}; the file is damaged, or built for a newer engine"
    )]
    Corrupt {
        /// Which plugin.
        who: Who,
        /// Where the bytes came from.
        origin: String,
        /// What the compiler found.
        reason: String,
    },
    /// The file is larger than ralph takes.
    #[error("{who}: {origin} has {size} bytes; ralph takes at most {limit}")]
    TooLarge {
        /// Which plugin.
        who: Who,
        /// Where the bytes came from.
        origin: String,
        /// Size of the file in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A valid component that does not export what was expected.
    #[error("{who}: expected a component that exports {expected}; this one exports {found}")]
    WrongWorld {
        /// Which plugin.
        who: Who,
        /// The interface or interfaces that would have been right.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Built for a version of the contract that does not fit.
    #[error("{who}: built for ralph:plugin {theirs}, this ralph serves {ours}; {advice}")]
    Version {
        /// Which plugin.
        who: Who,
        /// The component's version.
        theirs: String,
        /// This ralph's versions.
        ours: String,
        /// What to do about it.
        advice: String,
    },
    /// What it says of itself can't be right, or doesn't fit.
    #[error("{who}: the manifest in {origin}: {reason}")]
    Manifest {
        /// Which plugin.
        who: Who,
        /// Where the bytes came from.
        origin: String,
        /// What is wrong.
        reason: String,
    },
    /// It imports something that `ralph.toml` would have to grant.
    #[error("{who}: imports {import}, which ralph.toml does not grant; add `{key}` to {table}")]
    MissingGrant {
        /// Which plugin.
        who: Who,
        /// The import.
        import: String,
        /// The line to add.
        key: String,
        /// The table to add it to.
        table: String,
    },
    /// It imports something this ralph does not have for a plugin of its kind.
    #[error("{who}: imports {import}: {reason}")]
    UnknownImport {
        /// Which plugin.
        who: Who,
        /// The import.
        import: String,
        /// Why it can't be given.
        reason: String,
    },
    /// A grant that can't be given.
    #[error("{who}: ralph refuses `{key}` in {table}: {reason}")]
    BadGrant {
        /// Which plugin.
        who: Who,
        /// The key.
        key: &'static str,
        /// The table it stands in.
        table: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The guest did something WebAssembly stops it for.
    #[error("{who}: crashed in `{call}`: {message}")]
    Trap {
        /// Which plugin.
        who: Who,
        /// The function that was called.
        call: &'static str,
        /// The trap, and the innermost functions if known.
        message: String,
    },
    /// The guest computed for too long.
    #[error(
        "{who}: ralph ended `{call}` after {limit:?} of computing; if that is too little, raise `time` in {table}"
    )]
    TimeOut {
        /// Which plugin.
        who: Who,
        /// The function that was called, or `start`.
        call: &'static str,
        /// The limit.
        limit: Duration,
        /// Where to raise it.
        table: String,
    },
    /// The guest waited for the host for too long.
    #[error(
        "{who}: ralph ended `{call}` after it had waited for {limit:?}; if that is too little, raise `wait` in {table}"
    )]
    WaitLimit {
        /// Which plugin.
        who: Who,
        /// The function that was called, or `start`.
        call: &'static str,
        /// The limit.
        limit: Duration,
        /// Where to raise it.
        table: String,
    },
    /// The component took too long to be compiled.
    #[error(
        "{who}: {origin} was not compiled within {limit:?}; if it may take longer, raise `compile` in {table}"
    )]
    CompileTime {
        /// Which plugin.
        who: Who,
        /// Where the bytes came from.
        origin: String,
        /// The limit.
        limit: Duration,
        /// Where to raise it.
        table: String,
    },
    /// The guest wanted more memory than it may have.
    #[error(
        "{who}: `{call}` needed more than {limit} bytes of memory; if it may have more, raise `memory` in {table}"
    )]
    MemoryLimit {
        /// Which plugin.
        who: Who,
        /// The function that was called, or `start`.
        call: &'static str,
        /// The limit in bytes, over all memories.
        limit: u64,
        /// Where to raise it.
        table: String,
    },
    /// The guest wanted more of something that is counted.
    #[error(
        "{who}: `{call}` needed more than {limit} {what}; if it may have more, raise `{key}` in {table}"
    )]
    CountLimit {
        /// Which plugin.
        who: Who,
        /// The function that was called, or `start`.
        call: &'static str,
        /// What there was too little of.
        what: &'static str,
        /// How many there are.
        limit: u64,
        /// The key to raise,
        key: &'static str,
        /// and where.
        table: String,
    },
    /// The guest handed too much over to a function of the host.
    #[error(
        "{who}: `{call}` handed more than {limit} bytes to the host at once; if that is right, raise `crossing` in {table}"
    )]
    CrossingLimit {
        /// Which plugin.
        who: Who,
        /// The function that was called.
        call: &'static str,
        /// The limit in bytes.
        limit: u64,
        /// Where to raise it.
        table: String,
    },
    /// The guest gave back too much.
    #[error(
        "{who}: `{call}` gave back more than {limit} bytes; if that is right, raise `output` in {table}"
    )]
    OutputLimit {
        /// Which plugin.
        who: Who,
        /// The function that was called.
        call: &'static str,
        /// The limit in bytes.
        limit: u64,
        /// Where to raise it.
        table: String,
    },
    /// The guest gave back something that is no value of the promised type.
    #[error("{who}: `{call}` gave back something that is not valid: {reason}")]
    Malformed {
        /// Which plugin.
        who: Who,
        /// The function that was called.
        call: &'static str,
        /// What was wrong.
        reason: String,
    },
    /// The plugin itself refused.
    #[error("{who}: {}: {message}", kind.says())]
    Refused {
        /// Which plugin.
        who: Who,
        /// How it refused.
        kind: RefusalKind,
        /// Its own words.
        message: String,
    },
    /// A driver session that had failed before was used again.
    #[error("{who}: this session is over since an earlier call failed or was given up")]
    SessionOver {
        /// Which plugin.
        who: Who,
    },
    /// A granted directory could not be opened.
    #[error("{who}: cannot open {path} for it: {reason}")]
    Io {
        /// Which plugin.
        who: Who,
        /// The path.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The engine itself failed.
    #[error("{}the WebAssembly engine failed: {reason}", who.as_ref().map(|w| format!("{w}: ")).unwrap_or_default())]
    Engine {
        /// Which plugin, if it concerns one.
        who: Option<Who>,
        /// What it said.
        reason: String,
    },
}
