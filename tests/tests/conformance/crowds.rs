//! Nonsense, slow ones, wrong tokens, too many: who else is there doesn't notice.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use ralph_tests::{Client, Listening, Peer, Project};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::load::{full, memory, printing, size};
use crate::wire::{Wire, over_each};

/// E08
#[test]
fn nonsense_is_answered_frame_by_frame_and_the_connection_lives_on() {
    let frames = [
        "{",
        "}",
        "[1",
        "nope",
        "{\"jsonrpc\"",
        "\"",
        "\u{1}",
        "{\"id\":1}",
        "[]",
        "5",
        "null",
        "[[]]",
        "{\"jsonrpc\":\"2.0\",\"method\":7,\"id\":1}",
        "\u{feff}{}",
    ];
    let count = if full() { 10_000 } else { 1_000 };
    over_each(|served| {
        let mut wire = served.connect();
        let mut sent = 0;
        while sent < count {
            // No more at once than fits into what is on its way, or both sides would wait to write.
            let some = 100.min(count - sent);
            let text: Vec<&str> = (0..some)
                .map(|n| frames[(sent + n) % frames.len()])
                .collect();
            wire.send(format!("{}\n", text.join("\n")));
            for _ in 0..some {
                let said = wire.answer().unwrap();
                let one = said.get(0).unwrap_or(&said);
                let code = one["error"]["code"].as_i64().unwrap();
                assert!([-32700, -32600].contains(&code), "{said}");
            }
            sent += some;
        }
        wire.lives();
    });
}

/// They hold half a frame each, and one more byte now and then.
#[test]
fn slow_clients_are_held_in_little_memory_and_hold_up_nobody() {
    let count = if full() { 900 } else { 200 };
    over_each(|served| {
        let Some(live) = served.live.as_ref() else {
            return;
        };
        let mut quick = served.connect();
        let before = memory(live, "VmRSS:");
        let half = "{\"jsonrpc\":\"2.0\",\"id\":1,".to_owned() + &" ".repeat(2000);
        let mut slow: Vec<Wire> = (0..count).map(|_| served.silent()).collect();
        for _ in 0..3 {
            for wire in &mut slow {
                wire.send(&half);
            }
            quick.lives();
        }
        let after = memory(live, "VmRSS:");
        assert!(
            after < before + 32 * count as u64 + 8 * 1024,
            "{before} KiB, then {after} KiB"
        );
        let ends = format!("\"method\":\"{}\"}}\n", served.kind.quick());
        let mut one = slow.pop().unwrap();
        drop(slow);
        one.send(&half[half.find('"').unwrap()..]);
        drop(one);
        quick.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":9,{ends}"));
        assert_eq!(quick.answer().unwrap()["id"], 9);
    });
}

/// Who doesn't say hello isn't waited for longer because it sends a byte now and then.
#[test]
fn a_client_that_never_comes_to_hello_is_closed() {
    let p = Project::build().ready();
    let server = Listening::of(&p, &[], |c| {
        c.env("RALPH_TIMEOUT", "1");
    });
    let mut peer = Peer::to(server.tools);
    let (stop, stopped) = channel::<()>();
    let mut writing = peer.writer();
    let trickle = std::thread::spawn(move || {
        use std::io::Write;
        while stopped.recv_timeout(Duration::from_millis(50)).is_err() {
            if writing.write_all(b" ").is_err() {
                return;
            }
        }
    });
    assert_eq!(peer.line(), None, "closed");
    let _ = stop.send(());
    trickle.join().unwrap();
}

/// Each waits for its refusal; who has the right token doesn't.
#[test]
fn a_hundred_wrong_tokens_are_refused_slowly_and_the_right_one_at_once() {
    let p = Project::build().ready();
    let secret = "0123456789abcdef-secret";
    let server = Listening::of(&p, &[], |c| {
        c.env("RALPH_AUTH_TOKEN", secret);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (go, mut waiting) = (Barrier::new(101), JoinSet::new());
        let go = Arc::new(go);
        for n in 0..100 {
            let (go, addr) = (go.clone(), server.tools);
            waiting.spawn(async move {
                let mut stream = TcpStream::connect(addr).await.unwrap();
                let hello = json!({"jsonrpc": "2.0", "id": n, "method": "hello", "params": {"token": format!("{n}")}});
                stream.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
                go.wait().await;
                let mut said = String::new();
                stream.read_to_string(&mut said).await.unwrap();
                let said: Value = serde_json::from_str(&said).unwrap();
                assert_eq!((&said["error"]["code"], &said["id"]), (&json!(-32001), &json!(n)));
                Instant::now()
            });
        }
        go.wait().await;
        let right = tokio::task::spawn_blocking(move || {
            let mut peer = Peer::to(server.tools);
            let said = peer.call("hello", json!({"name": "x", "token": secret}));
            assert_eq!(said["result"]["success"], true);
            let at = Instant::now();
            (at, server)
        });
        let (at, _server) = right.await.unwrap();
        let all = waiting.join_all().await;
        assert!(all.iter().filter(|refused| **refused > at).count() > 50, "it had to wait for them");
    });
}

/// So many at once, and the next one is told why not.
#[test]
fn clients_beyond_the_most_are_told_so_and_others_stay() {
    // A limit on open files is one on clients: half of them are the run's own.
    let (files, most) = (512, 512 / 2 - 64);
    let p = printing(&size());
    let inner = p.command(&["run"]);
    let mut shell = std::process::Command::new("sh");
    let line = format!(
        "ulimit -n {files}; exec '{}' run",
        inner.get_program().display()
    );
    shell.args(["-c", &line]).current_dir(p.root()).env_clear();
    shell.envs(inner.get_envs().filter_map(|(n, v)| Some((n, v?))));
    let run = p.start_command(shell);
    p.hear("here");
    let mut kept: Vec<Client> = Vec::new();
    let refused = loop {
        let mut client = Client::of(&p);
        // Closed before it has asked, perhaps; why is there to read.
        let _ = client.try_send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"unsubscribe\",\"params\":{\"events\":[]}}\n");
        let said = client.line().unwrap();
        if said.get("error").is_some() {
            break said;
        }
        kept.push(client);
        assert!(kept.len() <= most, "{}", kept.len());
    };
    assert_eq!(
        (&refused["error"]["code"], &refused["id"]),
        (&json!(-32000), &Value::Null)
    );
    assert_eq!(kept.len(), most);
    assert!(kept[0].call("get_status", json!({}))["result"].is_object());
    drop(kept);
    // The run has room for what it needs.
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    p.hear("here");
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    run.wait().expect(1);
}
