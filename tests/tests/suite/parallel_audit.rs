//! Workers' iterations are audited and steered like any others.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use ralph_tests::{LIMIT, Project};
use serde_json::{Value, json};

const THREE: &str = "## Tasks\n\n- [ ] Alpha\n- [ ] Beta\n- [ ] Gamma\n";

/// Keeps its prompt by its task's id, does its own work.
const AGENT: &str = "prompt=$(cat)\nid=$(printf '%s\\n' \"$prompt\" | sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p')\n\
printf '%s\\n' \"$prompt\" >\"$SIDE/prompt.$id\"\n";
const CLAIM: &str = "echo \"work of $id\" >\"$id.txt\"\necho 'EXIT_SIGNAL: true'\n";

fn result(p: &Project, args: &[&str]) -> Value {
    p.run(&[args, &["--json"]].concat()).expect(0).json()["result"].clone()
}

#[test]
fn workers_iterations_are_logged_verified_replayed_and_cleaned() {
    let p = Project::build()
        .tasks("PRD.md", THREE)
        .agent(&format!("{AGENT}{CLAIM}"))
        .gate("g", "true\n")
        .toml("[[gates]]\nname = \"secrets\"\nplugin = \"no-secrets\"")
        .ready();
    p.run(&["run", "--parallel", "2"]).expect(0);
    let log = result(&p, &["log"])["iterations"].clone();
    let log = log.as_array().unwrap();
    assert_eq!(log.len(), 3);
    for (n, entry) in (1..).zip(log) {
        assert_eq!(entry["iteration"], n);
        assert_eq!(entry["result"], "accepted");
        assert!(entry["seconds"].as_f64().unwrap() > 0.0, "{entry}");
        assert!(entry["commit"].is_string(), "{entry}");
        let replay = result(&p, &["replay", &n.to_string()]);
        let items = replay["items"].as_array().unwrap();
        assert_eq!(items.len(), 4, "{replay:#}");
        assert!(items.iter().all(|i| i["outcome"] == "same"), "{replay:#}");
    }
    let verify = result(&p, &["verify"]);
    assert_eq!(verify["commits"], 3, "{verify}");
    assert_eq!(result(&p, &["clean", "--keep", "1"])["iterations"], 2);
    assert_eq!(
        std::fs::read_dir(p.root().join(".ralph/logs"))
            .unwrap()
            .count(),
        1
    );
    p.run(&["verify"]).expect(0);
    let receipt = p
        .root()
        .join(".ralph/receipts")
        .join(log[2]["task"].as_str().unwrap());
    let attempt = std::fs::read_dir(receipt)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(attempt.join("runner.json"), "{}").unwrap();
    p.run(&["verify"]).expect(1).says("runner.json");
}

#[test]
fn what_is_injected_reaches_the_next_workers_prompt_only_and_a_pause_lets_workers_end() {
    let p = Project::build()
        .tasks("PRD.md", THREE)
        .agent(&format!(
            "{AGENT}tell \"here.$id\" x; cat \"$SIDE/go.$id.fifo\" >/dev/null\n{CLAIM}"
        ))
        .ready();
    for n in 1..=3 {
        p.fifo(&format!("here.T{n}"));
        p.fifo(&format!("go.T{n}"));
    }
    let go = |n: u32| std::fs::write(p.side(&format!("go.T{n}.fifo")), "go").unwrap();
    let run = p.start(&["run", "--parallel", "2"]);
    p.hear("here.T1");
    p.hear("here.T2");
    let socket = p.all().join("home/.local/share/ralph/sockets/repo.sock");
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let subscribe =
        json!({"jsonrpc": "2.0", "method": "subscribe", "params": {"events": ["state_change"]}});
    writeln!(&stream, "{subscribe}").unwrap();
    let mut lines = BufReader::new(&stream).lines();
    let mut wait_for = |key: &str, want: Value| {
        let found = lines
            .by_ref()
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let mut found = found.filter(|said| said["params"]["data"].get(key) == Some(&want));
        found.next().unwrap_or_else(|| panic!("no {key} {want}"));
    };
    p.run(&["inject", "Mind the gap."]).expect(0);
    p.run(&["pause"]).expect(0).says("no new iteration starts");
    go(1);
    wait_for("workers", json!(1));
    go(2);
    wait_for("status", json!("paused"));
    assert!(!p.side("prompt.T3").exists(), "the third was not begun");
    p.run(&["verify"]).expect(0);
    p.run(&["resume"]).expect(0);
    p.hear("here.T3");
    go(3);
    run.wait().expect(0);
    assert!(p.noted("prompt.T3").contains("Mind the gap."));
    for n in 1..=2 {
        assert!(!p.noted(&format!("prompt.T{n}")).contains("Mind the gap."));
    }
    p.run(&["verify"]).expect(0);
    assert_eq!(p.status()["injected"], 0);
}

#[test]
fn resumed_while_a_worker_is_at_work_the_others_begin_at_once() {
    let p = Project::build()
        .tasks("PRD.md", THREE)
        .agent(&format!(
            "{AGENT}tell \"here.$id\" x; cat \"$SIDE/go.$id.fifo\" >/dev/null\n{CLAIM}"
        ))
        .ready();
    for n in 1..=3 {
        p.fifo(&format!("here.T{n}"));
        p.fifo(&format!("go.T{n}"));
    }
    let go = |n: u32| std::fs::write(p.side(&format!("go.T{n}.fifo")), "go").unwrap();
    let run = p.start(&["run", "--parallel", "2"]);
    p.hear("here.T1");
    p.hear("here.T2");
    p.run(&["pause"]).expect(0);
    go(1);
    // Its end is absorbed: the task is done.
    let began = std::time::Instant::now();
    // git takes the file away for a moment when it brings the working tree forward.
    let ticked = || std::fs::read_to_string(p.root().join("PRD.md")).unwrap_or_default();
    while !ticked().contains("[x] Alpha") && began.elapsed() < LIMIT {
        std::thread::yield_now();
    }
    p.run(&["resume"]).expect(0);
    p.hear("here.T3");
    go(2);
    go(3);
    run.wait().expect(0);
    p.run(&["verify"]).expect(0);
}
