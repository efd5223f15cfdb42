//! `ralph.lock` and the commands that write it; manifests and what they grant.

use ralph_tests::{Builder, Project, components, tree};
use sha2::{Digest, Sha256};

use crate::plugins::gate;

/// A gate that passes, with a manifest of this name. Different names are different bytes.
pub fn passing(name: &str, capabilities: &str) -> Vec<u8> {
    let json = format!(
        r#"{{"name":"{name}","version":"1.2.3","kinds":["gate"],"contract":"^0.1","license":"MIT","capabilities":{capabilities}}}"#
    );
    with_section(gate("(i32.const 16)"), &json)
}

pub fn with_section(mut component: Vec<u8>, json: &str) -> Vec<u8> {
    let mut content = vec![12];
    content.extend(b"ralph-plugin");
    content.extend(json.as_bytes());
    component.push(0);
    let mut size = content.len();
    while size >= 0x80 {
        component.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    component.push(size as u8);
    component.extend(content);
    component
}

pub fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// A project with this component as a file and nothing in `[plugins]`.
fn with_file(bytes: &[u8]) -> Project {
    let p = Project::build().in_loop("max_iterations = 1").untrusted();
    p.write("tools/mine.wasm", bytes);
    p
}

fn gated(toml: &str) -> Builder {
    Project::build().in_loop("max_iterations = 1").toml(&format!(
        "[plugins.mine]\nsource = \"tools/mine.wasm\"\n{toml}\n[[gates]]\nname = \"mine\"\nplugin = \"mine\""
    ))
}

#[test]
fn add_writes_both_files_and_remove_takes_it_out_again() {
    let bytes = passing("adder", "{}");
    let p = with_file(&bytes);
    let before = p.read("ralph.toml");
    let added = p
        .run(&["plugin", "add", "tools/mine.wasm", "--json"])
        .expect(0)
        .json();
    let entry = &added["result"]["plugins"][0];
    assert_eq!(
        (&entry["name"], &entry["version"]),
        (&"adder".into(), &"1.2.3".into())
    );
    // Blank lines at the end of the file stay there.
    let (text, end) = before.split_at(before.trim_end().len() + 1);
    assert_eq!(
        p.read("ralph.toml"),
        format!("{text}\n[plugins.adder]\nsource = \"tools/mine.wasm\"\n{end}")
    );
    assert_eq!(
        p.read("ralph.lock"),
        format!(
            "# Written by `ralph plugin lock`; keep it under version control.\nversion = 1\n\n[[plugin]]\nname = \"adder\"\nsource = \"tools/mine.wasm\"\nresolved = \"tools/mine.wasm\"\nsha256 = \"{}\"\nversion = \"1.2.3\"\n",
            sha256(&bytes)
        )
    );
    p.run(&["plugin", "verify"])
        .expect(0)
        .says("as it is pinned");
    // The same again says so, and writes nothing.
    p.run(&["plugin", "lock"]).expect(0).says("as it was");
    p.run(&["plugin", "add", "tools/mine.wasm"]).expect(3);
    p.run(&["plugin", "remove", "adder"]).expect(0);
    assert_eq!(p.read("ralph.toml"), before);
    assert!(!p.read("ralph.lock").contains("adder"));
    p.run(&["plugin", "add", "builtin:diff-scope", "--name", "scope"])
        .expect(0);
    assert!(
        p.read("ralph.toml")
            .contains("[plugins.scope]\nsource = \"builtin:diff-scope\"")
    );
}

#[test]
fn what_can_not_be_added_changes_nothing() {
    let p = with_file(b"no component");
    p.write(
        "tools/judge.wasm",
        with_section(gate("(i32.const 16)"), "{\"name\":3}"),
    );
    p.write("tools/good.wasm", passing("good", "{}"));
    let before = tree(&p.root());
    let zeros = "0".repeat(64);
    for (args, says) in [
        (&["tools/mine.wasm"][..], "not a WebAssembly component"),
        (&["tools/gone.wasm"], "there is no file"),
        (&["tools/judge.wasm"], "manifest"),
        (&["../x.wasm"], "`..`"),
        (&["http://127.0.0.1/x.wasm"], "neither"),
        (&["tools/good.wasm", "--name", "a b"], "is no name"),
        (&["tools/good.wasm", "--sha256", &zeros], "has the SHA-256"),
        (&["tools/good.wasm", "--sha256", "12"], "is no SHA-256"),
    ] {
        let ran = p.run(&[&["plugin", "add"], args].concat()).expect(3);
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
    p.run(&["plugin", "remove", "gone"]).expect(3);
    assert!(before == tree(&p.root()));
}

#[test]
fn a_plugin_that_a_gate_uses_stays() {
    let p = gated("").untrusted();
    p.write("tools/mine.wasm", passing("used", "{}"));
    let before = p.read("ralph.toml");
    p.run(&["plugin", "remove", "mine"]).expect(3);
    assert_eq!(p.read("ralph.toml"), before);
}

#[test]
fn a_changed_file_is_not_used_until_the_lock_takes_it_over() {
    let p = gated("").untrusted();
    p.write("tools/mine.wasm", passing("first", "{}"));
    p.run(&["plugin", "lock"]).expect(0);
    p.commit_all("plugin");
    p.trust();
    p.run(&["step"]).expect(0);
    p.write("tools/mine.wasm", passing("second", "{}"));
    p.commit_all("changed");
    p.trust();
    let ran = p.run(&["step"]).expect(3);
    for word in [
        "plugin `mine`",
        "ralph.lock",
        "ralph plugin lock",
        &sha256(&passing("second", "{}")),
    ] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    p.run(&["plugin", "verify"])
        .expect(1)
        .says("ralph plugin lock");
    p.run(&["plugin", "lock", "--locked"]).expect(3);
    p.run(&["plugin", "lock"]).expect(0).says("pinned");
    p.commit_all("locked");
    p.run(&["step"]).expect(0);
}

#[test]
fn a_lock_that_points_elsewhere_or_is_damaged_is_refused() {
    let p = gated("").untrusted();
    p.write("tools/mine.wasm", passing("where", "{}"));
    p.write("tools/other.wasm", passing("there", "{}"));
    p.run(&["plugin", "lock"]).expect(0);
    let good = p.read("ralph.lock");
    let other = sha256(&passing("there", "{}"));
    let own = sha256(&passing("where", "{}"));
    for (bad, says) in [
        (
            good.replace("tools/mine.wasm", "tools/other.wasm")
                .replace(&own, &other),
            "`ralph plugin lock`",
        ),
        (
            good.replace("resolved = \"tools/mine", "resolved = \"tools/other"),
            "can stand for",
        ),
        (good.replace(&own, &other), "is not used"),
        (good.replace("version = 1\n", "version = 9\n"), "version 9"),
        (
            format!("{good}{}", good.split_once("\n\n").unwrap().1),
            "twice",
        ),
        ("rubbish".into(), "ralph.lock"),
    ] {
        p.write("ralph.lock", &bad);
        p.commit_all("lock");
        let ran = p.run(&["run", "--trust"]).expect(3);
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
        assert_eq!(p.count("agent"), 0);
    }
    p.write("ralph.lock", &good);
    p.run(&["plugin", "verify"]).expect(0);
}

#[test]
fn locked_means_that_the_lock_need_not_change() {
    let p = gated("").untrusted();
    p.write("tools/mine.wasm", passing("locked", "{}"));
    p.commit_all("plugin");
    p.trust();
    let ran = p.run(&["--locked", "check"]).expect(3);
    assert!(ran.stderr.contains("isn't in it"), "{}", ran.stderr);
    p.run(&["plugin", "lock", "--locked"]).expect(3);
    assert!(!p.exists("ralph.lock"));
    p.run(&["plugin", "lock"]).expect(0);
    p.run(&["plugin", "lock", "--locked"]).expect(0);
    p.run(&["--locked", "check"]).expect(0);
    let lock = p.read("ralph.lock");
    let extra = lock
        .split_once("\n\n")
        .unwrap()
        .1
        .replace("\"mine\"", "\"gone\"");
    p.write("ralph.lock", format!("{lock}\n{extra}"));
    let ran = p.run(&["check", "--locked"]).expect(3);
    assert!(ran.stderr.contains("`gone`"), "{}", ran.stderr);
    p.run(&["check"]).expect(0);
}

#[test]
fn what_a_manifest_does_not_ask_for_is_not_granted() {
    let allow = "allow = { read = [\"src\"], process = [\"cargo\", \"rm\"], clock = true }";
    let p = gated(allow).untrusted();
    let asks = r#"{"read":["."],"process":["cargo"],"random":true}"#;
    p.write("tools/mine.wasm", passing("asker", asks));
    let json = p
        .run(&["plugin", "inspect", "mine", "--json"])
        .expect(0)
        .json();
    let plugin = &json["result"]["plugins"][0];
    assert_eq!(plugin["manifest"]["name"], "asker");
    let granted = &plugin["granted"];
    assert_eq!(granted["read"], serde_json::json!(["src"]));
    assert_eq!(granted["process"], serde_json::json!(["cargo"]));
    assert_eq!(
        (&granted["clock"], &granted["random"]),
        (&false.into(), &false.into())
    );
    let shown = p.run(&["plugin", "inspect", "mine"]).expect(0);
    for words in [
        "asker 1.2.3, MIT",
        "asks to",
        "have ralph run cargo\n",
        "read src\n",
    ] {
        assert!(shown.stdout.contains(words), "{words}: {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("rm"), "{}", shown.stdout);
    // The component imports what it doesn't ask for: no grant helps.
    let p = gated("allow = { changes = true }").untrusted();
    let scope = components("gate-diff-scope");
    let json = r#"{"name":"x","version":"1","kinds":["gate"],"contract":"*"}"#;
    p.write("tools/mine.wasm", with_section(scope, json));
    p.commit_all("plugin");
    let ran = p.run(&["check"]).expect(3);
    assert!(ran.stderr.contains("trust"), "{}", ran.stderr);
    p.trust();
    let ran = p.run(&["check"]).expect(3);
    assert!(
        ran.stderr.contains("its manifest doesn't ask for it"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_manifest_that_is_wrong_is_told_before_anything_runs() {
    let of = |json: &str| with_section(gate("(i32.const 16)"), json);
    let good = r#"{"name":"x","version":"1","kinds":["gate"],"contract":"^0.1"}"#;
    let huge = format!("{good}{}", " ".repeat(70_000));
    for (bytes, says) in [
        (of("{"), "EOF"),
        (
            of(&good.replace("^0.1", ">=99")),
            "works with ralph:plugin >=99",
        ),
        (of(&good.replace("gate", "judge")), "exports gate"),
        (of(&good.replace("\"kinds\"", "\"kind\"")), "unknown field"),
        (of(&huge), "longer than 64 KiB"),
        (with_section(of(good), good), "2 sections"),
    ] {
        let p = gated("").untrusted();
        p.write("tools/mine.wasm", bytes);
        p.commit_all("plugin");
        let ran = p.run(&["run", "--trust"]).expect(3);
        assert!(
            ran.stderr.contains(says) && ran.stderr.contains("mine"),
            "{says}: {}",
            ran.stderr
        );
    }
}

#[test]
fn built_in_plugins_have_a_manifest() {
    let p = Project::bare();
    for name in [
        "diff-scope",
        "command",
        "claude",
        "judge",
        "text",
        "scripted",
    ] {
        let json = p
            .run(&["plugin", "inspect", name, "--json"])
            .expect(0)
            .json();
        for plugin in json["result"]["plugins"].as_array().unwrap() {
            assert_eq!(
                plugin["manifest"]["kinds"],
                serde_json::json!([plugin["kind"]]),
                "{name}"
            );
        }
    }
}
