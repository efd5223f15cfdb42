//! Links that are swapped in while a guest opens files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ralph_plugins::{CallContext, Grants, Limits, PluginError};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::common::{bind, context, host, iteration};
use crate::guest::{Opens, reads, writes};

/// So many times two names change places in each test, a hundred thousand times in all of them.
const SWAPS: u32 = 20_000;

/// A project with `src/dir/a` and `src/file` of its own, and their likes outside of it, to which
/// `src/dir-out`, `src/file-out` and `out` lead.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (dir, what) in [("project/src", "I"), ("outside", "O")] {
            let dir = place.at(dir);
            fs::create_dir_all(dir.join("dir")).unwrap();
            fs::write(dir.join("dir/a"), what).unwrap();
            fs::write(dir.join("file"), what).unwrap();
        }
        symlink("../../outside/dir", place.at("project/src/dir-out")).unwrap();
        symlink(place.at("outside/file"), place.at("project/src/file-out")).unwrap();
        symlink("../outside", place.at("project/out")).unwrap();
        place
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn context(&self) -> CallContext {
        CallContext {
            root: Some(self.at("project")),
            ..context()
        }
    }

    /// What is outside is as it was.
    fn untouched(&self) {
        let mut names: Vec<_> = ["outside", "outside/dir"]
            .iter()
            .flat_map(|dir| fs::read_dir(self.at(dir)).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["a", "dir", "file"]);
        for file in ["outside/dir/a", "outside/file"] {
            assert_eq!(fs::read_to_string(self.at(file)).unwrap(), "O", "{file}");
        }
    }
}

fn exchange(a: &Path, b: &Path) {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Calls the gate until two names have changed places so many times. Says how often it opened
/// what it asked for, and in how many tries.
async fn race(
    place: &Place,
    swapped: (&str, &str),
    grants: Grants,
    opens: Opens<'_>,
) -> (u64, u64, Vec<PluginError>) {
    let gate = bind(&host(), &opens.bytes(), grants, Limits::default())
        .await
        .unwrap();
    let (a, b) = (place.at(swapped.0), place.at(swapped.1));
    let over = AtomicBool::new(false);
    let (mut opened, mut tried, mut errors) = (0, 0, Vec::new());
    let ctx = place.context();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..SWAPS {
                exchange(&a, &b);
            }
            over.store(true, Ordering::Release);
        });
        // Blocks this thread, which nothing else needs: the guest's files are opened on others.
        let calls = async {
            while !over.load(Ordering::Acquire) {
                tried += u64::from(opens.times);
                match gate.check(&ctx, &iteration()).await {
                    Ok(verdict) => opened += u64::from(verdict.findings[0].line.unwrap()),
                    Err(error) => errors.push(error),
                }
            }
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(calls));
    });
    (opened, tried, errors)
}

async fn never_outside(swapped: (&str, &str), path: &str, create: bool) {
    let place = Place::new();
    let grants = if create { writes("src") } else { reads("src") };
    let opens = Opens {
        create,
        times: 50,
        touch: true,
        ..Opens::once(path)
    };
    let (opened, tried, errors) = race(&place, swapped, grants, opens).await;
    // It crashes once it reads what is outside.
    assert!(errors.is_empty(), "{}", errors[0]);
    assert!(
        opened > 0 && opened < tried,
        "{path}: the two never met: {opened} of {tried}"
    );
    place.untouched();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_takes_a_file_s_place_is_never_read_through() {
    let swapped = ("project/src/file", "project/src/file-out");
    never_outside(swapped, "file", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_takes_a_directory_s_place_is_never_read_through() {
    let swapped = ("project/src/dir", "project/src/dir-out");
    never_outside(swapped, "dir/a", false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_takes_a_file_s_place_is_never_written_through() {
    let swapped = ("project/src/file", "project/src/file-out");
    never_outside(swapped, "file", true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_takes_a_directory_s_place_is_never_written_through() {
    let swapped = ("project/src/dir", "project/src/dir-out");
    never_outside(swapped, "dir/a", true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_takes_the_granted_directory_s_place_is_refused_by_name() {
    let place = Place::new();
    let opens = Opens {
        times: 5,
        touch: true,
        ..Opens::once("file")
    };
    let swapped = ("project/src", "project/out");
    let (opened, _, errors) = race(&place, swapped, reads("src"), opens).await;
    assert!(opened > 0 && !errors.is_empty(), "the two never met");
    for error in errors {
        assert!(matches!(error, PluginError::Io { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.starts_with("gate \"g\": cannot open ")
                && text.contains(
                    "/project/src for it: neither a directory nor a file; a symbolic link"
                ),
            "{text}"
        );
    }
    place.untouched();
}
