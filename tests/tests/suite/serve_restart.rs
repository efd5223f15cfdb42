//! `ralph serve`: what a service that died or was ended leaves to the next one.

use std::io::{Read, Write};
use std::time::Instant;

use ralph_tests::{Event, LIMIT, Project, Service};
use rusqlite::{Connection, params};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Hangs in its first call.
const FIRST_HANGS: &str = "[ $(count agent) = 1 ] && { tell agent ready; hang; }\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n";

#[test]
fn killed_the_service_goes_on_with_what_ran_and_begins_what_waited() {
    let p = Project::build().agent(FIRST_HANGS).ready();
    p.fifo("agent");
    Service::configure(&p, "max_runs = 1", "");
    let s = Service::again(&p);
    let first = s.submit(json!({}));
    p.hear("agent");
    let second = s.submit(json!({ "max_iterations": 1 }));
    let mut stream = s.events(&first, None);
    let seen = stream
        .find(|e| e.kind == "node" && e.data["node"] == "agent")
        .unwrap();
    s.kill();
    let s = Service::again(&p);
    // Exactly what follows what the reader had before the death.
    let rest: Vec<Event> = s.events(&first, Some(&seen.id.to_string())).collect();
    Event::in_order(&rest, seen.id);
    assert!(rest.iter().any(|e| e.kind == "resumed"), "{rest:?}");
    let ends = rest.iter().filter(|e| e.kind == "terminal").count();
    assert_eq!(ends, 1);
    assert_eq!(s.ended(&second)["attempts"], 1);
    assert_eq!(s.run(&first)["status"], "completed");
    // One that hung, one that was taken up, its second task, and the second run's.
    assert_eq!(p.count("agent"), 4);
    assert_eq!(
        s.ask("observer", "GET", "/v1/runs", None).json()["runs"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let text = std::fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
    assert_eq!(text.matches("ralph.run.terminal").count(), 2, "{text}");
}

#[test]
fn asked_to_end_the_service_ends_and_the_next_one_goes_on() {
    let p = Project::build().agent(FIRST_HANGS).ready();
    p.fifo("agent");
    Service::configure(&p, "drain = \"1s\"", "");
    let mut s = Service::again(&p);
    let id = s.submit(json!({}));
    p.hear("agent");
    let mut stream = s.events(&id, None);
    stream.until("start");
    s.live.signal(Signal::TERM);
    // The stream ends with the service, and not with a run's end.
    let rest: Vec<Event> = stream.by_ref().collect();
    assert!(rest.iter().all(|e| e.kind != "terminal"), "{rest:?}");
    s.live.wait().expect(0);
    s = Service::again(&p);
    assert_eq!(s.ended(&id)["status"], "completed");
    assert_eq!(p.count("agent"), 3);
}

#[test]
fn a_limit_of_iterations_holds_for_all_parts_of_a_run() {
    // Two tells, so that the service can be asked to end in between.
    let p = Project::build()
        .agent("[ $(count agent) = 1 ] && { tell agent begun; tell end near; }\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("agent");
    p.fifo("end");
    let mut s = Service::of(&p);
    let id = s.submit(json!({ "max_iterations": 1 }));
    p.hear("agent");
    s.live.signal(Signal::TERM);
    let until = Instant::now() + LIMIT;
    while s.ask("", "GET", "/readyz", None).status != 503 {
        assert!(Instant::now() < until, "it doesn't end");
    }
    p.hear("end");
    s.live.wait().expect(0);
    s = Service::again(&p);
    let end = s.ended(&id);
    assert_eq!(
        (&end["reason"], &end["attempts"]),
        (&json!("max_iterations"), &json!(1))
    );
    assert_eq!(p.count("agent"), 1);
}

#[test]
fn what_an_event_says_beyond_what_is_known_is_passed_on_to_the_byte() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let id = s.submit(json!({ "max_iterations": 1 }));
    let end = s.ended(&id);
    assert!(end.get("early_stop_reason").is_none() && end.get("convergence_score").is_none());
    let count = s.events(&id, None).count() as i64;
    s.kill();
    // As a later version would have written it.
    let extra = r#"{ "type":"node","node":"work" , "convergence_score":0.70,"early_stop_reason":null,"later":{"b":1E2,"a":["\u00e9",-0.0]} }"#;
    let db = Connection::open(p.operator("service/store.sqlite")).unwrap();
    let sql = "UPDATE events SET data = ?3 WHERE run = ?1 AND id = ?2";
    assert_eq!(db.execute(sql, params![id, 2, extra]).unwrap(), 1);
    let body: String = db
        .query_row("SELECT body FROM runs WHERE id = ?1", [&id], |r| r.get(0))
        .unwrap();
    let mut body: Value = serde_json::from_str(&body).unwrap();
    body["convergence_score"] = json!(0.75);
    let sql = "UPDATE runs SET body = ?2 WHERE id = ?1";
    db.execute(sql, params![id, body.to_string()]).unwrap();
    drop(db);
    let s = Service::again(&p);
    let all: Vec<Event> = s.events(&id, None).collect();
    assert_eq!(all.len() as i64, count);
    let mut stream = std::io::BufReader::new(s.connect());
    let head = format!(
        "GET /v1/runs/{id}/events HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer observer-0123456789abcdef\r\n\r\n",
        s.addr
    );
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains(&format!("\ndata: {extra}\n\n")), "{text}");
    assert_eq!(s.run(&id)["convergence_score"], 0.75);
    let stats = s
        .ask("observer", "GET", "/v1/stats", None)
        .expect(200)
        .json();
    assert_eq!(stats["mean_convergence_score"], 0.75, "{stats}");
}

#[test]
fn a_run_that_gives_up_early_says_why() {
    let p = Project::build()
        .in_loop("no_progress_limit = 1")
        .agent("echo nothing\n")
        .ready();
    let s = Service::of(&p);
    let id = s.submit(json!({}));
    let end = s.ended(&id);
    assert_eq!(end["early_stop_reason"], "no_progress", "{end}");
    assert_eq!(s.run(&id)["early_stop_reason"], "no_progress");
    let audit = std::fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
    let terminal = audit.lines().find(|l| l.contains("ralph.run.terminal"));
    let terminal: Value = serde_json::from_str(terminal.unwrap()).unwrap();
    assert!(
        terminal
            .to_string()
            .contains(r#""early_stop_reason":"no_progress""#),
        "{terminal}"
    );
}
