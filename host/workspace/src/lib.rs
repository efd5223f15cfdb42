//! The guard: every file below the project's root that ralph reads or writes
//! goes through here, and so does the project's git repository.
//!
//! - [`guard`]: [`Workspace`], files relative to a directory handle, never out of it
//! - [`atomic`]: a file is replaced as a whole or not at all
//! - [`folder`]: a directory in which nothing is reached by a link
//! - [`path`]: which paths are accepted, which are ralph's own records
//! - [`root`]: where a project begins
//! - [`lock`]: one ralph per project
//! - [`git`]: snapshots, changes, diffs and commits that leave the user's work alone
//! - [`values`]: what plugins keep from one call to the next
//! - [`hash`]: SHA-256 in hexadecimal
//! - [`error`]: what can go wrong, said in full

pub mod atomic;
pub mod error;
pub mod folder;
pub mod git;
pub mod guard;
pub mod hash;
pub mod lock;
pub mod path;
pub mod root;
pub mod values;

pub use error::GuardError;
pub use folder::{Folder, Held, Kind, Staged};
pub use git::{
    Added, Advanced, Changes, Commit, Git, GitError, Look, Restacked, Snapshot, repository,
};
pub use guard::Workspace;
pub use hash::{sha256_hex, sha256_hex_of};
pub use lock::{Free, LockError, ProjectLock};
pub use path::{is_own_record, is_temporary, writer_of};
pub use ralph_engine::types::{ChangeKind, DiffText, FileChange};
pub use root::{RootError, find_root};
pub use values::{ValueError, Values};
