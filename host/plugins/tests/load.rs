//! Files that are no plugins, or not the right ones.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use common::{FINE, gate, gate_with, host, runs_make, shows_diff};
use ralph_plugins::{Grants, Kind, Limits, Plugin, PluginError};

async fn refused(bytes: &[u8]) -> PluginError {
    let error = host().load("g", "./g.wasm", bytes).await.unwrap_err();
    assert!(error.to_string().starts_with("plugin \"g\": "), "{error}");
    error
}

#[tokio::test]
async fn a_component_says_what_it_is() {
    let bytes = shows_diff();
    let component = host().load("g", "./g.wasm", &bytes).await.unwrap();
    assert_eq!((component.name(), component.origin()), ("g", "./g.wasm"));
    assert_eq!(
        (component.kind(), component.kinds()),
        (Kind::Gate, &[Kind::Gate][..])
    );
    assert_eq!(component.size(), bytes.len() as u64);
    assert_eq!(
        component.imports(),
        ["ralph:plugin/types@0.1.0", "ralph:plugin/changes@0.1.0"]
    );
    assert_eq!(component.digest().len(), 64);
    assert!(
        component
            .digest()
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    );
}

#[tokio::test]
async fn other_files_are_told_by_what_they_are() {
    let core = wat::parse_str("(module)").unwrap();
    for (bytes, what) in [
        (&core[..], "core module"),
        (b"", "empty"),
        (b"(component)", "text"),
        (b"\x7fELF\x02\x01\x01\0", "no WebAssembly"),
        (b"\0asm\x0e\0\x01\0", "version"),
        (b"\0as", "no WebAssembly"),
    ] {
        let error = refused(bytes).await;
        assert!(
            matches!(error, PluginError::NotAComponent { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[tokio::test]
async fn a_truncated_or_damaged_file_is_corrupt_and_never_a_panic() {
    let whole = gate(FINE);
    // The first cuts hit the header, which is another error.
    for end in (8..whole.len()).step_by(7) {
        let error = refused(&whole[..end]).await;
        assert!(
            matches!(
                error,
                PluginError::Corrupt { .. } | PluginError::WrongWorld { .. }
            ),
            "cut at {end}: {error}"
        );
    }
    for at in (8..whole.len()).step_by(5) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        // Some changes leave a valid component; then it has to load or be refused.
        let _ = host().load("g", "./g.wasm", &bytes).await;
    }
}

#[tokio::test]
async fn a_file_above_64_mib_is_not_even_looked_at() {
    let error = refused(&vec![0; (64 << 20) + 1]).await;
    assert!(matches!(error, PluginError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn a_component_that_is_no_plugin_is_refused_with_its_exports() {
    let bytes = wat::parse_str(
        r#"(component
            (instance $i)
            (export "my:own/thing@1.0.0" (instance $i)))"#,
    )
    .unwrap();
    let error = refused(&bytes).await;
    assert!(matches!(error, PluginError::WrongWorld { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("ralph:plugin/gate@0.2.1") && text.contains("my:own/thing@1.0.0"),
        "{text}"
    );
}

#[tokio::test]
async fn an_interface_without_its_functions_is_refused() {
    let bytes = wat::parse_str(
        r#"(component (instance $i) (export "ralph:plugin/gate@0.1.0" (instance $i)))"#,
    )
    .unwrap();
    let error = refused(&bytes).await;
    assert!(matches!(error, PluginError::WrongWorld { .. }), "{error}");
    assert!(error.to_string().contains("without `check`"), "{error}");
}

#[tokio::test]
async fn a_function_of_another_type_is_refused_when_loading() {
    let bytes = wat::parse_str(
        r#"(component
            (core module $m (func (export "check") (result i32) (i32.const 1)))
            (core instance $i (instantiate $m))
            (func $check (result u32) (canon lift (core func $i "check")))
            (instance $e (export "check" (func $check)))
            (export "ralph:plugin/gate@0.1.0" (instance $e)))"#,
    )
    .unwrap();
    let error = refused(&bytes).await;
    assert!(matches!(error, PluginError::WrongWorld { .. }), "{error}");
    assert!(
        error.to_string().contains("`check` with another type"),
        "{error}"
    );
}

#[tokio::test]
async fn a_contract_of_another_version_is_told_to_both_sides() {
    for (version, says) in [
        ("0.3.0", "use a newer ralph"),
        ("0.0.9", "the ralph that it was made for"),
    ] {
        let other = format!("ralph:plugin/gate@{version}");
        let bytes = replace(&gate(FINE), b"ralph:plugin/gate@0.1.0", other.as_bytes());
        let error = refused(&bytes).await;
        assert!(matches!(error, PluginError::Version { .. }), "{error}");
        let text = error.to_string();
        for words in [
            version,
            "this ralph serves 0.2.1 and 0.1.0",
            says,
            "build it against wit/released/0.2.1",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}

#[tokio::test]
async fn each_served_version_runs_with_all_it_imports() {
    let changes = Grants {
        changes: true,
        ..Grants::default()
    };
    let process = Grants {
        process: vec!["make".into()],
        ..Grants::default()
    };
    let host = host();
    for version in ralph_plugins::SERVED {
        for (bytes, grants, says) in [
            (shows_diff(), changes.clone(), "at most 134217728"),
            (runs_make(), process.clone(), "fine"),
        ] {
            let mut bytes = bytes;
            for name in ["types", "changes", "process", "gate"] {
                let then = format!("ralph:plugin/{name}@0.1.0");
                let now = format!("ralph:plugin/{name}@{version}");
                if contains(&bytes, then.as_bytes()) {
                    bytes = replace(&bytes, then.as_bytes(), now.as_bytes());
                }
            }
            let plugin = common::bind(&host, &bytes, grants, Limits::default())
                .await
                .unwrap();
            let gate = format!("ralph:plugin/gate@{version}");
            assert!(plugin.component().exports().contains(&gate));
            let verdict = plugin.check(&common::context(), &common::iteration()).await;
            assert_eq!(verdict.unwrap().summary, says, "{version}");
        }
    }
}

#[tokio::test]
async fn a_compatible_contract_version_runs() {
    let bytes = gate(FINE);
    let bytes = replace(
        &bytes,
        b"ralph:plugin/gate@0.1.0",
        b"ralph:plugin/gate@0.1.9",
    );
    let bytes = replace(
        &bytes,
        b"ralph:plugin/types@0.1.0",
        b"ralph:plugin/types@0.1.9",
    );
    let verdict = common::check(&host(), &bytes, Limits::default())
        .await
        .unwrap();
    assert_eq!(verdict.summary, "fine");
}

#[tokio::test]
async fn what_nobody_links_is_named() {
    let http = r#"(import "wasi:http/outgoing-handler@0.2.6" (instance (export "f" (func))))"#;
    let error = refused(&gate_with(http, "", "", FINE)).await;
    assert!(
        matches!(error, PluginError::UnknownImport { .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("wasi:http/outgoing-handler@0.2.6"),
        "{error}"
    );
    // A known interface with a function it does not have.
    let odd = r#"(import "ralph:plugin/log@0.1.0" (instance (export "shout" (func))))"#;
    let error = refused(&gate_with(odd, "", "", FINE)).await;
    assert!(
        matches!(error, PluginError::UnknownImport { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("shout"), "{error}");
}

#[tokio::test]
async fn a_missing_grant_is_found_when_binding() {
    for (bytes, key) in [
        (shows_diff(), "changes = true"),
        (runs_make(), "process = ["),
    ] {
        let component = host().load("g", "./g.wasm", &bytes).await.unwrap();
        let error = Plugin::bind(
            component,
            "my gate",
            Kind::Gate,
            Grants::default(),
            Limits::default(),
        )
        .unwrap_err();
        assert!(matches!(error, PluginError::MissingGrant { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(key) && text.ends_with("[plugins.\"my gate\".allow]"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_gate_is_no_judge() {
    let component = host().load("g", "./g.wasm", &gate(FINE)).await.unwrap();
    let error = Plugin::bind(
        component,
        "g",
        Kind::Judge,
        Grants::default(),
        Limits::default(),
    )
    .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, PluginError::WrongWorld { .. }), "{text}");
    assert!(
        text.contains("ralph:plugin/judge@0.2.1") && text.contains("ralph:plugin/gate@0.1.0"),
        "{text}"
    );
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|part| part == what)
}

/// Same length, so that the binary stays valid.
fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut out = bytes.to_vec();
    let mut found = false;
    for at in 0..out.len().saturating_sub(from.len()) {
        if &out[at..at + from.len()] == from {
            out[at..at + from.len()].copy_from_slice(to);
            found = true;
        }
    }
    assert!(found);
    out
}
