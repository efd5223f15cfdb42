//! Prompts and their fingerprints: what is on disk, whether it is as it was
//! written, and how it is changed.
//!
//! A fingerprint is a hash over a document's canonical form, so that two spellings
//! of the same have the same one. It stands in a sidecar `<file>.fp`, or in the
//! document's own `fingerprint` field. The form is a component's work, which this
//! crate only knows as a [`Canonicaliser`]; the hash is the host's.
//!
//! - [`fingerprint`]: the hash and how it is written
//! - [`stored`]: where a file's fingerprint stands: sidecar or field
//! - [`forms`]: which canonicaliser a file gets
//! - [`unit`]: what a prompt-set has to look like
//! - [`store`]: [`Store`], what is asked of files
//! - [`prompts`]: `prompts/` of a workspace: read, put, delete
//! - [`paths`]: which paths may be named
//! - [`pair`]: file and sidecar are changed as one; an edit that was cut off
//! - [`summary`]: what an edit changed, by counts
//! - [`error`]: what can go wrong

pub mod error;
pub mod fingerprint;
pub mod forms;
pub mod pair;
pub mod paths;
pub mod prompts;
pub mod store;
pub mod stored;
pub mod summary;
pub mod unit;

pub use error::PromptError;
pub use fingerprint::{Algorithm, Fingerprint};
pub use forms::{CanonicalError, Canonicaliser, Forms};
pub use pair::Mended;
pub use prompts::{Audit, Change, Deleted, Put, Read, Saved};
pub use store::{Look, Status, Store, Told};
pub use stored::{Place, SIDECAR};
pub use summary::Summary;
