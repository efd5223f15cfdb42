//! Time.

use std::time::{Duration, Instant};

use ralph_process::{EndedBy, Spawn, run, start};

use crate::{SECOND, sh, to_end, within};

const SHORT: Duration = Duration::from_millis(300);
/// In that time a shell says its first word, however busy the machine is.
const AMPLE: Duration = Duration::from_secs(4);

#[tokio::test]
async fn the_timeout_ends_a_child_that_prints_all_the_time() {
    let started = Instant::now();
    let spawn = Spawn {
        timeout: Some(SHORT),
        ..sh("while :; do echo x; done")
    };
    let (_, end) = to_end(start(spawn).unwrap()).await;
    assert_eq!((end.ended_by, end.signal), (EndedBy::Timeout, Some(15)));
    within(2 * SECOND, started);
}

#[tokio::test]
async fn the_timeout_counts_while_nobody_reads() {
    let spawn = Spawn {
        timeout: Some(SHORT),
        ..sh("sleep 600; echo never")
    };
    let running = start(spawn).unwrap();
    tokio::time::sleep(SECOND).await;
    let started = Instant::now();
    assert_eq!(running.finish().await.ended_by, EndedBy::Timeout);
    within(SECOND, started);
}

#[tokio::test]
async fn silence_ends_a_child_and_its_last_words_are_kept() {
    let started = Instant::now();
    let spawn = Spawn {
        idle_timeout: Some(AMPLE),
        ..sh("echo summary; sleep 600")
    };
    let (out, end) = to_end(start(spawn).unwrap()).await;
    assert_eq!((out, end.ended_by), (b"summary\n".to_vec(), EndedBy::Idle));
    within(2 * SECOND, started);
}

#[tokio::test]
async fn a_child_that_never_says_a_word_is_ended_after_its_startup_time() {
    let spawn = Spawn {
        startup_timeout: Some(SHORT),
        ..sh("sleep 600")
    };
    let (out, end) = to_end(start(spawn).unwrap()).await;
    assert_eq!((out, end.ended_by), (Vec::new(), EndedBy::Startup));
}

#[tokio::test]
async fn after_its_first_byte_the_startup_time_counts_no_more() {
    for stream in ["", ">&2"] {
        let spawn = Spawn {
            startup_timeout: Some(AMPLE),
            ..sh(&format!("printf . {stream}; sleep 5; exit 3"))
        };
        let (_, end) = to_end(start(spawn).unwrap()).await;
        assert_eq!((end.ended_by, end.code), (EndedBy::Itself, Some(3)));
    }
}

#[tokio::test]
async fn a_byte_on_stderr_is_life() {
    let script = "for i in 1 2 3 4 5; do printf . >&2; sleep 1; done";
    let spawn = Spawn {
        idle_timeout: Some(AMPLE),
        ..sh(script)
    };
    let (_, end) = to_end(start(spawn).unwrap()).await;
    assert_eq!((end.ended_by, end.code), (EndedBy::Itself, Some(0)));
}

#[tokio::test]
async fn a_slow_reader_is_not_taken_for_a_silent_child() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 20000 /dev/zero; sleep 0.05; done";
    let limit = 2 * SECOND;
    let spawn = Spawn {
        idle_timeout: Some(limit),
        ..sh(script)
    };
    let mut running = start(spawn).unwrap();
    let mut bytes = 0;
    while let Some(piece) = running.next().await {
        bytes += piece.len();
        if bytes < 70_000 {
            tokio::time::sleep(limit + SHORT).await;
        }
    }
    let end = running.finish().await;
    assert_eq!((end.ended_by, bytes), (EndedBy::Itself, 200_000));
}

#[tokio::test]
async fn a_child_that_closed_its_streams_and_lives_on_is_ended_by_silence() {
    let started = Instant::now();
    let spawn = Spawn {
        idle_timeout: Some(AMPLE),
        ..sh("echo x; exec >&- 2>&-; sleep 600")
    };
    let (out, end) = to_end(start(spawn).unwrap()).await;
    assert_eq!((out, end.ended_by), (b"x\n".to_vec(), EndedBy::Idle));
    within(2 * SECOND, started);
}

#[tokio::test]
async fn run_obeys_its_timeout_too() {
    let spawn = Spawn {
        timeout: Some(AMPLE),
        ..sh("echo begun; sleep 600")
    };
    let output = run(spawn, 100).await.unwrap();
    assert_eq!(output.finished.ended_by, EndedBy::Timeout);
    assert_eq!(output.stdout, b"begun\n");
}

#[tokio::test]
async fn stop_ends_it_at_once_and_what_it_says_on_sigterm_is_read() {
    let started = Instant::now();
    let script = "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done";
    let mut running = start(sh(script)).unwrap();
    crate::line(&mut running).await;
    let stopper = running.stopper();
    std::thread::spawn(move || stopper.stop());
    let (out, end) = to_end(running).await;
    assert_eq!(
        (out, end.code, end.ended_by),
        (b"bye\n".to_vec(), Some(3), EndedBy::Stopped)
    );
    within(2 * SECOND, started);
}

#[tokio::test]
async fn a_child_that_ignores_sigterm_is_killed_after_the_grace() {
    let script = "trap '' TERM; echo up; while :; do sleep 600; done";
    let mut running = start(Spawn {
        grace: SHORT,
        ..sh(script)
    })
    .unwrap();
    crate::line(&mut running).await;
    let started = Instant::now();
    running.stopper().stop();
    let end = running.finish().await;
    assert_eq!(end.signal, Some(9));
    assert!(started.elapsed() >= SHORT);
    within(SHORT + SECOND, started);
}

#[tokio::test]
async fn stopping_after_the_end_changes_nothing() {
    let mut running = start(sh("exit 0")).unwrap();
    while running.next().await.is_some() {}
    tokio::time::sleep(Duration::from_millis(50)).await;
    let stopper = running.stopper();
    stopper.stop();
    let end = running.finish().await;
    stopper.stop();
    assert_eq!((end.code, end.ended_by), (Some(0), EndedBy::Itself));
}
