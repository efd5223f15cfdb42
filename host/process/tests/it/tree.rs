//! Descendants of every kind end with the child, and nobody else does.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ralph_process::{Running, Spawn, run, start};

use crate::{SECOND, is_listed, line, lives, sh, within};

/// Starts it and reads the pid that it prints.
async fn with_pid(spawn: Spawn) -> (Running, String) {
    let mut running = start(spawn).unwrap();
    let pid = line(&mut running).await;
    assert!(lives(&pid), "{pid}");
    (running, pid)
}

const OWN_SESSION: &str = "setsid sh -c 'echo $$; exec sleep 600' &";

#[tokio::test]
async fn a_grandchild_in_its_own_session_ends_with_a_child_that_is_stopped() {
    let (running, pid) = with_pid(sh(&format!("{OWN_SESSION} sleep 600"))).await;
    running.stopper().stop();
    running.finish().await;
    assert!(!lives(&pid) && !is_listed(&pid));
}

#[tokio::test]
async fn a_grandchild_in_its_own_session_ends_with_a_child_that_came_to_its_own_end() {
    let (running, pid) = with_pid(sh(&format!("{OWN_SESSION} sleep 0.2"))).await;
    let started = Instant::now();
    assert_eq!(running.finish().await.code, Some(0));
    assert!(!lives(&pid) && !is_listed(&pid));
    within(2 * SECOND, started);
}

#[tokio::test]
async fn grandchildren_of_a_wrapper_that_ignores_sigterm_end() {
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done'";
    let spawn = Spawn {
        grace: Duration::from_millis(200),
        ..sh(script)
    };
    let (running, pid) = with_pid(spawn).await;
    running.stopper().stop();
    running.finish().await;
    assert!(!lives(&pid));
}

#[tokio::test]
async fn a_stopped_grandchild_is_woken_to_end() {
    let script = "sh -c 'echo $$; kill -STOP $$; sleep 600' & sleep 600";
    let (running, pid) = with_pid(sh(script)).await;
    let started = Instant::now();
    running.stopper().stop();
    running.finish().await;
    assert!(!lives(&pid));
    within(SECOND, started);
}

/// Its parents end, it makes a session, drops its environment, prints its pid.
const DAEMON: &str = "setsid -f env -i /bin/sh -c 'echo $$; exec sleep 600'; sleep 1";

#[tokio::test]
async fn a_daemon_with_an_empty_environment_ends() {
    // In a process of its own, for it is told apart by nothing else running beside it.
    let told = crate::host::run("tree", "a_host_with_a_daemon", Stdio::null());
    let (before, after) = told.split_once(' ').expect("two answers");
    assert_eq!((before, after), ("true", "false"));
}

#[test]
fn a_host_with_a_daemon() {
    crate::host::only_there("a_host_with_a_daemon", async {
        let (running, pid) = with_pid(sh(DAEMON)).await;
        let before = lives(&pid);
        running.finish().await;
        format!("{before} {}", is_listed(&pid))
    });
}

#[tokio::test]
async fn one_that_forks_all_the_time_is_caught() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("alive");
    let script = "hop() { sleep 0.003; date +%N >>alive; hop & exit; }; echo up; trap '' TERM; hop";
    let mut running = start(Spawn {
        grace: Duration::ZERO,
        cwd: dir.path().into(),
        ..sh(script)
    })
    .unwrap();
    line(&mut running).await;
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.finish().await;
    let last = std::fs::read(&file).unwrap().len();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(std::fs::read(&file).unwrap().len(), last);
}

#[tokio::test]
async fn dropping_a_running_child_ends_its_tree() {
    let (running, pid) = with_pid(sh(&format!("{OWN_SESSION} sleep 600"))).await;
    let root = running.pid().to_string();
    drop(running);
    assert!(!lives(&pid) && !lives(&root));
}

#[tokio::test]
async fn dropping_the_future_of_run_ends_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    let spawn = Spawn {
        cwd: dir.path().into(),
        ..sh("setsid sh -c 'echo $$ >pid; exec sleep 600'")
    };
    let pid_file = dir.path().join("pid");
    let pid = tokio::select! {
        _ = run(spawn, 100) => panic!("it ended"),
        pid = async {
            loop {
                match std::fs::read_to_string(&pid_file) {
                    Ok(pid) if pid.ends_with('\n') => break pid.trim().to_string(),
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        } => pid,
    };
    assert!(!lives(&pid));
}

#[tokio::test]
async fn the_end_of_one_child_leaves_the_descendants_of_another_alone() {
    let script = format!("({OWN_SESSION}) ; sleep 600");
    let (one, orphan) = with_pid(sh(&script)).await;
    for _ in 0..3 {
        run(sh(&format!("{OWN_SESSION} true")), 100).await.unwrap();
    }
    assert!(lives(&orphan));
    one.stopper().stop();
    one.finish().await;
    assert!(!lives(&orphan));
}

#[test]
fn what_the_host_itself_has_started_is_left_alone() {
    // In a process of its own: older children of other tests could claim them.
    assert_eq!(
        crate::host::run("tree", "a_host_with_own_children", Stdio::null()),
        "[None, None]"
    );
}

#[test]
fn a_host_with_own_children() {
    crate::host::only_there("a_host_with_own_children", async {
        let commands = [&["sleep", "600"][..], &["setsid", "sleep", "600"]];
        let mut children = commands.map(|words| {
            let mut command = Command::new(words[0]);
            command
                .args(&words[1..])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        });
        run(sh(&format!("{OWN_SESSION} true")), 100).await.unwrap();
        let ends = children.each_mut().map(|child| child.try_wait().unwrap());
        for mut child in children {
            let _ = child.kill();
            let _ = child.wait();
        }
        format!("{ends:?}")
    });
}

#[tokio::test]
async fn orphans_that_died_by_themselves_are_buried() {
    let script = "setsid sh -c 'echo $$' & sleep 0.3";
    let mut running = start(sh(script)).unwrap();
    let pid = line(&mut running).await;
    running.finish().await;
    assert!(!is_listed(&pid));
}
