//! Requests of plugins go to hosts that are granted, and nowhere else (`plugins/tests/http`).

use ralph_tests::web::{Reply, Web};
use ralph_tests::{Project, components};
use serde_json::{Value, json};

fn project(allow: &str, more: &str, asks: Value) -> Project {
    let config = serde_json::to_string(&json!({ "asks": asks })).unwrap();
    let p = Project::build()
        .toml(&format!(
            "[plugins.g]\nsource = \"g.wasm\"\n[plugins.g.allow]\n{allow}\n{more}\n[[gates]]\nname = \"g\"\nplugin = \"g\"\nconfig = {}\n",
            inline(&config)
        ))
        .untrusted();
    p.write("g.wasm", components("tests/http"));
    p.commit_all("all");
    p.trust();
    p
}

/// JSON as an inline table of TOML.
fn inline(json: &str) -> String {
    json.replace("\":", "\" = ")
}

/// What the gate says of each request.
fn said(p: &Project) -> Vec<String> {
    let told = p.run(&["check", "--json"]).expect(0).json();
    let findings = told["result"]["gates"][0]["verdict"]["findings"].clone();
    let findings = findings.as_array().unwrap().iter();
    findings
        .map(|f| f["message"].as_str().unwrap().to_owned())
        .collect()
}

fn ask(scheme: &str, host: &str, path: &str) -> Value {
    json!({ "scheme": scheme, "host": host, "path": path })
}

#[test]
fn a_granted_host_answers_and_no_other_is_asked() {
    let web = Web::http();
    web.on("/hello", Reply::ok("hello to you"));
    web.on(
        "/away",
        Reply::status(302, "gone").header("location", "http://127.0.0.2:9/"),
    );
    let other = Web::http();
    other.on("/hello", Reply::ok("never"));
    let port = other.authority().rsplit(':').next().unwrap().to_owned();
    let p = project(
        &format!("http = [\"{}\", \"example.org\"]", web.authority()),
        "",
        json!([
            ask("http", &web.authority(), "/hello"),
            ask("http", &web.authority(), "/away"),
            ask("http", &web.authority(), "/none"),
            ask("http", &other.authority(), "/hello"),
            ask("http", &format!("user@{}", web.authority()), "/hello"),
            ask("http", &format!("127.0.0.1.example.com:{port}"), "/hello"),
            ask("http", "example.org", "/"),
            ask("http", "example.org:443", "/"),
            json!({"scheme": "http", "host": web.authority(), "path": "/hello", "bytes": 100_000}),
        ]),
    );
    let said = said(&p);
    assert_eq!(said[0], "200 hello to you");
    assert_eq!(said[1], "302 gone");
    assert!(said[2].starts_with("404"), "{said:?}");
    for refused in &said[3..8] {
        assert!(refused.contains("HttpRequestDenied"), "{said:?}");
    }
    assert_eq!(said[8], "200 hello to you");
    assert_eq!(other.heard().len(), 0);
    assert_eq!(web.heard().len(), 4, "{:?}", web.heard());
    let log = p.run(&["check", "-v"]).expect(0).stderr;
    let shown = format!("`http = [\"{}\"]` to [plugins.g.allow]", other.authority());
    assert!(log.contains(&shown), "{log}");
}

#[test]
fn a_component_that_imports_it_needs_the_grant() {
    let p = project("", "", json!([]));
    let told = p.run(&["check"]).expect(3);
    let all = format!("{}{}", told.stdout, told.stderr);
    assert!(
        all.contains("wasi:http/outgoing-handler") && all.contains("http = [\"HOST\"]"),
        "{all}"
    );
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused() {
    let web = Web::https();
    web.on("/", Reply::ok("secret"));
    let p = project(
        &format!("http = [\"{}\"]", web.authority()),
        "",
        json!([ask("https", &web.authority(), "/")]),
    );
    let said = said(&p);
    assert!(said[0].starts_with("error: "), "{said:?}");
}

#[test]
fn what_bodies_and_headers_take_is_bounded() {
    let web = Web::http();
    web.on("/endless", Reply::ok("0123456789".repeat(10_000)).endless());
    web.on("/big", Reply::ok("x".repeat(400_000)));
    web.on("/hello", Reply::ok("hi"));
    let host = web.authority();
    let p = project(
        &format!("http = [\"{host}\"]"),
        "[plugins.g.limits]\ncrossing = \"1MiB\"",
        json!([
            ask("http", &host, "/endless"),
            json!({"scheme": "http", "host": host, "path": "/hello", "bytes": 3_000_000}),
            json!({"scheme": "http", "host": host, "path": "/hello", "times": 101}),
        ]),
    );
    let said = said(&p);
    assert!(said[0].contains("crossing"), "{said:?}");
    assert!(said[1].contains("crossing"), "{said:?}");
    assert!(said[2].contains("HttpRequestDenied"), "{said:?}");
    assert!(web.heard().len() <= 102, "{}", web.heard().len());
}

#[test]
fn header_fields_without_end_end_the_call() {
    let p = project(
        "http = [\"example.org\"]",
        "",
        json!([{"scheme": "https", "host": "example.org", "path": "/", "fill": "x-more"}]),
    );
    let told = p.run(&["check"]).expect(1);
    assert!(told.stdout.contains("size of fields"), "{}", told.stdout);
}

#[test]
fn a_server_that_never_answers_is_given_up_with_the_gate() {
    let deaf = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let host = deaf.local_addr().unwrap().to_string();
    let p = project(
        &format!("http = [\"{host}\"]"),
        "[plugins.g.limits]\nwait = \"300ms\"",
        json!([ask("http", &host, "/")]),
    );
    let told = p.run(&["check"]).expect(1);
    let all = format!("{}{}", told.stdout, told.stderr);
    assert!(all.contains("wait"), "{all}");
}
