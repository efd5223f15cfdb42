//! What the verbs ask, and what becomes of the answers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod fake;

use std::io::Write;
use std::time::Duration;

use fake::{Fake, answer, events, json};
use ralph_service::{Client, Error, RunConfig, RunQuery, SavePrompt, Status, SubmitRun, Token};
use serde_json::json;

const RUN: &str =
    r#"{"run_id":"r/1","workspace":"site","status":"queued","convergence_score":0.5,"kiln":1}"#;
const EDITED: &str =
    r#"{"path":"a.yaml","fingerprint":"sha256:2","old_fp":null,"diff_summary":{"lines_added":1}}"#;

#[test]
fn no_name_leads_to_something_else_than_it_names() {
    let service = Fake::saying(vec![json(200, "{}")]);
    let ralph = service.client();
    let path = "../../site/prompts/victim.yaml";
    let save = SavePrompt::default();
    let mut refused = vec![
        ralph.delete_prompt("two", path, None).unwrap_err(),
        ralph.save_prompt("two", path, &save).unwrap_err(),
        ralph.get_run("..").unwrap_err(),
        ralph.get_run("").unwrap_err(),
        ralph.cancel_run("%2e%2E", None).unwrap_err(),
        ralph.stream_events(".").next().unwrap().unwrap_err(),
        ralph.get_prompt("", "a.yaml").unwrap_err(),
        ralph.get_prompt("..", "a.yaml").unwrap_err(),
    ];
    for path in [path, "a/./b.yaml", "a//b.yaml", ".%2E/b.yaml", ""] {
        refused.push(ralph.get_prompt("two", path).unwrap_err());
    }
    for error in refused {
        assert!(matches!(error, Error::Name(_)), "{error}");
        assert!(!error.is_retryable());
    }
    assert_eq!(service.heard().len(), 0);
}

#[test]
fn they_ask_what_the_service_answers() {
    let page =
        |run: &str, next: &str| json(200, &format!(r#"{{"runs":[{run}],"next_cursor":{next}}}"#));
    let mut answers = vec![json(201, RUN); 6];
    answers.extend([page(RUN, r#""7""#), page(RUN, "null"), page(RUN, r#""5""#)]);
    answers.extend(vec![json(200, EDITED); 3]);
    answers.push(json(200, r#"{"status":"ok","version":"1"}"#));
    let service = Fake::saying(answers);
    let ralph = service.client().acting_for("tess");
    let wanted = SubmitRun {
        idempotency_key: Some("k 1".into()),
        config: RunConfig {
            mode: Some("speed".into()),
            ..RunConfig::default()
        },
        ..SubmitRun::new("site")
    };
    let run = ralph.submit_run(&wanted).unwrap();
    assert_eq!((&*run.run_id, &run.status), ("r/1", &Status::Queued));
    assert_eq!(
        (run.convergence_score, &run.more["kiln"]),
        (Some(0.5), &json!(1))
    );
    ralph.get_run("r/1").unwrap();
    ralph.cancel_run("r/1", Some("no")).unwrap();
    ralph.pause_run("r").unwrap();
    ralph.resume_run("r").unwrap();
    ralph.inject_run("r", "use \"it\"").unwrap();
    let query = RunQuery {
        workspace: Some("a b".into()),
        status: Some(Status::Failed),
        limit: Some(1),
        ..RunQuery::default()
    };
    let runs: Vec<_> = ralph.runs(query).collect::<Result<_, _>>().unwrap();
    assert_eq!(runs.len(), 2);
    let since = RunQuery {
        since: Some("2026-01-31T12:00:00+01:00".into()),
        until: Some("2026-02-01T00:00:00Z".into()),
        ..RunQuery::default()
    };
    assert_eq!(
        ralph.list_runs(&since).unwrap().next_cursor.as_deref(),
        Some("5")
    );
    let save = SavePrompt {
        content: "x".into(),
        ..SavePrompt::default()
    };
    assert_eq!(
        ralph
            .save_prompt("site", "deep/a b.yaml", &save)
            .unwrap()
            .diff_summary
            .lines_added,
        1
    );
    ralph.delete_prompt("site", "a.yaml", None).unwrap();
    ralph
        .delete_prompt("site", "a.yaml", Some("sha256:1"))
        .unwrap();
    assert_eq!(ralph.ping().unwrap().status, "ok");
    let heard = service.heard();
    let asked: Vec<String> = heard
        .iter()
        .map(|h| format!("{} {}", h.line(), h.body))
        .collect();
    assert_eq!(
        asked,
        [
            r#"POST /v1/runs {"workspace_slug":"site","config":{"mode":"speed"}}"#,
            "GET /v1/runs/r%2F1 ",
            r#"POST /v1/runs/r%2F1/cancel {"reason":"no"}"#,
            "POST /v1/runs/r/pause {}",
            "POST /v1/runs/r/resume {}",
            r#"POST /v1/runs/r/inject {"text":"use \"it\""}"#,
            "GET /v1/runs?workspace=a%20b&status=failed&limit=1 ",
            "GET /v1/runs?workspace=a%20b&status=failed&limit=1&cursor=7 ",
            "GET /v1/runs?since=2026-01-31T12%3A00%3A00%2B01%3A00&until=2026-02-01T00%3A00%3A00Z ",
            r#"PUT /v1/workspaces/site/prompts/deep/a%20b.yaml {"content":"x","expected_prior_fingerprint":null}"#,
            "DELETE /v1/workspaces/site/prompts/a.yaml ",
            "DELETE /v1/workspaces/site/prompts/a.yaml?expected_prior_fingerprint=sha256%3A1 ",
            "GET /healthz ",
        ]
    );
    assert_eq!(heard[0].header("idempotency-key"), Some("k 1"));
    for heard in &heard {
        assert_eq!(heard.header("authorization"), Some("Bearer t0k"));
        assert_eq!(heard.header("ralph-actor"), Some("tess"));
        let kind = (!heard.body.is_empty()).then_some("application/json");
        assert_eq!(heard.header("content-type"), kind);
    }
}

#[test]
fn a_refusal_has_the_service_s_problem() {
    let body = r#"{"type":"urn:ralph:problem:prompt-changed","title":"Conflict","status":409,"detail":"another",
        "fingerprint_stored":"sha256:1","fingerprint_computed":"sha256:2","fingerprint_expected":null}"#;
    let service = Fake::saying(vec![json(409, body), answer(429, "retry-after: 7\r\n", "")]);
    let error = service.client().get_run("r").unwrap_err();
    let problem = error.problem().unwrap();
    assert_eq!(error.to_string(), "another");
    assert_eq!(
        problem.kind.as_deref(),
        Some("urn:ralph:problem:prompt-changed")
    );
    assert_eq!(
        (problem.status, problem.title.as_deref()),
        (409, Some("Conflict"))
    );
    assert_eq!(problem.fingerprint_stored.as_deref(), Some("sha256:1"));
    assert_eq!(problem.fingerprint_computed.as_deref(), Some("sha256:2"));
    let error = service.client().get_run("r").unwrap_err();
    assert_eq!(
        error.problem().unwrap().retry_after,
        Some(Duration::from_secs(7))
    );
    assert!(error.is_retryable());
}

#[test]
fn an_answer_that_is_none_is_an_error_and_isn_t_kept() {
    let endless = |head: String| {
        Fake::doing(move |stream| {
            stream.write_all(head.as_bytes()).unwrap();
            let piece = [b' '; 1 << 16];
            while stream.write_all(&piece).is_ok() {}
            None
        })
    };
    let error = endless(json(200, "{")).client().get_run("r").unwrap_err();
    assert!(error.to_string().contains("longer than"), "{error}");
    let error = endless(json(500, "{")).client().get_run("r").unwrap_err();
    assert_eq!(error.status(), Some(500));
    for body in ["<html>", "", "[]", "{}", r#"{"run_id":1}"#] {
        let service = Fake::saying(vec![json(200, body)]);
        let error = service.client().get_run("r").unwrap_err();
        assert!(matches!(error, Error::Garbled { .. }), "{body}: {error}");
    }
    // A redirect is no answer, and the token goes nowhere else.
    let elsewhere = Fake::saying(vec![json(200, RUN)]);
    let to = format!("location: {}/\r\n", elsewhere.url);
    let service = Fake::saying(vec![answer(307, &to, "")]);
    assert_eq!(
        service.client().get_run("r").unwrap_err().status(),
        Some(307)
    );
    assert!(elsewhere.heard().is_empty());
}

#[test]
fn one_that_isn_t_there_or_says_nothing_is_an_error_in_time() {
    let gone = Fake::saying(Vec::new());
    assert!(matches!(
        gone.client().ping(),
        Err(Error::Unreachable { .. })
    ));
    let error = gone
        .client()
        .wait_healthy(Duration::from_millis(50))
        .unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let mut held = Vec::new();
    let silent = Fake::doing(move |stream| {
        held.push(stream.try_clone().unwrap());
        Some(())
    });
    let client = silent
        .builder()
        .timeout(Duration::from_millis(200))
        .build()
        .unwrap();
    assert!(matches!(client.get_run("r"), Err(Error::TimedOut { .. })));
    // Drips, but never ends.
    let drips = Fake::doing(move |stream| {
        stream.write_all(events("").as_bytes()).ok()?;
        while stream.write_all(b" ").is_ok() {
            std::thread::yield_now();
        }
        None
    });
    let client = drips
        .builder()
        .timeout(Duration::from_millis(200))
        .build()
        .unwrap();
    assert!(
        client
            .get_run("r")
            .unwrap_err()
            .to_string()
            .starts_with(&drips.url)
    );
}

#[test]
fn it_waits_until_the_service_is_there() {
    let health = r#"{"status":"ok"}"#;
    let service = Fake::saying(vec![json(503, "{}"), String::new(), json(200, health)]);
    let health = service
        .client()
        .wait_healthy(Duration::from_secs(60))
        .unwrap();
    assert_eq!(health.status, "ok");
    // What waiting wouldn't mend isn't waited for.
    let service = Fake::saying(vec![json(403, r#"{"detail":"not by this name"}"#)]);
    let error = service
        .client()
        .wait_healthy(Duration::from_secs(60))
        .unwrap_err();
    assert_eq!((error.status(), service.heard().len()), (Some(403), 1));
}

#[test]
fn the_token_is_shown_nowhere() {
    let service = Fake::saying(vec![json(403, "{}")]);
    let builder = Client::builder(&service.url).token(Token::value("s3cret"));
    let shown = format!("{builder:?}");
    let client = builder.build().unwrap();
    let error = client.get_run("r").unwrap_err();
    let events = client.stream_events("r");
    let shown = format!("{shown} {client:?} {error:?} {error} {events:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
    let bad = Client::builder(&service.url).token(Token::value("s3cret\r\nx: y"));
    let error = bad.build().unwrap().get_run("r").unwrap_err();
    assert!(matches!(error, Error::Token(_)) && !error.to_string().contains("s3cret"));
    // Nothing that would be a header of its own is sent.
    let evil = client.acting_for("a\r\nx: y").get_run("r").unwrap_err();
    assert!(matches!(evil, Error::Settings(_)), "{evil}");
}
