//! `ralph plugin dev`: builds again on change, and swaps.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use ralph_tests::{LIMIT, Project, components};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kit::{faked, tool};
use crate::plugin_lock::sha256;
use crate::plugins::gate;

#[test]
fn dev_swaps_and_calls_at_work_finish_on_the_old_one() {
    let p = Project::bare();
    // The first computes until its time is over; the second passes.
    let slow = gate("(loop $on (br $on)) (i32.const 16)");
    let quick = components("gate-diff-scope");
    faked(&p, &slow);
    let digest = |bytes: &[u8]| {
        fs::write(p.side("made.wasm"), bytes).unwrap();
        p.run(&["plugin", "build", "mine"]).expect(0);
        sha256(&p.bytes("mine/mine.wasm"))
    };
    let (new, old) = (digest(&quick), digest(&slow));
    fs::remove_dir_all(p.root().join("mine/cases")).unwrap();
    let mut dev = Lines::start(&p, &["--json", "plugin", "dev", "mine", "--calls"]);
    assert_eq!(dev.until("swapped")["built"]["sha256"], old.as_str());
    dev.say(r#"{"config": {}}"#);
    // A build that fails leaves what is in use.
    tool(&p, "componentize-qjs", "exit 3\n");
    p.write("mine/src/plugin.js", "one");
    let why = dev.until("failed")["error"].to_string();
    assert!(why.contains("exited with code 3"), "{why}");
    tool(
        &p,
        "componentize-qjs",
        "cp \"$SIDE/made.wasm\" build/plugin.wasm\n",
    );
    fs::write(p.side("made.wasm"), &quick).unwrap();
    p.write("mine/src/plugin.js", "two");
    let swapped = dev.until("swapped");
    assert_eq!(swapped["built"]["sha256"], new.as_str());
    assert_eq!(swapped["before"], old.as_str());
    let first = dev.until("answered");
    assert_eq!(first["sha256"], old.as_str(), "{first}");
    assert!(
        first["call"]["error"].to_string().contains("of computing"),
        "{first}"
    );
    dev.say(r#"{"config": {"allow": ["src/**"]}, "changes": []}"#);
    let second = dev.until("answered");
    assert_eq!(second["sha256"], new.as_str());
    assert!(second["call"]["answer"]["status"].is_string(), "{second}");
    dev.say("no input");
    dev.until("refused");
    dev.end();
}

/// A command that speaks in JSON objects, one a line.
struct Lines {
    child: Child,
    lines: Receiver<Value>,
    /// What came and wasn't asked for yet.
    kept: Vec<Value>,
}

impl Lines {
    fn start(p: &Project, args: &[&str]) -> Lines {
        let mut child = p
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tx, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = tx.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Lines {
            child,
            lines,
            kept: Vec::new(),
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next of this kind, whatever comes between.
    fn until(&mut self, event: &str) -> Value {
        if let Some(at) = self.kept.iter().position(|v| v["event"] == event) {
            return self.kept.remove(at);
        }
        loop {
            let next = self.lines.recv_timeout(LIMIT);
            let next = next.unwrap_or_else(|_| panic!("no {event}; {:?}", self.kept));
            if next["event"] == event {
                return next;
            }
            self.kept.push(next);
        }
    }

    fn end(mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::INT).unwrap();
        let (tx, ended) = channel();
        std::thread::spawn(move || tx.send(self.child.wait()));
        assert!(ended.recv_timeout(LIMIT).is_ok(), "it doesn't end");
    }
}
