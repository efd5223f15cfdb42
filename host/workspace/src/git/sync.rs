//! The user's index after a commit that was made with another one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::raw::{self, Blob};
use super::run::Cmd;
use super::{Git, GitError, index};

/// How long another git process's lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

impl Git {
    /// Brings the paths of `commit` up to date in the user's index where it
    /// still has what the commit's parent has, i.e. where the user had nothing
    /// staged. Without it `git status` would show the commit undone. Harmless
    /// when repeated. Processes: `diff-tree`, `diff-index`, and `update-index`
    /// if there is anything to do.
    pub(super) async fn sync_index(&self, commit: &str) -> Result<(), GitError> {
        let list = [
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--ignore-submodules=none",
        ];
        let committed =
            Cmd::read("diff-tree")
                .args(list)
                .args(["--root", "--no-commit-id", commit, "--"]);
        let (committed, _) = raw::parse(&self.runner().run(committed).await?.ok()?)?;
        let staged = Cmd::read("diff-index")
            .args(["--cached"])
            .args(&list[1..])
            .args([commit, "--"]);
        let (staged, _) = raw::parse(&self.runner().run(staged).await?.ok()?)?;
        let staged: BTreeMap<_, _> = staged
            .into_iter()
            .filter(|c| c.status != b'U')
            .map(|c| (c.path, c.new))
            .collect();
        let mut lines = Vec::new();
        for change in committed {
            if staged
                .get(&change.path)
                .is_some_and(|now| *now == change.old)
            {
                index_info(&mut lines, &change.path, change.new.as_ref(), commit.len());
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let cmd = Cmd::write("update-index")
                .args(["-z", "--index-info"])
                .stdin(lines.clone());
            let ended = self.runner().run(cmd).await?;
            if ended.code == Some(0) {
                return Ok(());
            }
            let Some(lock) = ended.taken_lock() else {
                return Err(ended.failure());
            };
            be_patient(lock, begun, &mut pause).await?;
        }
    }

    /// Waits for the index to be free. Nothing tells when a lock file goes, so this looks again and again.
    ///
    /// # Errors
    /// [`GitError::Locked`] after five seconds.
    pub(super) async fn wait_unlocked(&self) -> Result<(), GitError> {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let lock = index::lock_path(self.repo());
        while lock.symlink_metadata().is_ok() {
            be_patient(lock.clone(), begun, &mut pause).await?;
        }
        Ok(())
    }
}

/// One pause of a wait for a lock that began at `begun`.
///
/// # Errors
/// [`GitError::Locked`] after five seconds.
pub(super) async fn be_patient(
    lock: PathBuf,
    begun: Instant,
    pause: &mut Duration,
) -> Result<(), GitError> {
    let waited = begun.elapsed();
    if waited >= PATIENCE {
        let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        return Err(GitError::Locked {
            path: lock,
            waited_ms,
        });
    }
    tokio::time::sleep(*pause).await;
    *pause = (*pause * 2).min(Duration::from_millis(250));
    Ok(())
}

/// The first pause of a wait for a lock; each next one is twice as long.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// One record for `update-index -z --index-info`.
pub(super) fn index_info(to: &mut Vec<u8>, path: &[u8], entry: Option<&Blob>, oid_len: usize) {
    match entry {
        Some(blob) => to.extend_from_slice(format!("{} {}\t", blob.mode, blob.oid).as_bytes()),
        None => to.extend_from_slice(format!("0 {}\t", "0".repeat(oid_len)).as_bytes()),
    }
    to.extend_from_slice(path);
    to.push(0);
}
