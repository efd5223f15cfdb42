//! `ralph serve`: runs that are cancelled, paused, told something.

use ralph_tests::{Project, Service};
use serde_json::{Value, json};

#[test]
fn a_run_is_cancelled_while_it_waits_and_while_it_works() {
    let p = Project::build().agent("tell agent ready\nhang\n").ready();
    p.fifo("agent");
    Service::configure(&p, "max_runs = 1", "");
    let s = Service::again(&p);
    let first = s.submit(json!({}));
    p.hear("agent");
    let second = s.submit(json!({}));
    assert_eq!(s.run(&second)["status"], "queued");
    s.ask(
        "operator",
        "POST",
        &format!("/v1/runs/{second}/pause"),
        None,
    )
    .expect(409);
    let cancel = |id: &str| {
        let body = json!({ "reason": "enough" });
        s.ask(
            "admin",
            "POST",
            &format!("/v1/runs/{id}/cancel"),
            Some(body),
        )
    };
    assert_eq!(cancel(&second).expect(202).json()["status"], "cancelled");
    assert_eq!(s.ended(&second)["status"], "cancelled");
    cancel(&first).expect(202);
    let end = s.ended(&first);
    assert_eq!(
        (&end["status"], &end["reason"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    cancel(&first).expect(409);
    let listed = s
        .ask("observer", "GET", "/v1/runs?status=cancelled", None)
        .json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_is_paused_told_something_and_goes_on() {
    let p = Project::build()
        .agent("n=$(count agent)\ncat >\"$SIDE/prompt.$n\"\n[ $n = 1 ] && tell agent ready\necho $n >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .gate("g", "[ $(count g) = 1 ] && tell g ready\nexit 0\n")
        .ready();
    p.fifo("agent");
    p.fifo("g");
    let s = Service::of(&p);
    let id = s.submit(json!({}));
    let post = |verb: &str, body: Option<Value>| {
        s.ask("operator", "POST", &format!("/v1/runs/{id}/{verb}"), body)
    };
    p.hear("agent");
    assert_eq!(post("pause", None).expect(200).json()["status"], "paused");
    post("inject", Some(json!({ "text": "mind the gap" }))).expect(200);
    post("inject", Some(json!({ "text": " " }))).expect(422);
    post("inject", Some(json!({}))).expect(422);
    p.hear("g");
    let mut stream = s.events(&id, None);
    stream.until("attempt");
    assert_eq!(s.run(&id)["status"], "paused");
    assert_eq!(post("resume", None).expect(200).json()["status"], "running");
    assert_eq!(stream.until("terminal").data["status"], "completed");
    assert!(p.noted("prompt.2").contains("mind the gap"));
    assert!(!p.noted("prompt.1").contains("mind the gap"));
}

/// Works once in each run's tree, then hangs.
const WORKS_ONCE: &str =
    "[ -e work.txt ] && { tell agent ready; hang; }\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n";

#[test]
fn a_run_that_waits_to_go_on_is_cancelled_with_what_it_has_done() {
    // Each has a place of its own to say so.
    let p = Project::build()
        .agent("[ -e work.txt ] && { n=1; until mkdir \"$SIDE/at.$n\" 2>/dev/null; do n=$((n+1)); done; tell agent$n ready; hang; }\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    for fifo in ["agent1", "agent2", "agent3"] {
        p.fifo(fifo);
    }
    Service::configure(&p, "max_runs = 2", "");
    let s = Service::again(&p);
    let ids = [s.submit(json!({})), s.submit(json!({}))];
    p.hear("agent1");
    p.hear("agent2");
    s.kill();
    Service::configure(&p, "max_runs = 1", "");
    let s = Service::again(&p);
    p.hear("agent3");
    let of = |status: &str| {
        let path = format!("/v1/runs?status={status}");
        s.ask("observer", "GET", &path, None).expect(200).json()["runs"].clone()
    };
    let waits = of("queued")[0].clone();
    let id = waits["run_id"].as_str().unwrap();
    assert!(ids.iter().any(|i| i == id));
    assert_eq!(waits["attempts"], 1, "{waits}");
    assert_eq!(of("running").as_array().unwrap().len(), 1);
    let post = |id: &str, verb: &str| {
        let path = format!("/v1/runs/{id}/{verb}");
        s.ask("admin", "POST", &path, None)
    };
    post(id, "pause").expect(409);
    let end = post(id, "cancel").expect(202).json();
    assert_eq!(
        (&end["status"], &end["attempts"]),
        (&json!("cancelled"), &json!(1))
    );
    let patch = s.ask(
        "observer",
        "GET",
        &format!("/v1/runs/{id}/artifacts/diff.patch"),
        None,
    );
    let patch = String::from_utf8(patch.expect(200).body).unwrap();
    assert!(patch.contains("+x"), "{patch}");
    let all: Vec<_> = s.events(id, None).collect();
    assert_eq!(all.last().unwrap().data["attempts"], 1);
    let trees = p.git(&["worktree", "list"]);
    assert_eq!(trees.lines().count(), 2, "{trees}");
    let other = ids.iter().find(|i| *i != id).unwrap();
    post(other, "cancel").expect(202);
    assert_eq!(s.ended(other)["status"], "cancelled");
}

#[test]
fn a_cancelled_run_is_not_gone_on_with_whatever_becomes_of_its_service() {
    let p = Project::build()
        .agent(&format!("count agent >/dev/null\n{WORKS_ONCE}"))
        .ready();
    p.fifo("agent");
    let s = Service::of(&p);
    let id = s.submit(json!({}));
    p.hear("agent");
    s.kill();
    // As a service leaves it that dies right after it has taken the wish.
    let db = rusqlite::Connection::open(p.operator("service/store.sqlite")).unwrap();
    let sql = "SELECT body FROM runs WHERE id = ?1";
    let body: String = db.query_row(sql, [&id], |r| r.get(0)).unwrap();
    let mut body: Value = serde_json::from_str(&body).unwrap();
    body["cancel_reason"] = json!("enough");
    let sql = "UPDATE runs SET body = ?2 WHERE id = ?1";
    db.execute(sql, [&id, &body.to_string()]).unwrap();
    drop(db);
    let s = Service::again(&p);
    let end = s.ended(&id);
    assert_eq!(
        (&end["status"], &end["attempts"]),
        (&json!("cancelled"), &json!(1))
    );
    let path = format!("/v1/runs/{id}/artifacts/diff.patch");
    s.ask("observer", "GET", &path, None).expect(200);
    assert_eq!(p.count("agent"), 2);
}

#[test]
fn a_paused_run_stays_so_over_a_restart() {
    let p = Project::build()
        .agent("[ $(count agent) = 1 ] && { tell agent begun; tell end near; }\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("agent");
    p.fifo("end");
    let mut s = Service::of(&p);
    let id = s.submit(json!({}));
    let mut stream = s.events(&id, None);
    p.hear("agent");
    let post = |s: &Service, verb: &str| {
        let path = format!("/v1/runs/{id}/{verb}");
        s.ask("operator", "POST", &path, None).expect(200).json()
    };
    assert_eq!(post(&s, "pause")["status"], "paused");
    p.hear("end");
    let last = stream.until("attempt").id;
    s.kill();
    s = Service::again(&p);
    let mut stream = s.events(&id, Some(&last.to_string()));
    stream.until("resumed");
    assert_eq!(stream.until("state").data["status"], "paused");
    let listed = |status: &str| {
        let path = format!("/v1/runs?status={status}");
        let listed = s.ask("observer", "GET", &path, None).expect(200).json();
        listed["runs"].as_array().unwrap().len()
    };
    assert_eq!((listed("paused"), listed("running")), (1, 0));
    assert_eq!(p.count("agent"), 1);
    assert_eq!(post(&s, "resume")["status"], "running");
    assert_eq!(stream.until("terminal").data["status"], "completed");
    assert_eq!(p.count("agent"), 2);
}
