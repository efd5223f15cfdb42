//! What was, read from the journal: nothing here needs a lock or starts anything
//! but git, and only [`clean`] changes anything.
//!
//! - [`history`]: the journal, iteration by iteration
//! - [`log`]: `ralph log` and `ralph show`
//! - [`explain`]: `ralph explain` and `ralph blocked`
//! - [`stats`], [`mod@verify`], [`mod@clean`]: the commands of these names
//! - [`files`]: what the records on disk hash to

pub mod clean;
pub mod explain;
pub mod files;
pub mod history;
pub mod log;
pub mod stats;
pub mod suggest;
pub mod verify;
