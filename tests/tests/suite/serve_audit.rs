//! `ralph serve` and `ralph audit`: what was asked for is on the disk before it is done.

use std::fs;

use ralph_tests::web::{Reply, Web};
use ralph_tests::{Project, Ran, Service};
use rustix::process::Signal;
use serde_json::{Value, json};

fn audit(p: &Project, args: &[&str]) -> Ran {
    let args = [&["audit"], args].concat();
    p.start_command(Service::command(p, &args)).wait()
}

fn lines(p: &Project) -> Vec<Value> {
    let text = fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
    text.lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

#[test]
fn each_wish_has_an_intent_before_and_an_outcome_after() {
    let p = Project::build().ready();
    p.write(
        "prompts/a.yaml",
        "id: a\ntype: prompt-set\nversion: '1'\nprompts:\n  - id: p\n    text: swordfish\n",
    );
    p.run(&["fingerprint", "write"]).expect(0);
    let fingerprint = p.read("prompts/a.yaml.fp").trim().to_owned();
    let s = Service::of(&p);
    let body = json!({
        "workspace_slug": "site", "prompt_path": "prompts/a.yaml",
        "prompt_fingerprint": fingerprint, "config": { "max_iterations": 1 },
    });
    let headers = [("ralph-actor", "alice@example.org")];
    let run = s
        .ask_with("operator", "POST", "/v1/runs", Some(body), &headers)
        .expect(201)
        .json();
    let id = run["run_id"].as_str().unwrap();
    s.ended(id);
    s.ask("admin", "POST", &format!("/v1/runs/{id}/cancel"), None)
        .expect(409);
    let all = lines(&p);
    let of: Vec<(&str, &str)> = all
        .iter()
        .map(|l| (l["type"].as_str().unwrap(), l["stage"].as_str().unwrap()))
        .collect();
    assert_eq!(
        of,
        [
            ("ralph.run.submitted", "intent"),
            ("ralph.run.submitted", "outcome"),
            ("ralph.run.terminal", "outcome"),
        ]
    );
    for (key, value) in [
        ("actor", json!("operator/alice@example.org")),
        ("workspace", json!("site")),
        ("run_id", json!(id)),
        ("prompt_path", json!("prompts/a.yaml")),
        ("prompt_fingerprint", json!(fingerprint)),
    ] {
        assert_eq!(all[0][key], value);
        assert_eq!(all[1][key], value);
    }
    assert_eq!((&all[1]["of"], &all[1]["ok"]), (&json!(1), &json!(true)));
    assert_eq!(all[2]["status"], "incomplete");
    assert_eq!(all[2]["attempts"], 1);
    assert!(all[2]["duration_s"].as_f64().unwrap() > 0.0);
    let text = fs::read_to_string(p.operator("service/audit.jsonl")).unwrap();
    assert!(!text.contains("swordfish"));
    let page = s
        .ask("admin", "GET", "/v1/audit?limit=2", None)
        .expect(200)
        .json();
    assert_eq!(page["events"], json!(all[..2]));
    let next = format!(
        "/v1/audit?limit=2&cursor={}",
        page["next_cursor"].as_str().unwrap()
    );
    let page = s.ask("admin", "GET", &next, None).expect(200).json();
    assert_eq!(page["events"], json!(all[2..]));
    assert_eq!(page["next_cursor"], Value::Null);
    audit(&p, &["verify"]).expect(0).says("3 lines");
    audit(&p, &["tail", "-n", "1"])
        .expect(0)
        .says("ralph.run.terminal")
        .never_says("submitted");
    assert_eq!(audit(&p, &["export"]).expect(0).stdout, text);
}

#[test]
fn what_was_changed_is_found_by_verify_and_at_the_next_start() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    s.ended(&s.submit(json!({ "max_iterations": 1 })));
    s.kill();
    let path = p.operator("service/audit.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replace("\"operator\"", "\"opera_or\"")).unwrap();
    audit(&p, &["verify"])
        .expect(1)
        .says("audit.jsonl:1")
        .says("changed");
    let exported = audit(&p, &["export"]).expect(1).says("audit.jsonl:1");
    assert_eq!(
        exported.stdout, "",
        "nothing that a program takes for a line"
    );
    let cut: String = whole.lines().take(2).map(|l| format!("{l}\n")).collect();
    fs::write(&path, cut).unwrap();
    audit(&p, &["verify"]).expect(1).says("missing");
    let serve = || p.start_command(Service::command(&p, &["serve"])).wait();
    serve().expect(3).says("ralph audit verify");
    // Whole again, but for what says where it ends.
    fs::write(&path, &whole).unwrap();
    audit(&p, &["verify"]).expect(0);
    fs::remove_file(p.operator("service/audit.head")).unwrap();
    audit(&p, &["verify"]).expect(1).says("audit.head");
    serve().expect(3).says("audit.head");
}

#[test]
fn a_damaged_line_is_an_error_that_names_it_and_an_unfinished_one_the_end() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    s.ended(&s.submit(json!({ "max_iterations": 1 })));
    let path = p.operator("service/audit.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let all = lines(&p);
    let read = |at: &str| s.ask("admin", "GET", at, None);
    fs::write(&path, format!("{whole}{{\"seq\":4,")).unwrap();
    let page = read("/v1/audit").expect(200).json();
    assert_eq!(page["events"], json!(all));
    let second = whole.lines().nth(1).unwrap();
    for spoilt in ["{", "", &second.replace("\"ok\":true", "\"ok\":null")] {
        fs::write(&path, whole.replace(second, spoilt)).unwrap();
        let said = read("/v1/audit").expect(500).json();
        assert_eq!(said["type"], "urn:ralph:problem:audit-damaged");
        assert_eq!(said["line"], 2);
        // What is before it, and what is behind it.
        assert_eq!(
            read("/v1/audit?limit=1").status,
            500,
            "is there another one?"
        );
        let rest = read("/v1/audit?cursor=2").expect(200).json();
        assert_eq!(rest["events"], json!(all[2..]));
    }
}

#[test]
fn what_can_t_be_recorded_isn_t_done() {
    let p = Project::build().ready();
    Service::configure(&p, "", "");
    // The audit is full from its first byte on.
    fs::create_dir_all(p.operator("service")).unwrap();
    let file = p.operator("service/audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &file).unwrap();
    let s = Service::again(&p);
    let body = json!({ "workspace_slug": "site" });
    let said = s
        .ask("operator", "POST", "/v1/runs", Some(body))
        .expect(507)
        .json();
    assert_eq!(said["type"], "urn:ralph:problem:disk-full");
    let runs = s
        .ask("observer", "GET", "/v1/runs", None)
        .expect(200)
        .json();
    assert_eq!(runs["runs"], json!([]));
    assert_eq!(p.git(&["branch", "--list"]).lines().count(), 1);
    s.live.signal(Signal::TERM);
    // Its operator has nothing but the log; of a first start there is nothing to say.
    s.live
        .wait()
        .expect(0)
        .says("the audit can't be written")
        .never_says("tidied");
}

#[test]
fn a_service_that_dies_between_the_audit_and_the_store_tells_an_end_once() {
    let p = Project::build()
        .agent("tell agent ready\nuntil [ -e $SIDE/go ]; do sleep 0.05; done\necho x >>work.txt\necho 'EXIT_SIGNAL: true'\n")
        .ready();
    p.fifo("agent");
    let s = Service::of(&p);
    let id = s.submit(json!({ "max_iterations": 1 }));
    p.hear("agent");
    let store = ["store.sqlite", "store.sqlite-wal"].map(|n| p.operator("service").join(n));
    let before = store.each_ref().map(|path| fs::read(path).unwrap());
    fs::write(p.side("go"), "").unwrap();
    let end = s.ended(&id);
    s.kill();
    // As it was before the end was kept.
    for (path, bytes) in store.iter().zip(before) {
        fs::write(path, bytes).unwrap();
    }
    let s = Service::again(&p);
    let told = s.ended(&id);
    for name in ["status", "reason", "attempts", "duration_s"] {
        assert_eq!(told[name], end[name], "{name}");
    }
    assert_eq!(s.run(&id)["status"], end["status"]);
    let ends = lines(&p)
        .iter()
        .filter(|l| l["type"] == "ralph.run.terminal")
        .count();
    assert_eq!(ends, 1);
}

#[test]
fn a_relay_that_was_away_gets_each_line_once_and_in_order_and_holds_up_no_run() {
    let p = Project::build().ready();
    let web = Web::http();
    web.on("/audit", Reply::status(503, ""));
    let url = web.url("/audit");
    Service::configure(
        &p,
        "",
        &format!("[relay]\nurl = {url:?}\ntoken_env = \"RELAY\""),
    );
    let start = || {
        let mut command = Service::command(&p, &["serve", "--json"]);
        command.env("RELAY", "relay-secret");
        Service::started(&p, command)
    };
    let s = start();
    s.ended(&s.submit(json!({ "max_iterations": 1 })));
    let until = |count: usize| {
        let limit = std::time::Instant::now() + ralph_tests::LIMIT;
        while web.heard().len() < count {
            assert!(std::time::Instant::now() < limit, "{:?}", web.heard());
            std::thread::yield_now();
        }
    };
    until(1);
    s.live.kill();
    s.live.wait().says("the audit can't be relayed");
    // Gone before anything was taken: the next service has it all still.
    web.on("/audit", Reply::ok(""));
    let before = web.bodies().len();
    let s = start();
    until(before + 3);
    let all = lines(&p);
    let sent: Vec<Value> = web.bodies()[before..]
        .iter()
        .map(|b| serde_json::from_slice(b).unwrap())
        .collect();
    assert_eq!(sent[..3], all[..3]);
    assert!(
        web.heard()
            .iter()
            .all(|h| h == "POST /audit Bearer relay-secret")
    );
    s.ended(&s.submit(json!({ "max_iterations": 1 })));
    until(before + 6);
    let last: Value = serde_json::from_slice(&web.bodies()[before + 5]).unwrap();
    assert_eq!(last, lines(&p)[5]);
}
