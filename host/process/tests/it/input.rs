//! Standard input.

use std::time::Instant;

use ralph_process::{Spawn, Stdin, StdinError, start};

use crate::{SECOND, line, sh, to_end, within};

#[tokio::test]
async fn no_input_is_an_empty_one_and_not_the_hosts() {
    let (out, _) = to_end(start(sh("readlink /proc/self/fd/0; cat; echo end")).unwrap()).await;
    assert_eq!(out, b"/dev/null\nend\n");
}

#[tokio::test]
async fn bytes_arrive_whole_and_then_the_end() {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let spawn = Spawn {
        stdin: Stdin::Bytes(bytes.clone()),
        ..sh("cat")
    };
    let (out, end) = to_end(start(spawn).unwrap()).await;
    assert!(out == bytes && end.code == Some(0));
}

#[tokio::test]
async fn two_mib_of_input_against_a_mib_of_output_do_not_lock_up() {
    let script = "head -c 1048576 /dev/zero; wc -c; head -c 1048576 /dev/zero; echo end";
    let spawn = Spawn {
        stdin: Stdin::Bytes(vec![b'p'; 2 << 20]),
        timeout: Some(20 * SECOND),
        ..sh(script)
    };
    let (out, end) = to_end(start(spawn).unwrap()).await;
    assert_eq!(end.code, Some(0));
    assert!(out[1 << 20..].starts_with(b"2097152\n") && out.ends_with(b"end\n"));
}

#[tokio::test]
async fn a_child_that_does_not_read_its_input_ends_as_it_likes() {
    let started = Instant::now();
    let spawn = Spawn {
        stdin: Stdin::Bytes(vec![0; 2 << 20]),
        ..sh("exit 5")
    };
    let (_, end) = to_end(start(spawn).unwrap()).await;
    assert_eq!(end.code, Some(5));
    within(3 * SECOND, started);
}

#[tokio::test]
async fn a_dialogue_over_an_input_that_was_kept_open() {
    let script = "read a; echo \"got $a\"; read b; echo \"got $b\"; cat; echo end";
    let spawn = Spawn {
        stdin: Stdin::Keep(b"one\n".to_vec()),
        ..sh(script)
    };
    let mut running = start(spawn).unwrap();
    assert_eq!(line(&mut running).await, "got one");
    running.write_stdin(b"two\n").await.unwrap();
    assert_eq!(line(&mut running).await, "got two");
    running.write_stdin(b"last\n").await.unwrap();
    running.close_stdin();
    assert_eq!(running.write_stdin(b"x").await, Err(StdinError::Closed));
    let (out, _) = to_end(running).await;
    assert_eq!(out, b"last\nend\n");
}

#[tokio::test]
async fn what_a_child_does_not_read_is_bounded() {
    let spawn = Spawn {
        stdin: Stdin::Keep(Vec::new()),
        ..sh("exec sleep 60")
    };
    let mut running = start(spawn).unwrap();
    let mib = vec![0; 1 << 20];
    let mut taken = 0;
    let error = loop {
        match running.write_stdin(&mib).await {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken <= 16);
    };
    assert_eq!((error, taken), (StdinError::Full, 16));
}
