//! `ralph serve`: clients that go away in the middle, that hold every place, that want much.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use ralph_tests::{Event, LIMIT, Project, Service};
use rustix::process::Signal;
use serde_json::{Value, json};

#[test]
fn what_a_client_has_asked_for_is_done_also_when_it_has_gone_away() {
    let p = Project::build().ready();
    Service::configure(&p, "rate = 10000", "");
    let s = Service::again(&p);
    for n in 0..30 {
        let body = json!({ "workspace_slug": "site", "config": { "max_iterations": 1 } });
        let body = body.to_string();
        let head = format!(
            "POST /v1/runs HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer operator-0123456789abcdef\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            s.addr,
            body.len()
        );
        let mut stream = s.connect();
        stream.write_all(head.as_bytes()).unwrap();
        // It goes at another moment each time; nothing tells it how far the service is.
        std::thread::sleep(Duration::from_millis(n));
    }
    let path = "/v1/runs?limit=100";
    let until = Instant::now() + LIMIT;
    let runs = loop {
        let listed = s.ask("observer", "GET", path, None).expect(200).json();
        let runs = listed["runs"].as_array().unwrap().clone();
        let over = |r: &Value| r["ended_at"].is_string();
        if !runs.is_empty() && runs.iter().all(over) {
            break runs;
        }
        assert!(Instant::now() < until, "some are never begun: {listed}");
        std::thread::sleep(Duration::from_millis(20));
    };
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0);
    let audit = std::fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
    let lines: Vec<Value> = audit
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let of: Vec<&Value> = lines.iter().map(|l| &l["of"]).collect();
    let mut submitted = 0;
    for line in &lines {
        if line["stage"] == "intent" {
            assert!(of.contains(&&line["seq"]), "no outcome: {line}");
            submitted += 1;
        }
    }
    // One that was submitted while the list was read.
    assert!(submitted >= runs.len(), "{audit}");
}

#[test]
fn who_holds_every_place_keeps_a_service_from_nothing() {
    let p = Project::build().agent("tell agent ready\nhang\n").ready();
    p.fifo("agent");
    Service::configure(&p, "max_connections = 2\ndrain = \"1s\"", "");
    let s = Service::again(&p);
    let id = s.submit(json!({}));
    p.hear("agent");
    let mut readers: Vec<_> = (0..2).map(|_| s.events(&id, None)).collect();
    for reader in &mut readers {
        reader.until("start");
    }
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0);
}

#[test]
fn workers_iterations_are_counted_and_each_is_selected_once() {
    let p = Project::build()
        .agent("id=$(sed -n 's/^## Task \\(T[0-9]*\\):.*/\\1/p'); echo \"work on $id\" >>\"$id.txt\"; echo 'EXIT_SIGNAL: true'\n")
        .ready();
    let s = Service::of(&p);
    let id = s.submit(json!({ "parallel": 2 }));
    assert_eq!(s.ended(&id)["status"], "completed");
    let all: Vec<Event> = s.events(&id, None).collect();
    let selected: BTreeMap<String, u64> = all
        .iter()
        .filter(|e| e.kind == "selected")
        .map(|e| {
            let task = e.data["task"].as_str().unwrap().to_owned();
            (task, e.data["iteration"].as_u64().unwrap())
        })
        .collect();
    let mut numbers: Vec<u64> = selected.values().copied().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2], "{all:#?}");
    let kinds = |kind: &str| all.iter().filter(|e| e.kind == kind).count();
    assert_eq!((kinds("selected"), kinds("attempt")), (2, 2), "{all:#?}");
    for event in all.iter().filter(|e| e.data["iteration"].is_u64()) {
        let task = event.data["task"].as_str().unwrap();
        assert_eq!(event.data["iteration"], selected[task], "{event:?}");
    }
}

#[test]
fn a_node_has_failed_if_it_refuses_the_work() {
    let p = Project::build()
        .agent("[ $(count agent) = 1 ] && exit 7\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .toml("[[gates]]\nname = \"loud\"\nrun = [\"false\"]\nseverity = \"warn\"\n")
        .ready();
    let s = Service::of(&p);
    let id = s.submit(json!({ "max_iterations": 2 }));
    s.ended(&id);
    let ended: Vec<(u64, String, String)> = s
        .events(&id, None)
        .filter(|e| e.kind == "node" && e.data["status"] != "started")
        .map(|e| {
            let text = |name: &str| e.data[name].as_str().unwrap().to_owned();
            let iteration = e.data["iteration"].as_u64().unwrap();
            (iteration, text("node"), text("status"))
        })
        .collect();
    let status = |iteration: u64, node: &str| {
        let found = ended.iter().find(|e| e.0 == iteration && e.1 == node);
        found.map(|e| e.2.as_str())
    };
    assert_eq!(status(1, "agent"), Some("failed"), "{ended:?}");
    assert_eq!(status(2, "agent"), Some("completed"), "{ended:?}");
    assert_eq!(status(2, "gates"), Some("completed"), "{ended:?}");
}

#[test]
fn an_artefact_is_had_whole_however_long_it_is_and_by_parts() {
    let p = Project::build()
        .agent("head -c 12000000 /dev/zero | tr '\\0' 'x' | fold -w 80 >big.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    let s = Service::of(&p);
    let id = s.submit(json!({ "max_iterations": 1 }));
    assert_eq!(s.ended(&id)["attempts"], 1);
    let path = format!("/v1/runs/{id}/artifacts/diff.patch");
    let whole = s.ask("observer", "GET", &path, None).expect(200).body;
    assert!(whole.len() > 12_000_000, "{}", whole.len());
    let part = |range: &str| s.ask_with("observer", "GET", &path, None, &[("range", range)]);
    let some = part("bytes=9000000-9000009").expect(206);
    assert_eq!(some.body, whole[9_000_000..9_000_010]);
    let shown = format!("bytes 9000000-9000009/{}", whole.len());
    assert_eq!(some.header("content-range"), Some(shown.as_str()));
    let rest = part("bytes=100-").expect(206);
    assert!(rest.body == whole[100..]);
    assert_eq!(part("bytes=0-1,5-6").expect(200).body.len(), whole.len());
    let beyond = part(&format!("bytes={}-", whole.len())).expect(416);
    let shown = format!("bytes */{}", whole.len());
    assert_eq!(beyond.header("content-range"), Some(shown.as_str()));
}

#[test]
fn what_the_workspace_does_not_have_is_refused_at_once() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    for (config, said) in [
        (json!({ "agent": "nobody" }), "no agent `nobody`"),
        (json!({ "mode": "\u{1b}[31m" }), "no mode"),
    ] {
        let body = json!({ "workspace_slug": "site", "config": config });
        let answer = s.ask("operator", "POST", "/v1/runs", Some(body));
        let detail = answer.expect(422).json()["detail"].to_string();
        assert!(
            detail.contains(said) && !detail.contains('\u{1b}'),
            "{detail}"
        );
    }
    let listed = s.ask("observer", "GET", "/v1/runs", None).json();
    assert_eq!(listed["runs"], json!([]));
}
