//! A run's own directory: a worktree of the workspace, on a branch of its own.

use std::path::{Path, PathBuf};

use ralph_engine::fact::{EndReason, Fact};
use ralph_runner::{Error, Pinned, Project, journal};
use ralph_workspace::{Added, Git, Snapshot, Workspace};

use super::submit::PROMPT;
use crate::app::{App, Shared};
use crate::store::Run;

/// Where the run's prompt is in its worktree: among ralph's own records, which no commit takes.
const IN_TREE: &str = ".ralph/context/prompt";
/// Written last: without it, a worktree is half made.
const BASE: &str = "base.json";
/// The run's work as a patch.
pub const PATCH: &str = "diff.patch";
const PATCH_MAX: u64 = 64 << 20;

/// A worktree that is ready.
pub(super) struct Tree {
    pub(super) project: Project,
    /// The workspace's root, which trust was given to.
    pub(super) origin: PathBuf,
    git: Git,
    base: Snapshot,
}

/// What a run's journal says of it.
#[derive(Default)]
pub(super) struct Past {
    /// How its last part ended.
    pub(super) end: Option<EndReason>,
    /// There is something in it.
    pub(super) begun: bool,
    /// Iterations that ended.
    pub(super) ended: u32,
    /// Those that had ended when the run was last brought to an end, so that it could be gone on
    /// with. (What died without an end counts on by itself.)
    pub(super) spent: u32,
    /// Somebody wants no further iteration.
    pub(super) paused: bool,
    /// It has had workers.
    pub(super) workers: bool,
}

/// Where the service keeps what belongs to a run.
pub fn dir(app: &App, run: &str) -> PathBuf {
    app.data.join("runs").join(run)
}

/// The project's root in a run's worktree, once there is one.
pub fn root(app: &App, run: &str) -> PathBuf {
    let prefix = std::fs::read_to_string(dir(app, run).join("prefix")).unwrap_or_default();
    dir(app, run).join("tree").join(prefix)
}

/// Makes the worktree, or finds the one that is there.
pub(super) async fn ready(app: &Shared, run: &mut Run) -> Result<Tree, Error> {
    let slug = run.workspace.as_str();
    let workspace = app.settings.workspaces.get(slug);
    let workspace = workspace
        .ok_or_else(|| Error::Usage(format!("serve.toml has no [workspaces.{slug}] any more")))?;
    let origin = Project::open(&workspace.path)?.ws;
    let git = Git::open(&origin)?;
    let own = dir(app, &run.run_id);
    let top = own.join("tree");
    let root = top.join(git.prefix());
    let branch = format!("ralph/{}", run.run_id);
    let marker = own.join(BASE);
    let io = |source| Error::Io {
        path: own.display().to_string(),
        source,
    };
    if !marker.exists() {
        let _one = app.runs.git.lock().await;
        let base = git.head_commit().await?.ok_or_else(|| {
            Error::Usage("the workspace's repository has no commit yet; a run begins at one".into())
        })?;
        if top.exists() {
            std::fs::remove_dir_all(&top).map_err(io)?;
        }
        git.worktree_remove(&top).await?;
        if git.branch_exists(&branch).await? {
            git.branch_delete(&branch).await?;
        }
        std::fs::create_dir_all(&own).map_err(io)?;
        std::fs::write(own.join("prefix"), git.prefix()).map_err(io)?;
        let path = top.to_string_lossy();
        match git.worktree_add(&path, &branch, &base).await {
            Ok(Added::Done) => {}
            Ok(Added::Taken) => {
                let text = format!("the branch {branch} is there already");
                return Err(Error::Usage(text));
            }
            // A hook of the user's has refused it, for one.
            Err(e) => {
                git.worktree_remove(&top).await?;
                git.branch_delete_at(&branch, &base).await?;
                return Err(e.into());
            }
        }
        run.base = Some(base);
    }
    run.branch = Some(branch);
    let ws = Workspace::open(&root)?;
    let git = Git::open(&ws)?;
    let base = match std::fs::read(&marker) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| Error::Internal(e.to_string()))?,
        Err(_) => {
            let base = git.snapshot().await?;
            let bytes = serde_json::to_vec(&base).map_err(|e| Error::Internal(e.to_string()))?;
            let temp = own.join("base.tmp");
            std::fs::write(&temp, bytes).map_err(io)?;
            std::fs::rename(&temp, &marker).map_err(io)?;
            base
        }
    };
    if run.base.is_none() {
        run.base.clone_from(&base.head);
    }
    let mut project = Project::open(&root)?;
    if let Ok(prompt) = std::fs::read(own.join(PROMPT)) {
        ws.create_dir_all(".ralph/context")?;
        ws.write(IN_TREE, &prompt)?;
        project.config.files.prompt = Some(IN_TREE.to_owned());
        let pinned = run.prompt_path.clone().zip(run.prompt_fingerprint.clone());
        project.pinned = pinned.map(|(path, fingerprint)| Pinned { path, fingerprint });
    }
    Ok(Tree {
        project,
        origin: origin.root().to_owned(),
        git,
        base,
    })
}

impl Tree {
    /// Where the project is in its repository.
    pub(super) fn prefix(&self) -> &str {
        self.git.prefix()
    }

    /// Writes what the run has changed so far as a patch.
    pub(super) async fn patch(&self, own: &Path) -> Result<(), Error> {
        let now = self.git.snapshot().await?;
        let diff = self.git.diff(&self.base, &now, &[], PATCH_MAX).await?;
        let io = |source| Error::Io {
            path: PATCH.to_owned(),
            source,
        };
        let temp = own.join("diff.tmp");
        std::fs::write(&temp, diff.text).map_err(io)?;
        std::fs::rename(&temp, own.join(PATCH)).map_err(io)
    }
}

/// Reads a run's journal.
pub(super) fn past(ws: &Workspace) -> Result<Past, Error> {
    let mut past = Past::default();
    journal::each(ws, |line| {
        past.begun = true;
        match line.fact {
            Fact::RunEnded { end } => {
                past.end = Some(end);
                past.spent = past.ended;
            }
            Fact::RunStarted { .. } => past.end = None,
            Fact::PauseAsked { .. } => past.paused = true,
            Fact::ResumeAsked => past.paused = false,
            Fact::Claimed { .. } => past.workers = true,
            Fact::IterationEnded { .. } => past.ended += 1,
            Fact::Absorbed { facts, .. } => {
                let ends =
                    |f: &&ralph_engine::fact::Past| matches!(f.fact, Fact::IterationEnded { .. });
                past.ended += u32::try_from(facts.iter().filter(ends).count()).unwrap_or(0);
            }
            _ => {}
        }
    })?;
    Ok(past)
}

/// The same of a run that may have none yet.
pub(super) fn past_of(app: &App, run: &str) -> Option<Past> {
    let ws = Workspace::open(&root(app, run)).ok()?;
    past(&ws).ok()
}
