//! Reading: whole, bounded, never stalled.

use std::time::{Duration, Instant};

use ralph_process::{run, start};

use crate::{SECOND, sh, to_end, within};

#[tokio::test]
async fn megabytes_come_whole_and_in_order() {
    let (out, _) = to_end(start(sh("seq -f %07.0f 1000000")).unwrap()).await;
    assert_eq!(out.len(), 8_000_000);
    let mut lines = out.chunks(8).zip(1..);
    assert!(lines.all(|(line, i)| line == format!("{i:07}\n").as_bytes()));
}

#[tokio::test]
async fn stderr_is_drained_while_only_stdout_is_read_and_its_end_is_kept() {
    let script = "head -c 3000000 /dev/zero | tr '\\0' e >&2; echo last words >&2; echo done";
    let (out, end) = to_end(start(sh(script)).unwrap()).await;
    assert_eq!(out, b"done\n");
    assert_eq!(end.stderr_tail.len(), 64 * 1024);
    assert!(end.stderr_tail.ends_with(b"eelast words\n"));
}

#[tokio::test]
async fn a_stray_that_holds_the_pipe_does_not_stall_the_end() {
    let started = Instant::now();
    let (out, end) = to_end(start(sh("sleep 600 & echo done")).unwrap()).await;
    assert_eq!((out, end.code), (b"done\n".to_vec(), Some(0)));
    within(2 * SECOND, started);
}

#[tokio::test]
async fn a_stray_that_prints_for_ever_does_not_stall_the_end() {
    let started = Instant::now();
    let mut running = start(sh("yes & echo done; exit 4")).unwrap();
    while running.next().await.is_some() {}
    within(2 * SECOND, started);
    assert_eq!(running.finish().await.code, Some(4));
}

#[tokio::test]
async fn what_the_child_wrote_comes_whole_to_a_reader_who_is_late() {
    let script = "head -c 60000 /dev/zero; sleep 600 & echo done";
    let mut running = start(sh(script)).unwrap();
    tokio::time::sleep(Duration::from_millis(900)).await;
    let mut all = Vec::new();
    while let Some(piece) = running.next().await {
        all.extend(piece);
    }
    assert_eq!(all.len(), 60005);
    assert!(all.ends_with(b"done\n"));
}

#[tokio::test]
async fn run_keeps_the_last_bytes_of_both_streams() {
    let script = "seq 1 100000; seq 1 100000 >&2; echo out; echo err >&2; exit 2";
    let output = run(sh(script), 1000).await.unwrap();
    assert_eq!(output.finished.code, Some(2));
    assert!(output.truncated);
    assert_eq!((output.stdout.len(), output.stderr.len()), (1000, 1000));
    assert!(output.stdout.ends_with(b"100000\nout\n") && output.stderr.ends_with(b"100000\nerr\n"));
}

#[tokio::test]
async fn run_says_so_when_nothing_was_lost() {
    let output = run(sh("printf 1234; printf 12 >&2"), 4).await.unwrap();
    assert!(!output.truncated);
    assert_eq!(
        (output.stdout, output.stderr),
        (b"1234".to_vec(), b"12".to_vec())
    );
}

#[tokio::test]
async fn next_can_be_cancelled_without_losing_a_byte() {
    let script = "for i in 1 2 3 4 5 6 7 8 9; do printf $i; sleep 0.05; done";
    let mut running = start(sh(script)).unwrap();
    let mut all = Vec::new();
    loop {
        tokio::select! {
            biased;
            piece = running.next() => match piece {
                Some(piece) => all.extend(piece),
                None => break,
            },
            () = tokio::time::sleep(Duration::from_millis(7)) => {}
        }
    }
    assert_eq!(all, b"123456789");
}
