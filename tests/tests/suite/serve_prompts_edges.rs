//! `ralph serve`: prompts that can't be read, that somebody holds, whose canonicaliser is another, whose
//! edit was cut off.

use std::fs;
use std::os::unix::fs::symlink;

use ralph_tests::{Project, Service};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const W: &str = "/v1/workspaces/site/prompts";
const AT: &str = "/v1/workspaces/site/prompts/a.yaml";

fn unit(text: &str) -> String {
    format!("id: a\ntype: prompt-set\nversion: '1.0'\nprompts:\n  - id: p\n    text: {text}\n")
}

fn body(text: &str, expected: Option<&str>) -> Option<Value> {
    Some(json!({ "content": unit(text), "expected_prior_fingerprint": expected }))
}

fn sha256(text: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(text.as_ref());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn what_cannot_be_read_is_replaced_by_nobody_who_has_not_deleted_it() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let made = s.ask("operator", "PUT", AT, body("one", None)).expect(201);
    let made = made.json()["fingerprint"].as_str().unwrap().to_owned();
    for text in [&b"a: 1\na: 2\n"[..], b"\xff\xfe"] {
        p.write("prompts/a.yaml", text);
        let raw = format!("sha256:{}", sha256(text));
        for expected in [None, Some(made.as_str()), Some(raw.as_str())] {
            let said = s
                .ask("operator", "PUT", AT, body("two", expected))
                .expect(409);
            let said = said.json();
            assert_eq!(said["type"], "urn:ralph:problem:prompt-changed");
            assert_eq!(said["fingerprint_stored"], made.as_str());
            assert_eq!(said["fingerprint_computed"], Value::Null);
            assert!(said["detail"].as_str().unwrap().contains("delete it first"));
        }
        assert_eq!(p.bytes("prompts/a.yaml"), text);
    }
    s.ask("operator", "DELETE", AT, None).expect(403);
    let expecting = format!("{AT}?expected_prior_fingerprint={made}");
    s.ask("admin", "DELETE", &expecting, None).expect(409);
    s.ask("admin", "DELETE", AT, None).expect(200);
    s.ask("operator", "PUT", AT, body("two", None)).expect(201);
}

#[test]
fn what_is_asked_and_is_not_known_is_refused() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let made = s.ask("operator", "PUT", AT, body("one", None)).expect(201);
    let made = made.json()["fingerprint"].as_str().unwrap().to_owned();
    let short = "/v1/prompts/a.yaml?workspace=site";
    let expected = format!("expected_prior_fingerprint={made}");
    for (method, path, sent) in [
        ("GET", format!("{W}?nonsense=1"), None),
        ("GET", format!("{W}?limit=0"), None),
        ("GET", format!("{W}?limit=501"), None),
        ("GET", format!("{AT}?nonsense=1"), None),
        ("GET", format!("{short}&nonsense=1"), None),
        ("PUT", format!("{AT}?{expected}"), body("two", None)),
        (
            "PUT",
            format!("{short}&{expected}"),
            body("two", Some(&made)),
        ),
        ("DELETE", format!("{AT}?nonsense=1"), None),
        ("DELETE", format!("{short}&nonsense=1"), None),
    ] {
        let said = s.ask("admin", method, &path, sent).expect(400).json();
        assert_eq!(said["type"], "urn:ralph:problem:bad-request", "{path}");
    }
    assert_eq!(p.read("prompts/a.yaml"), unit("one"));
    for name in [
        format!("{}.yaml", "a".repeat(300)),
        format!("{}.yaml", "a".repeat(250)),
        format!("{}/a.yaml", "a".repeat(300)),
        format!("{}a.yaml", "d/".repeat(17)),
        "a%E2%80%AElmay.yaml".to_owned(),
        "a%E2%80%A8.yaml".to_owned(),
        "%EF%BB%BFa.yaml".to_owned(),
        "a%F3%A0%81%81.yaml".to_owned(),
    ] {
        for (method, sent) in [("GET", None), ("PUT", body("x", None)), ("DELETE", None)] {
            let said = s.ask("admin", method, &format!("{W}/{name}"), sent);
            assert_eq!(said.expect(422).json()["type"], "urn:ralph:problem:path");
        }
    }
    for (text, why) in [
        (unit("' '"), "is blank"),
        (format!("{}    depends_on: [q]\n", unit("x")), "isn't there"),
        (
            format!("{}    depends_on: [p]\n", unit("x")),
            "depends on itself",
        ),
    ] {
        let sent = json!({ "content": text });
        let said = s.ask("operator", "PUT", &format!("{W}/b.yaml"), Some(sent));
        let said = said.expect(422).json();
        assert!(said["detail"].as_str().unwrap().contains(why), "{said}");
    }
    assert!(!p.exists("prompts/b.yaml"));
    s.ask("operator", "DELETE", short, None).expect(403);
    s.ask("admin", "DELETE", &format!("{short}&{expected}"), None)
        .expect(200);
}

#[test]
fn prompts_are_listed_by_pages() {
    let p = Project::build().ready();
    let names: Vec<String> = (0..7).map(|n| format!("prompts/{n}.md")).collect();
    for name in &names {
        p.write(&format!("prompts/{name}"), "x\n");
    }
    p.write("prompts/0.md", "y\n");
    let s = Service::of(&p);
    let mut seen = Vec::new();
    let mut path = format!("{W}?limit=3");
    loop {
        let page = s.ask("observer", "GET", &path, None).expect(200).json();
        let prompts = page["prompts"].as_array().unwrap();
        assert!(prompts.len() <= 3);
        seen.extend(
            prompts
                .iter()
                .map(|p| p["path"].as_str().unwrap().to_owned()),
        );
        match page["next_cursor"].as_str() {
            Some(next) => path = format!("{W}?limit=3&cursor={next}"),
            None => break,
        }
    }
    let mut wanted = vec!["0.md".to_owned()];
    wanted.extend(names);
    assert_eq!(seen, wanted);
    let document = s.ask("observer", "GET", "/openapi.json", None).json();
    let schemas = &document["components"]["schemas"];
    for (name, member) in [
        ("Prompt", "fingerprint_stored"),
        ("Prompt", "fingerprint_computed"),
        ("Listed", "status"),
        ("Prompts", "next_cursor"),
        ("Edited", "old_fp"),
    ] {
        let required = schemas[name]["required"].as_array().unwrap();
        assert!(required.contains(&json!(member)), "{name}: {required:?}");
        assert!(!required.contains(&json!("problem")));
    }
}

#[test]
fn whoever_holds_the_lock_of_prompts_holds_up_nothing_else() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    s.ask("operator", "PUT", AT, body("one", None)).expect(201);
    let lock = fs::File::open(p.root().join(".ralph/prompt-edits/lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let addr = s.addr;
    std::thread::scope(|scope| {
        let read = move || Service::attempt(addr, "observer", "GET", AT, None, &[]).unwrap();
        let readers: Vec<_> = (0..16).map(|_| scope.spawn(read)).collect();
        for _ in 0..20 {
            s.ask("observer", "GET", "/v1/runs", None).expect(200);
        }
        assert!(readers.iter().all(|reader| !reader.is_finished()));
        flock(&lock, FlockOperation::Unlock).unwrap();
        for reader in readers {
            reader.join().unwrap().expect(200);
        }
    });
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    for (method, sent) in [("GET", None), ("PUT", body("two", None))] {
        let said = s.ask("operator", method, AT, sent).expect(503);
        assert_eq!(said.json()["type"], "urn:ralph:problem:busy");
        assert!(said.header("retry-after").is_some());
    }
    assert_eq!(p.read("prompts/a.yaml"), unit("one"));
}

#[test]
fn another_canonicaliser_of_the_ending_is_told_by_its_name_once_it_is_trusted() {
    let p = Project::build().untrusted();
    let json = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/components/canonicaliser-json.wasm"
    );
    fs::copy(json, p.root().join("mine.wasm")).unwrap();
    let toml = p.read("ralph.toml");
    p.write(
        "ralph.toml",
        format!(
            "{toml}\n[fingerprints.forms]\nyaml = \"mine\"\nyml = \"text\"\n[plugins.mine]\nsource = \"mine.wasm\"\n"
        ),
    );
    p.write("prompts/a.yaml", "{\"a\": 1}\n");
    p.commit_all("another");
    let s = Service::of(&p);
    let set = json!({ "id": "a", "type": "prompt-set", "version": "1", "prompts": [{ "id": "p", "text": "x" }] });
    let sent = |content: &str| Some(json!({ "content": content }));
    for (method, sent) in [("GET", None), ("PUT", sent(&set.to_string()))] {
        let said = s.ask("operator", method, AT, sent).expect(409).json();
        assert_eq!(said["type"], "urn:ralph:problem:workspace-untrusted");
    }
    p.trust();
    s.ask("observer", "GET", AT, None).expect(200);
    s.ask(
        "operator",
        "PUT",
        &format!("{W}/b.yaml"),
        sent(&set.to_string()),
    )
    .expect(201);
    // `text` makes no JSON of YAML.
    let said = s.ask("operator", "PUT", &format!("{W}/b.yml"), sent(&unit("x")));
    let said = said.expect(422).json();
    assert!(
        said["detail"]
            .as_str()
            .unwrap()
            .contains("canonicaliser `text`"),
        "{said}"
    );
    let said = s.ask("operator", "PUT", &format!("{W}/b.md"), sent("x"));
    assert!(
        said.expect(422).json()["detail"]
            .as_str()
            .unwrap()
            .contains(".yaml")
    );
}

#[test]
fn an_edit_that_a_death_cut_off_is_told_in_the_audit_once_it_is_finished_or_given_up() {
    for given_up in [false, true] {
        let p = Project::build().ready();
        let s = Service::of(&p);
        s.ask("operator", "PUT", AT, body("one", None)).expect(201);
        s.kill();
        // As after a death between the audit and the edit's end.
        let audit = p.operator("service/audit.jsonl");
        let text = fs::read_to_string(&audit).unwrap();
        let intent: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(intent["stage"], "intent");
        fs::write(&audit, format!("{}\n", text.lines().next().unwrap())).unwrap();
        let head = json!({ "seq": 1, "hash": intent["hash"] });
        fs::write(p.operator("service/audit.head"), format!("{head}\n")).unwrap();
        let (content, sidecar) = (p.read("prompts/a.yaml"), p.read("prompts/a.yaml.fp"));
        let edit = json!({
            "_schema": "ralph.prompt-edit.v1", "path": "prompts/a.yaml",
            "content": content, "sidecar": sidecar, "content_before": null, "sidecar_before": null,
        });
        let name = format!(
            ".ralph/prompt-edits/{}.json",
            &sha256("prompts/a.yaml")[..32]
        );
        p.write(&name, edit.to_string());
        match given_up {
            true => p.write("prompts/a.yaml", unit("by hand")),
            false => fs::remove_file(p.root().join("prompts/a.yaml.fp")).unwrap(),
        }
        let s = Service::again(&p);
        let read = s.ask("observer", "GET", AT, None).expect(200).json();
        let status = if given_up { "tampered" } else { "verified" };
        assert_eq!(read["status"], status);
        s.ask("observer", "GET", AT, None).expect(200);
        let page = s.ask("admin", "GET", "/v1/audit", None).expect(200).json();
        let lines = page["events"].as_array().unwrap();
        assert_eq!(lines.len(), 2, "{page}");
        let outcome = &lines[1];
        assert_eq!(
            (&outcome["stage"], &outcome["of"], &outcome["ok"]),
            (&json!("outcome"), &json!(1), &json!(!given_up))
        );
        for name in ["type", "actor", "workspace", "prompt_path", "new_fp"] {
            assert_eq!(outcome[name], intent[name], "{name}");
        }
    }
}

#[test]
fn a_list_names_what_is_not_a_prompt_without_following_it() {
    let p = Project::build().ready();
    p.write("prompts/a.md", "a\n");
    symlink("/etc/passwd", p.root().join("prompts/l.md")).unwrap();
    p.write(&format!("prompts/{}a.md", "d/".repeat(17)), "a\n");
    let s = Service::of(&p);
    let listed = s.ask("observer", "GET", W, None).expect(200).json();
    let told: Vec<_> = listed["prompts"].as_array().unwrap().iter().collect();
    assert_eq!(told.len(), 3, "{listed}");
    assert_eq!(told[0]["status"], "missing");
    for other in &told[1..] {
        assert_eq!(other["status"], Value::Null);
    }
}
