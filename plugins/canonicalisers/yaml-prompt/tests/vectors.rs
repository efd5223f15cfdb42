//! The form `ralph-yaml-prompt-1`: vectors of our own.
#![allow(clippy::unwrap_used)]

use canonicaliser_yaml_prompt::canonicalise;

fn same(yaml: &str, want: &str) {
    assert_eq!(canonicalise(yaml.as_bytes()).as_deref(), Ok(want), "{yaml}");
}

fn refused(yaml: impl AsRef<[u8]>, parts: &[&str]) {
    let yaml = yaml.as_ref();
    let shown = String::from_utf8_lossy(&yaml[..yaml.len().min(200)]).into_owned();
    let error = canonicalise(yaml)
        .map(|v| format!("ACCEPTED as {v}"))
        .unwrap_or_else(|e| e);
    for part in parts {
        assert!(
            error.contains(part),
            "{shown:?} gave {error:?}, which lacks {part:?}"
        );
    }
}

#[test]
fn only_the_top_level_fingerprint_is_dropped() {
    same(
        "fingerprint: blake3:00\nid: x\nmodified: 2026-01-01\nsub:\n  fingerprint: kept\n",
        r#"{"id":"x","modified":"2026-01-01","sub":{"fingerprint":"kept"}}"#,
    );
    same("\"fingerprint\": {a: [1]}\n", "{}");
    same("Fingerprint: kept\n", r#"{"Fingerprint":"kept"}"#);
}

#[test]
fn null_entries_go_at_every_depth_and_empty_things_stay() {
    same(
        "a:\nb: ~\nc: {d: null, e: [], f: {}, g: ''}\nh:\n  - {i: Null}\n",
        r#"{"c":{"e":[],"f":{},"g":""},"h":[{}]}"#,
    );
}

#[test]
fn nulls_in_lists_stay() {
    same(
        "a: [null, ~, 1]\nb:\n  -\n  - x\n",
        r#"{"a":[null,null,1],"b":[null,"x"]}"#,
    );
}

#[test]
fn strings_and_keys_become_nfc() {
    same(
        "e\u{301}: 'o\u{308} \u{212b}'\n",
        "{\"\u{e9}\":\"\u{f6} \u{c5}\"}",
    );
    same("a: e\u{301}\n", "{\"a\":\"\u{e9}\"}");
    same("a: |\n  e\u{301}\n", "{\"a\":\"\u{e9}\\n\"}");
}

#[test]
fn keys_sort_by_utf16_units_at_every_depth_also_those_that_look_like_integers() {
    same(
        "b: {z: 1, a: 2}\n\"10\": x\n\"9\": y\nB: 0\n",
        r#"{"10":"x","9":"y","B":0,"b":{"a":2,"z":1}}"#,
    );
    same(
        "\u{ff5e}: 1\n\u{1f600}: 2\n",
        "{\"\u{1f600}\":2,\"\u{ff5e}\":1}",
    );
}

#[test]
fn keys_that_are_not_strings_are_refused() {
    for key in [
        "10",
        "true",
        "~",
        "null",
        "1.5",
        "? [a]\n",
        "? {a: 1}\n",
        "[a, b]",
    ] {
        refused(format!("x: 1\n{key}: y\n"), &["line 2", "key"]);
    }
    refused("x: 1\n?\n: y\n", &["line ", "key"]);
    // An alias is as good a key as what it stands for.
    same("a: &k name\n*k : 1\n", r#"{"a":"name","name":1}"#);
    refused("a: &k 7\n*k : 1\n", &["line 2", "not a string"]);
}

#[test]
fn keys_with_a_meaning_elsewhere_are_refused() {
    refused("a: &x {b: 1}\nc:\n  <<: *x\n", &["line 3", "`<<`"]);
    refused("\"<<\": 1\n", &["line 1", "`<<`"]);
    refused("a: {__proto__: 1}\n", &["line 1", "`__proto__`"]);
}

#[test]
fn a_key_that_stands_twice_is_refused_with_both_lines() {
    refused("a: 1\nb: 2\n'a': 3\n", &["line 3", "line 1", "\"a\""]);
    refused("x: {a: 1, a: 1}\n", &["line 1", "twice"]);
    refused("\u{e9}: 1\ne\u{301}: 2\n", &["line 2", "twice"]);
    // Also when one of the two would be dropped.
    refused("a:\na: 1\n", &["line 2", "twice"]);
    refused("fingerprint: a\nfingerprint: b\n", &["line 2", "twice"]);
    same("a: {x: 1}\nb: {x: 1}\n", r#"{"a":{"x":1},"b":{"x":1}}"#);
}

#[test]
fn numbers_without_a_double_of_their_own_are_refused() {
    for n in [
        ".inf",
        "-.INF",
        ".nan",
        "1e999",
        "9007199254740993",
        "-9007199254740993",
        "0xFFFFFFFFFFFFFFFF",
    ] {
        refused(format!("a: 1\nb:\n  - {n}\n"), &["line 3", n, "quote it"]);
    }
    same(
        "a: '9007199254740993'\nb: \".inf\"\nc: 9007199254740992\n",
        r#"{"a":"9007199254740993","b":".inf","c":9007199254740992}"#,
    );
}

#[test]
fn unquoted_versions_are_numbers() {
    same(
        "a: 1.10\nb: 1.0\nc: '1.10'\nd: 1.2.3\n",
        r#"{"a":1.1,"b":1,"c":"1.10","d":"1.2.3"}"#,
    );
}

#[test]
fn scalars_follow_yaml_1_2_core_not_1_1() {
    same(
        "a: yes\nb: off\nc: 12:30\nd: 2026-01-29\ne: 1_000\nf: 017\ng: 0o17\nh: TRUE\n",
        r#"{"a":"yes","b":"off","c":"12:30","d":"2026-01-29","e":"1_000","f":17,"g":15,"h":true}"#,
    );
}

#[test]
fn tags_are_refused() {
    for tagged in [
        "!!str 1",
        "!!binary aGk=",
        "!custom x",
        "! x",
        "!!map {}",
        "!!seq [a]",
        "!<tag:yaml.org,2002:int> 3",
    ] {
        refused(format!("a: 1\nb: {tagged}\n"), &["line 2", "tag"]);
    }
    refused("!!map\na: 1\n", &["tag"]);
    refused("!!str a: 1\n", &["line 1", "tag"]);
    same("a: '!x'\n", r#"{"a":"!x"}"#);
}

#[test]
fn aliases_are_copied_up_to_a_cap() {
    same(
        "a: &x [1, {b: c}]\nd: *x\n",
        r#"{"a":[1,{"b":"c"}],"d":[1,{"b":"c"}]}"#,
    );
    // The latest anchor of a name counts.
    same("a: &x 1\nb: &x 2\nc: *x\n", r#"{"a":1,"b":2,"c":2}"#);
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..10 {
        let p = i - 1;
        laughs += &format!(
            "a{i}: &a{i} [*a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}, *a{p}]\n"
        );
    }
    refused(laughs, &["line 4", "anchors and aliases"]);
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "y".repeat(10_000),
        "*a, ".repeat(100)
    );
    refused(long, &["line 2", "bytes"]);
    refused("a: &a [*a]\n", &["line 1", "inside"]);
    refused("a: *nobody\n", &["line 1"]);
}

#[test]
fn deep_nesting_is_refused_written_out_or_through_aliases() {
    let nested = |n: usize| format!("a: {}{}\n", "[".repeat(n), "]".repeat(n));
    assert!(canonicalise(nested(63).as_bytes()).is_ok());
    refused(nested(64), &["line 1", "deeper than 64"]);
    refused(nested(100_000), &["line 1"]);
    let block: String = (0..70).map(|i| format!("{}k:\n", " ".repeat(i))).collect();
    refused(
        block + &" ".repeat(70) + "v: 1\n",
        &["line 65", "deeper than 64"],
    );
    let aliased = format!(
        "a: &a {}{}\nb: {}*a{}\n",
        "[".repeat(40),
        "]".repeat(40),
        "[".repeat(30),
        "]".repeat(30)
    );
    refused(aliased, &["line 2", "deeper than 64"]);
}

#[test]
fn the_root_must_be_a_mapping() {
    for yaml in [
        "- a\n",
        "text\n",
        "3\n",
        "---\n",
        "~\n",
        "",
        "# only a comment\n",
        "\"a: b\"\n",
    ] {
        refused(yaml, &["line ", "root must be a mapping"]);
    }
    same("{}", "{}");
    same("--- {a: b}\n...\n", r#"{"a":"b"}"#);
}

#[test]
fn a_second_document_is_refused() {
    refused("a: 1\n---\nb: 2\n", &["line 2", "second document"]);
    refused("a: 1\n...\n---\n", &["second document"]);
    refused("---\na: 1\n---\n", &["line 3", "second document"]);
    same("# c\n---\na: 1\n# c\n", r#"{"a":1}"#);
}

#[test]
fn directives_that_change_the_meaning_are_refused() {
    refused("%YAML 1.1\n---\na: yes\n", &["line 1", "%YAML 1.1"]);
    refused("# c\n%TAG ! tag:x,2000:\n---\na: 1\n", &["line 2", "%TAG"]);
    refused("%FOO bar\n---\na: 1\n", &["line 1", "%FOO"]);
    same(
        "%YAML 1.2 # as ever\n---\na: |\n  text\n  %YAML 1.1\n",
        "{\"a\":\"text\\n%YAML 1.1\\n\"}",
    );
}

#[test]
fn what_is_not_yaml_is_refused_with_its_line() {
    refused("a: 1\nb: [1, 2\nc: 3\n", &["line "]);
    refused("a:\n  - 1\n\t- 2\n", &["line ", "not YAML"]);
    refused("a: 1\nb: 'x\n", &["line ", "not YAML"]);
    refused(b"a: 1\nb: \xff\n", &["line 2", "UTF-8"]);
    refused(
        "a: 1\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>(),
        &["line 1"],
    );
    refused("a: \"\\ud800\"\n", &["line 1"]);
}

#[test]
fn byte_order_mark_and_line_endings_make_no_difference() {
    let plain = "a: |\n  x\n  y\nb: >-\n  p\n  q\nc: 'm\n\n  n'\n";
    let want = r#"{"a":"x\ny\n","b":"p q","c":"m\nn"}"#;
    same(plain, want);
    same(&format!("\u{feff}{plain}"), want);
    same(&plain.replace('\n', "\r\n"), want);
    same(&plain.replace('\n', "\r"), want);
}

#[test]
fn json_written_as_yaml_is_read_as_json() {
    same(
        "{\"b\": [1.5, \"x\\u00e9\\n\", true], \"a\": {\"c\": {}}}",
        "{\"a\":{\"c\":{}},\"b\":[1.5,\"xé\\n\",true]}",
    );
}

#[test]
fn a_prompt_of_the_usual_make() {
    same(
        "id: review-unit\nversion: \"1.10\"\ntags: [a, b]\nfingerprint: sha256:0\ntemplate: |\n  Do {{x}}.\n\n  \"Quote\"\\ntab\tend\n",
        r#"{"id":"review-unit","tags":["a","b"],"template":"Do {{x}}.\n\n\"Quote\"\\ntab\tend\n","version":"1.10"}"#,
    );
}
