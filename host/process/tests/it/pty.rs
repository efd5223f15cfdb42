//! Children on a terminal of their own.

use ralph_process::{EndedBy, Secrets, Spawn, Stdin, WindowSize, start};

use crate::{line, lives, sh, to_end};

fn on_terminal(script: &str) -> Spawn {
    Spawn {
        terminal: Some(WindowSize {
            rows: 33,
            columns: 77,
        }),
        ..sh(script)
    }
}

#[tokio::test]
async fn it_has_a_size_and_both_streams_and_the_prompt_comes_by_a_pipe_and_not_back() {
    let script = "[ -t 1 ] && [ -t 2 ] && [ ! -t 0 ] && stty size </dev/tty; wc -c; echo err >&2";
    let spawn = Spawn {
        stdin: Stdin::Bytes(vec![b'p'; 2 << 20]),
        ..on_terminal(script)
    };
    let (out, end) = to_end(start(spawn).unwrap()).await;
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out, "33 77\r\n2097152\r\nerr\r\n");
    assert_eq!((end.code, end.stderr_tail), (Some(0), Vec::new()));
}

#[tokio::test]
async fn what_is_typed_is_not_read_back_until_somebody_wants_to_see_it() {
    let spawn = Spawn {
        stdin: Stdin::Keep(b"one\n".to_vec()),
        ..on_terminal("read a; echo \"got $a\"; read b; echo \"got $b\"; cat; echo end")
    };
    let mut running = start(spawn).unwrap();
    assert_eq!(line(&mut running).await, "got one");
    running.terminal().unwrap().echo(true).unwrap();
    running.write_stdin(b"two\n").await.unwrap();
    // Both may come in one piece.
    let mut said = line(&mut running).await;
    if said == "two" {
        said = format!("{said}\r\n{}", line(&mut running).await);
    }
    assert_eq!(said, "two\r\ngot two");
    running.terminal().unwrap().echo(false).unwrap();
    running.close_stdin();
    let (out, _) = to_end(running).await;
    assert_eq!(out, b"end\r\n");
}

#[tokio::test]
async fn it_is_told_of_a_new_size_and_its_keys_send_signals() {
    let script = "trap 'stty size </dev/tty' WINCH; trap 'echo interrupted; exit 5' INT\n\
        echo up; while :; do sleep 0.02; done";
    let mut running = start(on_terminal(script)).unwrap();
    assert_eq!(line(&mut running).await, "up");
    let terminal = running.terminal().unwrap().clone();
    let size = WindowSize {
        rows: 10,
        columns: 20,
    };
    terminal.resize(size).unwrap();
    assert_eq!(line(&mut running).await, "10 20");
    terminal.write_all(b"\x03").await.unwrap();
    let (out, end) = to_end(running).await;
    assert_eq!((out, end.code), (b"interrupted\r\n".to_vec(), Some(5)));
}

#[tokio::test]
async fn its_whole_tree_ends_with_it() {
    let script = "setsid sh -c 'trap \"\" HUP; echo $$; exec sleep 600' & sleep 600";
    let mut running = start(on_terminal(script)).unwrap();
    let pid = line(&mut running).await;
    running.stopper().stop();
    let (_, end) = to_end(running).await;
    assert!(!lives(&pid));
    assert_eq!(end.ended_by, EndedBy::Stopped);
}

#[tokio::test]
async fn secrets_are_taken_out_of_what_a_child_says_on_any_stream() {
    let secrets = Secrets::of([("MY_TOKEN".to_owned(), "0123456789".to_owned())]);
    let script = "printf 'a 01234'; sleep 0.2; printf '56789 b\\n'; printf 'c 01234' >&2; sleep 0.2; printf '56789' >&2; printf 012";
    for terminal in [None, Some(WindowSize::default())] {
        let spawn = Spawn {
            terminal,
            secrets: secrets.clone(),
            ..sh(script)
        };
        let (mut out, end) = to_end(start(spawn).unwrap()).await;
        out.extend(end.stderr_tail);
        let out = String::from_utf8(out).unwrap();
        assert!(!out.contains("56789"), "{out}");
        assert_eq!(out.matches("[redacted MY_TOKEN]").count(), 2, "{out}");
        assert!(out.contains("012"), "{out}");
    }
}
