//! The service is asked everything that its OpenAPI document allows, and much that it doesn't, by
//! schemathesis, which comes from PyPI. Where that can't be had, the reason is on standard error.
//!
//! Each role has fifteen seconds; `RALPH_SCHEMATHESIS_SECONDS` gives it more.

use std::path::Path;

use ralph_tests::{LIMIT, Project, Pypi, Service, TOKENS};
use rustix::process::Signal;
use serde_json::json;

/// Finds nothing as somebody with this role.
fn asked_everything(role: &str) {
    let p = Project::build().untrusted();
    p.write(
        "prompts/a.yaml",
        "id: a\ntype: prompt-set\nversion: '1.0'\nprompts:\n  - id: p\n    text: hello\n",
    );
    p.run(&["fingerprint", "write"]).expect(0);
    p.trust();
    p.commit_all("a prompt");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("pypi/schemathesis");
    let Some(pypi) = Pypi::install(&p, &source, "schemathesis") else {
        return;
    };
    Service::configure(&p, "rate = 100000", "");
    let s = Service::again(&p);
    // Something that can be asked for.
    s.ended(&s.submit(json!({})));
    let token = TOKENS.iter().find(|(name, _)| *name == role).unwrap().1;
    let seconds = std::env::var("RALPH_SCHEMATHESIS_SECONDS");
    let seconds = seconds.unwrap_or_else(|_| "15".to_owned());
    let mut asked = pypi.program(&p, "schemathesis");
    asked
        .arg("--config-file")
        .arg(source.join("schemathesis.toml"))
        .args(["run", &format!("http://{}/openapi.json", s.addr)])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--max-time", &seconds, "--max-examples", "50"])
        .args(["--seed", "1", "--request-timeout", "20", "--no-color"])
        // Of what can stand in an address and a header, much can't be sent.
        .args(["--suppress-health-check", "filter_too_much"])
        .arg("--continue-on-failure");
    let limit = LIMIT + std::time::Duration::from_secs(seconds.parse().unwrap());
    let ran = p.start_command(asked).wait_at_most(limit);
    let ran = ran.expect(0);
    assert!(ran.stdout.contains(" passed"), "{}", ran.stdout);
    s.ask("observer", "GET", "/readyz", None).expect(200);
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0).never_says("panicked");
    // Whatever was saved, deleted or refused: whole pairs.
    p.run(&["fingerprint", "verify"]).expect(0);
    let audit = Service::command(&p, &["audit", "verify"]);
    p.start_command(audit).wait().expect(0);
}

#[test]
fn schemathesis_finds_nothing_as_an_observer() {
    asked_everything("observer");
}

#[test]
fn schemathesis_finds_nothing_as_an_operator() {
    asked_everything("operator");
}

#[test]
fn schemathesis_finds_nothing_as_an_admin() {
    asked_everything("admin");
}
