//! Plugins whose source is hostile: answers without end, files that grow when they are unpacked,
//! files that are none, locks and manifests made to mislead. Each is told by name, what was read
//! of it is bounded, and nothing on disk changes.

use std::fs;

use ralph_tests::web::{Reply, Web};
use ralph_tests::{Project, tree};
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::plugin_lock::{passing, sha256, with_section};
use crate::plugin_sources::ralph;
use crate::plugins::gate;

/// What lies between a reader that stops and a writer that notices: the buffers of two sockets.
const ON_THE_WAY: u64 = 16 << 20;

/// Adds it, is refused with these words, and has changed nothing.
#[track_caller]
fn refused(p: &Project, source: &str, says: &str) {
    let before = tree(&p.root());
    let ran = ralph(p, &["plugin", "add", source, "--name", "far"]).expect(3);
    assert!(
        ran.stderr.contains(says),
        "{source}: {says}: {}",
        ran.stderr
    );
    assert!(before == tree(&p.root()), "{source}");
    assert!(!p.side("cache/ralph/artifacts").exists(), "{source}");
}

#[test]
fn an_answer_without_end_is_read_up_to_the_limit() {
    let p = Project::build().untrusted();
    let endless = || Reply::ok(vec![0; 64 << 10]).endless();
    let web = Web::https();
    web.on("/far.wasm", endless());
    refused(&p, &web.url("/far.wasm"), "more than 67108864 bytes");
    assert!(web.sent() >= 64 << 20, "{}", web.sent());
    assert!(web.sent() < (64 << 20) + ON_THE_WAY, "{}", web.sent());

    let registry = Web::http();
    let bytes = passing("endless", "{}");
    let name = format!("oci://{}/o/gate:1", registry.authority());
    registry.on("/v2/o/gate/manifests/1", endless());
    refused(&p, &name, "more than 1048576 bytes");
    assert!(registry.sent() < (1 << 20) + ON_THE_WAY);
    // It says how long its component is, and then doesn't stop there.
    let image = format!(
        r#"{{"schemaVersion":2,"config":{{"mediaType":"x","digest":"sha256:0","size":2}},"layers":[{{"mediaType":"application/wasm","digest":"sha256:{}","size":{}}}]}}"#,
        sha256(&bytes),
        bytes.len()
    );
    registry.on("/v2/o/gate/manifests/1", Reply::ok(image));
    let blob = format!("/v2/o/gate/blobs/sha256:{}", sha256(&bytes));
    registry.on(&blob, endless());
    let before = registry.sent();
    let ran = ralph(&p, &["plugin", "add", &name, "--name", "far"]).expect(3);
    let says = format!("more than {} bytes", bytes.len());
    assert!(ran.stderr.contains(&says), "{}", ran.stderr);
    assert!(registry.sent() - before < ON_THE_WAY);
    // The token by which it would let one in.
    let challenge = format!("Bearer realm=\"{}\"", registry.url("/token"));
    let asks = Reply::status(401, "").header("www-authenticate", challenge);
    registry.unless_authorised("/v2/o/gate/manifests/1", asks);
    registry.on(
        "/token?service=&scope=repository%3Ao%2Fgate%3Apull",
        endless(),
    );
    let before = registry.sent();
    let ran = ralph(&p, &["plugin", "add", &name, "--name", "far"]).expect(3);
    assert!(ran.stderr.contains("more than "), "{}", ran.stderr);
    assert!(registry.sent() - before < ON_THE_WAY);
    assert!(!p.exists("ralph.lock"));
}

/// Whatever the server calls it: what came is what is looked at, so nothing can grow.
#[test]
fn what_is_packed_is_not_unpacked() {
    let p = Project::build().untrusted();
    let web = Web::https();
    // A gzip stream's head, and anything.
    let packed = [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], &[0; 4096]].concat();
    for (path, header) in [
        ("/gz", ("content-type", "application/gzip")),
        ("/encoded", ("content-encoding", "gzip")),
    ] {
        web.on(path, Reply::ok(packed.clone()).header(header.0, header.1));
        let url = web.url(path);
        let before = tree(&p.root());
        let ran = ralph(&p, &["plugin", "add", &url, "--name", "far"]).expect(3);
        assert!(
            ran.stderr.contains("no WebAssembly at all") && ran.stderr.contains("far"),
            "{}",
            ran.stderr
        );
        assert!(before == tree(&p.root()), "{path}");
    }
}

#[test]
fn a_file_that_is_too_large_or_none_is_not_read() {
    let p = Project::build().untrusted();
    fs::create_dir_all(p.root().join("tools/dir.wasm")).unwrap();
    // A terabyte of nothing.
    let sparse = fs::File::create(p.root().join("tools/sparse.wasm")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let pipe = p.root().join("tools/pipe.wasm");
    mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", p.root().join("tools/zero.wasm")).unwrap();
    for (file, says) in [
        ("sparse", "67108864"),
        ("dir", "dir.wasm"),
        ("pipe", "pipe.wasm"),
        ("zero", "zero.wasm"),
    ] {
        let source = format!("tools/{file}.wasm");
        let ran = p.run(&["plugin", "add", &source, "--name", "far"]);
        assert!([2, 3].contains(&ran.code), "{file}: {}", ran.code);
        assert!(ran.stderr.contains(says), "{file}: {}", ran.stderr);
        assert!(!p.exists("ralph.lock"), "{file}");
    }
}

fn gated() -> Project {
    let p = Project::build()
        .in_loop("max_iterations = 1")
        .toml("[plugins.mine]\nsource = \"tools/mine.wasm\"\nallow = { read = [\".\"] }\n[[gates]]\nname = \"mine\"\nplugin = \"mine\"")
        .untrusted();
    p.write("tools/mine.wasm", passing("mine", "{}"));
    p
}

#[test]
fn a_lock_that_misleads_is_refused_by_what_is_wrong_in_it() {
    let p = gated();
    p.run(&["plugin", "lock"]).expect(0);
    let good = p.read("ralph.lock");
    let entry = good.split_once("\n\n").unwrap().1.to_owned();
    let many = |count: u32| -> String {
        let entry = |i| format!("\n{}", entry.replace("\"mine\"", &format!("\"p{i}\"")));
        (0..count).map(entry).collect()
    };
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    let source = "source = \"tools/mine.wasm\"";
    for (bad, says) in [
        (
            with("version = 1\n\n", "version = 1\nversion = 1\n\n"),
            "duplicate key",
        ),
        (
            with(source, &format!("{source}\n{source}")),
            "duplicate key",
        ),
        (with("version = 1\n\n", ""), "version"),
        (
            with("version = 1\n\n", "version = 18446744073709551616\n\n"),
            "ralph.lock",
        ),
        (
            with("version = 1\n\n", "version = \"1\"\n\n"),
            "invalid type",
        ),
        (with(source, "source = \"../mine.wasm\""), "`..`"),
        (with(source, "source = \"/etc/passwd\""), "/etc/passwd"),
        (with(source, "source = \"http://127.0.0.1/x\""), "http"),
        (
            with("resolved = \"tools", "resolved = \"../tools"),
            "can stand for",
        ),
        (with(&sha256(&passing("mine", "{}")), "00"), "64 lower-case"),
        (
            with(source, &format!("{source}\nowner = \"x\"")),
            "unknown field",
        ),
        (
            format!("{good}{}", many(6_000)),
            "longer than the 1048576 bytes",
        ),
        (
            format!("{good}{}", "# \n".repeat(400_000)),
            "longer than the 1048576 bytes",
        ),
        (
            format!("{good}x = {}{}", "[".repeat(50_000), "]".repeat(50_000)),
            "ralph.lock",
        ),
    ] {
        p.write("ralph.lock", &bad);
        let before = tree(&p.root());
        for args in [&["plugin", "verify"][..], &["run", "--trust"]] {
            let ran = p.run(args);
            assert!([2, 3].contains(&ran.code), "{says}: {}", ran.code);
            assert!(
                ran.stderr.contains("ralph.lock") && ran.stderr.contains(says),
                "{says}: {}",
                ran.stderr
            );
            assert!(!ran.stderr.contains('\u{1b}'));
        }
        assert_eq!(p.count("agent"), 0);
        assert!(before == tree(&p.root()), "{says}");
    }
    // As many plugins as fit are read at once, and looked through.
    p.write("ralph.lock", format!("{good}{}", many(4_500)));
    p.run(&["plugin", "verify"]).expect(0);
}

#[test]
fn a_manifest_that_misleads_is_refused_by_what_is_wrong_in_it() {
    let good = r#"{"name":"x","version":"1","kinds":["gate"],"contract":"^0.1"}"#;
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        with_section(gate("(i32.const 16)"), &good.replace(from, to))
    };
    let asks = |what: &str| with("{", &format!("{{\"capabilities\":{what},"));
    let deep = format!("{{\"capabilities\":{}", "[".repeat(30_000));
    for (bytes, says) in [
        (with("{", "{\"name\":\"y\","), "duplicate field `name`"),
        (
            with("{", "{\"capabilities\":{},\"capabilities\":{},"),
            "duplicate field",
        ),
        (
            asks("{\"read\":[\".\"],\"read\":[]}"),
            "duplicate field `read`",
        ),
        (asks("{\"read\":[\"../..\"]}"), "`..`"),
        (asks("{\"read\":[\"src/../..\"]}"), "`..`"),
        (asks("{\"read\":[\".git\"]}"), ".git"),
        (asks("{\"read\":[\"x/.ralph/logs\"]}"), ".ralph"),
        (asks("{\"read\":\".\"}"), "expected a sequence"),
        (asks("{\"everything\":true}"), "unknown field `everything`"),
        (with("\"1\"", "1e999"), "manifest"),
        (with("\"1\"", "\"\\ud800\""), "manifest"),
        (with("{", &deep), "manifest"),
        (with("[\"gate\"]", "[\"gate\",\"judge\"]"), "exports gate"),
    ] {
        let p = gated();
        p.write("tools/mine.wasm", &bytes);
        p.commit_all("plugin");
        let ran = p.run(&["run", "--trust"]).expect(3);
        assert!(
            ran.stderr.contains(says) && ran.stderr.contains("mine"),
            "{says}: {}",
            ran.stderr
        );
        assert_eq!(p.count("agent"), 0, "{says}");
    }
    // A name becomes a key of `ralph.toml` and is shown to people: no path, nothing hidden.
    let p = Project::build().untrusted();
    for name in ["../../evil", "a/b", "a b", "x]\\n[plugins.y", "\\u202eevil"] {
        p.write("tools/x.wasm", with("\"x\"", &format!("\"{name}\"")));
        let before = tree(&p.root());
        let ran = p.run(&["plugin", "add", "tools/x.wasm"]).expect(3);
        assert!(!ran.stderr.contains('\u{202e}'), "{name}: {}", ran.stderr);
        assert!(before == tree(&p.root()), "{name}");
    }
}
