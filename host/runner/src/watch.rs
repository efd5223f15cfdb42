//! The gates on the working tree as it is: once (`ralph check`), or again after
//! each change (`ralph watch`). No agent, no journal; of ralph's no file is left on disk, only the directory in
//! which its programs are noted while they run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use ralph_engine::event::Event;
use ralph_engine::gates;
use ralph_engine::types::GateResult;
use ralph_workspace::Git;
use tokio::sync::mpsc;

use crate::bus::Bus;
use crate::checks::{self, Subject};
use crate::control::Stopping;
use crate::error::Error;
use crate::services::Looked;
use crate::setup::Setup;

/// A change is followed by others for at most this many times the quiet time.
const PATIENCE: u32 = 10;

/// The tree may be another one after the gates this many times in a row.
const UNREST: u32 = 3;

/// What the gates said of one state of the working tree.
pub struct Checked {
    /// By name.
    pub results: Vec<GateResult>,
    /// Changed paths since the last commit.
    pub files: usize,
    /// Groups that don't hold.
    pub groups: Vec<String>,
    /// Would they let it pass?
    pub passed: bool,
}

/// Asks all gates about what differs from the last commit, or from where the work since `against`
/// (a branch, a tag, a commit) began.
///
/// # Errors
/// There is no such commit or nothing in common with it; what git says.
pub async fn check(
    setup: &Setup,
    bus: &Bus,
    stopping: &Stopping,
    against: Option<&str>,
) -> Result<Checked, Error> {
    let now = setup.git.snapshot().await?;
    let mut base = now.clone();
    base.tree = match (against, &now.head) {
        (Some(name), _) => setup.git.fork_point(name).await?.ok_or_else(|| {
            Error::Usage(format!(
                "there is no commit `{name}` that has one in common with this branch; if the clone is a shallow \
                 one, fetch more of the history"
            ))
        })?,
        (None, Some(head)) => head.clone(),
        (None, None) => setup.git.empty_tree(&now.tree),
    };
    let files = setup.git.changes(&base, &now, &[]).await?.files;
    let count = files.len();
    let looked = Looked {
        base,
        now,
        ignore: Vec::new(),
        files: std::sync::Arc::new(files),
    };
    let seen = |event: &Event| bus.send(event);
    let results = checks::again(setup, bus, &seen, stopping, Subject::nobody(), looked).await?;
    let weighed = gates::weigh(&setup.rules.groups, &results);
    Ok(Checked {
        groups: weighed.groups.iter().map(ToString::to_string).collect(),
        passed: !weighed.refuses(),
        files: count,
        results,
    })
}

/// Asks them, and again whenever the working tree is another one: git decides
/// what belongs to it, so that ignored files change nothing. Several changes
/// within `quiet` of each other are one. Until somebody asks it to stop.
///
/// # Errors
/// What git says; that the system gives no (more) file notifications.
pub async fn watch(
    setup: &Setup,
    bus: &Bus,
    stopping: &Stopping,
    quiet: Duration,
    mut report: impl FnMut(&Checked),
) -> Result<(), Error> {
    let (sender, mut events) = mpsc::unbounded_channel();
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // What merely reads is no change, and the gates read.
        if event.as_ref().is_ok_and(|e| e.kind.is_access()) {
            return;
        }
        let _ = sender.send(());
    });
    let mut watched = Watched {
        watcher: watcher.map_err(refused)?,
        dirs: BTreeSet::new(),
    };
    let root = setup.project.ws.root().to_owned();
    let (mut last, mut unrest) = (None, 0);
    while stopping.asked().is_none() {
        watched.add(&setup.git, &root).await?;
        while events.try_recv().is_ok() {}
        let tree = setup.git.snapshot().await?.tree;
        // What changed while the gates ran is asked about again; a gate that changes
        // the tree each time is not obeyed for ever.
        if last.as_ref() != Some(&tree) && unrest < UNREST {
            let checked = check(setup, bus, stopping, None).await?;
            if stopping.asked().is_some() {
                break;
            }
            report(&checked);
            (last, unrest) = (Some(tree), unrest + 1);
            continue;
        }
        (last, unrest) = (Some(tree), 0);
        tokio::select! {
            event = events.recv() => if event.is_none() { return Ok(()) },
            () = stopping.any() => break,
        }
        let _ = tokio::time::timeout(quiet * PATIENCE, settle(&mut events, quiet)).await;
    }
    Ok(())
}

/// Until nothing has happened for `quiet`.
async fn settle(events: &mut mpsc::UnboundedReceiver<()>, quiet: Duration) {
    while let Ok(Some(())) = tokio::time::timeout(quiet, events.recv()).await {}
}

/// The directories that are watched, each by itself: what git ignores isn't, or
/// build products would use up the system's watches.
struct Watched {
    watcher: RecommendedWatcher,
    dirs: BTreeSet<PathBuf>,
}

impl Watched {
    async fn add(&mut self, git: &Git, root: &Path) -> Result<(), Error> {
        let ignored: BTreeSet<PathBuf> = git
            .ignored()
            .await?
            .into_iter()
            .map(|path| root.join(path))
            .collect();
        let dirs = directories(root, &ignored);
        for gone in self.dirs.difference(&dirs) {
            let _ = self.watcher.unwatch(gone);
        }
        for dir in dirs.difference(&self.dirs) {
            match self.watcher.watch(dir, RecursiveMode::NonRecursive) {
                // Gone again meanwhile.
                Err(_) if !dir.is_dir() => {}
                Err(e) => return Err(refused(e)),
                Ok(()) => {}
            }
        }
        self.dirs = dirs;
        Ok(())
    }
}

/// All below `root` that git doesn't ignore. Links aren't followed.
fn directories(root: &Path, ignored: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut dirs = BTreeSet::new();
    let mut next = vec![root.to_owned()];
    while let Some(dir) = next.pop() {
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        for entry in entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())) {
            let path = entry.path();
            let own = entry.file_name() == ".git" || entry.file_name() == ".ralph";
            if !own && !ignored.contains(&path) {
                next.push(path);
            }
        }
        dirs.insert(dir);
    }
    dirs
}

fn refused(e: notify::Error) -> Error {
    let why = match e.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the system's limit of watched directories is reached; raise fs.inotify.max_user_watches, or let git ignore more".to_owned()
        }
        _ => e.to_string(),
    };
    Error::Usage(format!("the files can't be watched: {why}"))
}
