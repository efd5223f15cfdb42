#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn of(text: &str) -> ProgramPattern {
    ProgramPattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Variables, program and arguments, as in a shell.
fn command(text: &str) -> (Vec<(String, String)>, String, Vec<String>) {
    let mut words = words(text);
    let named = words.iter().take_while(|word| word.contains('=')).count();
    let mut rest = words.split_off(named);
    let split = |word: String| {
        word.split_once('=')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
    };
    let env = words.into_iter().filter_map(split).collect();
    let program = rest.remove(0);
    (env, program, rest)
}

fn admits(pattern: &ProgramPattern, text: &str) -> bool {
    let (env, program, args) = command(text);
    pattern.admits(&program, &args, &env).is_ok()
}

#[test]
fn what_patterns_stand_for() {
    for (pattern, yes, no) in [
        (
            "cargo",
            &[
                "cargo",
                "cargo test -- -x",
                "LC_ALL=C cargo",
                "RUSTFLAGS=-g cargo b",
            ][..],
            &[
                "carg",
                "/usr/bin/cargo",
                "PATH=/x cargo",
                "LD_PRELOAD=x cargo",
                "DYLD_X=1 cargo",
            ][..],
        ),
        (
            "git diff *",
            &["git diff HEAD", "git diff HEAD~1"],
            &[
                "git diff",
                "git diff a b",
                "git diff --output=x",
                "git push",
                "git",
                "GIT_EXTERNAL_DIFF=x git diff a",
            ],
        ),
        (
            "git log **",
            &["git log", "git log -p --all"],
            &["git", "git push log"],
        ),
        (
            "npm run lint",
            &["npm run lint"],
            &["npm run lint -x", "npm run lints", "npm run"],
        ),
        ("x --to=*", &["x --to=", "x --to=a=b"], &["x --t", "x a"]),
        ("x -*", &["x -v"], &["x v"]),
        ("*", &["rm -rf x", "./x"], &["PATH=x rm"]),
        ("* --version", &["a --version"], &["a"]),
        (
            "LC_ALL=C LANG=* git diff",
            &["LC_ALL=C git diff", "LANG=-x git diff"],
            &["LC_ALL=D git diff", "X=1 git diff"],
        ),
        (
            "PATH=* make",
            &["PATH=a make", "X=1 make"],
            &["LD_X=1 make"],
        ),
    ] {
        for text in yes {
            assert!(admits(&of(pattern), text), "{pattern}: {text}");
        }
        for text in no {
            assert!(!admits(&of(pattern), text), "{pattern}: {text}");
        }
    }
}

#[test]
fn quotes_hold_what_would_be_special() {
    let args = ["it's * a".to_owned(), String::new()];
    let pattern = of("'my prog' 'it''s * a' ''");
    assert_eq!(pattern.admits("my prog", &args, &[]), Ok(()));
    assert_eq!(pattern.to_string(), "'my prog' 'it''s * a' ''");
    assert_eq!(of("'A=b'").admits("A=b", &[], &[]), Ok(()));
    assert_eq!(of("'A=b'").to_string(), "'A=b'");
    assert_eq!(of("A= x").to_string(), "A= x");
    let odd = ProgramPattern::of_program("./a b*", ["PATH"]);
    assert_eq!(of(&odd.to_string()), odd);
}

#[test]
fn what_is_unlike_is_told() {
    let env = [("PATH".to_owned(), "x".to_owned())];
    let git = of("git diff");
    assert_eq!(git.admits("gi", &[], &[]), Err(Unlike::Program));
    assert_eq!(git.admits("git", &[], &[]), Err(Unlike::Args));
    assert_eq!(
        git.admits("git", &words("diff"), &env),
        Err(Unlike::Env("PATH"))
    );
}

#[test]
fn what_cannot_be_read_is_refused() {
    for (text, says) in [
        ("", "no program"),
        ("  ", "no program"),
        ("A=b", "no program"),
        ("''", "no program"),
        ("carg*", "whole name"),
        ("** x", "whole name"),
        ("git ** x", "after `**`"),
        ("git a*b", "end of its word"),
        ("git a**", "within a word"),
        ("git ***", "within a word"),
        ("git 'x", "never closed"),
        ("git a\u{7}", "control"),
        ("git 'a\n'", "control"),
    ] {
        let error = ProgramPattern::parse(text).unwrap_err();
        assert!(error.contains(says), "{text:?}: {error}");
    }
    assert!(ProgramPattern::parse(&"x".repeat(5000)).is_err());
}

#[test]
fn what_two_patterns_have_in_common() {
    for (a, b, both) in [
        ("git", "git diff *", Some("git diff *")),
        ("*", "git", Some("git")),
        ("*", "*", Some("*")),
        ("git diff *", "git diff HEAD", Some("git diff HEAD")),
        ("git **", "git diff *", Some("git diff *")),
        ("git * **", "git diff **", Some("git diff **")),
        ("git *", "git --version", None),
        ("git *", "git -*", None),
        ("git --a*", "git --ab*", Some("git --ab*")),
        ("git", "cargo", None),
        ("git diff", "git log", None),
        ("git diff *", "git diff", None),
        ("A=* git x", "A=b git x", Some("A=b git x")),
        ("A=* git x", "git x", Some("git x")),
        ("A=* git x", "git", Some("A=* git x")),
        ("PATH=* git", "git", Some("git")),
        ("PATH=* git", "PATH=/bin git", Some("PATH=/bin git")),
    ] {
        for (a, b) in [(a, b), (b, a)] {
            let met = of(a).met(&of(b)).map(|it| it.to_string());
            assert_eq!(met.as_deref(), both, "{a} and {b}");
        }
    }
}

fn word() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["a", "ab", "-a", "--b=c", "*", "a*", "-*", "--b=*"])
}

fn pattern() -> impl Strategy<Value = String> {
    let env = proptest::sample::select(vec!["", "A=1 ", "A=* ", "PATH=* ", "PATH=1 A=* "]);
    let program = proptest::sample::select(vec!["*", "p", "q"]);
    let rest = proptest::sample::select(vec!["", " **"]);
    let words = proptest::collection::vec(word(), 0..3);
    (env, program, words, rest).prop_map(|(env, program, words, rest)| {
        let words: String = words.iter().map(|word| format!(" {word}")).collect();
        format!("{env}{program}{words}{rest}")
    })
}

fn called() -> impl Strategy<Value = String> {
    let env = proptest::sample::select(vec![
        "",
        "A=1 ",
        "A=2 ",
        "PATH=1 ",
        "PATH=1 A=1 ",
        "PATH=2 ",
    ]);
    let program = proptest::sample::select(vec!["p", "q"]);
    let word = proptest::sample::select(vec!["a", "ab", "-a", "--b=c", "-", "x"]);
    let words = proptest::collection::vec(word, 0..4);
    (env, program, words).prop_map(|(env, program, words)| {
        let words: String = words.iter().map(|word| format!(" {word}")).collect();
        format!("{env}{program}{words}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_common_pattern_stands_for_just_what_both_do(a in pattern(), b in pattern(), text in called()) {
        let (a, b) = (of(&a), of(&b));
        let met = a.met(&b).is_some_and(|both| admits(&both, &text));
        prop_assert_eq!(met, admits(&a, &text) && admits(&b, &text), "{} / {} / {}", a, b, text);
    }

    #[test]
    fn what_is_shown_is_read_as_the_same(text in pattern()) {
        let pattern = of(&text);
        prop_assert_eq!(of(&pattern.to_string()), pattern);
    }

    #[test]
    fn anything_is_read_or_refused(text in "[ -~*' =]{0,40}") {
        if let Ok(pattern) = ProgramPattern::parse(&text) {
            prop_assert_eq!(of(&pattern.to_string()), pattern);
        }
    }
}
