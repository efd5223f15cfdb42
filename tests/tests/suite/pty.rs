//! Agents on a terminal of their own, and people who work with them.

use std::process::Command;

use ralph_tests::{Builder, Client, Live, Project, below};
use rustix::process::Signal;
use serde_json::json;

const CLAIM: &str = "echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n";

fn on_terminal(script: &str) -> Builder {
    Project::build()
        .agent(script)
        .in_agent("config = { pty = true }")
}

#[test]
fn an_agent_on_a_terminal_gets_its_prompt_unechoed_and_is_read_off_the_screen() {
    let p = on_terminal(
        "[ -t 1 ] && [ -t 2 ] && [ ! -t 0 ] || exit 9\n\
         cat >\"$SIDE/prompt\"; stty size </dev/tty >\"$SIDE/size\"; echo \"$TERM\" >>\"$SIDE/size\"\n\
         printf '\\033[2J\\033[5;1H\\033[31mEXIT_SIGNAL: true\\033[0m\\033[1;1Hfirst\\033]0;owned\\007\\033[6;1H'\n\
         i=0; while [ $i -lt 100 ]; do printf '\\r%s percent' $i; i=$((i+1)); done\n\
         echo x >>work.txt; printf '\\r\\033[K'\n",
    )
    .in_loop("max_iterations = 1")
    .ready();
    let mut command = p.command(&["run"]);
    command.env_remove("TERM");
    let ran = p.start_command(command).wait().expect(1);
    assert_eq!(p.commits().len(), 1, "{}", ran.stdout);
    assert_eq!(p.noted("size"), "40 120\nxterm-256color\n");
    assert!(p.noted("prompt").contains("First thing"));
    assert!(!ran.stdout.contains("\u{1b}"), "{:?}", ran.stdout);
    let text = p.facts("agent_ended")[0]["outcome"]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        !text.contains("First thing") && !text.contains("owned"),
        "{text}"
    );
    assert!(
        text.contains("first\n") && text.trim_end().ends_with("EXIT_SIGNAL: true"),
        "{text}"
    );
    let log = std::fs::read_dir(p.root().join(".ralph/logs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let raw = std::fs::read(log.path()).unwrap();
    assert!(raw.starts_with(b"\x1b[2J\x1b[5;1H"), "byte for byte");
    p.run(&["replay", "1"]).expect(0).says("same");
    p.run(&["verify"]).expect(0);
}

#[test]
fn what_it_leaves_behind_on_its_terminal_ends_with_it() {
    let p = on_terminal(&format!(
        "cat >/dev/null; setsid sh -c 'trap \"\" HUP TERM; while :; do sleep 1; done' & {CLAIM}"
    ))
    .ready();
    p.run(&["step"]).expect(0);
    assert_eq!(below(&p.root()), []);
}

#[test]
fn a_client_writes_to_an_agent_in_interactive_mode_only() {
    let p = on_terminal(&format!(
        "n=$(count agent); if [ $n = 1 ]; then tell here up; read a; read b; echo \"got $a $b\" >\"$SIDE/got\"; fi; {CLAIM}"
    ))
    .in_agent("prompt = \"argument\"\nidle_timeout = \"2s\"")
    .ready();
    p.fifo("here");
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    client.call("subscribe", json!({"events": ["*"]}));
    let before = client.call("write_pty", json!({"data": "lost\n"}));
    assert_eq!(
        before["result"],
        json!({"status": "ignored", "reason": "not in interactive mode"})
    );
    let on = client.call("set_interactive_mode", json!({"enabled": true}));
    assert_eq!(on["result"], json!({"interactive_mode": true}));
    let status = client.call("get_status", json!({}));
    assert_eq!(status["result"]["mode_indicator"], "interactive");
    assert_eq!(status["result"]["interactive_mode"], true);
    // Longer than it may be silent by itself.
    std::thread::sleep(std::time::Duration::from_secs(3));
    for data in ["hel", "lo\nwor", "ld\n"] {
        let typed = client.call("write_pty", json!({ "data": data }));
        assert_eq!(typed["result"], json!({"status": "forwarded"}));
    }
    // It rests after the iteration, until the mode is off.
    client.wait_for("status", &json!("paused"));
    assert_eq!(p.noted("got"), "got hello world\n");
    let nobody = client.call("write_pty", json!({"data": "x"}));
    assert_eq!(nobody["result"]["status"], "ignored", "{nobody}");
    let wrong = client.call("set_interactive_mode", json!({"enabled": "yes"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let off = client.call("set_interactive_mode", json!({"enabled": false}));
    assert_eq!(off["result"], json!({"interactive_mode": false}));
    client.wait_for("status", &json!("completed"));
    run.wait().expect(0);
}

/// `ralph run --interactive` on a terminal; keys are what is written into the fifo.
fn at_a_terminal(p: &Project) -> Live {
    let inner = p.command(&[]);
    let program = inner.get_program().to_str().unwrap().to_owned();
    let mut script = Command::new("script");
    let side = p.side("");
    script
        .arg("-qec")
        .arg(format!(
            "stty cols 91 rows 31; stty -a >'{0}/before'; '{program}' run --interactive; code=$?; stty -a >'{0}/after'; exit $code",
            side.display()
        ))
        .arg("/dev/null")
        .current_dir(p.root())
        .env_clear();
    script.envs(inner.get_envs().filter_map(|(n, v)| Some((n, v?))));
    // Opened both ways, so that neither side waits for the other.
    p.fifo("keys");
    let keys = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(p.side("keys.fifo"))
        .unwrap();
    script.stdin(keys);
    Live::start(script, [p.side("screen"), p.side("screen.err")])
}

fn press(p: &Project, keys: &str) {
    std::fs::write(p.side("keys.fifo"), keys).unwrap();
}

#[test]
fn the_terminal_is_handed_over_to_the_agent_and_back() {
    let p = Project::build()
        .agent(&format!(
            "n=$(count agent); stty size >\"$SIDE/size\"; tell here $n; read a; echo \"you said $a\"; echo \"$a\" >>\"$SIDE/got\"; {CLAIM}"
        ))
        .in_agent("prompt = \"argument\"")
        .gate("tests", "true\n")
        .ready();
    p.fifo("here");
    let run = at_a_terminal(&p);
    for n in ["1", "2"] {
        assert_eq!(p.hear("here"), n);
        press(&p, &format!("hello {n}\r"));
    }
    let ran = run.wait().expect(0);
    assert_eq!(p.noted("size"), "31 91\n");
    assert_eq!(p.noted("got"), "hello 1\nhello 2\n");
    for words in [
        "you said hello 1",
        "you said hello 2",
        "gate tests",
        "complete: 2 of 2",
    ] {
        assert!(ran.stdout.contains(words), "{words}\n{:?}", ran.stdout);
    }
    assert_eq!(p.noted("before"), p.noted("after"));
    assert_eq!(p.commits().len(), 2);
}

#[test]
fn a_signal_or_the_way_out_gives_the_terminal_back() {
    for way in ["signal", "key"] {
        let p = Project::build()
            .agent("stty -echo -icanon; printf '\\033[?1049h'; echo $PPID >\"$SIDE/ralph\"; tell here up; hang\n")
            .in_agent("prompt = \"argument\"")
            .ready();
        p.fifo("here");
        let run = at_a_terminal(&p);
        p.hear("here");
        if way == "key" {
            press(&p, "\u{1d}");
        } else {
            let pid = p.noted("ralph").trim().parse().unwrap();
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, Signal::TERM).unwrap();
        }
        let ran = run.wait();
        assert!(ran.code == 143 || ran.code == 1, "{way}: {}", ran.code);
        assert_eq!(p.noted("before"), p.noted("after"), "{way}");
        assert!(ran.stdout.contains("\u{1b}[?1049l"), "{way}");
        assert_eq!(below(&p.root()), []);
    }
}

#[test]
fn without_a_terminal_it_is_refused_with_a_reason() {
    let p = Project::build().ready();
    p.run(&["run", "--interactive"])
        .expect(3)
        .says("standard input is no terminal");
    assert!(!p.exists(".ralph/journal.jsonl"));
}
