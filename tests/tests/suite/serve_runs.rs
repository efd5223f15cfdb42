//! `ralph serve`: runs from their submission to their end.

use std::io::Write;

use ralph_tests::{Event, Project, Service};
use rustix::process::Signal;
use serde_json::{Value, json};

/// What a run has left behind.
#[track_caller]
fn names(s: &Service, id: &str) -> Vec<String> {
    let answer = s.ask("observer", "GET", &format!("/v1/runs/{id}/artifacts"), None);
    let listed = answer.expect(200).json();
    let all = listed["artifacts"].as_array().unwrap().iter();
    all.map(|a| a["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn of_runs_that_are_over_the_records_stay_and_the_worktrees_go() {
    let p = Project::build().ready();
    Service::configure(&p, "runs_kept = 2", "");
    let s = Service::again(&p);
    let ids: Vec<String> = (0..3)
        .map(|_| {
            let id = s.submit(json!({}));
            s.ended(&id);
            id
        })
        .collect();
    // Before its worktree is gone, and after.
    assert!(
        names(&s, &ids[2])
            .iter()
            .any(|n| n.starts_with("receipts/"))
    );
    let branch = s.run(&ids[2])["branch"].as_str().unwrap().to_owned();
    // Ends when all of it is done.
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0);
    let s = Service::again(&p);
    let list = p.git(&["worktree", "list"]);
    assert_eq!(list.lines().count(), 1, "{list}");
    p.git(&["switch", "-q", &branch]);
    for id in &ids[1..] {
        let names = names(&s, id);
        assert!(
            names.iter().any(|n| n.starts_with("receipts/")),
            "{names:?}"
        );
        assert!(names.iter().any(|n| n == "diff.patch"), "{names:?}");
    }
    assert!(names(&s, &ids[0]).is_empty());
    assert_eq!(s.run(&ids[0])["status"], "completed");
    // As a service leaves it that dies between a run's end and this; the next run's end puts it away.
    let own = p.operator("service").join("runs").join(&ids[2]);
    std::fs::create_dir(own.join("tree")).unwrap();
    std::fs::rename(own.join("records/.ralph"), own.join("tree/.ralph")).unwrap();
    let last = s.submit(json!({}));
    s.ended(&last);
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0);
    assert!(!own.join("tree").exists() && own.join("records/.ralph/receipts").is_dir());
}

#[test]
fn a_run_works_in_a_worktree_of_its_own_and_tells_each_phase() {
    let p = Project::build().gate("g", "echo fine\n").ready();
    let s = Service::of(&p);
    let body = json!({ "workspace_slug": "site" });
    let answer = s.ask("operator", "POST", "/runs", Some(body)).expect(201);
    let run = answer.json();
    let id = run["run_id"].as_str().unwrap().to_owned();
    assert_eq!(answer.header("location"), Some(&*format!("/v1/runs/{id}")));
    let events: Vec<Event> = s.events(&id, None).collect();
    Event::in_order(&events, 0);
    assert_eq!(events[0].kind, "start");
    assert_eq!(events[0].data["workspace"], "site");
    let end = events.last().unwrap();
    assert_eq!(
        (end.kind.as_str(), &end.data["status"]),
        ("terminal", &json!("completed"))
    );
    assert_eq!(end.data["attempts"], 2);
    assert!(end.data["duration_s"].as_f64().unwrap() > 0.0);
    let ended: Vec<&Value> = events
        .iter()
        .filter(|e| e.kind == "node" && e.data["status"] != "started")
        .map(|e| &e.data)
        .collect();
    let names: Vec<&str> = ended.iter().map(|n| n["node"].as_str().unwrap()).collect();
    let one = [
        "prepare", "agent", "changes", "gates", "mark", "commit", "close",
    ];
    assert_eq!(names, [one, one].concat());
    let gates = &ended[3]["done_when_results"];
    assert_eq!(
        (&gates[0]["name"], &gates[0]["passed"]),
        (&json!("g"), &json!(true))
    );
    assert_eq!(
        (&ended[10]["iteration"], &ended[10]["task"]),
        (&json!(2), &json!("T2"))
    );
    let run = s.run(&id);
    assert_eq!(
        (&run["status"], &run["reason"]),
        (&json!("completed"), &json!("complete"))
    );
    // The user's own working tree and branch are as they were.
    assert!(!p.exists("work.txt") && p.commits().is_empty());
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(
        p.git(&["rev-list", "--count", &format!("main..{branch}")])
            .trim(),
        "2"
    );
    let get = |path: &str, range: &[(&str, &str)]| {
        s.ask_with(
            "observer",
            "GET",
            &format!("/v1/runs/{id}/artifacts{path}"),
            None,
            range,
        )
    };
    let patch = String::from_utf8(get("/diff.patch", &[]).expect(200).body).unwrap();
    assert!(
        patch.contains("+work 1") && patch.contains("+work 2"),
        "{patch}"
    );
    let part = get("/diff.patch", &[("range", "bytes=5-8")]).expect(206);
    assert_eq!(part.body, patch.as_bytes()[5..9]);
    assert_eq!(
        part.header("content-range"),
        Some(&*format!("bytes 5-8/{}", patch.len()))
    );
    get("/diff.patch", &[("range", "bytes=999999-")]).expect(416);
    let listed = get("", &[]).expect(200).json();
    let paths: Vec<&str> = listed["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["path"].as_str().unwrap())
        .collect();
    let receipt = paths
        .iter()
        .find(|p| p.starts_with("receipts/T1/") && p.ends_with("iteration.json"));
    get(&format!("/{}", receipt.expect("a receipt")), &[])
        .expect(200)
        .json();
    assert!(paths.iter().any(|p| p.starts_with("logs/")), "{paths:?}");
    for path in [
        "/receipts/../../base.json",
        "/receipts/%2e%2e/journal.jsonl",
        "/journal.jsonl",
        "/..%2fprompt",
        "/logs/",
        "/logs",
        "/logs//x",
        "//etc/passwd",
        "/receipts/%00",
        "/lock",
        "/receipts/..%2fjournal.jsonl",
    ] {
        let status = get(path, &[]).status;
        assert!(status == 404 || status == 400, "{path}: {status}");
    }
    let stats = s
        .ask("observer", "GET", "/v1/stats", None)
        .expect(200)
        .json();
    assert_eq!(
        (&stats["runs"], &stats["pass_rate"], &stats["mean_attempts"]),
        (&json!(1), &json!(1.0), &json!(2.0))
    );
}

#[test]
fn the_stream_goes_on_after_any_event_and_says_when_it_can_t() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let id = s.submit(json!({}));
    let all: Vec<Event> = s.events(&id, None).collect();
    let last = all.len() as u64;
    for after in [0, 1, last / 2, last - 1] {
        let rest: Vec<Event> = s.events(&id, Some(&after.to_string())).collect();
        assert_eq!(rest, all[after as usize..], "after {after}");
    }
    // Who has all is told so, and doesn't ask again.
    let (path, had) = (format!("/v1/runs/{id}/events"), last.to_string());
    let had = [("last-event-id", had.as_str())];
    let none = s.ask_with("observer", "GET", &path, None, &had).expect(204);
    assert!(none.body.is_empty());
    for odd in [
        "x",
        "-1",
        "99999999999999999999999",
        &(last + 7).to_string(),
    ] {
        let again: Vec<Event> = s.events(&id, Some(odd)).collect();
        assert_eq!(
            (again[0].kind.as_str(), again[0].id),
            ("resync", 0),
            "{odd}"
        );
        assert_eq!(again[1..], all, "{odd}");
    }
}

#[test]
fn too_old_an_event_gives_one_resync_and_what_is_kept() {
    let tasks: String = (0..10).map(|n| format!("- [ ] Thing {n}\n")).collect();
    let p = Project::build()
        .tasks("PRD.md", format!("# Plan\n\n## Tasks\n\n{tasks}"))
        .ready();
    Service::configure(&p, "events_kept = 100", "");
    let s = Service::again(&p);
    let id = s.submit(json!({}));
    assert_eq!(s.ended(&id)["attempts"], 10);
    let kept: Vec<Event> = s.events(&id, Some("1")).collect();
    assert_eq!(kept[0].kind, "resync");
    Event::in_order(&kept[1..], kept[0].id);
    assert!((100..150).contains(&kept.len()), "{}", kept.len());
    // From where it was sent on, nothing is missing.
    let again: Vec<Event> = s.events(&id, Some(&kept[0].id.to_string())).collect();
    assert_eq!(again, kept[1..]);
}

#[test]
fn a_reader_that_doesn_t_read_holds_up_nobody() {
    let p = Project::build()
        .agent("n=0\nwhile [ $n -lt 2000 ]; do printf '%08000d\\n' 0; n=$((n+1)); done\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    let s = Service::of(&p);
    let id = s.submit(json!({ "max_iterations": 1 }));
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut stream = s.connect();
        let head = format!(
            "GET /v1/runs/{id}/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer observer-0123456789abcdef\r\n\r\n",
            s.addr
        );
        stream.write_all(head.as_bytes()).unwrap();
        stalled.push(stream);
    }
    assert_eq!(s.ended(&id)["attempts"], 1);
    s.ask("", "GET", "/healthz", None).expect(200);
}

#[test]
fn the_same_key_is_the_same_run() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let submit = |who: &str, key: &str, n: u32| {
        let body = json!({ "workspace_slug": "site", "config": { "max_iterations": n } });
        s.ask_with(
            who,
            "POST",
            "/v1/runs",
            Some(body),
            &[("idempotency-key", key)],
        )
    };
    let first = submit("operator", "k", 1).expect(201).json();
    let again = submit("operator", "k", 1).expect(200).json();
    assert_eq!(first["run_id"], again["run_id"]);
    submit("operator", "k", 2).expect(422);
    let other = submit("admin", "k", 1).expect(201).json();
    assert_ne!(
        first["run_id"], other["run_id"],
        "keys are each token's own"
    );
    submit("operator", &"k".repeat(256), 1).expect(400);
    for run in [&first, &other] {
        s.ended(run["run_id"].as_str().unwrap());
    }
    let runs = s
        .ask("observer", "GET", "/v1/runs", None)
        .expect(200)
        .json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2);
    let page = s
        .ask("observer", "GET", "/v1/runs?limit=1", None)
        .expect(200)
        .json();
    assert_eq!(
        page["runs"][0]["run_id"], other["run_id"],
        "the newest first"
    );
    let next = format!(
        "/v1/runs?limit=1&cursor={}",
        page["next_cursor"].as_str().unwrap()
    );
    let page = s.ask("observer", "GET", &next, None).expect(200).json();
    assert_eq!(page["runs"][0]["run_id"], first["run_id"]);
    assert_eq!(page["next_cursor"], Value::Null);
}

#[test]
fn the_prompt_is_the_one_that_was_saved_when_it_was_submitted() {
    let p = Project::build().ready();
    let set = |text: &str| {
        format!("id: a\ntype: prompt-set\nversion: '1.0'\nprompts:\n  - id: a\n    text: {text}\n")
    };
    p.write("prompts/a.yaml", set("shine"));
    p.run(&["fingerprint", "write"]).expect(0);
    let fingerprint = p.read("prompts/a.yaml.fp").trim().to_owned();
    let s = Service::of(&p);
    let submit = |more: Value| {
        let mut body = json!({
            "workspace_slug": "site", "prompt_path": "prompts/a.yaml", "config": { "max_iterations": 1 },
        });
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        s.ask("operator", "POST", "/v1/runs", Some(body))
    };
    let said = submit(json!({ "prompt_fingerprint": "sha256:old" }))
        .expect(409)
        .json();
    assert_eq!(said["fingerprint_stored"], fingerprint.as_str());
    assert_eq!(said["fingerprint_expected"], "sha256:old");
    submit(json!({ "prompts_yaml": set("other") })).expect(409);
    let run = submit(json!({ "prompt_fingerprint": fingerprint, "prompts_yaml": set("shine") }));
    let run = run.expect(201).json();
    let id = run["run_id"].as_str().unwrap();
    let start = s.events(id, None).until("start");
    assert_eq!(start.data["prompt_fingerprint"], fingerprint.as_str());
    s.ended(id);
    assert!(p.noted("prompt.1").contains("text: shine"));
    // What is no prompt-set is no prompt, whatever its fingerprint says.
    p.write("prompts/no.yaml", "goal: shine\n");
    let body = json!({ "workspace_slug": "site", "prompt_path": "prompts/no.yaml" });
    let refused = s
        .ask("operator", "POST", "/v1/runs", Some(body))
        .expect(422);
    assert!(refused.json()["detail"].to_string().contains("prompt-set"));
    // Whoever hasn't heard the answer gets it, also when the prompt is another one by now.
    let again = || {
        let body = json!({
            "workspace_slug": "site", "prompt_path": "prompts/a.yaml", "prompt_fingerprint": fingerprint,
        });
        let key = [("idempotency-key", "k")];
        s.ask_with("operator", "POST", "/v1/runs", Some(body), &key)
    };
    let first = again().expect(201).json();
    p.write("prompts/a.yaml", set("other"));
    assert_eq!(again().expect(200).json()["run_id"], first["run_id"]);
}

#[test]
fn a_configuration_that_nobody_trusts_isn_t_run() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let body = || Some(json!({ "workspace_slug": "site" }));
    // Changed in the working tree.
    let toml = p.read("ralph.toml");
    p.write("ralph.toml", toml.replace("agent.sh", "other.sh"));
    let said = s
        .ask("operator", "POST", "/v1/runs", body())
        .expect(409)
        .json();
    assert_eq!(said["type"], "urn:ralph:problem:workspace-untrusted");
    // Only the commit has it: the working tree's is the one that was trusted.
    p.commit_all("other");
    p.write("ralph.toml", toml);
    let run = s
        .ask("operator", "POST", "/v1/runs", body())
        .expect(201)
        .json();
    let end = s.ended(run["run_id"].as_str().unwrap());
    assert_eq!(end["status"], "failed");
    assert!(end["error"].as_str().unwrap().contains("trusted"), "{end}");
    assert_eq!(p.count("agent"), 0);
}
