//! Tasks and lines of output, over a run's socket.

use ralph_tests::{Client, Project, go, ready, waiting};
use serde_json::{Value, json};

fn tasks(client: &mut Client) -> Vec<Value> {
    let said = client.call("list_tasks", json!({}));
    said["result"]["tasks"].as_array().unwrap().clone()
}

#[test]
fn tasks_are_listed_as_they_stand() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    let all = tasks(&mut client);
    let brief = |t: &Value| {
        json!([
            t["id"],
            t["title"],
            t["state"],
            t["attempts"],
            t["working"],
            t["skipped"]
        ])
    };
    assert_eq!(
        all.iter().map(brief).collect::<Vec<_>>(),
        [
            json!(["T1", "First thing", "open", 0, true, false]),
            json!(["T2", "Second thing", "open", 0, false, false]),
        ]
    );
    go(&p);
    assert_eq!(p.hear("here"), "2");
    let all = tasks(&mut client);
    assert_eq!(
        (&all[0]["state"], &all[0]["working"]),
        (&json!("done"), &json!(false))
    );
    assert_eq!(all[1]["working"], true);
    go(&p);
    run.wait().expect(0);
}

#[test]
fn a_skipped_task_is_passed_over_and_stays_so_when_the_run_is_killed() {
    let p = ready(waiting().tasks("PRD.md", "## Tasks\n\n- [ ] One\n- [ ] Two\n- [ ] Three\n"));
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    let unknown = client.call("skip_task", json!({"id": "T9"}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    for (id, status, working) in [
        ("T2", "skipped", false),
        ("T2", "already_skipped", false),
        ("T1", "skipped", true),
    ] {
        let said = client.call("skip_task", json!({"id": id}));
        assert_eq!(
            said["result"],
            json!({"status": status, "id": id, "working": working})
        );
    }
    let status = client.call("get_status", json!({}));
    assert_eq!(status["result"]["skipped"], json!(["T1", "T2"]));
    assert!(tasks(&mut client)[1]["skipped"] == true);
    assert_eq!(p.facts("skip_asked").len(), 2);
    run.kill();
    run.wait();
    // Taken up: what was begun is brought to its end, T1 isn't tried again, T2 never.
    let run = p.start(&["run"]);
    assert_eq!(p.hear("here"), "2");
    assert_eq!(p.facts("selected").last().unwrap()["task"]["id"], "T3");
    go(&p);
    run.wait().expect(1).says("skipped");
    assert_eq!(p.count("agent"), 2);
    p.run(&["verify"]).expect(0);
    // Another run is none of that one.
    let run = p.start(&["run"]);
    assert_eq!(p.hear("here"), "3");
    run.kill();
    run.wait();
}

#[test]
fn skip_on_the_command_line_wants_a_run_and_a_task_that_is_there() {
    let p = ready(waiting());
    p.run(&["skip", "T1"]).expect(1).says("no run is on");
    let run = p.start(&["run"]);
    p.hear("here");
    p.run(&["skip", "T7"]).expect(3).says("no task `T7`");
    p.run(&["skip", "T2"]).expect(0);
    go(&p);
    run.wait().expect(1);
    assert_eq!(p.count("agent"), 1);
}

#[test]
fn a_skip_that_is_undone_holds_no_more_also_when_the_run_is_killed() {
    let p = ready(waiting());
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    let mut skip = |params: Value| client.call("skip_task", params);
    for (params, status) in [
        (json!({"id": "T2", "undo": true}), "not_skipped"),
        (json!({"id": "T2"}), "skipped"),
        (json!({"id": "T2", "undo": true}), "unskipped"),
        (json!({"id": "T2", "undo": true}), "not_skipped"),
    ] {
        assert_eq!(skip(params)["result"]["status"], status);
    }
    let unknown = skip(json!({"id": "T9", "undo": true}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    // Skipped, and gone from the list since.
    assert_eq!(skip(json!({"id": "T2"}))["result"]["status"], "skipped");
    let list = p.read("PRD.md");
    p.write("PRD.md", "# Plan\n\n## Tasks\n\n- [ ] First thing\n");
    let gone = skip(json!({"id": "T2", "undo": true}));
    assert_eq!(gone["result"]["status"], "unskipped", "{gone}");
    p.write("PRD.md", list);
    p.run(&["skip", "T2"]).expect(0);
    p.run(&["skip", "--undo", "T2"])
        .expect(0)
        .says("takes it up again");
    let status = client.call("get_status", json!({}));
    assert_eq!(status["result"]["skipped"], json!([]));
    run.kill();
    run.wait();
    let run = p.start(&["run"]);
    p.hear("here");
    go(&p);
    p.hear("here");
    go(&p);
    run.wait().expect(0);
    p.run(&["verify"]).expect(0);
}

#[test]
fn lines_are_replayed_from_a_number_on_and_what_is_gone_is_counted() {
    let p = Project::build()
        .agent("cat >/dev/null; i=0; while [ $i -lt 5000 ]; do echo \"line $i\"; i=$((i+1)); done; echo last words; tell here up; cat \"$SIDE/go.fifo\" >/dev/null; echo x >>work.txt; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("here");
    p.fifo("go");
    let run = p.start(&["run"]);
    p.hear("here");
    let mut client = Client::of(&p);
    client.call("subscribe", json!({"events": ["output"], "since": 0}));
    client.wait_for("line", &json!("last words"));
    let log = client.call("get_log", json!({"since": 0}))["result"].clone();
    let lines = log["lines"].as_array().unwrap();
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["line"], &last["task"]),
        (&json!("last words"), &json!("T1"))
    );
    let first = lines[0]["seq"].as_u64().unwrap();
    assert!(first > 1, "the oldest are gone");
    assert_eq!(log["gone"].as_u64().unwrap(), first - 1);
    assert_eq!(log["event_seq"], last["seq"]);
    let since = last["seq"].as_u64().unwrap() - 3;
    let few = client.call("get_log", json!({ "since": since }))["result"].clone();
    assert_eq!(few["gone"], 0);
    let few = few["lines"].as_array().unwrap();
    assert_eq!(few.len(), 3);
    assert_eq!(few[0]["line"], "line 4998");
    std::fs::write(p.side("go.fifo"), "go").unwrap();
    p.hear("here");
    client.call("stop", json!({"force": true}));
    run.wait();
}
