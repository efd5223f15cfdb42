//! The client in `sdk/rust/client` against the built service.

use std::time::Duration;

use ralph_service::{
    Client, Error, Event, PromptStatus, RunConfig, RunQuery, SavePrompt, Status, SubmitRun,
    Terminal, Token,
};
use ralph_tests::{Project, Service, TOKENS, web::Web};
use serde_json::Value;

const PROMPT: &str =
    "id: a\ntype: prompt-set\nversion: '1'\nprompts:\n  - id: p\n    text: look well\n";

/// Somebody with that role.
fn client(s: &Service, role: &str) -> Client {
    let (_, token) = TOKENS.iter().find(|(name, _)| *name == role).unwrap();
    let builder = Client::builder(format!("http://{}", s.addr));
    builder.token(Token::value(*token)).build().unwrap()
}

fn site(iterations: u32) -> SubmitRun {
    SubmitRun {
        config: RunConfig {
            max_iterations: Some(iterations),
            ..RunConfig::default()
        },
        ..SubmitRun::new("site")
    }
}

#[track_caller]
fn refused(answer: Result<impl std::fmt::Debug, Error>) -> (u16, String) {
    let error = answer.unwrap_err();
    let problem = error.problem().unwrap_or_else(|| panic!("{error}"));
    let kind = problem.kind.as_deref().unwrap_or_default();
    let kind = kind.trim_start_matches("urn:ralph:problem:").to_owned();
    (problem.status, kind)
}

/// Ids count from this one on.
#[track_caller]
fn in_order(events: &[Event], first: usize) {
    let ids: Vec<usize> = events.iter().map(|e| e.id.parse().unwrap()).collect();
    let wanted: Vec<usize> = (first..).take(ids.len()).collect();
    assert_eq!(ids, wanted);
}

#[test]
fn prompts_and_runs_from_beginning_to_end() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let ralph = client(&s, "admin").acting_for("tess");
    assert_eq!(ralph.wait_healthy(ralph_tests::LIMIT).unwrap().status, "ok");
    let missing = refused(ralph.get_prompt("site", "deep/a.yaml"));
    assert_eq!(missing, (404, "not-found".into()));
    let mut save = SavePrompt {
        content: PROMPT.into(),
        ..SavePrompt::default()
    };
    let saved = ralph.save_prompt("site", "deep/a.yaml", &save).unwrap();
    let fingerprint = saved.fingerprint.clone().unwrap();
    assert_eq!((saved.old_fp, saved.diff_summary.lines_added), (None, 6));
    let error = ralph.save_prompt("site", "deep/a.yaml", &save).unwrap_err();
    let problem = error.problem().unwrap();
    assert_eq!(
        problem.kind.as_deref(),
        Some("urn:ralph:problem:prompt-changed")
    );
    assert_eq!(problem.title.as_deref(), Some("Conflict"));
    assert_eq!(problem.fingerprint_stored.as_ref(), Some(&fingerprint));
    assert_eq!(problem.fingerprint_computed.as_ref(), Some(&fingerprint));
    let prompt = ralph.get_prompt("site", "deep/a.yaml").unwrap();
    assert_eq!(
        (&*prompt.content, prompt.status),
        (PROMPT, PromptStatus::Verified)
    );

    let wanted = SubmitRun {
        prompt_path: Some("prompts/deep/a.yaml".into()),
        prompts_yaml: Some(PROMPT.into()),
        prompt_fingerprint: Some(fingerprint.clone()),
        idempotency_key: Some("once".into()),
        ..site(1)
    };
    let run = ralph.submit_run(&wanted).unwrap();
    assert_eq!(ralph.submit_run(&wanted).unwrap().run_id, run.run_id);
    let other = SubmitRun {
        idempotency_key: wanted.idempotency_key.clone(),
        ..site(2)
    };
    assert_eq!(refused(ralph.submit_run(&other)).0, 422);
    assert!(run.actor.as_deref().unwrap().ends_with("/tess"), "{run:?}");

    let events: Vec<Event> = ralph
        .stream_events(&run.run_id)
        .collect::<Result<_, _>>()
        .unwrap();
    in_order(&events, 1);
    let start: Value = events[0].json().unwrap();
    assert_eq!(
        (&*events[0].kind, &start["prompt_fingerprint"]),
        ("start", &fingerprint.clone().into())
    );
    let last = events.last().unwrap();
    let terminal: Terminal = last.json().unwrap();
    assert!(last.is_terminal() && terminal.attempts == 1, "{terminal:?}");
    assert_eq!(terminal.more["run_id"], *run.run_id);
    // From the middle, and when all was had.
    let rest = |id: &str| {
        ralph
            .stream_events(&run.run_id)
            .after(id)
            .collect::<Result<Vec<_>, _>>()
    };
    assert_eq!(rest("2").unwrap(), events[2..]);
    assert_eq!(rest(&last.id).unwrap(), []);
    let again = rest("nonsense").unwrap();
    assert!(again[0].is_resync() && again[1..] == events, "{again:?}");

    save.content = PROMPT.replace("well", "twice");
    save.expected_prior_fingerprint = Some(fingerprint.clone());
    ralph.save_prompt("site", "deep/a.yaml", &save).unwrap();
    let over = ralph.get_run(&run.run_id).unwrap();
    assert_eq!(over.status, terminal.status);
    assert_eq!(
        (over.prompt_fingerprint.as_ref(), over.prompt_changed),
        (Some(&fingerprint), Some(true))
    );
    assert_eq!(over.config, wanted.config);
    assert_eq!(
        refused(ralph.cancel_run(&run.run_id, None)),
        (409, "run-over".into())
    );
    assert_eq!(
        refused(ralph.delete_prompt("site", "deep/a.yaml", Some(&fingerprint))).0,
        409
    );
    let gone = ralph.delete_prompt("site", "deep/a.yaml", None).unwrap();
    assert!(gone.fingerprint.is_none() && gone.old_fp.is_some());

    let second = ralph.submit_run(&site(1)).unwrap();
    assert!(ralph.stream_events(&second.run_id).all(|e| e.is_ok()));
    let query = RunQuery {
        workspace: Some("site".into()),
        limit: Some(1),
        ..RunQuery::default()
    };
    assert!(ralph.list_runs(&query).unwrap().next_cursor.is_some());
    let ids: Vec<String> = ralph.runs(query).map(|r| r.unwrap().run_id).collect();
    assert_eq!(ids, [second.run_id, run.run_id]);
    let audit = std::fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
    assert!(audit.contains("admin/tess"), "{audit}");
}

#[test]
fn a_run_that_is_on_is_paused_told_something_and_ended() {
    let p = Project::build().agent("tell agent ready\nhang\n").ready();
    p.fifo("agent");
    let s = Service::of(&p);
    let (operator, admin) = (client(&s, "operator"), client(&s, "admin"));
    let id = operator.submit_run(&site(3)).unwrap().run_id;
    p.hear("agent");
    assert_eq!(
        operator
            .inject_run(&id, "use the other table")
            .unwrap()
            .run_id,
        id
    );
    assert_eq!(operator.pause_run(&id).unwrap().status, Status::Paused);
    assert_eq!(operator.resume_run(&id).unwrap().status, Status::Running);
    assert_eq!(refused(operator.inject_run(&id, "  ")).0, 422);
    let query = RunQuery {
        status: Some(Status::Running),
        ..RunQuery::default()
    };
    assert_eq!(operator.list_runs(&query).unwrap().runs.len(), 1);
    let ended = operator.stream_events(&id);
    let cancelled = admin.cancel_run(&id, Some("enough")).unwrap();
    assert_eq!(cancelled.cancel_reason.as_deref(), Some("enough"));
    let last = ended.last().unwrap().unwrap();
    assert_eq!(last.json::<Terminal>().unwrap().status, Status::Cancelled);
    assert_eq!(refused(operator.pause_run(&id)), (409, "run-over".into()));
}

#[test]
fn who_may_not_is_told_so() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let error = client(&s, "observer").submit_run(&site(1)).unwrap_err();
    let problem = error.problem().unwrap();
    assert_eq!(
        (problem.status, &problem.more["role_needed"]),
        (403, &"operator".into())
    );
    let bare = Client::builder(format!("http://{}/", s.addr));
    let nobody = bare.clone().build().unwrap();
    assert_eq!(
        refused(nobody.get_run("x")),
        (401, "unauthenticated".into())
    );
    let stranger = bare.token(Token::value("guessed-0123456789abcdef"));
    let stranger = stranger.build().unwrap();
    let mut events = stranger.stream_events("x");
    assert_eq!(refused(events.next().unwrap()).0, 401);
    assert!(events.next().is_none());
    let operator = client(&s, "operator");
    assert_eq!(refused(operator.get_run("../healthz")).0, 404);
    assert_eq!(
        refused(operator.stream_events("nobody").next().unwrap()).0,
        404
    );
    assert_eq!(
        refused(operator.submit_run(&SubmitRun::new("elsewhere"))).0,
        404
    );
    for path in ["../ralph.toml", "..", "a/../../b.yaml", "/etc/passwd"] {
        // Another thing would be asked for than is named.
        let refused = operator.get_prompt("site", path).unwrap_err();
        assert!(matches!(refused, Error::Name(_)), "{path}: {refused}");
    }
    let odd = SubmitRun {
        config: RunConfig {
            max_iterations: Some(0),
            ..RunConfig::default()
        },
        ..site(1)
    };
    assert_eq!(refused(operator.submit_run(&odd)), (422, "invalid".into()));
    assert_eq!(operator.list_runs(&RunQuery::default()).unwrap().runs, []);
}

#[test]
fn events_go_on_when_the_service_is_killed_and_started_anew() {
    let p = Project::build()
        .agent("[ $(count agent) = 1 ] && { tell agent ready; hang; }\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("agent");
    let s = Service::of(&p);
    let ralph = client(&s, "operator");
    let id = ralph.submit_run(&SubmitRun::new("site")).unwrap().run_id;
    p.hear("agent");
    let mut stream = ralph.stream_events(&id);
    let mut events = Vec::new();
    // Until the agent is at work.
    while !events
        .last()
        .is_some_and(|e: &Event| e.data.contains("\"agent\""))
    {
        events.push(stream.next().unwrap().unwrap());
    }
    let addr = s.addr.to_string();
    s.kill();
    assert!(matches!(ralph.get_run(&id), Err(Error::Unreachable { .. })));
    let follows = std::thread::spawn(move || stream.collect::<Result<Vec<_>, _>>());
    let again = Service::command(&p, &["serve", "--json", "--listen", &addr]);
    let s = Service::started(&p, again);
    events.extend(follows.join().unwrap().unwrap());
    in_order(&events, 1);
    assert!(events.iter().any(|e| e.kind == "resumed"), "{events:?}");
    let ends = events.iter().filter(|e| e.is_terminal()).count();
    assert!(ends == 1 && events.last().unwrap().is_terminal());
    assert_eq!(ralph.get_run(&id).unwrap().status, Status::Completed);
    drop(s);
}

#[test]
fn of_events_that_aren_t_kept_it_is_told() {
    let tasks: String = (0..10).map(|n| format!("- [ ] Thing {n}\n")).collect();
    let p = Project::build()
        .tasks("PRD.md", format!("# Plan\n\n## Tasks\n\n{tasks}"))
        .ready();
    Service::configure(&p, "events_kept = 100", "");
    let s = Service::again(&p);
    let ralph = client(&s, "operator");
    let id = ralph.submit_run(&SubmitRun::new("site")).unwrap().run_id;
    ralph.stream_events(&id).last().unwrap().unwrap();
    let kept: Vec<Event> = ralph
        .stream_events(&id)
        .after("1")
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(kept[0].is_resync() && kept.last().unwrap().is_terminal());
    assert_eq!(kept.iter().filter(|e| e.is_resync()).count(), 1);
    in_order(&kept, kept[0].id.parse().unwrap());
}

#[test]
fn a_dead_service_is_an_error_and_no_wait_without_end() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let url = format!("http://{}", s.addr);
    s.kill();
    let ralph = Client::builder(&url).patience(Duration::from_millis(300));
    let ralph = ralph.build().unwrap();
    let error = ralph.submit_run(&site(1)).unwrap_err();
    assert!(
        error.is_retryable() && error.to_string().starts_with(&url),
        "{error}"
    );
    assert!(ralph.wait_healthy(Duration::from_millis(100)).is_err());
    let mut events = ralph.stream_events("x");
    assert!(matches!(
        events.next(),
        Some(Err(Error::Unreachable { .. }))
    ));
    assert!(events.next().is_none());
}

#[test]
fn over_tls_both_sides_show_who_they_are() {
    let p = Project::build().ready();
    let pem = |name: &str| Web::ca().with_file_name(name);
    let (cert, key, ca) = (pem("server.pem"), pem("server.key"), pem("ca.pem"));
    let tls = format!("[serve.tls]\ncert = {cert:?}\nkey = {key:?}\nclient_ca = {ca:?}\n");
    Service::configure(&p, "", &tls);
    let s = Service::again(&p);
    let url = format!("https://{}", s.addr);
    let known = Client::builder(&url).root_certificates(&ca);
    let both = known.clone().client_certificate(&cert, &key);
    assert_eq!(both.build().unwrap().ping().unwrap().status, "ok");
    known.build().unwrap().ping().unwrap_err();
    // Nobody whom Mozilla's list knows: not tried again.
    let stranger = Client::builder(&url).client_certificate(&cert, &key);
    let stranger = stranger.build().unwrap();
    let error = stranger.stream_events("x").next().unwrap().unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error}");
}
