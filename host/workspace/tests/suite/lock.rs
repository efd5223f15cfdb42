//! One ralph per project.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use ralph_workspace::{LockError, ProjectLock, Workspace};

fn workspace() -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let ws = Workspace::open(dir.path()).unwrap();
    (dir, ws)
}

/// Started again as a helper by the tests below; on its own it does nothing.
#[test]
fn helper_that_holds_the_lock() {
    let Ok(root) = std::env::var("RALPH_TEST_HOLD_LOCK") else {
        return;
    };
    let ws = Workspace::open(root.as_ref()).unwrap();
    let _lock = ProjectLock::acquire(&ws).unwrap();
    println!("\nholding");
    // Until it is ended, or its stdin is closed because its parent died.
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn holder(ws: &Workspace) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lock::helper_that_holds_the_lock", "--nocapture"])
        .env("RALPH_TEST_HOLD_LOCK", ws.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "holding"));
    child
}

#[test]
fn a_lock_held_by_a_living_process_is_refused_with_its_number_and_time() {
    let (_dir, ws) = workspace();
    let mut child = holder(&ws);
    let seen = ProjectLock::holder(&ws).unwrap();
    let result = ProjectLock::acquire(&ws);
    let Err(LockError::Held { pid, since }) = &result else {
        panic!("{result:?}")
    };
    assert_eq!(*pid, child.id());
    assert_eq!(seen, *pid);
    assert!(since.starts_with("20") && since.ends_with('Z'), "{since}");
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains(&child.id().to_string())
    );
    // Killed outright, it leaves the file behind, which keeps nobody out.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ws.exists(".ralph/lock"));
    assert_eq!(ProjectLock::holder(&ws), None);
    drop(ProjectLock::acquire(&ws).unwrap());
}

#[test]
fn a_stale_file_that_names_a_living_stranger_is_taken_over() {
    let (_dir, ws) = workspace();
    let mut stranger = Command::new("sleep").arg("60").spawn().unwrap();
    let text = format!(
        "{{\"pid\":{},\"since\":\"2026-01-01T00:00:00Z\"}}\n",
        stranger.id()
    );
    for stale in [text.as_str(), "", "not json", "{\"pid\":-1}"] {
        ws.write(".ralph/lock", stale.as_bytes()).unwrap();
        drop(ProjectLock::acquire(&ws).unwrap());
    }
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_second_lock_in_the_same_process_is_refused_until_the_first_is_dropped() {
    let (_dir, ws) = workspace();
    let first = ProjectLock::acquire(&ws).unwrap();
    assert!(matches!(
        ProjectLock::acquire(&ws),
        Err(LockError::Held { .. })
    ));
    drop(first);
    ProjectLock::acquire(&ws).unwrap();
}

#[test]
fn a_link_or_a_directory_in_the_locks_place_is_refused() {
    let (dir, ws) = workspace();
    let outside = tempfile::tempdir().unwrap();
    ws.create_dir_all(".ralph").unwrap();
    std::os::unix::fs::symlink(outside.path().join("x"), dir.path().join(".ralph/lock")).unwrap();
    assert!(matches!(
        ProjectLock::acquire(&ws),
        Err(LockError::Guard(_))
    ));
    assert!(!outside.path().join("x").exists());
    ws.remove_file(".ralph/lock").unwrap();
    ws.create_dir_all(".ralph/lock").unwrap();
    assert!(ProjectLock::acquire(&ws).is_err());
}

#[test]
fn asking_who_holds_the_lock_makes_nothing_and_keeps_nobody_out() {
    let (_dir, ws) = workspace();
    assert_eq!(ProjectLock::holder(&ws), None);
    assert!(!ws.exists(".ralph"));
    drop(ProjectLock::acquire(&ws).unwrap());
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                ProjectLock::holder(&ws);
                std::thread::yield_now();
            }
        });
        for round in 0..200 {
            if let Err(error) = ProjectLock::acquire(&ws) {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
                panic!("{round}: {error}");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
