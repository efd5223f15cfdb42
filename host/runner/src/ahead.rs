//! What git has to say at a run's start, asked before it is needed: git looks at the files while
//! components are loaded, the journal is read and the run's start is recorded. It only reads: a start that
//! is refused has changed nothing.

use std::time::{Duration, Instant};

use ralph_workspace::{Free, Git, GitError, Look, ProjectLock, Snapshot, Workspace};
use tokio::task::JoinHandle;

use crate::error::Error;

/// What was begun longer ago isn't taken: somebody may have worked in the files since.
const AHEAD_MAX: Duration = Duration::from_millis(250);

/// A look that is on, or none.
#[derive(Default)]
pub(crate) struct Ahead(Option<Begun>);

struct Begun {
    since: Instant,
    /// No other run was on.
    free: Free,
    look: JoinHandle<Result<Look, GitError>>,
}

impl Ahead {
    /// Begins, unless another run is on.
    pub(crate) fn begin(ws: &Workspace, git: &Git) -> Ahead {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return Ahead::default();
        };
        let since = Instant::now();
        Ahead(ProjectLock::free(ws).map(|free| {
            let git = git.clone();
            let look = runtime.spawn(async move { git.look().await });
            Begun { since, free, look }
        }))
    }

    /// What was begun, if since then no other run had the project, whose lock this is.
    pub(crate) fn within(mut self, lock: &ProjectLock) -> Ahead {
        let begun = self.0.take();
        Ahead(begun.filter(|b| lock.is_next_after(&b.free)))
    }

    /// A snapshot of what it saw, if that is young enough; else of what there is now.
    pub(crate) async fn or_now(mut self, git: &Git) -> Result<Snapshot, Error> {
        if let Some(begun) = &mut self.0
            && begun.since.elapsed() < AHEAD_MAX
            && let Ok(look) = (&mut begun.look).await
        {
            return Ok(git.snapshot_of(look?).await?);
        }
        Ok(git.snapshot().await?)
    }
}

impl Drop for Begun {
    /// Its git ends with it.
    fn drop(&mut self) {
        self.look.abort();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::process::Command;

    use super::*;

    fn project() -> (tempfile::TempDir, Workspace, Git) {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let done = Command::new("git")
                .arg("-C")
                .arg(dir.path())
                .args(args)
                .status();
            assert!(done.unwrap().success());
        };
        git(&["init", "-q"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&[&who[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat());
        let ws = Workspace::open(dir.path()).unwrap();
        let git = Git::open(&ws).unwrap();
        (dir, ws, git)
    }

    #[tokio::test]
    async fn what_git_saw_is_taken_unless_another_run_was_on_since() {
        let (dir, ws, git) = project();
        for (other, clean) in [(false, true), (true, false)] {
            let mut ahead = Ahead::begin(&ws, &git);
            // It has looked when this is written.
            while !ahead.0.as_mut().unwrap().look.is_finished() {
                tokio::task::yield_now().await;
            }
            if other {
                drop(ProjectLock::acquire(&ws).unwrap());
            }
            std::fs::write(dir.path().join("file"), "new").unwrap();
            // However long it takes from here on.
            let later = Duration::from_secs(3600);
            ahead.0.as_mut().unwrap().since = Instant::now() + later;
            let lock = ProjectLock::acquire(&ws).unwrap();
            let now = ahead.within(&lock).or_now(&git).await.unwrap();
            assert_eq!(now.clean, clean, "another was on: {other}");
            std::fs::remove_file(dir.path().join("file")).unwrap();
        }
    }

    #[tokio::test]
    async fn nothing_is_asked_while_another_run_is_on_and_what_is_old_is_not_taken() {
        let (dir, ws, git) = project();
        let lock = ProjectLock::acquire(&ws).unwrap();
        assert!(Ahead::begin(&ws, &git).0.is_none());
        drop(lock);
        let mut ahead = Ahead::begin(&ws, &git);
        let begun = ahead.0.as_mut().unwrap();
        begun.since = begun.since.checked_sub(AHEAD_MAX).unwrap();
        while !ahead.0.as_mut().unwrap().look.is_finished() {
            tokio::task::yield_now().await;
        }
        std::fs::write(dir.path().join("file"), "new").unwrap();
        let lock = ProjectLock::acquire(&ws).unwrap();
        assert!(!ahead.within(&lock).or_now(&git).await.unwrap().clean);
    }
}
