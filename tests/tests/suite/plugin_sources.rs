//! Plugins from elsewhere over HTTPS, the store of what was fetched, signatures.

use std::fs;
use std::io::Cursor;
use std::process::Command;

use minisign::KeyPair;
use ralph_tests::web::{Reply, Web};
use ralph_tests::{Project, Ran, target, tree};

use crate::plugin_lock::{passing, sha256};

/// A project whose gate comes from there, with a store of its own.
fn from(source: &str, more: &str) -> Project {
    Project::build()
        .in_loop("max_iterations = 1")
        .toml(&format!(
            "[plugins.far]\nsource = \"{source}\"\n{more}\n[[gates]]\nname = \"far\"\nplugin = \"far\""
        ))
        .untrusted()
}

fn command(p: &Project, args: &[&str]) -> Command {
    let mut command = p.command(args);
    // What is compiled is shared with all tests, what is fetched isn't.
    let own = p.side("cache/ralph");
    fs::create_dir_all(&own).unwrap();
    let shared = target().join("tmp/ralph-tests/ralph/components");
    let _ = std::os::unix::fs::symlink(shared, own.join("components"));
    command
        .env("SSL_CERT_FILE", Web::ca())
        .env("XDG_CACHE_HOME", p.side("cache"));
    command
}

/// With the test's certificates and a store of its own.
#[track_caller]
pub fn ralph(p: &Project, args: &[&str]) -> Ran {
    p.start_command(command(p, args)).wait()
}

fn stored(p: &Project, sha256: &str) -> std::path::PathBuf {
    p.side("cache").join("ralph/artifacts/sha256").join(sha256)
}

#[test]
fn a_gate_comes_over_https_once_and_then_from_the_store() {
    let web = Web::https();
    let bytes = passing("https", "{}");
    web.on("/far.wasm", Reply::ok(bytes.clone()));
    let p = from(
        &web.url("/far.wasm"),
        &format!("sha256 = \"{}\"", sha256(&bytes)),
    );
    // Nobody has accepted yet that this address is asked.
    let ran = ralph(&p, &["plugin", "inspect", "far"]).expect(3);
    assert!(ran.stderr.contains("ralph trust"), "{}", ran.stderr);
    assert_eq!(web.heard(), Vec::<String>::new());
    ralph(&p, &["trust"]).expect(1).says(&web.url("/far.wasm"));
    ralph(&p, &["trust", "--yes"]).expect(0);
    let ran = ralph(&p, &["--offline", "check"]).expect(3);
    assert!(ran.stderr.contains("--offline"), "{}", ran.stderr);
    ralph(&p, &["check"]).expect(0);
    assert_eq!(web.heard(), ["GET /far.wasm"]);
    web.nothing_more();
    ralph(&p, &["check", "--offline"]).expect(0);
    ralph(&p, &["plugin", "verify"]).expect(0);
    assert_eq!(web.heard().len(), 1);

    // What was changed in the store isn't used: fetched again, or refused.
    let file = stored(&p, &sha256(&bytes));
    fs::write(&file, passing("evil", "{}")).unwrap();
    let ran = ralph(&p, &["check", "--offline"]).expect(3);
    assert!(ran.stderr.contains("it was changed"), "{}", ran.stderr);
    ralph(&p, &["check"]).expect(3);
    web.on("/far.wasm", Reply::ok(bytes.clone()));
    ralph(&p, &["plugin", "pull"]).expect(0);
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

#[test]
fn nothing_is_used_without_a_pin_and_the_lock_is_one() {
    let web = Web::https();
    let bytes = passing("unpinned", "{}");
    let url = web.url("/far.wasm");
    web.on("/far.wasm", Reply::ok(bytes.clone()));
    let p = from(&url, "");
    ralph(&p, &["trust", "--yes"]).expect(0);
    let ran = ralph(&p, &["check"]).expect(3);
    assert!(ran.stderr.contains("isn't pinned"), "{}", ran.stderr);
    assert_eq!(web.heard(), Vec::<String>::new());
    ralph(&p, &["plugin", "lock"])
        .expect(0)
        .says(&sha256(&bytes));
    // Trust is given to the pin as well.
    ralph(&p, &["check"]).expect(3);
    ralph(&p, &["trust", "--yes"])
        .expect(0)
        .says(&sha256(&bytes));
    ralph(&p, &["--locked", "check"]).expect(0);

    // Another file at the same address: the lock holds what it was, `update` takes it over.
    let newer = passing("newer", "{}");
    web.on("/far.wasm", Reply::ok(newer.clone()));
    ralph(&p, &["plugin", "lock"]).expect(0).says("as it was");
    fs::remove_file(stored(&p, &sha256(&bytes))).unwrap();
    let ran = ralph(&p, &["check"]).expect(3);
    assert!(ran.stderr.contains(&sha256(&newer)), "{}", ran.stderr);
    assert!(!stored(&p, &sha256(&newer)).exists());
    ralph(&p, &["plugin", "update", "far"])
        .expect(0)
        .says(&sha256(&newer));
    assert!(p.read("ralph.lock").contains(&sha256(&newer)));
}

#[test]
fn what_is_not_what_was_promised_changes_nothing() {
    let web = Web::https();
    let plain = Web::http();
    let bytes = passing("promise", "{}");
    let digest = sha256(&bytes);
    web.on("/other", Reply::ok(passing("other", "{}")));
    web.on("/cut", Reply::ok(bytes.clone()).cut());
    web.on("/broken", Reply::status(500, "no"));
    plain.on("/x", Reply::ok(bytes.clone()));
    web.on(
        "/plain",
        Reply::status(302, "").header("location", plain.url("/x")),
    );
    web.on(
        "/round",
        Reply::status(302, "").header("location", "/round"),
    );
    web.on("/long", Reply::ok(vec![0; 65 << 20]));
    web.on("/good", Reply::ok(bytes.clone()));
    web.on("/moved", Reply::status(307, "").header("location", "/good"));
    let p = Project::build().untrusted();
    let before = tree(&p.root());
    for (path, says) in [
        ("/other", "is expected"),
        ("/cut", "ended before the file did"),
        ("/broken", "500"),
        ("/gone", "404"),
        ("/plain", "isn't https"),
        ("/round", "redirect"),
        ("/long", "more than 67108864 bytes"),
    ] {
        let url = web.url(path);
        let args = ["plugin", "add", &url, "--name", "far", "--sha256", &digest];
        let ran = ralph(&p, &args).expect(3);
        assert!(ran.stderr.contains(says), "{path}: {}", ran.stderr);
    }
    assert_eq!(plain.heard(), Vec::<String>::new());
    // The certificate is by nobody who counts.
    let url = web.url("/good");
    let args = ["plugin", "add", &url, "--name", "far"];
    let mut unknown = command(&p, &args);
    unknown.env_remove("SSL_CERT_FILE");
    let ran = p.start_command(unknown).wait().expect(3);
    assert!(ran.stderr.contains("certificate"), "{}", ran.stderr);
    assert!(before == tree(&p.root()));
    assert!(!p.side("cache/ralph/artifacts").exists());
    let url = web.url("/moved");
    ralph(&p, &["plugin", "add", &url, "--sha256", &digest]).expect(0);
    let text = format!("[plugins.promise]\nsource = \"{url}\"\nsha256 = \"{digest}\"");
    assert!(
        p.read("ralph.toml").contains(&text),
        "{}",
        p.read("ralph.toml")
    );
}

#[test]
fn a_plugin_s_own_limit_holds() {
    let web = Web::https();
    let bytes = passing("limit", "{}");
    web.on("/far.wasm", Reply::ok(bytes.clone()));
    let limit = format!(
        "sha256 = \"{}\"\nlimits = {{ artifact = \"1KiB\" }}",
        sha256(&bytes)
    );
    let p = from(&web.url("/far.wasm"), &limit);
    ralph(&p, &["plugin", "pull"])
        .expect(1)
        .says("more than 1024 bytes");
}

fn sign(pair: &KeyPair, bytes: &[u8]) -> String {
    let signed = minisign::sign(None, &pair.sk, Cursor::new(bytes), Some("test"), None);
    signed.unwrap().into_string()
}

fn user(p: &Project, text: &str) {
    let dir = p.side("../home/config/ralph");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("config.toml"), text).unwrap();
}

#[test]
fn where_a_signature_is_required_only_a_trusted_one_will_do() {
    let web = Web::https();
    let bytes = passing("signed", "{}");
    let [own, other] = [(); 2].map(|()| KeyPair::generate_unencrypted_keypair().unwrap());
    web.on("/far.wasm", Reply::ok(bytes.clone()));
    let p = from(
        &web.url("/far.wasm"),
        &format!("sha256 = \"{}\"", sha256(&bytes)),
    );
    let pull = |says: &str| {
        let ran = ralph(&p, &["plugin", "pull"]);
        let code = i32::from(!says.contains("pinned"));
        ran.expect(code).says(says);
    };
    pull("as it is pinned");
    user(&p, "require_signature = true");
    pull("no key is trusted");
    user(
        &p,
        &format!(
            "require_signature = true\ntrusted_keys = [\"{}\"]",
            own.pk.to_base64()
        ),
    );
    pull("it has none");
    let sig = "/far.wasm.minisig";
    web.on(sig, Reply::ok(sign(&other, &bytes)));
    pull("isn't among `trusted_keys`");
    fs::remove_dir_all(p.side("cache")).unwrap();
    web.on(sig, Reply::ok(sign(&own, b"something else")));
    pull("its signature is wrong");
    fs::remove_dir_all(p.side("cache")).unwrap();
    web.on(sig, Reply::ok(sign(&own, &bytes)));
    pull("as it is pinned, signed");
    web.nothing_more();
    ralph(&p, &["plugin", "verify"]).expect(0).says("signed");
    // Not required, but by a trusted key and wrong all the same.
    user(&p, &format!("trusted_keys = [\"{}\"]", own.pk.to_base64()));
    let kept = format!("{}.minisig", stored(&p, &sha256(&bytes)).display());
    fs::write(&kept, sign(&own, b"x")).unwrap();
    ralph(&p, &["plugin", "verify"])
        .expect(1)
        .says("its signature is wrong");
    user(&p, "trusted_keys = [\"nonsense\"]");
    let ran = ralph(&p, &["plugin", "verify"]).expect(3);
    assert!(
        ran.stderr.contains("no minisign public key"),
        "{}",
        ran.stderr
    );
    user(&p, "require_signatures = true");
    ralph(&p, &["plugin", "verify"]).expect(3);
}

#[test]
fn a_file_s_signature_lies_beside_it() {
    let own = KeyPair::generate_unencrypted_keypair().unwrap();
    let bytes = passing("beside", "{}");
    let p = from("tools/far.wasm", "require_signature = true");
    p.write("tools/far.wasm", &bytes);
    user(&p, &format!("trusted_keys = [\"{}\"]", own.pk.to_base64()));
    p.run(&["trust", "--yes"]).expect(0);
    let ran = p.run(&["check"]).expect(3);
    assert!(ran.stderr.contains("it has none"), "{}", ran.stderr);
    p.write("tools/far.wasm.minisig", sign(&own, &bytes));
    p.run(&["check"]).expect(0);
    p.run(&["plugin", "lock"]).expect(0).says("signed");
}
