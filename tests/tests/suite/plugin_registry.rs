//! Plugins from OCI registries: Debian's `docker-registry` where it is there, and one that lies.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use base64::Engine;
use ralph_tests::Project;
use ralph_tests::web::{Reply, Web};

use crate::plugin_lock::{passing, sha256};
use crate::plugin_sources::ralph;

const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";

/// A registry that ends with the test.
struct Registry {
    child: Child,
    port: u16,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `None`, and why on standard error, where the program isn't there.
fn registry(p: &Project) -> Option<Registry> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let config = p.side("registry.yml");
    let text = format!(
        "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: 127.0.0.1:{port}\n",
        p.side("registry").display()
    );
    std::fs::write(&config, text).unwrap();
    let child = Command::new("docker-registry")
        .arg("serve")
        .arg(&config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = match child {
        Ok(child) => child,
        Err(e) => {
            eprintln!("skipped: docker-registry: {e} (on Debian: apt install docker-registry)");
            return None;
        }
    };
    let registry = Registry { child, port };
    for _ in 0..600 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(registry);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("docker-registry doesn't listen");
}

#[test]
fn what_is_pushed_is_added_elsewhere_and_a_tag_is_pinned() {
    let p = Project::build().in_loop("max_iterations = 1").untrusted();
    let Some(registry) = registry(&p) else { return };
    let bytes = passing("pushed", "{}");
    p.write("tools/mine.wasm", &bytes);
    let to = format!("oci://127.0.0.1:{}/team/gate:1", registry.port);
    let pushed = ralph(&p, &["plugin", "push", "tools/mine.wasm", &to, "--json"]);
    let pushed = pushed.expect(0).json()["result"]["reference"].clone();
    let pushed = pushed.as_str().unwrap();

    let q = Project::build().in_loop("max_iterations = 1").untrusted();
    ralph(&q, &["plugin", "add", &to, "--name", "far"])
        .expect(0)
        .says(pushed);
    let lock = q.read("ralph.lock");
    assert!(
        lock.contains(pushed) && lock.contains(&sha256(&bytes)),
        "{lock}"
    );
    let toml = q.read("ralph.toml") + "[[gates]]\nname = \"far\"\nplugin = \"far\"\n";
    q.write("ralph.toml", toml);
    ralph(&q, &["trust", "--yes"]).expect(0);
    ralph(&q, &["check", "--locked", "--offline"]).expect(0);

    // The tag moves; what is pinned stays until `update`.
    let newer = passing("moved", "{}");
    p.write("tools/mine.wasm", &newer);
    ralph(&p, &["plugin", "push", "tools/mine.wasm", &to]).expect(0);
    std::fs::remove_dir_all(q.side("cache")).unwrap();
    ralph(&q, &["plugin", "pull"]).expect(0);
    ralph(&q, &["plugin", "lock"]).expect(0).says("as it was");
    assert_eq!(q.read("ralph.lock"), lock);
    ralph(&q, &["plugin", "update"])
        .expect(0)
        .says(&sha256(&newer));
    // By digest there is nothing to pin.
    let r = Project::build().untrusted();
    ralph(&r, &["plugin", "add", pushed, "--name", "far"])
        .expect(0)
        .says(&sha256(&bytes));
    ralph(
        &r,
        &[
            "plugin",
            "add",
            &to.replace("gate:1", "none:1"),
            "--name",
            "b",
        ],
    )
    .expect(3);
}

fn manifest(bytes: &[u8], size: usize) -> String {
    format!(
        r#"{{"schemaVersion":2,"config":{{"mediaType":"x","digest":"sha256:0","size":2}},"layers":[{{"mediaType":"application/wasm","digest":"sha256:{}","size":{size}}}]}}"#,
        sha256(bytes)
    )
}

#[test]
fn a_registry_that_lies_is_found_out() {
    let web = Web::http();
    let bytes = passing("lied", "{}");
    let image = manifest(&bytes, bytes.len());
    let blob = format!("/v2/o/gate/blobs/sha256:{}", sha256(&bytes));
    let by_digest = format!("/v2/o/gate/manifests/sha256:{}", sha256(image.as_bytes()));
    let name = |rest: &str| format!("oci://{}/o/gate{rest}", web.authority());
    let fixed = name(&format!("@sha256:{}", sha256(image.as_bytes())));
    let p = Project::build().untrusted();
    let before = p.read("ralph.toml");
    let add = |source: &str| ralph(&p, &["plugin", "add", source, "--name", "far"]);
    let fails = |source: &str, says: &str| {
        let ran = add(source).expect(3);
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
    };
    fails(&name(":1"), "404");
    web.on(
        "/v2/o/gate/manifests/1",
        Reply::ok(image.clone()).header("content-type", IMAGE),
    );
    web.on(&blob, Reply::ok(passing("evil", "{}")));
    fails(&name(":1"), "");
    web.on(&blob, Reply::ok(bytes.clone()).cut());
    fails(&name(":1"), "ended before");
    // What came whole is in the store: the manifest, not yet the component.
    std::fs::remove_dir_all(p.side("cache")).unwrap();
    web.on(&by_digest, Reply::ok(manifest(&bytes, 1)));
    fails(&fixed, "is expected");
    web.on(
        "/v2/o/gate/manifests/2",
        Reply::ok(manifest(&bytes, 65 << 20)),
    );
    fails(&name(":2"), "more than");
    web.on("/v2/o/gate/manifests/3", Reply::ok(r#"{"manifests":[]}"#));
    fails(&name(":3"), "no image's");
    web.on(
        "/v2/o/gate/manifests/4",
        Reply::status(302, "").header("location", "http://127.0.0.1:1/"),
    );
    fails(&name(":4"), "302");
    assert_eq!(p.read("ralph.toml"), before);
    assert!(!p.exists("ralph.lock"));
    web.on(&blob, Reply::ok(bytes));
    add(&name(":1")).expect(0);
}

#[test]
fn a_registry_s_token_is_got_with_docker_s_login() {
    let web = Web::http();
    let bytes = passing("login", "{}");
    let image = manifest(&bytes, bytes.len());
    let path = "/v2/o/gate/manifests/1";
    let ask = |realm: &str| {
        let challenge =
            format!("Bearer realm=\"{realm}\",service=\"s x\",scope=\"repository:o/gate:pull\"");
        Reply::status(401, "").header("www-authenticate", challenge)
    };
    web.unless_authorised(path, ask(&web.url("/token")));
    web.on(path, Reply::ok(image));
    web.on(
        &format!("/v2/o/gate/blobs/sha256:{}", sha256(&bytes)),
        Reply::ok(bytes.clone()),
    );
    let token = "/token?service=s%20x&scope=repository%3Ao%2Fgate%3Apull";
    web.on(token, Reply::ok(r#"{"token":"t0ken"}"#));
    let p = Project::build().untrusted();
    let source = format!("oci://{}/o/gate:1", web.authority());
    let docker = p.side("../home/.docker");
    std::fs::create_dir_all(&docker).unwrap();
    let auth = base64::engine::general_purpose::STANDARD.encode("me:secret");
    let login = format!(
        r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#,
        web.authority()
    );
    std::fs::write(docker.join("config.json"), login).unwrap();
    ralph(&p, &["plugin", "add", &source, "--name", "far"]).expect(0);
    let heard = web.heard();
    assert_eq!(heard[0], format!("GET {path}"));
    assert_eq!(heard[1], format!("GET {token} Basic {auth}"));
    assert_eq!(heard[2], format!("GET {path} Bearer t0ken"));
    // A login isn't told to anybody over plain HTTP who isn't this machine.
    web.unless_authorised(path, ask("http://example.org/token"));
    let q = Project::build().untrusted();
    let ran = ralph(&q, &["plugin", "add", &source, "--name", "far"]).expect(3);
    assert!(ran.stderr.contains("isn't https"), "{}", ran.stderr);
    std::fs::write(docker.join("config.json"), "{\"auths\": \"secret").unwrap();
    web.unless_authorised(path, ask(&web.url("/token")));
    let ran = ralph(&p, &["plugin", "add", &source, "--name", "again"]).expect(3);
    assert!(
        ran.stderr.contains("no Docker configuration"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
}
