//! `ralph serve`: who may do what, and what is refused before anything is done.

use std::io::Write;

use ralph_tests::{Event, Project, Service};
use serde_json::{Value, json};

/// An agent that waits until the test has heard it, then never ends.
const WAITING: &str = "tell agent ready\nhang\n";

#[test]
fn each_role_may_do_what_the_table_says() {
    let p = Project::build().agent(WAITING).ready();
    p.fifo("agent");
    let s = Service::of(&p);
    let id = s.submit(json!({}));
    p.hear("agent");
    let run = |verb: &str| format!("/v1/runs/{id}{verb}");
    let body = json!({ "workspace_slug": "site", "config": { "max_iterations": 0 } });
    // What the roles below may not is 403; what they may is answered otherwise.
    let table: [(&str, &str, Option<Value>, [u16; 3]); 13] = [
        ("GET", "/v1/runs", None, [200, 200, 200]),
        ("GET", &run(""), None, [200, 200, 200]),
        ("GET", &run("/artifacts"), None, [200, 200, 200]),
        ("GET", &run("/artifacts/diff.patch"), None, [404, 404, 404]),
        ("GET", "/v1/stats", None, [200, 200, 200]),
        ("GET", "/metrics", None, [200, 200, 200]),
        ("POST", "/v1/runs", Some(body), [403, 422, 422]),
        ("POST", &run("/pause"), None, [403, 200, 200]),
        ("POST", &run("/resume"), None, [403, 200, 200]),
        (
            "POST",
            &run("/inject"),
            Some(json!({ "text": "look" })),
            [403, 200, 200],
        ),
        ("GET", "/v1/audit", None, [403, 403, 200]),
        ("GET", "/audit", None, [403, 403, 200]),
        ("POST", &run("/cancel"), None, [403, 403, 202]),
    ];
    for (method, path, body, wanted) in table {
        for (who, status) in ["observer", "operator", "admin"].iter().zip(wanted) {
            let answer = s.ask(who, method, path, body.clone());
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            assert_eq!(answer.status, status, "{who} {method} {path}: {said}");
            if status == 403 {
                assert_eq!(
                    answer.header("content-type"),
                    Some("application/problem+json")
                );
                assert_eq!(answer.json()["type"], "urn:ralph:problem:forbidden");
            }
        }
        for nobody in ["", "wrong-0123456789abcdef", "a.b.c"] {
            let answer = s.ask(nobody, method, path, body.clone()).expect(401);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert_eq!(s.ended(&id)["status"], "cancelled");
}

#[test]
fn a_token_of_another_workspace_sees_nothing_of_this_one() {
    let p = Project::build().ready();
    let other = Project::build().ready();
    std::fs::write(p.operator("shop"), "shop-0123456789abcdef").unwrap();
    let tables = format!(
        "[workspaces.shop]\npath = {:?}\n[tokens.shop]\nrole = \"admin\"\nworkspaces = [\"shop\"]\nfile = {:?}",
        other.root(),
        p.operator("shop")
    );
    Service::configure(&p, "", &tables);
    let s = Service::again(&p);
    let id = s.submit(json!({ "max_iterations": 1 }));
    s.ended(&id);
    let shop = "shop-0123456789abcdef";
    for path in ["", "/events", "/artifacts"] {
        s.ask(shop, "GET", &format!("/v1/runs/{id}{path}"), None)
            .expect(404);
    }
    s.ask(shop, "POST", &format!("/v1/runs/{id}/cancel"), None)
        .expect(404);
    s.ask(shop, "GET", "/v1/runs?workspace=site", None)
        .expect(404);
    let body = json!({ "workspace_slug": "site" });
    s.ask(shop, "POST", "/v1/runs", Some(body)).expect(404);
    let listed = s.ask(shop, "GET", "/v1/runs", None).expect(200).json();
    assert_eq!(listed["runs"], json!([]));
    let audit = s.ask(shop, "GET", "/v1/audit", None).expect(200).json();
    assert_eq!(audit["events"], json!([]));
    assert_eq!(
        s.ask(shop, "GET", "/v1/stats", None).expect(200).json()["runs"],
        0
    );
}

#[test]
fn the_service_answers_to_its_own_names_and_to_no_foreign_page() {
    let p = Project::build().ready();
    Service::configure(
        &p,
        "hosts = [\"ralph.example\"]\norigins = [\"https://console.example\"]",
        "",
    );
    let s = Service::again(&p);
    let port = s.addr.port();
    let get = |headers: &str| {
        let text = format!("GET /healthz HTTP/1.1\r\n{headers}\r\n\r\n");
        s.raw(text.as_bytes()).status
    };
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "ralph.example",
    ] {
        assert_eq!(get(&format!("host: {host}:{port}")), 200, "{host}");
    }
    assert_eq!(get("host: ralph.example"), 200);
    let own = format!("host: 127.0.0.1:{port}");
    for host in [
        format!("host: evil.example:{port}"),
        "host: localhost".into(),
        "host: 127.0.0.1:1".into(),
        "host:".into(),
        format!("{own}\r\nhost: evil.example"),
    ] {
        let status = get(&host);
        assert!(status == 403 || status == 400, "{host}: {status}");
    }
    for (origin, status) in [
        ("https://console.example", 200),
        ("https://CONSOLE.example", 200),
        (&format!("http://127.0.0.1:{port}"), 200),
        ("null", 403),
        ("https://evil.example", 403),
        ("http://console.example", 403),
        ("https://console.example.evil.example", 403),
    ] {
        assert_eq!(
            get(&format!("{own}\r\norigin: {origin}")),
            status,
            "{origin}"
        );
    }
}

#[test]
fn what_isn_t_as_it_should_be_is_a_problem_and_changes_nothing() {
    let p = Project::build().ready();
    Service::configure(&p, "body_limit = \"1KiB\"", "");
    let s = Service::again(&p);
    let post = |kind: &str, body: &str| {
        let length = body.len();
        let host = s.addr;
        s.raw(
            format!(
                "POST /v1/runs HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer operator-0123456789abcdef\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        )
    };
    let json = "application/json";
    for (kind, body, status) in [
        (json, "{", 400),
        (json, "[]", 422),
        (json, "\u{1}", 400),
        (json, "{}", 422),
        (json, r#"{"workspace_slug": "site", "colour": 1}"#, 422),
        (
            json,
            r#"{"workspace_slug": "site", "config": {"colour": 1}}"#,
            422,
        ),
        (
            json,
            r#"{"workspace_slug": "site", "config": {"max_iterations": "x"}}"#,
            422,
        ),
        (
            json,
            r#"{"workspace_slug": "site", "config": {"parallel": 65}}"#,
            422,
        ),
        (json, r#"{"workspace_slug": "gone"}"#, 404),
        (
            json,
            r#"{"workspace_slug": "site", "prompt_path": "prompts/gone.yaml"}"#,
            422,
        ),
        (
            json,
            r#"{"workspace_slug": "site", "prompt_path": "../PRD.md"}"#,
            422,
        ),
        (
            json,
            r#"{"workspace_slug": "site", "prompt_path": "prompts/../PRD.md"}"#,
            422,
        ),
        (
            json,
            r#"{"workspace_slug": "site", "prompt_path": "/etc/passwd"}"#,
            422,
        ),
        (
            json,
            r#"{"workspace_slug": "site", "prompt_fingerprint": "x"}"#,
            422,
        ),
        ("text/plain", r#"{"workspace_slug": "site"}"#, 415),
        (json, &"x".repeat(2000), 413),
        (json, &format!("{{\"config\": {}", "[".repeat(900)), 422),
    ] {
        let answer = post(kind, body);
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, status, "{body}: {said}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(answer.json()["status"], status);
    }
    for (method, path, status) in [
        ("GET", "/v1/runs?limit=0", 400),
        ("GET", "/v1/runs?limit=501", 400),
        ("GET", "/v1/runs?cursor=x", 400),
        ("GET", "/v1/runs?since=yesterday", 400),
        ("GET", "/v1/runs?status=odd", 400),
        ("GET", "/v1/runs?colour=1", 400),
        ("GET", "/v1/runs/none", 404),
        ("GET", "/v1/runs/..%2f..%2fetc", 404),
        ("GET", "/v1/nothing", 404),
        ("DELETE", "/v1/runs", 405),
    ] {
        let answer = s.ask("admin", method, path, None).expect(status);
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{path}"
        );
    }
    // What is announced as too long isn't waited for: nothing of it ever comes.
    let announced = format!(
        "POST /v1/runs HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer operator-0123456789abcdef\r\ncontent-type: {json}\r\ncontent-length: 99999999999\r\n\r\n",
        s.addr
    );
    let refused = s.raw(announced.as_bytes()).expect(413).json();
    assert_eq!(refused["type"], "urn:ralph:problem:body-too-long");
    let audit = s.ask("admin", "GET", "/v1/audit", None).expect(200).json();
    assert_eq!(audit["events"], json!([]));
    let branches = p.git(&["branch", "--list"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    // A head without an end, and one that is too long.
    let mut stream = s.connect();
    let _ = stream.write_all(&[b'x'; 100_000]);
    s.ask("", "GET", "/healthz", None).expect(200);
}

#[test]
fn who_asks_too_often_waits_and_nobody_else() {
    let p = Project::build().ready();
    Service::configure(&p, "rate = 1", "");
    let s = Service::again(&p);
    let mut refused = None;
    for _ in 0..50 {
        let answer = s.ask("observer", "GET", "/v1/runs", None);
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("50 requests at 1 a second");
    assert_eq!(refused.header("retry-after"), Some("1"));
    s.ask("admin", "GET", "/v1/runs", None).expect(200);
    s.ask("", "GET", "/healthz", None).expect(200);
}

#[test]
fn a_stream_ends_with_its_token_and_goes_on_with_the_next() {
    let p = Project::build().agent(WAITING).ready();
    p.fifo("agent");
    let s = Service::of(&p);
    let id = s.submit(json!({}));
    p.hear("agent");
    let mint = |ttl: &str| {
        let args = [
            "token",
            "mint",
            "--workspace",
            "site",
            "--actor",
            "tess",
            "--role",
            "observer",
            "--ttl",
            ttl,
        ];
        let minted = p
            .start_command(Service::command(&p, &args))
            .wait()
            .expect(0);
        minted.stdout.trim().to_owned()
    };
    // The run goes on, and the stream comes to its end.
    let short: Vec<Event> = s.events_as(&mint("2s"), &id, None).collect();
    let last = short.last().expect("events").id;
    assert!(short.iter().all(|e| e.kind != "terminal"), "{short:?}");
    let rest = s.events_as(&mint("5m"), &id, Some(&last.to_string()));
    s.ask("admin", "POST", &format!("/v1/runs/{id}/cancel"), None)
        .expect(202);
    let rest: Vec<Event> = rest.collect();
    assert_eq!(rest[0].id, last + 1);
    assert_eq!(rest.last().unwrap().kind, "terminal");
}
