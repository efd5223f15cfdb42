//! The client in `sdk/js/service`: its own tests, and against the built service. Where there is no Node of
//! its version, the reason is on standard error.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ralph_tests::web::Web;
use ralph_tests::{Project, Service, TOKENS};
use serde_json::{Value, json};

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/js/service")
}

/// Node with the environment of the project, if it is here and new enough.
fn node(p: &Project) -> Option<Command> {
    let version = Command::new("node").arg("--version").output().ok();
    let version = version.map(|v| String::from_utf8_lossy(&v.stdout).into_owned());
    let major = version.as_deref().and_then(|v| {
        v.trim()
            .strip_prefix('v')?
            .split('.')
            .next()?
            .parse::<u32>()
            .ok()
    });
    if major.is_none_or(|major| major < 20) {
        eprintln!("SKIPPED: the service's client: Node is {version:?}; it needs 20");
        return None;
    }
    let ralph = p.command(&[]);
    let mut node = Command::new("node");
    node.env_clear()
        .envs(
            ralph
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .env("RALPH_BIN", ralph.get_program())
        .stdin(Stdio::null())
        .current_dir(p.root());
    Some(node)
}

#[test]
fn its_own_tests_pass() {
    let p = Project::bare();
    let Some(mut node) = node(&p) else { return };
    node.arg("--test");
    for file in ["client", "events", "sidecar"] {
        node.arg(client().join(format!("test/{file}.test.js")));
    }
    p.start_command(node).wait().expect(0);
}

fn driven(p: &Project, with: &[(&str, String)]) -> Option<Value> {
    let mut node = node(p)?;
    node.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("npm/service/client.mjs"))
        .env("CLIENT", client().join("index.js"))
        .env("RALPH_SERVE_TOKEN", TOKENS[2].1);
    node.envs(with.iter().map(|(name, value)| (name, value)));
    Some(p.start_command(node).wait().expect(0).json())
}

fn whole(said: &Value) {
    let saved = &said["saved"]["fingerprint"];
    assert_eq!(said["prior"], 404);
    assert_eq!(said["conflict"], json!({ "status": 409, "stored": saved }));
    assert_eq!(said["start"]["type"], "start");
    assert_eq!(&said["start"]["prompt_fingerprint"], saved);
    assert_eq!(said["last"]["type"], "terminal");
    assert_eq!(
        (&said["same"], &said["proxied"]),
        (&json!(true), &json!(true)),
        "{said}"
    );
    assert_eq!((&said["none"], &said["paused"]), (&json!(0), &json!(409)));
    assert_eq!(said["cancelled"], 409, "it is over");
    assert_eq!(said["listed"], json!([said["run"]["run_id"]]));
    assert_eq!(&said["run"]["prompt_fingerprint"], saved);
}

#[test]
fn it_drives_the_service_from_elsewhere() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let url = format!("http://{}", s.addr);
    let with = [("RALPH_TRANSPORT", "remote".into()), ("RALPH_URL", url)];
    let Some(said) = driven(&p, &with) else {
        return;
    };
    whole(&said);
}

#[test]
fn it_drives_the_service_over_tls_and_shows_its_certificate() {
    let p = Project::build().ready();
    let pem = |name: &str| Web::ca().with_file_name(name).display().to_string();
    let (cert, key, ca) = (pem("server.pem"), pem("server.key"), pem("ca.pem"));
    let tls = format!("[serve.tls]\ncert = {cert:?}\nkey = {key:?}\nclient_ca = {ca:?}\n");
    Service::configure(&p, "", &tls);
    let s = Service::again(&p);
    let with = [
        ("RALPH_TRANSPORT", "remote".into()),
        ("RALPH_URL", format!("https://{}", s.addr)),
        ("RALPH_MTLS", "1".into()),
        ("RALPH_MTLS_CERT", cert),
        ("RALPH_MTLS_KEY", key),
        ("RALPH_MTLS_CA", ca),
    ];
    let Some(said) = driven(&p, &with) else {
        return;
    };
    whole(&said);
}

#[test]
fn it_has_a_service_of_its_own_and_starts_it_again() {
    let p = Project::build().ready();
    let file = Service::configure(&p, "", "");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let file = file.display().to_string();
    let args = json!([
        "serve",
        "--config",
        file,
        "--listen",
        format!("127.0.0.1:{port}")
    ]);
    let log = p.side("sidecar.log").display().to_string();
    let with = [
        ("RALPH_TRANSPORT", "sidecar".into()),
        ("RALPH_SIDECAR_PORT", port.to_string()),
        ("RALPH_SIDECAR_LOG_PATH", log),
        ("SERVE_ARGS", args.to_string()),
        ("KEY_1", ralph_tests::KEY.into()),
        // The service takes it out of the same variable.
        ("RALPH_SERVE_TOKEN", "sidecar-0123456789abcdef".into()),
    ];
    let Some(said) = driven(&p, &with) else {
        return;
    };
    whole(&said);
    assert_eq!(said["restarted"], true);
}
