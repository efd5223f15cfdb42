//! `ralph plugin dev`: builds again and swaps whenever a source changes. Calls that are at work
//! meanwhile finish on the component with which they began.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use ralph_plugins::Host;
use tokio::sync::mpsc;

use crate::ask::{Answer, Asker};
use crate::build::{Built, Tell, build};
use crate::cases::{self, Tried};
use crate::error::Error;
use crate::input::Given;
use crate::project::Project;

/// Changes within this time of each other are one.
const QUIET: Duration = Duration::from_millis(200);

/// Folders that hold no sources.
const NOT_SOURCES: [&str; 6] = [
    "target",
    "build",
    "node_modules",
    ".venv",
    ".git",
    "__pycache__",
];

/// What is told to whoever watches.
pub trait Watch: Tell {
    /// A new component is in use; the last one's digest, if there was one.
    fn swapped(&self, built: &Built, before: Option<&str>);
    /// It can't be built; the last one stays.
    fn failed(&self, error: &Error);
    /// What the cases came to.
    fn tried(&self, digest: &str, tried: &[Tried]);
}

/// The component that is in use now.
#[derive(Clone, Default)]
pub struct Current(Arc<Mutex<Option<Arc<Asker>>>>);

impl Current {
    /// The one to begin a call with.
    pub fn get(&self) -> Option<Arc<Asker>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, asker: Asker) -> Arc<Asker> {
        let asker = Arc::new(asker);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(asker.clone());
        asker
    }

    /// Asks the one that is in use now; its digest and answer.
    ///
    /// # Errors
    /// There is none yet, or the input can't be used.
    pub async fn ask(&self, given: &Given) -> Result<(String, Answer), Error> {
        let Some(asker) = self.get() else {
            return Err(Error::Usage("there is no component yet".into()));
        };
        let answer = asker.ask(given).await?;
        Ok((asker.digest().to_owned(), answer))
    }
}

/// Builds, tries the cases, and does so again after each change, until `stop`.
///
/// # Errors
/// There is no project, or its files can't be watched.
pub async fn dev(
    dir: &Path,
    host: &Host,
    current: &Current,
    watch: Arc<dyn Watch>,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    Project::open(dir)?;
    let (sender, mut events) = mpsc::unbounded_channel();
    let watched = |e: notify::Error| Error::Usage(format!("the files can't be watched: {e}"));
    let root = std::path::absolute(dir).map_err(|e| Error::io(dir, e))?;
    let below = root.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        if !event.kind.is_access() && event.paths.iter().any(|path| is_source(&below, path)) {
            let _ = sender.send(());
        }
    })
    .map_err(watched)?;
    let mut dirs: Vec<PathBuf> = Vec::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        for dir in directories(&root) {
            if !dirs.contains(&dir) {
                match watcher.watch(&dir, RecursiveMode::NonRecursive) {
                    // Gone again meanwhile.
                    Err(_) if !dir.is_dir() => continue,
                    Err(e) => return Err(watched(e)),
                    Ok(()) => dirs.push(dir),
                }
            }
        }
        while events.try_recv().is_ok() {}
        tokio::select! {
            () = once(dir, host, current, &watch) => {}
            () = &mut stop => return Ok(()),
        }
        tokio::select! {
            event = events.recv() => if event.is_none() { return Ok(()) },
            () = &mut stop => return Ok(()),
        }
        while let Ok(Some(())) = tokio::time::timeout(QUIET, events.recv()).await {}
        dirs.retain(|dir| dir.is_dir());
    }
}

/// Builds and swaps. The cases are tried beside what comes next, each round on its own component.
async fn once(dir: &Path, host: &Host, current: &Current, watch: &Arc<dyn Watch>) {
    let built = async {
        let project = Project::open(dir)?;
        let built = build(&project, host, &**watch).await?;
        let bytes = crate::build::read(&built.path)?;
        let component = crate::build::load(host, &project.name, &project.name, &bytes).await?;
        Ok((project.cases(), built, Asker::new(component, None)?))
    };
    let (folder, built, asker) = match built.await {
        Ok(made) => made,
        Err(e) => return watch.failed(&e),
    };
    let before = current.get().map(|asker| asker.digest().to_owned());
    let asker = current.set(asker);
    watch.swapped(&built, before.as_deref());
    let watch = watch.clone();
    tokio::spawn(async move {
        let Ok(list) = cases::list(&folder, &[]) else {
            return;
        };
        let mut tried = Vec::new();
        for case in list {
            match cases::try_one(&asker, &case, false).await {
                Ok(one) => tried.push(one),
                Err(e) => return watch.failed(&e),
            }
        }
        watch.tried(asker.digest(), &tried);
    });
}

/// What a change of is worth a build.
fn is_source(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else {
        return false;
    };
    let mut names = below.components().map(|c| c.as_os_str().to_string_lossy());
    let outside = names.any(|n| NOT_SOURCES.contains(&&*n) || n.starts_with(".ralph-"));
    let made = path.extension().is_some_and(|e| e == "wasm")
        || below == Path::new("Cargo.lock")
        || below == Path::new("wit/world.wit");
    !outside && !made && !below.as_os_str().is_empty()
}

fn directories(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut at = 0;
    while let Some(dir) = found.get(at).cloned() {
        at += 1;
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let skipped = NOT_SOURCES.iter().any(|not| name == *not);
            if !skipped && entry.file_type().is_ok_and(|t| t.is_dir()) {
                found.push(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_writes_is_no_change() {
        let root = Path::new("/p");
        for source in ["/p/src/lib.rs", "/p/plugin.toml", "/p/cases/a/input.json"] {
            assert!(is_source(root, Path::new(source)), "{source}");
        }
        for not in [
            "/p/my.wasm",
            "/p/target/x",
            "/p/build/plugin.js",
            "/p/node_modules/a/b.js",
            "/p/src/__pycache__/x.pyc",
            "/p/.ralph-a1b2",
            "/p/wit/world.wit",
            "/p/Cargo.lock",
            "/p",
            "/q/src/lib.rs",
        ] {
            assert!(!is_source(root, Path::new(not)), "{not}");
        }
    }
}
