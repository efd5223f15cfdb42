//! `ralph plugin run`: one call, with an input or with what a run has kept.

use std::fs;

use ralph_tests::{Project, components};
use serde_json::Value;

use crate::kit::{SCOPE, built};

#[test]
fn run_tells_what_the_input_says_and_nothing_else() {
    let p = Project::bare();
    p.write("command.wasm", components("gate-command"));
    let input = |programs: &str| {
        let text =
            format!(r#"{{"config": {{"run": ["make", "check"]}}, "programs": [{programs}]}}"#);
        p.write("in.json", text);
        p.run(&[
            "--json",
            "plugin",
            "run",
            "command.wasm",
            "--input",
            "in.json",
        ])
    };
    let good = r#"{"program": "make", "args": ["check"], "code": 0}"#;
    let ran = input(good).expect(0).json();
    assert_eq!(ran["result"]["answer"]["status"], "pass");
    let bad = r#"{"program": "make", "code": 2, "stdout": "2 tests failed\n"}"#;
    let ran = input(bad).expect(1).json();
    assert_eq!(ran["result"]["answer"]["status"], "fail");
    assert!(ran["result"].to_string().contains("2 tests failed"));
    for (programs, says) in [
        ("", "no further program"),
        (r#"{"program": "make", "args": ["all"]}"#, "`make all`"),
        (&format!("{good}, {good}"), "was not run"),
    ] {
        let ran = input(programs).expect(1).json();
        let strayed = ran["result"]["strayed"].to_string();
        assert!(strayed.contains(says), "{strayed}");
    }
    for (args, says) in [
        (
            &["nope.wasm", "--input", "in.json"][..],
            "nope.wasm isn't there",
        ),
        (
            &["in.json", "--input", "in.json"],
            "not a WebAssembly component",
        ),
        (
            &["command.wasm", "--input", "nope.json"],
            "nope.json isn't there",
        ),
        (&["command.wasm", "--input", "command.wasm"], "isn't UTF-8"),
        (&["command.wasm"], "--input"),
        (
            &["command.wasm", "--recorded", "iter9"],
            "no attempt `iter9`",
        ),
    ] {
        p.run(&[&["plugin", "run"], args].concat())
            .expect(3)
            .says(says);
    }
    // Requests are answered from the input, too.
    p.write("http.wasm", components("tests/http"));
    let asks = |requests: &str| {
        let text = format!(
            r#"{{"config": {{"asks": [{{"scheme": "https", "host": "a.example", "path": "/x"}}]}}, "requests": [{requests}]}}"#
        );
        p.write("http.json", text);
        p.run(&[
            "--json",
            "plugin",
            "run",
            "http.wasm",
            "--input",
            "http.json",
        ])
    };
    let ran = asks(r#"{"url": "https://a.example/x", "method": "GET", "body": "there"}"#);
    let told = ran.expect(0).json()["result"].to_string();
    assert!(told.contains("200 there"), "{told}");
    for (requests, says) in [
        ("", "no further request"),
        (r#"{"url": "https://a.example/y"}"#, "https://a.example/y"),
    ] {
        let strayed = asks(requests).expect(1).json()["result"]["strayed"].to_string();
        assert!(strayed.contains(says), "{strayed}");
    }
    // A FIFO doesn't hold it up.
    p.fifo("pipe");
    let pipe = p.side("pipe.fifo");
    p.run(&[
        "plugin",
        "run",
        "command.wasm",
        "--input",
        pipe.to_str().unwrap(),
    ])
    .expect(3);
}

#[test]
fn what_a_run_kept_is_a_case_that_needs_no_repository() {
    let p = Project::build()
        .in_loop("max_iterations = 1")
        .toml("[[gates]]\nname = \"scope\"\nplugin = \"diff-scope\"\nconfig = { allow = [\"docs/**\"] }")
        .gate("tests", "echo 1 test failed; exit 1\n")
        .ready();
    p.run(&["run"]).expect(1);
    let attempts = fs::read_dir(p.root().join(".ralph/context/T1")).unwrap();
    let attempt = attempts.map(|e| e.unwrap().file_name().into_string().unwrap());
    let attempt: Vec<String> = attempt.collect();
    p.write("scope.wasm", components("gate-diff-scope"));
    p.write("command.wasm", components("gate-command"));
    let again = p
        .run(&[
            "--json",
            "plugin",
            "run",
            "command.wasm",
            "--recorded",
            &attempt[0],
            "--gate",
            "tests",
        ])
        .expect(1)
        .json();
    assert!(
        again["result"]["answer"]
            .to_string()
            .contains("1 test failed"),
        "{again}"
    );
    assert_eq!(again["result"]["strayed"], Value::Null, "{again}");
    p.run(&[
        "plugin",
        "run",
        "scope.wasm",
        "--recorded",
        &attempt[0],
        "--gate",
        "nope",
    ])
    .expect(3)
    .says("gate-scope, gate-tests");

    // Kept as a case, it stands on its own.
    let save = ["--gate", "scope", "--save", "cases/kept"];
    let args = ["plugin", "run", "scope.wasm", "--recorded", &attempt[0]];
    p.run(&[&args[..], &save[..]].concat()).expect(1);
    p.run(&[&args[..], &save[..]].concat())
        .expect(3)
        .says("is there already");
    let other = Project::bare();
    built(&other, "gate-diff-scope", SCOPE);
    for file in [
        "expected.json",
        "replay/gate-scope.json",
        "replay/changes.json",
    ] {
        other.write(
            &format!("mine/cases/kept/{file}"),
            p.bytes(&format!("cases/kept/{file}")),
        );
    }
    other
        .run(&["plugin", "test", "mine"])
        .expect(0)
        .says("pass  kept");
    // With another configuration beside it, it rules otherwise.
    other.write(
        "mine/cases/kept/input.json",
        r#"{"config": {"allow": ["**"]}}"#,
    );
    other
        .run(&["plugin", "test", "mine"])
        .expect(1)
        .says("status: expected \"fail\"");
    other.write("mine/cases/kept/replay/gate-scope.json", "{}");
    other
        .run(&["plugin", "test", "mine"])
        .expect(1)
        .says("is no recorded call");
}

#[test]
fn what_a_run_kept_of_a_driver_is_a_case_too() {
    let p = Project::build()
        .in_loop("max_iterations = 1")
        .agent("printf 'begun \\303\\251t\\303\\251\\n'; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.run(&["run"]).expect(1);
    let attempts = fs::read_dir(p.root().join(".ralph/context/T1")).unwrap();
    let attempt = attempts.map(|e| e.unwrap().file_name().into_string().unwrap());
    let attempt = attempt.collect::<Vec<_>>().remove(0);
    p.write("driver.wasm", components("driver-command"));
    let args = [
        "--json",
        "plugin",
        "run",
        "driver.wasm",
        "--recorded",
        &attempt,
    ];
    let save = ["--save", "cases/kept"];
    let again = p.run(&[&args[..], &save[..]].concat()).expect(0).json();
    let answer = again["result"]["answer"].to_string();
    assert!(answer.contains("begun \u{e9}t\u{e9}"), "{answer}");
    assert!(answer.contains("EXIT_SIGNAL: true"), "{answer}");
    // The same as the run's own.
    let tape = p.read(&format!(".ralph/context/T1/{attempt}/replay/work.json"));
    let tape: Value = serde_json::from_str(&tape).unwrap();
    assert_eq!(again["result"]["answer"]["outcome"], tape["outcome"]);
    let input = p.read("cases/kept/input.json");
    assert!(!input.contains(p.root().to_str().unwrap()), "{input}");
    p.run(&[
        "--json",
        "plugin",
        "run",
        "driver.wasm",
        "--input",
        "cases/kept/input.json",
    ])
    .expect(0)
    .says("begun");
    // The program's output is gone, or other than it was.
    p.run(&[
        "plugin",
        "run",
        "driver.wasm",
        "--recorded",
        &attempt,
        "--gate",
        "judge-1-agent",
    ])
    .expect(3)
    .says("judge-1-agent.json isn't there");
    let log = tape["log"].as_str().unwrap();
    p.write(log, "");
    p.run(&["plugin", "run", "driver.wasm", "--recorded", &attempt])
        .expect(3)
        .says(log);
    fs::remove_file(p.root().join(log)).unwrap();
    p.run(&["plugin", "run", "driver.wasm", "--recorded", &attempt])
        .expect(3)
        .says(log);
}
