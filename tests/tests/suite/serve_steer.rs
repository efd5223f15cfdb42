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
