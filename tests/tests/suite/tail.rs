//! `ralph tail`: a run's events on standard output.

use ralph_tests::{Project, go, ready, waiting};
use serde_json::Value;

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

#[test]
fn it_follows_a_run_to_its_end_and_ends_as_the_run_does() {
    let p = ready(waiting().gate("tests", "true\n"));
    p.run(&["tail"]).expect(1).says("no run is on");
    let run = p.start(&["run"]);
    p.hear("here");
    let [plain, json, one] = [
        &["tail"][..],
        &["tail", "--json"],
        &["tail", "T2", "--json"],
    ]
    .map(|args| p.start(args));
    // Connected, or `go` could be the run's end before they are.
    let first = json.first_line();
    assert!(first["seq"].is_u64(), "{first}");
    plain.first_words();
    one.first_words();
    go(&p);
    p.hear("here");
    go(&p);
    let plain = plain.wait().expect(0);
    for words in [
        "EXIT_SIGNAL: true",
        "# T2 Second thing",
        "# gate tests pass",
        "# completed",
    ] {
        assert!(plain.stdout.contains(words), "{words}\n{}", plain.stdout);
    }
    let all = objects(&json.wait().expect(0).stdout);
    let numbers: Vec<u64> = all.iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|w| w[1] == w[0] + 1), "{numbers:?}");
    assert_eq!(all.last().unwrap()["data"]["status"], "completed");
    let of = |events: &[Value], task: &str| {
        let lines = events.iter().filter(|e| e["type"] == "output");
        lines.filter(|e| e["data"]["task"] == task).count()
    };
    assert!(of(&all, "T1") > 0 && of(&all, "T2") > 0);
    let one = objects(&one.wait().expect(0).stdout);
    assert_eq!((of(&one, "T1"), of(&one, "T2")), (0, of(&all, "T2")));
    run.wait().expect(0);
}

#[test]
fn since_leaves_out_what_was_seen_and_a_killed_run_is_no_good_end() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let seq = crate::steer::status(&p)["event_seq"].as_u64().unwrap();
    let tail = p.start(&["tail", "--json", "--since", &seq.to_string()]);
    p.run(&["inject", "something new"]).expect(0);
    let first = tail.first_line();
    assert_eq!(first["seq"].as_u64().unwrap(), seq + 1, "{first}");
    run.kill();
    tail.wait().expect(1).says("broke off");
    run.wait();
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let p = Project::build()
        .agent("cat >/dev/null; i=0; while [ $i -lt 2000 ]; do echo \"line $i\"; i=$((i+1)); done; tell here up; cat \"$SIDE/go.fifo\" >/dev/null\n")
        .ready();
    p.fifo("here");
    p.fifo("go");
    let run = p.start(&["run"]);
    p.hear("here");
    let inner = p.command(&[]);
    let mut shell = std::process::Command::new("bash");
    let line = format!(
        "'{}' tail | head -n 1; exit ${{PIPESTATUS[0]}}",
        inner.get_program().to_str().unwrap()
    );
    shell.args(["-c", &line]).current_dir(p.root()).env_clear();
    shell.envs(inner.get_envs().filter_map(|(n, v)| Some((n, v?))));
    p.start_command(shell).wait().expect(0);
    p.run(&["stop", "--now"]).expect(0);
    run.wait();
}
