//! A run's events over connections that break, from a service that does what it shouldn't.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod fake;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fake::{Fake, answer, events, json};
use ralph_service::{Client, Error, Event, Events, Terminal, Token};
use serde_json::{Value, json};

const END: &str = "id: 9\nevent: terminal\ndata: {\"status\":\"completed\"}\n\n";

/// (id, type, data)
fn all(events: Events) -> Vec<(String, String, String)> {
    let parts = |e: Event| (e.id, e.kind, e.data);
    events.map(|e| parts(e.unwrap())).collect()
}

fn one(id: &str, kind: &str, data: &str) -> (String, String, String) {
    (id.into(), kind.into(), data.into())
}

fn last_event_ids(service: &Fake) -> Vec<Option<String>> {
    let heard = service.heard();
    let ids = heard
        .iter()
        .map(|h| h.header("last-event-id").map(str::to_owned));
    ids.collect()
}

#[test]
fn they_go_on_after_a_broken_connection_none_twice_none_lost_to_terminal() {
    let service = Fake::saying(vec![
        events(
            "id: 1\nevent: start\ndata: {\"a\":1}\n\n: beat\n\nid: 2\nevent: node\ndata: {\"half\":",
        ),
        // Too short: the connection breaks in the middle of a chunk.
        answer(
            200,
            "content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n",
            "40\r\nid: 2\nevent: node\ndata: {\"n\":1e400,\"n\":2, \"x\":[1]}\n\nid",
        ),
        String::new(),
        answer(503, "retry-after: 0\r\n", ""),
        events("retry: 1\n\nid: 7\nevent: resync\ndata: {\"first_id\":8}\n\n"),
        events(
            "id: 8\nevent: terminal\ndata: {\"status\":\"done\",\"early_stop_reason\":\"flat\"}\n\ndata: no\n\n",
        ),
    ]);
    let got = all(service.client().stream_events("r/1"));
    let terminal = r#"{"status":"done","early_stop_reason":"flat"}"#;
    assert_eq!(
        got,
        [
            one("1", "start", r#"{"a":1}"#),
            one("2", "node", r#"{"n":1e400,"n":2, "x":[1]}"#),
            one("7", "resync", r#"{"first_id":8}"#),
            one("8", "terminal", terminal),
        ]
    );
    let ids = last_event_ids(&service);
    let ids: Vec<Option<&str>> = ids.iter().map(Option::as_deref).collect();
    assert_eq!(
        ids,
        [None, Some("1"), Some("2"), Some("2"), Some("2"), Some("7")]
    );
    for heard in service.heard() {
        assert_eq!(heard.line(), "GET /v1/runs/r%2F1/events");
        assert_eq!(heard.header("accept"), Some("text/event-stream"));
        assert_eq!(heard.header("authorization"), Some("Bearer t0k"));
    }
}

#[test]
fn an_event_can_be_read() {
    let service = Fake::saying(vec![events(
        "id: 1\nevent: terminal\ndata: {\"status\":\"failed\",\"attempts\":3,\ndata: \"kiln\":[1]}\n\n",
    )]);
    let mut events = service.client().stream_events("r").after("0");
    let event = events.next().unwrap().unwrap();
    assert!(event.is_terminal() && !event.is_resync());
    let terminal: Terminal = event.json().unwrap();
    assert_eq!((terminal.status.word(), terminal.attempts), ("failed", 3));
    assert_eq!(terminal.more["kiln"], json!([1]));
    assert_eq!(event.json::<Value>().unwrap()["status"], "failed");
    assert!(matches!(
        event.json::<Vec<u8>>(),
        Err(Error::Garbled { .. })
    ));
    assert!(events.next().is_none() && events.next().is_none());
    assert_eq!(service.heard()[0].header("last-event-id"), Some("0"));
}

#[test]
fn what_another_attempt_wouldn_t_mend_ends_them() {
    let moved = answer(302, "location: http://127.0.0.1:1/\r\n", "");
    for (answer, said) in [
        (
            json(404, r#"{"detail":"there is no such run"}"#),
            "there is no such run",
        ),
        (json(401, "{}"), "answers 401"),
        (moved, "answers 302"),
        (
            answer(200, "content-type: text/html\r\n", "<p>Log in"),
            "text/html",
        ),
        (answer(200, "", "data: x\n\n"), "no stream of events"),
    ] {
        let service = Fake::saying(vec![answer, events(END)]);
        let mut stream = service.client().stream_events("r");
        let error = stream.next().unwrap().unwrap_err();
        assert!(
            !error.is_retryable() && error.to_string().contains(said),
            "{error}"
        );
        assert!(stream.next().is_none());
        assert_eq!(service.heard().len(), 1);
    }
    let service = Fake::saying(vec![answer(204, "", "")]);
    assert_eq!(all(service.client().stream_events("r").after("9")), []);
}

#[test]
fn a_service_that_stays_away_is_an_error_in_the_end() {
    let gone = Fake::saying(Vec::new());
    let client = gone.builder().patience(Duration::ZERO).build().unwrap();
    let mut events = client.stream_events("r");
    let error = events.next().unwrap().unwrap_err();
    assert!(
        matches!(error, Error::Unreachable { .. }) && error.is_retryable(),
        "{error}"
    );
    assert!(error.to_string().starts_with(&gone.url), "{error}");
    assert!(events.next().is_none());
    // One that answers, but never well.
    let service = Fake::saying(vec![json(503, r#"{"detail":"draining"}"#); 100]);
    let client = service.builder().patience(Duration::from_millis(600));
    let mut events = client.build().unwrap().stream_events("r");
    assert_eq!(events.next().unwrap().unwrap_err().status(), Some(503));
    assert!(service.heard().len() > 1);
}

#[test]
fn a_reader_that_takes_its_time_isn_t_a_service_that_is_away() {
    let service = Fake::saying(vec![
        events("id: 1\nevent: start\ndata: {}\n\n"),
        events(END),
    ]);
    let patience = Duration::from_millis(50);
    let client = service.builder().patience(patience).build().unwrap();
    let mut stream = client.stream_events("r");
    stream.next().unwrap().unwrap();
    std::thread::sleep(2 * patience);
    assert!(stream.next().unwrap().unwrap().is_terminal());
}

#[test]
fn an_event_that_never_ends_is_given_up_and_isn_t_kept() {
    for start in ["data: x", "id: x", "x"] {
        let sent = Arc::new(AtomicU64::new(0));
        let count = sent.clone();
        let head = events("id: 1\nevent: start\ndata: {}\n\n") + start;
        let service = Fake::doing(move |stream| {
            stream.write_all(head.as_bytes()).unwrap();
            let piece = [b'x'; 1 << 16];
            // Five gigabytes, unless the other one hangs up.
            for _ in 0..5 << 14 {
                stream.write_all(&piece).ok()?;
                count.fetch_add(piece.len() as u64, Ordering::Relaxed);
            }
            None
        });
        let client = service.builder().event_max(1 << 20).build().unwrap();
        let mut events = client.stream_events("r");
        assert_eq!(events.next().unwrap().unwrap().kind, "start");
        let error = events.next().unwrap().unwrap_err();
        assert!(
            error.to_string().contains("longer than 1048576 bytes"),
            "{error}"
        );
        assert!(events.next().is_none());
        // What was taken, and what lies in the sockets' buffers.
        assert!(sent.load(Ordering::Relaxed) < 64 << 20);
        assert_eq!(service.heard().len(), 1, "it would be the same again");
    }
}

#[test]
fn a_connection_on_which_nothing_comes_is_a_broken_one() {
    let mut streams = Vec::new();
    let mut answers = vec![
        events(END),
        // Says nothing at all.
        String::new(),
        events("id: 1\nevent: start\ndata: {}\n\n"),
    ];
    let service = Fake::doing(move |stream| {
        stream.write_all(answers.pop()?.as_bytes()).unwrap();
        // Left open.
        streams.push(stream.try_clone().unwrap());
        Some(())
    });
    let short = Duration::from_secs(3);
    let client = service.builder().idle_timeout(short).timeout(short);
    let got = all(client.build().unwrap().stream_events("r"));
    assert_eq!(got.len(), 2, "{got:?}");
    let ids = last_event_ids(&service);
    assert_eq!(ids, [None, Some("1".to_owned()), Some("1".to_owned())]);
}

#[test]
fn it_is_stopped_from_another_thread_while_it_waits() {
    let later = "content-type: application/json\r\nretry-after: 30\r\n";
    let gone = Fake::saying(vec![answer(503, later, "{}")]);
    let client = gone.builder().patience(None).build().unwrap();
    let mut events = client.stream_events("r");
    let stopper = events.stopper();
    let waits = std::thread::spawn(move || events.next().is_none() && events.next().is_none());
    stopper.stop();
    assert!(waits.join().unwrap());
}

#[test]
fn the_token_is_read_for_each_request() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    std::fs::write(&file, " first\n").unwrap();
    let service = Fake::saying(vec![
        events("id: 1\nevent: start\ndata: {}\n\n"),
        events(END),
    ]);
    let client = Client::builder(&service.url).token(Token::file(&file));
    let mut stream = client.build().unwrap().stream_events("r");
    stream.next().unwrap().unwrap();
    std::fs::write(&file, "second").unwrap();
    stream.next().unwrap().unwrap();
    let heard = service.heard();
    let tokens: Vec<_> = heard.iter().map(|h| h.header("authorization")).collect();
    assert_eq!(tokens, [Some("Bearer first"), Some("Bearer second")]);
    std::fs::remove_file(&file).unwrap();
    let mut stream = Client::builder(&service.url)
        .token(Token::file(&file))
        .build()
        .unwrap()
        .stream_events("r");
    assert!(matches!(stream.next().unwrap(), Err(Error::Token(_))));
}
