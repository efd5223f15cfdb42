//! Components from files: what they are granted, and what happens when they are broken.

use ralph_tests::{Builder, Project, components, tree};

fn with_plugin(allow: &str, config: &str) -> Builder {
    Project::build()
        .in_loop("max_iterations = 1")
        .toml(&format!("[plugins.mine]\nsource = \"tools/mine.wasm\"\n{allow}\n[[gates]]\nname = \"mine\"\nplugin = \"mine\"\n{config}"))
}

fn ready(builder: Builder, bytes: &[u8]) -> Project {
    let p = builder.untrusted();
    p.write("tools/mine.wasm", bytes);
    p.commit_all("component");
    p.trust();
    p
}

/// A gate in text whose `check` does this; `(i32.const 16)` is a healthy answer.
pub fn gate(body: &str) -> Vec<u8> {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../host/plugins/tests/wat/gate.wat"
    ))
    .unwrap();
    let text = text.replace("{PAGES}", "1").replace("{BODY}", body);
    let text = ["{IMPORTS}", "{WITH}", "{FIELDS}"]
        .iter()
        .fold(text, |t, hole| t.replace(hole, ""));
    wat::parse_str(text).unwrap()
}

#[test]
fn a_component_from_a_file_is_a_gate_like_any_other() {
    let p = ready(
        with_plugin(
            "allow = { changes = true }",
            "config = { allow = [\"nothing/**\"] }",
        ),
        &components("gate-diff-scope"),
    );
    p.run(&["run"]).expect(1).says("gate failed: mine");
    let inspected = p
        .run(&["plugin", "inspect", "mine", "--json"])
        .expect(0)
        .json();
    let plugin = &inspected["result"]["plugins"][0];
    assert_eq!(
        p.receipts("T1", "iteration")[0]["plugins_sha256"]["gate mine"],
        plugin["sha256"]
    );
    assert!(
        plugin["may"]
            .to_string()
            .contains("see what an iteration changed"),
        "{plugin}"
    );

    let p = ready(with_plugin("", ""), &gate("(i32.const 16)"));
    p.run(&["step"]).expect(0).says("fine");
}

#[test]
fn a_missing_grant_is_said_with_the_key_before_anything_runs() {
    let p = ready(with_plugin("", ""), &components("gate-diff-scope"));
    let before = tree(&p.root());
    let ran = p.run(&["run"]).expect(3);
    for word in ["mine", "changes = true", "[plugins.mine.allow]"] {
        assert!(ran.stderr.contains(word), "{word}\n{}", ran.stderr);
    }
    assert!(before == tree(&p.root()));
    assert_eq!(p.count("agent"), 0);
    p.run(&["doctor"]).expect(2).says("changes = true");
}

#[test]
fn a_program_that_was_not_granted_is_not_run() {
    let config = "config = { run = [\"touch\", \"pwned\"] }";
    let p = ready(
        with_plugin("allow = { process = [\"true\"] }", config),
        &components("gate-command"),
    );
    p.run(&["run"]).expect(1).says("touch");
    assert!(!p.exists("pwned"));
    let p = ready(
        with_plugin("allow = { process = [\"touch\"] }", config),
        &components("gate-command"),
    );
    p.run(&["run"]).expect(1);
    assert!(p.exists("pwned"));
}

#[test]
fn a_damaged_component_is_refused_before_anything_runs() {
    let whole = components("gate-diff-scope");
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle..middle + 64].fill(0xff);
    let module = wat::parse_str("(module)").unwrap();
    for (name, bytes) in [
        ("half", &whole[..whole.len() / 2]),
        ("no wasm", b"hello"),
        ("empty", b""),
        ("flipped", &flipped),
        ("a module", &module),
    ] {
        let p = ready(with_plugin("allow = { changes = true }", ""), bytes);
        let ran = p.run(&["run"]).expect(3);
        assert!(
            ran.stderr.contains("mine") && ran.stderr.contains("tools/mine.wasm"),
            "{name}: {}",
            ran.stderr
        );
        assert_eq!(p.count("agent"), 0, "{name}");
    }
}

#[test]
fn a_component_of_another_kind_is_refused() {
    let p = ready(with_plugin("", ""), &components("judge-judge"));
    let ran = p.run(&["run"]).expect(3);
    assert!(
        ran.stderr.contains("ralph:plugin/gate") && ran.stderr.contains("ralph:plugin/judge"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_gate_that_crashes_has_failed_and_the_loop_goes_on() {
    let p = ready(
        with_plugin("", "").in_loop("max_attempts = 1"),
        &gate("(unreachable)"),
    );
    let toml = p.read("ralph.toml").replace("max_iterations = 1", "");
    p.write("ralph.toml", toml);
    let ran = p.run(&["run"]).expect(1);
    assert!(ran.stdout.contains("crashed"), "{}", ran.stdout);
    assert_eq!(p.count("agent"), 2, "both tasks had their attempt");
    assert_eq!(p.commits(), ["component"]);
}

#[test]
fn a_gate_that_computes_for_ever_is_ended_and_the_key_is_named() {
    let p = ready(
        with_plugin("limits = { time = \"100ms\" }", ""),
        &gate("(loop $l (br $l)) (unreachable)"),
    );
    let ran = p.run(&["run"]).expect(1);
    assert!(
        ran.stdout.contains("raise `time` in [plugins.mine.limits]"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_gate_that_gives_back_nonsense_has_failed() {
    let p = ready(with_plugin("", ""), &gate("(i32.const 65533)"));
    p.run(&["run"]).expect(1).says("gate failed: mine");
}

/// G09
#[test]
fn a_component_s_path_must_stay_below_the_root() {
    let p = with_plugin("", "").untrusted();
    std::fs::write(p.all().join("evil.wasm"), components("gate-no-secrets")).unwrap();
    for source in ["../evil.wasm", "/etc/passwd", "link.wasm"] {
        if source == "link.wasm" {
            std::os::unix::fs::symlink(p.all().join("evil.wasm"), p.root().join(source)).unwrap();
        }
        p.write("ralph.toml", format!("[plugins.x]\nsource = \"{source}\"\nallow = {{ changes = true }}\n[[gates]]\nname = \"x\"\nplugin = \"x\"\n"));
        let ran = p.run(&["run", "--trust"]);
        assert!(
            [2, 3].contains(&ran.code),
            "{source}: {}\n{}",
            ran.code,
            ran.stdout
        );
    }
}
