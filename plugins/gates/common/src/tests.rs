#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

#[test]
fn the_documented_rule_holds() {
    for (pattern, yes, no) in [
        (
            "src/**",
            &["src/a", "src/a/b.rs"][..],
            &["src", "x/src/a", "srcs/a"][..],
        ),
        ("*.md", &["a.md", "x/y/a.md", ".md"], &["a.mdx", "a.md/b"]),
        ("/*.md", &["a.md"], &["x/a.md"]),
        ("./a.md", &["a.md"], &["x/a.md"]),
        ("src/*.rs", &["src/a.rs"], &["src/a/b.rs", "x/src/a.rs"]),
        (
            "Cargo.lock",
            &["Cargo.lock", "a/Cargo.lock"],
            &["Cargo.lock/a", "xCargo.lock", "cargo.lock"],
        ),
        (
            "generated/",
            &["generated/a", "a/generated/b/c"],
            &["generated"],
        ),
        ("/docs/", &["docs/a/b"], &["a/docs/b", "docs"]),
        ("**/tests/**", &["tests/a", "a/tests/b"], &["tests"]),
        (
            "a/**/z",
            &["a/z", "a/b/z", "a/b/c/z", "a/z/z"],
            &["a/bz", "a/z/b"],
        ),
        (
            "a/**/b/**/c",
            &["a/b/c", "a/x/b/b/y/c"],
            &["a/c", "a/x/c/b"],
        ),
        ("**", &["a", "a/b", ".x"], &[]),
        ("a?c", &["abc", "x/aéc"], &["a/c", "ac", "abbc"]),
        ("[ab].rs", &["a.rs"], &["c.rs"]),
        ("[!a-c]", &["d", "é"], &["b", "dd"]),
        ("[]x-]", &["]", "x", "-"], &["y"]),
        ("*.{js,ts}", &["a.js", "b/a.ts"], &["a.jsx"]),
        ("{src,tests}/**", &["src/a", "tests/a"], &["x/src/a"]),
        (
            "{a,b/{c,d}}.x",
            &["a.x", "z/a.x", "b/c.x", "b/d.x"],
            &["z/b/c.x", "b.x"],
        ),
        (r"\*.md", &["*.md"], &["a.md"]),
        (r"\{a\}", &["{a}"], &["a"]),
        ("[{]a", &["{a"], &["a"]),
        ("*", &["a", "a/b"], &[]),
        ("src/*", &["src/a"], &["src/a/b"]),
        ("a*b*c", &["abc", "aXbYbZc", "abbc"], &["acb", "ab"]),
        ("a**b", &["ab", "axxb"], &["a/b"]),
        ("é*語", &["é語", "é x 語"], &["e語"]),
    ] {
        let globs = PathGlobs::new(&[pattern]).unwrap();
        for path in yes {
            assert_eq!(globs.find(path), Some(pattern), "{pattern} {path}");
        }
        for path in no {
            assert_eq!(globs.find(path), None, "{pattern} {path}");
        }
    }
}

#[test]
fn a_bad_pattern_is_named() {
    for pattern in [
        "[a", "[", "[!", "[]", "{a", "a}", "", "  ", "!a", "../a", "a/../b", "a/./b", "/", "a//b",
        "a\\", "[z-a]", "[a/b]",
    ] {
        let text = PathGlobs::new(&["ok", pattern]).unwrap_err();
        assert!(text.contains(&format!("`{pattern}`")), "{text}");
    }
}

#[test]
fn braces_cannot_multiply_without_end() {
    assert!(PathGlobs::new(&["{a,b}".repeat(8)]).is_ok());
    assert!(PathGlobs::new(&["{a,b}".repeat(40)]).is_err());
}

#[test]
fn many_stars_take_no_more_time_than_others() {
    let start = std::time::Instant::now();
    let globs = PathGlobs::new(&["*a".repeat(200) + "b", "**/a/".repeat(200) + "b"]).unwrap();
    assert_eq!(globs.find(&"a".repeat(2000)), None);
    assert_eq!(globs.find(&"a/".repeat(2000)), None);
    assert!(start.elapsed().as_secs() < 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn globset_says_the_same(
        parts in prop::collection::vec(prop_oneof![3 => "[ab*?.]{1,4}", 1 => Just("**".to_owned()), 1 => "(\\[[!]?[ab]\\]|\\[a-b\\]|\\{a,b[*]?\\})[ab*]?"], 1..4),
        path in prop::collection::vec("[abc.]{1,3}", 1..4),
    ) {
        prop_assume!(!parts.iter().any(|p| p == "." || p == ".."));
        // From the root, so that only the matching itself is compared.
        let pattern = parts.join("/");
        let path = path.join("/");
        let oracle = globset::GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build().unwrap();
        let ours = PathGlobs::new(&[format!("/{pattern}")]).unwrap();
        prop_assert_eq!(ours.find(&path).is_some(), oracle.compile_matcher().is_match(&path), "{} on {}", pattern, path);
    }

    #[test]
    fn no_pattern_makes_it_panic(pattern in "[ab*?\\[\\]{},!^\\\\/.é-]{0,16}", path in "[ab/.é]{0,12}") {
        if let Ok(globs) = PathGlobs::new(&[pattern]) {
            let _ = globs.find(&path);
        }
    }
}
