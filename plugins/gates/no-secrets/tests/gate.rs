//! The gate as a whole: diff in, verdict out.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use gate_no_secrets::NoSecrets;
use proptest::prelude::*;
use ralph_plugin::testing::{Host, iteration};
use ralph_plugin::{Error, Gate, Status, Verdict};

/// Put together at run time, so that no scanner takes this file for a leak.
fn token() -> String {
    [
        "gh",
        "p_",
        "A1b2C3d4E5",
        "f6G7h8I9j0",
        "K1l2M3n4O5",
        "p6Q7r8",
    ]
    .concat()
}

fn check(config: &str, diff: &str) -> Result<Verdict, Error> {
    Host::new()
        .config(config)
        .diff(diff)
        .run(|| NoSecrets::check(&iteration()))
        .0
}

/// A diff that adds `lines` to `path` from line 5 on.
fn adding(path: &str, lines: &str) -> String {
    let added: String = lines.lines().map(|l| format!("+{l}\n")).collect();
    format!(
        "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -4,2 +4,{} @@\n a\n{added} z\n",
        lines.lines().count() + 2
    )
}

#[test]
fn a_secret_in_an_added_line_is_found_with_path_and_line_and_never_shown() {
    let v = check(
        "{}",
        &adding("src/a.rs", &format!("ok\nlet x = \"{}\";", token())),
    )
    .unwrap();
    assert_eq!(
        (v.status, v.summary.as_str()),
        (Status::Fail, "1 possible secret in the added lines")
    );
    let f = &v.findings[0];
    assert_eq!(
        (f.path.as_deref(), f.line, f.rule.as_deref()),
        (Some("src/a.rs"), Some(6), Some("no-secrets/github-token"))
    );
    assert!(f.message.contains("`ghp_…`"), "{}", f.message);
    assert!(!format!("{v:?}").contains(&token()[4..]));
}

#[test]
fn a_secret_in_a_removed_or_unchanged_line_is_none_of_this_iteration() {
    let diff = format!(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-{0}\n {0}\n+ok\n",
        token()
    );
    assert_eq!(
        check("{}", &diff),
        Ok(Verdict::pass("no secrets in 1 added line"))
    );
}

#[test]
fn a_private_key_is_found_at_its_first_line() {
    let key = format!(
        "{0}BEGIN RSA PRIVATE KEY{0}\n{1}\n{0}END RSA PRIVATE KEY{0}",
        "-".repeat(5),
        "MIIEvQIBADANBgkq".repeat(4)
    );
    let v = check("{}", &adding("id_rsa", &key)).unwrap();
    let places: Vec<_> = v
        .findings
        .iter()
        .map(|f| (f.line, f.rule.as_deref()))
        .collect();
    assert_eq!(places, [(Some(5), Some("no-secrets/private-key"))]);
}

#[test]
fn a_token_in_an_assignment_is_reported_once() {
    let v = check("{}", &adding(".env", &format!("API_TOKEN=\"{}\"", token()))).unwrap();
    assert_eq!(v.findings.len(), 1);
}

#[test]
fn allowed_paths_and_strings_are_left_alone() {
    let diff = adding("tests/fixtures/a", &token()) + &adding("b", "ok");
    assert!(!check("{}", &diff).unwrap().passed());
    assert!(
        check(r#"{"allow_paths": ["tests/fixtures/"]}"#, &diff)
            .unwrap()
            .passed()
    );
    assert!(
        check(&format!(r#"{{"allow": ["{}"]}}"#, token()), &diff)
            .unwrap()
            .passed()
    );
    assert!(
        !check(&format!(r#"{{"allow": ["{}"]}}"#, &token()[..20]), &diff)
            .unwrap()
            .passed()
    );
    assert!(!check(r#"{"allow_paths": ["b"]}"#, &diff).unwrap().passed());
}

#[test]
fn a_diff_too_large_to_be_read_whole_is_not_accepted() {
    let v = check(
        r#"{"max_diff": "1KiB"}"#,
        &adding("a", &"ok\n".repeat(1000)),
    )
    .unwrap();
    assert_eq!(
        (v.status, v.findings[0].rule.as_deref()),
        (Status::Fail, Some("no-secrets/diff-too-large"))
    );
    assert!(
        v.findings[0].message.contains("now 1KiB"),
        "{}",
        v.findings[0].message
    );
    assert!(
        check("{}", &adding("a", &"ok\n".repeat(1000)))
            .unwrap()
            .passed()
    );
}

#[test]
fn a_diff_that_cannot_be_read_is_an_error() {
    assert!(matches!(check("{}", "whatever\n"), Err(Error::Failed(_))));
}

#[test]
fn nothing_changed_is_skipped() {
    assert_eq!(check("{}", "").unwrap().status, Status::Skip);
}

#[test]
fn a_wrong_configuration_is_named() {
    for (config, named) in [
        (r#"{"allow_paths": ["[x"]}"#, "`[x`"),
        (r#"{"max_diff": 0}"#, "`max_diff`"),
        (r#"{"max_diff": "8 parsecs"}"#, "`max_diff`"),
        (r#"{"max_diff": -1}"#, "`max_diff`"),
        (r#"{"max_dif": 1}"#, "max_dif"),
    ] {
        let answer = check(config, "");
        assert!(
            matches!(&answer, Err(Error::InvalidConfig(text)) if text.contains(named)),
            "{config}: {answer:?}"
        );
    }
    for (config, shown) in [
        (r#"{"max_diff": 10}"#, "10 bytes"),
        (r#"{"max_diff": "2 MiB"}"#, "2MiB"),
        (r#"{"max_diff": 1024}"#, "1KiB"),
    ] {
        let v = check(config, &adding("a", &"ok\n".repeat(1_000_000))).unwrap();
        assert!(
            v.findings[0].message.contains(shown),
            "{}",
            v.findings[0].message
        );
    }
}

#[test]
fn a_thousand_secrets_make_a_bounded_report() {
    let v = check("{}", &adding("a", &format!("{}\n", token()).repeat(1000))).unwrap();
    assert_eq!(
        (v.findings.len(), v.summary.as_str()),
        (101, "1000 possible secrets in the added lines")
    );
}

#[test]
fn hostile_lines_take_no_more_time_than_others() {
    // A quadratic matcher would take minutes over each of these.
    for piece in [
        "eyJ-",
        "eyJa.",
        "sk-",
        "xox-a-",
        "AKIA",
        "password=\"",
        "token: '",
        "==",
        ":",
        "-----BEGIN ",
        "sk-ant-a1",
        "glpat-a_",
    ] {
        let line = piece.repeat((1 << 18) / piece.len());
        let start = Instant::now();
        check("{}", &adding("a.yml", &line)).unwrap();
        assert!(
            start.elapsed().as_secs() < 20,
            "{piece}: {:?}",
            start.elapsed()
        );
    }
}

/// Prints the time for 1 MiB of ordinary code; `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn time_for_one_mebibyte() {
    let code = include_str!("../src/tokens.rs").repeat(200);
    let mut end = 1 << 20;
    while !code.is_char_boundary(end) {
        end += 1;
    }
    let diff = adding("a.rs", &code[..end]);
    let once = || {
        let start = Instant::now();
        check("{}", &diff).unwrap();
        start.elapsed()
    };
    let best = (0..30).map(|_| once()).min().unwrap();
    println!("best of 30: {best:?} for {} bytes", diff.len());
}

proptest! {
    #[test]
    fn no_diff_makes_it_panic(lines in prop::collection::vec("[ +\\-@\\\\]{0,3}[ -~é語\"\\\\]{0,40}", 0..30), a in 0u32..9, b in 0u32..9) {
        let _ = check("{}", &lines.join("\n"));
        let _ = check("{}", &format!("+++ \"b/x\\\n@@ -1,{a} +1,{b} @@\n{}", lines.join("\n")));
    }
}
