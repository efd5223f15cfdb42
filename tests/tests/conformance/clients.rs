//! Clients written from the documents alone, in the way of their example sessions: by somebody who
//! knows nothing of this repository.

use std::process::{Command, Stdio};

use ralph_tests::{Listening, Project, go, ready, socket, waiting};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// Subscribes to everything, prints each line that comes as JSON, asks for the end by a second
/// connection's `stop`, and leaves when the run has.
const WATCHER: &str = r#"
import asyncio, json, os, sys

async def main(task):
    path = os.path.expanduser("~/.local/share/ralph/sockets/%s.sock" % task)
    reader, writer = await asyncio.open_unix_connection(path)
    ask = {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"events": ["*"]}}
    writer.write((json.dumps(ask) + "\n").encode())
    await writer.drain()
    while True:
        line = await reader.readline()
        if not line:
            break
        print(json.dumps(json.loads(line.decode())), flush=True)

asyncio.run(main(sys.argv[1]))
"#;

/// An editor: starts the bridge, asks `status` at the same moments as editors do, steps once, ends it
/// by closing its input.
const EDITOR: &str = r#"
import json, subprocess, sys

bridge = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
number = 0

def ask(method, **params):
    global number
    number += 1
    frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    bridge.stdin.write(json.dumps(frame) + "\n")
    bridge.stdin.flush()

events, answers = [], {}

def until(done):
    while not done():
        said = json.loads(bridge.stdout.readline())
        if said.get("method") == "event":
            events.append(said["params"]["type"])
        else:
            answers[said["id"]] = said["result"]

until(lambda: "bridge_started" in events)
ask("ping")
ask("status")
ask("run", maxIterations=1)
until(lambda: "run_stopped" in events)
ask("status")
until(lambda: number in answers)
bridge.stdin.close()
rest = [json.loads(line)["params"]["type"] for line in bridge.stdout]
print(json.dumps({"ok": answers[1]["ok"], "before": answers[2]["done"], "after": answers[number]["done"],
                  "last": answers[number]["last"]["status"], "events": events + rest, "code": bridge.wait()}))
"#;

/// A driver: greets, calls, and calls once more by the same id over a new connection, as it does when
/// it has waited too long.
const DRIVER: &str = r#"
import json, socket, sys

def session(frames):
    with socket.create_connection(("localhost", int(sys.argv[1]))) as connection:
        file = connection.makefile("rw", encoding="utf-8", newline="\n")
        said = []
        for frame in frames:
            file.write(json.dumps(frame) + "\n")
            file.flush()
            said.append(json.loads(file.readline()))
        return said

hello = {"jsonrpc": "2.0", "method": "hello", "id": 1,
         "params": {"name": "driver", "version": "0.2.0", "agent": "claude-code", "pid": 12345}}
call = {"jsonrpc": "2.0", "method": "tools/call", "id": 2, "params": {"name": "status", "arguments": {}}}
once = session([hello, call])
again = session([hello, call])
print(json.dumps({"hello": once[0]["result"]["success"], "total": once[1]["result"]["total"],
                  "same": once[1] == again[1]}))
"#;

/// Runs a script, or says why not.
fn python(p: &Project, script: &str, args: &[&str]) -> Option<Command> {
    let there = Command::new("python3").arg("--version").output();
    if !there.is_ok_and(|out| out.status.success()) {
        eprintln!("SKIPPED: there is no python3, so nothing says whether this client works");
        return None;
    }
    let mut command = Command::new("python3");
    command.args(["-I", "-c", script]).args(args).env_clear();
    let like = p.command(&[]);
    command.envs(like.get_envs().filter_map(|(n, v)| Some((n, v?))));
    command.current_dir(p.root()).stdin(Stdio::null());
    Some(command)
}

fn json_of(p: &Project, command: Command) -> Value {
    p.start_command(command).wait().expect(0).json()
}

#[test]
fn the_documents_python_client_watches_a_run_to_its_end() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let Some(command) = python(&p, WATCHER, &["repo"]) else {
        p.run(&["stop", "--now"]).expect(0);
        return;
    };
    let watcher = p.start_command(command);
    let first = watcher.first_line();
    assert_eq!(
        first,
        json!({"jsonrpc": "2.0", "id": 1, "result": {"subscribed": ["*"]}})
    );
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
    let said = watcher.wait().expect(0).stdout;
    let all: Vec<Value> = said
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let data = |name: &str| {
        let found = all.iter().rev().map(|e| &e["params"]["data"]);
        found.filter_map(|d| d.get(name).cloned()).next()
    };
    assert_eq!(data("status"), Some(json!("completed")));
    assert_eq!(data("line"), Some(json!("EXIT_SIGNAL: true")));
}

#[test]
fn the_documents_rust_client_asks_for_the_status() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let answer: Value = runtime.block_on(async {
        let stream = UnixStream::connect(socket(&p)).await.unwrap();
        let (read, mut write) = stream.into_split();
        let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "get_status", "params": {}});
        write
            .write_all(format!("{ask}\n").as_bytes())
            .await
            .unwrap();
        let mut line = String::new();
        BufReader::new(read).read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    });
    assert_eq!(answer["result"]["status"], "running");
    assert_eq!(answer["result"]["current_story"], "T1");
    p.run(&["stop", "--now"]).expect(0);
    run.wait().expect(1);
}

#[test]
fn an_editor_in_python_has_a_task_done() {
    let p = Project::build().ready();
    let ralph = p.command(&[]).get_program().to_str().unwrap().to_owned();
    let Some(command) = python(&p, EDITOR, &[&ralph, "bridge"]) else {
        return;
    };
    let said = json_of(&p, command);
    let events = [
        "bridge_started",
        "run_started",
        "iteration_started",
        "iteration_finished",
        "run_stopped",
        "bridge_stopped",
    ];
    let want = json!({"ok": true, "before": 0, "after": 1, "last": "accepted", "events": events, "code": 0});
    assert_eq!(said, want);
}

#[test]
fn a_driver_in_python_calls_a_tool_and_calls_it_again() {
    let p = Project::build().ready();
    let server = Listening::of(&p, &[], |_| {});
    let port = server.tools.port().to_string();
    let Some(command) = python(&p, DRIVER, &[&port]) else {
        return;
    };
    assert_eq!(
        json_of(&p, command),
        json!({"hello": true, "total": 2, "same": true})
    );
}
