//! The form `rfc8785` against vectors of our own and against the reference crate.
#![allow(clippy::unwrap_used)]

use canonicaliser_json::canonicalise;
use proptest::prelude::*;

fn same(input: &str, want: &str) {
    assert_eq!(
        canonicalise(input.as_bytes()).as_deref(),
        Ok(want),
        "{input}"
    );
}

fn refused(input: impl AsRef<[u8]>, parts: &[&str]) {
    let error = canonicalise(input.as_ref()).unwrap_err();
    for part in parts {
        assert!(error.contains(part), "{error:?} lacks {part:?}");
    }
}

#[test]
fn white_space_key_order_and_escapes_make_no_difference() {
    same(
        " { \"b\" : [ 1 , 2 ] ,\r\n\t\"a\" : { } } \n",
        r#"{"a":{},"b":[1,2]}"#,
    );
    same("\u{feff}{}", "{}");
    same(
        r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/""#,
        "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"",
    );
    same(
        r#"{"\ud83d\ude00":1,"\ufb33":2,"\u00f6":3,"1":4,"\r":5}"#,
        "{\"\\r\":5,\"1\":4,\"ö\":3,\"😀\":1,\"\u{fb33}\":2}",
    );
    same(
        r#"{"10":0,"9":0,"":0,"__proto__":0}"#,
        r#"{"":0,"10":0,"9":0,"__proto__":0}"#,
    );
}

#[test]
fn nulls_and_unicode_composition_stay() {
    same(
        "{\"a\":null,\"e\u{301}\":[null]}",
        "{\"a\":null,\"e\u{301}\":[null]}",
    );
}

#[test]
fn numbers_are_written_as_ecmascript_does() {
    same(
        "[-0, -0.0, 0e9, 1.0, 1E30, 4.50, 2e-3, 1e-27, 333333333.33333329, 5e-324]",
        "[0,0,0,1,1e+30,4.5,0.002,1e-27,333333333.3333333,5e-324]",
    );
    same(
        "[9007199254740993, -9007199254740993, 18446744073709551617, 18446744073709551615]",
        "[9007199254740992,-9007199254740992,18446744073709552000,18446744073709552000]",
    );
    // Read with one rounding, not two: 2^53 + 1 and a bit lies above the middle.
    same("9007199254740993.00000000000001", "9007199254740994");
}

#[test]
fn a_key_that_stands_twice_is_refused_with_its_line() {
    refused(
        "{\"a\":1,\n\"b\":2,\n\"\\u0061\":3}",
        &["line 3", "\"a\"", "twice"],
    );
    refused("[{\"x\":{\"y\":1,\"y\":1}}]", &["line 1", "\"y\""]);
    same(r#"[{"x":1},{"x":1}]"#, r#"[{"x":1},{"x":1}]"#);
}

#[test]
fn what_is_not_json_is_refused_with_its_line() {
    refused("{\"a\":1,}", &["line 1, column 8"]);
    refused("{\"a\":1}\n{}", &["line 2, column 1"]);
    refused("", &["line 1"]);
    refused("[\n1e400]", &["line 2", "out of range"]);
    refused("[NaN]", &["line 1"]);
    refused("\"\n\"", &["control character"]);
    refused(r#"["\ud800"]"#, &["line 1", "hex escape"]);
    refused(r#"["\udc00\ud800"]"#, &["line 1", "surrogate"]);
    refused(b"[\n\"\xff\"]", &["line 2", "UTF-8"]);
    refused("[".repeat(100_000), &["recursion"]);
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|v| serde_json::Value::Object(v.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_document_comes_out_as_the_reference_crate_has_it(v in json()) {
        let want = serde_json_canonicalizer::to_string(&v).unwrap();
        let compact = serde_json::to_string(&v).unwrap();
        let pretty = serde_json::to_string_pretty(&v).unwrap();
        prop_assert_eq!(canonicalise(compact.as_bytes()).unwrap(), want.clone());
        prop_assert_eq!(canonicalise(pretty.as_bytes()).unwrap(), want.clone());
        prop_assert_eq!(canonicalise(want.as_bytes()).unwrap(), want);
    }

    #[test]
    fn no_input_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{},:\"0-9eE.+\\\\u-]{0,60}") {
        let _ = canonicalise(&bytes);
        let _ = canonicalise(text.as_bytes());
    }
}

/// The vectors of RFC 8785's author, where the reference crate brings them along.
#[test]
fn the_published_vectors_come_out_to_the_byte() {
    let cargo = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8(cargo.stdout).unwrap();
    // A path without anything that JSON escapes.
    let at = text.find("/serde_json_canonicalizer-").unwrap();
    let from = text[..at].rfind('"').unwrap() + 1;
    let to = at + 1 + text[at + 1..].find('/').unwrap();
    let data = std::path::Path::new(&text[from..to]).join("tests/resources/testdata");
    let mut count = 0;
    for entry in std::fs::read_dir(data.join("input")).unwrap() {
        let path = entry.unwrap().path();
        let want = data.join("output").join(path.file_name().unwrap());
        let got = canonicalise(&std::fs::read(&path).unwrap()).unwrap();
        let want = std::fs::read_to_string(want).unwrap();
        assert_eq!(got, want.trim_end(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 6, "{count}");
}
