//! One run per project.

use ralph_tests::{Project, below};
use rustix::process::Signal;

#[test]
fn a_second_run_is_refused_names_the_first_and_does_it_no_harm() {
    let p = Project::build()
        .agent("cat >/dev/null; n=$(count agent)\nif [ $n = 1 ]; then tell here $$; cat \"$SIDE/go.fifo\" >/dev/null; fi\necho \"work $n\" >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("here");
    p.fifo("go");
    let first = p.start(&["run"]);
    p.hear("here");
    let before = p.bytes(".ralph/journal.jsonl");
    for args in [&["run"][..], &["step"]] {
        p.run(args)
            .expect(2)
            .says(&format!("process {}", first.pid()))
            .says("another ralph")
            .says("since 20")
            .says("`ralph stop`");
    }
    let json = p.run(&["run", "--json"]).expect(2).json();
    assert!(
        json["error"]["message"]
            .as_str()
            .unwrap()
            .contains(&first.pid().to_string()),
        "{json}"
    );
    let status = p.status();
    assert_eq!(status["run"]["alive"], true, "{status}");
    assert_eq!(status["run"]["task"], "T1");
    assert_eq!(
        p.bytes(".ralph/journal.jsonl"),
        before,
        "the refused ones wrote nothing"
    );
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    first.wait().expect(0);
    assert_eq!(p.count("agent"), 2);
    assert_eq!(p.commits().len(), 2);
    assert_eq!(below(&p.root()), []);
}

/// F09
#[test]
fn a_stale_lock_file_that_names_a_living_stranger_is_taken_over() {
    let p = Project::build().ready();
    let mut stranger = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    p.write(
        ".ralph/lock",
        format!(
            "{{\"pid\":{},\"since\":\"2026-01-01T00:00:00Z\"}}\n",
            stranger.id()
        ),
    );
    p.run(&["run"]).expect(0);
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// F08
#[test]
fn a_stranger_whose_number_is_that_of_a_dead_agent_is_left_alone() {
    let p = Project::build().ready();
    let mut stranger = std::process::Command::new("sleep")
        .arg("600")
        .spawn()
        .unwrap();
    p.write(
        ".ralph/tmp/agent.json",
        format!("{{\"pid\":{},\"start_time\":12345}}", stranger.id()),
    );
    p.run(&["run"])
        .expect(0)
        .never_says("had left its agent running");
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger lives");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn the_lock_of_a_killed_run_is_free_at_once() {
    let p = Project::build().agent("cat >/dev/null; n=$(count agent)\nif [ $n = 1 ]; then tell here $$; hang; fi\necho \"$n\" >>work.txt\necho 'EXIT_SIGNAL: true'\n").ready();
    p.fifo("here");
    let first = p.start(&["run"]);
    p.hear("here");
    first.signal(Signal::KILL);
    first.wait();
    p.run(&["run"]).expect(0);
}
