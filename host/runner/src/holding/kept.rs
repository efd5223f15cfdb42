//! What no program that is started here may look into: tokens and keys of the service, and what it keeps.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use crate::trust::user_dir;

/// What this process keeps beside the usual places.
static MORE: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// From now on programs started here reach nothing in these either.
pub fn keep(paths: impl IntoIterator<Item = PathBuf>) {
    let mut more = MORE.write().unwrap_or_else(PoisonError::into_inner);
    more.extend(paths);
}

fn config() -> Option<PathBuf> {
    user_dir("XDG_CONFIG_HOME", ".config").ok()
}

/// All of it: `serve.toml` and the tokens beside it, the service's usual directory, and what [`keep`] was told.
pub(super) fn all() -> Vec<PathBuf> {
    let data = user_dir("XDG_STATE_HOME", ".local/state").map(|dir| dir.join("serve"));
    let mut all: Vec<PathBuf> = config().into_iter().chain(data.ok()).collect();
    all.extend_from_slice(&MORE.read().unwrap_or_else(PoisonError::into_inner));
    all
}

/// What lies in there and is a program's business all the same: which signatures count, for a `ralph` that it
/// starts, and the repository that it works in, as a run of the service has its own among all the others.
pub(super) fn shown(
    kept: &[PathBuf],
    root: &Path,
    git: Option<&(PathBuf, PathBuf)>,
) -> Vec<PathBuf> {
    let mut shown: Vec<PathBuf> = config()
        .map(|c| c.join("config.toml"))
        .into_iter()
        .collect();
    // The project's root has no links in it.
    let real = kept.iter().filter_map(|k| k.canonicalize().ok());
    for kept in real.filter(|k| root.starts_with(k)) {
        // A worker's worktree lies in its run's.
        let inside = root.ancestors().take_while(|dir| **dir != *kept);
        let outermost = inside.filter(|dir| dir.join(".git").exists()).last();
        shown.push(outermost.unwrap_or(root).to_owned());
    }
    shown.extend(
        git.into_iter()
            .flat_map(|(own, common)| [own.clone(), common.clone()]),
    );
    shown
}
