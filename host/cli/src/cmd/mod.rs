//! One module per command.

pub mod check;
pub mod doctor;
pub mod init;
pub mod plugin;
pub mod run;
pub mod schema;
pub mod status;
pub mod supervise;
pub mod task;
pub mod trust;

use ralph_plugins::{Host, HostOptions};
use ralph_runner::Error;

/// The component host with the user's cache.
pub fn host() -> Result<Host, Error> {
    let cache = ralph_runner::trust::user_dir("XDG_CACHE_HOME", ".cache")
        .ok()
        .map(|d| d.join("components"));
    Ok(Host::new(HostOptions {
        cache_dir: cache,
        ..HostOptions::default()
    })?)
}
