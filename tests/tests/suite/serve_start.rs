//! `ralph serve`: its file, its start and its end.

use std::io::{Read, Write};

use ralph_tests::{KEY, Project, Service, TOKENS};
use rustix::process::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

#[test]
fn a_mistake_in_serve_toml_is_told_with_its_place_and_nothing_is_made() {
    let p = Project::build().ready();
    let path = p.operator("serve.toml");
    let serve = || p.start_command(Service::command(&p, &["serve"])).wait();
    serve().expect(3).says("serve.toml");
    for (text, said) in [
        ("[serve]\nlisten = \"nowhere\"", "serve.toml:2:10"),
        ("[serve]\n\n  lisen = \"127.0.0.1:0\"", "serve.toml:3:3"),
        ("[serve]\nmax_run = 1", "did you mean `max_runs`?"),
        ("[serve]\nmax_runs = 0", "at least 1"),
        ("[serve]\nlisten = \"0.0.0.0:0\"", "allow_remote"),
        (
            "[serve]\nlisten = \"0.0.0.0:0\"\nallow_remote = true",
            "allow_plain",
        ),
        ("[serve]\norigins = [\"*\"]", "no origin"),
        ("[serve]\norigins = [\"ftp://a\"]", "[serve] origins"),
        ("[serve]\norigins = [\"https://a/b\"]", "[serve] origins"),
        ("[serve]\norigins = [\"https://\"]", "[serve] origins"),
        ("[serve]\norigins = [\"https://me@a\"]", "[serve] origins"),
        ("[serve]\nhosts = [\"*\"]", "[serve] hosts"),
        ("[serve]\nhosts = [\"\"]", "[serve] hosts"),
        ("[serve]\nhosts = [\"https://a\"]", "[serve] hosts"),
        ("[serve]\nhosts = [\"a:port\"]", "[serve] hosts"),
        ("[serve]\nheartbeat = \"0s\"", "[serve] heartbeat"),
        ("[serve]\nbody_limit = \"0B\"", "[serve] body_limit"),
        ("[serve]\nmax_queued = 0", "[serve] max_queued"),
        ("[mint]\nmax_ttl = \"0s\"", "[mint] max_ttl"),
        ("[workspaces.\"../x\"]\npath = \"x\"", "no name"),
        (
            "[tokens.a]\nrole = \"root\"\nfile = \"t\"",
            "serve.toml:2:8",
        ),
        (
            "[tokens.a]\nrole = \"admin\"\nfile = \"t\"\nworkspaces = [\"gone\"]",
            "gone",
        ),
        ("[tokens.a]\nrole = \"admin\"", "either `file` or `env`"),
        ("[mint]\nkey = \"gone\"", "[keys.gone]"),
        ("", "RALPH_SERVE_TOKEN"),
    ] {
        std::fs::write(&path, text).unwrap();
        serve().expect(3).says(said);
    }
    for token in [
        "one-0123456789abcdef\ntwo",
        "with a blank 0123456789",
        "schlüssel-0123456789",
    ] {
        std::fs::write(p.operator("t"), token).unwrap();
        std::fs::write(&path, "[tokens.a]\nrole = \"admin\"\nfile = \"t\"").unwrap();
        let said = serve().expect(3).says("[tokens.a]").says("visible ASCII");
        assert!(!said.stderr.contains(token), "{}", said.stderr);
    }
    std::fs::write(p.operator("t"), "one-0123456789abcdef").unwrap();
    std::fs::write(&path, "[tokens.env]\nrole = \"observer\"\nfile = \"t\"").unwrap();
    let mut twice = Service::command(&p, &["serve"]);
    twice.env("RALPH_SERVE_TOKEN", "two-0123456789abcdef");
    p.start_command(twice).wait().expect(3).says("[tokens.env]");
    assert!(!p.all().join("state/ralph/serve").exists());
}

#[test]
fn it_is_alive_secured_and_ends_in_good_order() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    for path in ["/healthz", "/readyz"] {
        let answer = s.ask("", "GET", path, None).expect(200);
        assert_eq!(answer.json()["status"], "ok");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let text = s.ask("observer", "GET", "/metrics", None).expect(200).body;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\nralph_runs_active 0\n"), "{text}");
    assert!(text.contains("ralph_http_requests_total 3\n"), "{text}");
    s.live.signal(Signal::TERM);
    let ran = s.live.wait().expect(0);
    assert!(!ran.stderr.contains("tidied"), "{}", ran.stderr);
}

#[test]
fn a_workspace_that_is_gone_is_told_and_the_others_are_served() {
    let p = Project::build().ready();
    let tables = format!("[workspaces.gone]\npath = {:?}", p.operator("gone"));
    Service::configure(&p, "", &tables);
    let s = Service::again(&p);
    let body = json!({ "workspace_slug": "gone" });
    let refused = s.ask("operator", "POST", "/v1/runs", Some(body));
    assert!(refused.status >= 400, "{refused:?}");
    let id = s.submit(json!({ "max_iterations": 1 }));
    assert_eq!(s.ended(&id)["attempts"], 1);
    s.live.signal(Signal::TERM);
    s.live.wait().expect(0).says("[workspaces.gone] path");
}

#[test]
fn a_second_service_on_the_same_directory_is_refused() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    p.start_command(Service::command(&p, &["serve"]))
        .wait()
        .expect(3)
        .says("another service (pid");
    s.ask("", "GET", "/healthz", None).expect(200);
}

#[test]
fn the_openapi_document_names_every_route_and_resolves() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let doc = s.ask("", "GET", "/openapi.json", None).expect(200).json();
    assert_eq!(doc["openapi"], "3.1.0");
    let text = doc.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(doc.pointer(pointer).is_some(), "{pointer}");
    }
    // Each is there: nobody without a token gets further, nobody is told that it isn't.
    for (path, methods) in doc["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "x").replace("{path}", "y");
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let answer = s.ask("", &method, &path, None);
            let open = matches!(path.as_str(), "/healthz" | "/readyz" | "/openapi.json");
            assert_eq!(
                answer.status,
                if open { 200 } else { 401 },
                "{method} {path}"
            );
            if let (false, Some(old)) = (open, path.strip_prefix("/v1")) {
                s.ask("", &method, old, None).expect(401);
            }
        }
    }
    let run = &doc["components"]["schemas"]["Run"]["properties"];
    assert!(
        run["prompt_fingerprint"].is_object() && run["status"].is_object(),
        "{run}"
    );
}

#[test]
fn tokens_are_minted_for_a_workspace_a_role_and_a_time() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let mint = |args: &[&str]| {
        let args = [&["token", "mint"], args].concat();
        p.start_command(Service::command(&p, &args)).wait()
    };
    let site = ["--workspace", "site", "--actor", "tess", "--role"];
    let minted = mint(&[&site[..], &["operator"]].concat()).expect(0);
    let token = minted.stdout.trim().to_owned();
    assert!(!token.contains(KEY) && token.split('.').count() == 3);
    s.ask(&token, "GET", "/v1/runs", None).expect(200);
    s.ask(&token, "GET", "/v1/audit", None).expect(403);
    let body = json!({ "workspace_slug": "site" });
    let run = s
        .ask(&token, "POST", "/v1/runs", Some(body))
        .expect(201)
        .json();
    assert_eq!(run["actor"], "jwt:tess");
    let spoilt = format!("{}A", &token[..token.len() - 1]);
    let other = if spoilt == token {
        format!("{token}A")
    } else {
        spoilt
    };
    s.ask(&other, "GET", "/v1/runs", None).expect(401);
    mint(&["--workspace", "shop", "--actor", "t", "--role", "admin"])
        .expect(3)
        .says("shop");
    mint(&[&site[..], &["admin", "--ttl", "2h"]].concat())
        .expect(3)
        .says("max_ttl");
    mint(&[&site[..], &["root"]].concat()).expect(3);
    mint(&["--workspace", "site", "--actor", "a/b", "--role", "admin"])
        .expect(3)
        .says("--actor");
    // Short ones end.
    let short = mint(&[&site[..], &["observer", "--ttl", "1s"]].concat()).expect(0);
    let until = std::time::Instant::now() + ralph_tests::LIMIT;
    let expired = loop {
        let answer = s.ask(short.stdout.trim(), "GET", "/v1/runs", None);
        if answer.status == 401 {
            break answer.json();
        }
        assert!(std::time::Instant::now() < until);
    };
    assert!(
        expired["detail"].as_str().unwrap().contains("expired"),
        "{expired}"
    );
    let (_, admin) = TOKENS[2];
    let ps = std::fs::read(format!("/proc/{}/cmdline", s.live.pid())).unwrap();
    assert!(!String::from_utf8_lossy(&ps).contains(admin));
}

/// Asks over TLS; what was answered, or why nothing.
fn over_tls(addr: std::net::SocketAddr, certificate: bool) -> std::io::Result<String> {
    let pem = |name: &str| ralph_tests::web::Web::ca().with_file_name(name);
    let chain = |name: &str| vec![CertificateDer::from_pem_file(pem(name)).unwrap()];
    let mut roots = RootCertStore::empty();
    roots.add(chain("ca.pem").remove(0)).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = if certificate {
        let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
        builder
            .with_client_auth_cert(chain("server.pem"), key)
            .unwrap()
    } else {
        builder.with_no_client_auth()
    };
    let name = ServerName::from(addr.ip());
    let tls = ClientConnection::new(config.into(), name).unwrap();
    let stream = std::net::TcpStream::connect(addr)?;
    stream.set_read_timeout(Some(ralph_tests::LIMIT))?;
    let mut stream = StreamOwned::new(tls, stream);
    write!(
        stream,
        "GET /healthz HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn it_encrypts_and_asks_clients_for_certificates_if_it_is_told_to() {
    let p = Project::build().ready();
    let web = ralph_tests::web::Web::ca();
    let pem = |name: &str| web.with_file_name(name).display().to_string();
    let (cert, key, ca) = (pem("server.pem"), pem("server.key"), pem("ca.pem"));
    let tls = format!("[serve.tls]\ncert = {cert:?}\nkey = {key:?}\n");
    Service::configure(&p, "", &tls);
    let s = Service::again(&p);
    assert!(over_tls(s.addr, false).unwrap().starts_with("HTTP/1.1 200"));
    // Who speaks in the clear gets nothing, and holds up nobody.
    let mut plain = s.connect();
    plain.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP"));
    s.kill();
    Service::configure(&p, "", &format!("{tls}client_ca = {ca:?}\n"));
    let s = Service::again(&p);
    assert!(over_tls(s.addr, true).unwrap().starts_with("HTTP/1.1 200"));
    over_tls(s.addr, false).unwrap_err();
    s.kill();
    Service::configure(&p, "", &tls.replace("server.key", "gone.key"));
    p.start_command(Service::command(&p, &["serve"]))
        .wait()
        .expect(3)
        .says("gone.key");
}
