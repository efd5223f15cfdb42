//! `ralph serve`: prompts over HTTP, their fingerprints, and what a run is given of them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;

use ralph_tests::{Project, Service, TOKENS};
use serde_json::{Value, json};

const AT: &str = "/v1/workspaces/site/prompts/a.yaml";

fn unit(text: &str) -> String {
    format!("id: a\ntype: prompt-set\nversion: '1.0'\nprompts:\n  - id: p\n    text: {text}\n")
}

fn body(text: &str, expected: Option<&str>) -> Option<Value> {
    Some(json!({ "content": unit(text), "expected_prior_fingerprint": expected }))
}

fn fingerprint(of: &Value) -> String {
    of["fingerprint"].as_str().unwrap().to_owned()
}

#[test]
fn a_prompt_is_saved_read_changed_and_deleted_with_its_fingerprint_and_the_audit_first() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    s.ask("observer", "GET", AT, None).expect(404);
    let first = fingerprint(
        &s.ask("operator", "PUT", AT, body("one", None))
            .expect(201)
            .json(),
    );
    assert_eq!(p.read("prompts/a.yaml"), unit("one"));
    assert_eq!(p.read("prompts/a.yaml.fp"), format!("{first}\n"));
    let read = s.ask("observer", "GET", AT, None).expect(200).json();
    assert_eq!(read["status"], "verified");
    assert_eq!(read["content"], unit("one"));
    assert_eq!(read["fingerprint_stored"], first.as_str());
    assert_eq!(read["fingerprint_computed"], first.as_str());
    // The document's own address.
    let short = s
        .ask("observer", "GET", "/prompts/a.yaml?workspace=site", None)
        .expect(200)
        .json();
    assert_eq!(short, read);
    let short = "/v1/prompts/a.yaml?workspace=site";
    let saved = s
        .ask("operator", "PUT", short, body("two", Some(&first)))
        .expect(200)
        .json();
    let second = fingerprint(&saved);
    assert_eq!(
        saved["diff_summary"],
        json!({ "lines_added": 1, "lines_removed": 1, "sections_changed": 1 })
    );

    let conflict = s
        .ask("operator", "PUT", AT, body("three", Some(&first)))
        .expect(409)
        .json();
    assert_eq!(conflict["fingerprint_stored"], second.as_str());
    assert_eq!(conflict["fingerprint_computed"], second.as_str());
    assert_eq!(conflict["fingerprint_expected"], first.as_str());
    s.ask("operator", "PUT", AT, body("three", None))
        .expect(409);
    let wrong = Some(json!({ "content": "id: a\n", "expected_prior_fingerprint": second }));
    s.ask("operator", "PUT", AT, wrong).expect(422);
    let twice = Some(json!({ "content": "a: 1\na: 2\n", "expected_prior_fingerprint": second }));
    s.ask("operator", "PUT", AT, twice).expect(422);
    assert_eq!(p.read("prompts/a.yaml"), unit("two"));

    p.write("prompts/a.yaml", unit("by hand"));
    let read = s.ask("observer", "GET", AT, None).expect(200).json();
    assert_eq!(read["status"], "tampered");
    s.ask("operator", "PUT", AT, body("three", Some(&second)))
        .expect(409);
    let listed = s
        .ask("observer", "GET", "/v1/workspaces/site/prompts", None)
        .expect(200)
        .json();
    assert_eq!(listed["prompts"][0]["status"], "tampered");
    std::fs::remove_file(p.root().join("prompts/a.yaml.fp")).unwrap();
    let read = s.ask("observer", "GET", AT, None).expect(200).json();
    assert_eq!(read["status"], "missing");
    assert_eq!(read["fingerprint_stored"], Value::Null);
    s.ask("admin", "DELETE", AT, None).expect(200);
    assert!(!p.exists("prompts/a.yaml"));
    s.ask("admin", "DELETE", AT, None).expect(404);

    let audit = s.ask("admin", "GET", "/v1/audit", None).expect(200).json();
    let text = audit.to_string();
    assert!(
        !text.contains("by hand") && !text.contains("prompt-set"),
        "{text}"
    );
    let lines = audit["events"].as_array().unwrap();
    let told: Vec<_> = lines
        .iter()
        .map(|l| {
            (
                l["type"].as_str().unwrap(),
                l["stage"].as_str().unwrap(),
                &l["ok"],
            )
        })
        .collect();
    let (yes, none) = (json!(true), Value::Null);
    assert_eq!(
        told,
        [
            ("prompt.edited", "intent", &none),
            ("prompt.edited", "outcome", &yes),
            ("prompt.edited", "intent", &none),
            ("prompt.edited", "outcome", &yes),
            ("prompt.deleted", "intent", &none),
            ("prompt.deleted", "outcome", &yes),
        ]
    );
    let edit = &lines[2];
    assert_eq!(
        (&edit["old_fp"], &edit["new_fp"]),
        (&json!(first), &json!(second))
    );
    assert_eq!(edit["actor"], "operator");
    assert_eq!(edit["prompt_path"], "prompts/a.yaml");
    assert_eq!(edit["diff_summary"]["lines_added"], 1);
}

#[test]
fn each_role_may_do_with_prompts_what_the_table_says() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let made = fingerprint(
        &s.ask("operator", "PUT", AT, body("one", None))
            .expect(201)
            .json(),
    );
    for (method, sent, wanted) in [
        ("GET", None, [200, 200, 200]),
        ("PUT", body("one", Some(&made)), [403, 200, 200]),
        ("DELETE", None, [403, 403, 200]),
    ] {
        for (who, status) in ["observer", "operator", "admin"].iter().zip(wanted) {
            let answer = s.ask(who, method, AT, sent.clone());
            assert_eq!(answer.status, status, "{who} {method}");
        }
        for nobody in ["", "wrong-0123456789abcdef", "a.b.c"] {
            s.ask(nobody, method, AT, sent.clone()).expect(401);
        }
        let elsewhere = "/v1/workspaces/other/prompts/a.yaml";
        s.ask("admin", method, elsewhere, sent).expect(404);
    }
}

#[test]
fn paths_that_lead_elsewhere_are_refused_however_they_are_written() {
    let p = Project::build().ready();
    let secret = p.side("secret.yaml");
    std::fs::write(&secret, unit("secret")).unwrap();
    p.write("prompts/real.yaml", unit("real"));
    p.write("top.yaml", unit("top"));
    symlink(&secret, p.root().join("prompts/out.yaml")).unwrap();
    symlink("real.yaml", p.root().join("prompts/in.yaml")).unwrap();
    symlink(p.side(""), p.root().join("prompts/dir")).unwrap();
    let s = Service::of(&p);
    for path in [
        "../top.yaml",
        "%2e%2e/top.yaml",
        "%2e%2e%2ftop.yaml",
        "..%2ftop.yaml",
        ".%2e/top.yaml",
        "%2E./top.yaml",
        "a/../../top.yaml",
        "a/%2e%2e/%2e%2e/top.yaml",
        "a%2f..%2f..%2ftop.yaml",
        "%252e%252e%252ftop.yaml",
        "%252e%252e/top.yaml",
        "..%252ftop.yaml",
        "..%5ctop.yaml",
        "%5c..%5ctop.yaml",
        "a%5cb.yaml",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "//etc/passwd",
        "a//b.yaml",
        "./real.yaml",
        "%2e/real.yaml",
        "a/./b.yaml",
        "real.yaml%00",
        "%00.yaml",
        "a%0ab.yaml",
        "a%0d%0ab.yaml",
        "real.yaml.fp",
        "real.yaml%2efp",
        ".hidden.yaml",
        "%2ehidden.yaml",
        ".git/config",
        "%2egit%2fconfig",
        ".ralph-tmp-1",
        "a/.git/x.yaml",
        "..%c0%aftop.yaml",
        "%ff.yaml",
        "..%ef%bc%8ftop.yaml",
        "...",
        "..",
        "%2e%2e",
        "out.yaml",
        "in.yaml",
        "dir/secret.yaml",
        "dir%2fsecret.yaml",
        "real.yaml/",
        "real.yaml/x.yaml",
        "%20real.yaml",
        "real.yaml%20",
    ] {
        for (who, method, sent) in [
            ("observer", "GET", None),
            ("operator", "PUT", body("evil", None)),
            ("admin", "DELETE", None),
        ] {
            for at in ["/v1/workspaces/site/prompts/", "/workspaces/site/prompts/"] {
                let answer = s.ask(who, method, &format!("{at}{path}"), sent.clone());
                let said = String::from_utf8_lossy(&answer.body).into_owned();
                assert!(
                    matches!(answer.status, 400 | 404 | 422),
                    "{method} {path}: {} {said}",
                    answer.status
                );
                assert!(!said.contains("text: "), "{method} {path}: {said}");
                assert_eq!(
                    answer.header("content-type"),
                    Some("application/problem+json")
                );
            }
        }
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), unit("secret"));
    assert_eq!(p.read("prompts/real.yaml"), unit("real"));
    assert_eq!(p.read("top.yaml"), unit("top"));
    let audit = s.ask("admin", "GET", "/v1/audit", None).expect(200).json();
    assert_eq!(
        audit["events"],
        json!([]),
        "what is refused has no effect to be recorded"
    );
}

#[test]
fn a_run_is_given_the_prompt_that_was_saved_and_its_receipts_name_it() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let made = fingerprint(
        &s.ask("operator", "PUT", AT, body("look well", None))
            .expect(201)
            .json(),
    );
    let submit = |fingerprint: &str| {
        let sent = json!({
            "workspace_slug": "site", "prompt_path": "prompts/a.yaml", "prompt_fingerprint": fingerprint,
            "config": { "max_iterations": 1 },
        });
        s.ask("operator", "POST", "/v1/runs", Some(sent))
    };
    let other = format!("sha256:{}", "0".repeat(64));
    let refused = submit(&other).expect(409).json();
    assert_eq!(refused["fingerprint_stored"], made.as_str());
    let id = submit(&made).expect(201).json()["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let start = s.events(&id, None).until("start").data;
    assert_eq!(start["prompt_fingerprint"], made.as_str());
    s.ended(&id);
    assert!(
        p.noted("prompt.1").contains("look well"),
        "{}",
        p.noted("prompt.1")
    );
    let run = s.run(&id);
    assert_eq!(run["prompt_fingerprint"], made.as_str());
    assert_eq!(run["prompt_changed"], false);
    let names = s
        .ask("observer", "GET", &format!("/v1/runs/{id}/artifacts"), None)
        .expect(200)
        .json()
        .to_string();
    let receipts: Vec<&str> = names
        .split('"')
        .filter(|n| n.starts_with("receipts/") && n.ends_with(".json"))
        .collect();
    assert!(!receipts.is_empty(), "{names}");
    for name in receipts {
        let receipt = s
            .ask(
                "observer",
                "GET",
                &format!("/v1/runs/{id}/artifacts/{name}"),
                None,
            )
            .expect(200)
            .json();
        assert_eq!(
            receipt["prompt_pinned"],
            json!({ "path": "prompts/a.yaml", "fingerprint": made }),
            "{name}"
        );
    }
    s.ask("operator", "PUT", AT, body("otherwise", Some(&made)))
        .expect(200);
    assert_eq!(s.run(&id)["prompt_changed"], true);
    assert_eq!(s.run(&id)["prompt_fingerprint"], made.as_str());
    // What isn't as its fingerprint says is given to no run.
    p.write("prompts/a.yaml", unit("by hand"));
    let read = s.ask("observer", "GET", AT, None).expect(200).json();
    let refused = submit(read["fingerprint_computed"].as_str().unwrap())
        .expect(409)
        .json();
    assert_eq!(refused["type"], "urn:ralph:problem:prompt-tampered");
}

/// Saves from any thread: status and answer, or nothing if the service is gone.
fn save(addr: SocketAddr, text: &str, expected: Option<&str>) -> Option<(u16, Value)> {
    let sent = body(text, expected)?.to_string();
    let mut stream = TcpStream::connect(addr).ok()?;
    let request = format!(
        "PUT {AT} HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{sent}",
        TOKENS[1].1,
        sent.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut said = String::new();
    stream.read_to_string(&mut said).ok()?;
    let (head, answer) = said.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(answer).ok()?))
}

#[test]
fn two_who_save_at_once_do_not_lose_each_others_work() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let base = fingerprint(
        &s.ask("operator", "PUT", AT, body("zero", None))
            .expect(201)
            .json(),
    );
    let addr = s.addr;
    let codes: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8)
            .map(|n| {
                let base = &base;
                scope.spawn(move || save(addr, &format!("w{n}"), Some(base)).unwrap().0)
            })
            .collect();
        all.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|c| **c == 200).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|c| matches!(c, 200 | 409)), "{codes:?}");
    let read = s.ask("observer", "GET", AT, None).expect(200).json();
    assert_eq!(read["status"], "verified");
}

#[test]
fn killed_in_the_middle_of_edits_it_leaves_whole_pairs_or_what_is_mended() {
    let p = Project::build().ready();
    Service::configure(&p, "", "");
    for round in 0..6 {
        let s = Service::again(&p);
        // What a death left is finished, or as it was before.
        let read = s.ask("observer", "GET", AT, None);
        let mut expected = match read.status {
            404 if round == 0 => None,
            _ => {
                let read = read.expect(200).json();
                assert_eq!(read["status"], "verified", "{read}");
                Some(read["fingerprint_stored"].as_str().unwrap().to_owned())
            }
        };
        let addr = s.addr;
        let (told, hear) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0.. {
                    let done = save(addr, &format!("r{round}n{n}"), expected.as_deref());
                    let Some((status, answer)) = done else { return };
                    assert!(status < 300, "{answer}");
                    expected = Some(fingerprint(&answer));
                    let _ = told.send(n);
                }
            });
            // While the next edit is being made.
            for _ in 0..=round {
                hear.recv().unwrap();
            }
            s.live.kill();
        });
        s.live.wait();
    }
    p.run(&["fingerprint", "repair"]).expect(0);
    p.run(&["fingerprint", "verify"]).expect(0);
}
