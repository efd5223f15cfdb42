#![allow(clippy::unwrap_used)]
use super::*;
use crate::rules::Tokens;
use proptest::prelude::*;
use ralph_plugin::Status;

fn judge() -> Rules {
    Rules {
        who: "judge",
        opening: "",
        tokens: Tokens::Signal,
    }
}

fn reviewer() -> Rules {
    Rules {
        who: "reviewer",
        opening: "",
        tokens: Tokens::ship(None).unwrap(),
    }
}

/// `Some(accepted)`, or `None` if the answer was unreadable.
fn ruled(rules: &Rules, answer: &str) -> Option<bool> {
    match decide(rules, answer) {
        Ok(verdict) => {
            assert_ne!(verdict.status, Status::Skip);
            Some(verdict.passed())
        }
        Err(Error::Failed(_)) => None,
        Err(other) => panic!("{answer:?}: {other:?}"),
    }
}

#[test]
fn the_judges_answers_are_read_by_the_documented_rule() {
    for (answer, want) in [
        // The token line, and what may surround it.
        ("JUDGE_SIGNAL: true", Some(true)),
        ("All good.\n\nJUDGE_SIGNAL: true\n\n", Some(true)),
        ("No tests.\nJUDGE_SIGNAL: false", Some(false)),
        ("x\r\n**JUDGE_SIGNAL: true**\r\n", Some(true)),
        ("x\r`JUDGE_SIGNAL: true`.\r", Some(true)),
        ("x\n**JUDGE_SIGNAL:** false.", Some(false)),
        ("x\nJUDGE\u{1b}[32m_SIGNAL: tr\u{1b}[0mue", Some(true)),
        ("JUDGE_SIGNAL: true\n```\na log\n```\n", Some(true)),
        ("JUDGE_SIGNAL: true\n> a quote", Some(true)),
        // Not the last line that counts.
        ("JUDGE_SIGNAL: true\nLet me know if there is more.", None),
        ("JUDGE_SIGNAL: true\nNo, wait.", None),
        // Echoes, quotes, sentences.
        ("End with:\n```\nJUDGE_SIGNAL: true\n```\n", None),
        ("End with `JUDGE_SIGNAL: true|false`.", None),
        ("JUDGE_SIGNAL: true|false", None),
        ("> JUDGE_SIGNAL: true", None),
        ("> JUDGE_SIGNAL: true\nJUDGE_SIGNAL: false", Some(false)),
        (
            "```\nJUDGE_SIGNAL: true\n```\nJUDGE_SIGNAL: false",
            Some(false),
        ),
        ("I would say JUDGE_SIGNAL: true", None),
        ("```\nJUDGE_SIGNAL: true", None),
        // Contradictions.
        ("JUDGE_SIGNAL: true\nhm\nJUDGE_SIGNAL: false", None),
        ("JUDGE_SIGNAL: false\nhm\nJUDGE_SIGNAL: true", None),
        ("JUDGE_SIGNAL: true\nJUDGE_SIGNAL: true", Some(true)),
        ("JUDGE_SIGNAL: false\rJUDGE_SIGNAL: true", None),
        // Nothing.
        ("", None),
        ("  \n\n", None),
        ("It looks complete, all finished, done.", None),
        ("SHIP", None),
        ("true", None),
        ("You've hit your limit · resets 5pm (Europe/Vilnius)", None),
    ] {
        assert_eq!(ruled(&judge(), answer), want, "{answer:?}");
    }
}

#[test]
fn the_reviewers_answers_are_read_by_the_documented_rule() {
    for (answer, want) in [
        ("SHIP", Some(true)),
        ("Fine.\n\n**SHIP**.\n", Some(true)),
        ("ship", Some(true)),
        ("BLOCK", Some(false)),
        ("x\nBLOCK: no tests", Some(false)),
        ("SHIP it", None),
        ("SHIP or BLOCK", None),
        ("BLOCK: a\nSHIP", None),
        ("SHIP\nBLOCK: a", None),
        ("> SHIP\nBLOCK: a", Some(false)),
        ("```\nSHIP\nBLOCK: the reason in one line\n```", None),
        ("JUDGE_SIGNAL: true", None),
        ("LGTM", None),
    ] {
        assert_eq!(ruled(&reviewer(), answer), want, "{answer:?}");
    }
    let own = Rules {
        tokens: Tokens::ship(Some("LGTM")).unwrap(),
        ..reviewer()
    };
    for (answer, want) in [
        ("LGTM", Some(true)),
        ("SHIP", None),
        ("BLOCK", Some(false)),
        ("SHIP\nLGTM", Some(true)),
    ] {
        assert_eq!(ruled(&own, answer), want, "{answer:?}");
    }
}

#[test]
fn structured_verdicts_are_read_by_the_documented_rule() {
    for (answer, want) in [
        (r#"{"verdict":"pass"}"#, Some(true)),
        (
            r#"{"verdict": "FAIL", "summary": "x", "findings": []}"#,
            Some(false),
        ),
        (r#"{"verdict": true}"#, Some(true)),
        (r#"{"verdict": false}"#, Some(false)),
        (
            "Why.\n\n```json\n{\n  \"verdict\": \"pass\"\n}\n```\n",
            Some(true),
        ),
        (
            "```json\r\n{\"verdict\": \"fail\"}\r\n```\r\nThat is all.",
            Some(false),
        ),
        (
            "{\"verdict\": \"pass\", \"summary\": \"a\tb\u{7}\nc\"}",
            Some(true),
        ),
        // The last one decides.
        (
            "{\"verdict\":\"pass\"}\nNo:\n{\"verdict\":\"fail\"}",
            Some(false),
        ),
        (
            "```json\n{\"verdict\":\"fail\"}\n```\nNo:\n```json\n{\"verdict\":\"pass\"}\n```",
            Some(true),
        ),
        ("{\"verdict\":\"fail\"}\n{\"other\":\"pass\"}", Some(false)),
        // It stands above a token line, unless that contradicts it.
        ("JUDGE_SIGNAL: false\n{\"verdict\":\"pass\"}", Some(true)),
        ("{\"verdict\":\"pass\"}\nJUDGE_SIGNAL: true", Some(true)),
        ("{\"verdict\":\"pass\"}\nJUDGE_SIGNAL: false", None),
        ("{\"verdict\":\"fail\"}\nJUDGE_SIGNAL: true", None),
        ("{\"verdict\":\"pass\"}\n> JUDGE_SIGNAL: false", Some(true)),
        // Not one, or not readable: never an earlier one instead.
        (r#"{"verdict":"maybe"}"#, None),
        (r#"{"verdict":null}"#, None),
        (r#"{"verdict":1}"#, None),
        ("{\"verdict\":\"pass\"}\n{\"verdict\":\"needs work\"}", None),
        (
            "{\"verdict\":\"pass\"}\n{\"verdict\":\"fail\", \"summ",
            None,
        ),
        ("{\"verdict\":\"fail\",\"verdict\":\"pass\"}", None),
        ("{\"verdict\": \"pass\"|\"fail\"}", None),
        ("{\"verdict\": \"pass\" or so}\nJUDGE_SIGNAL: true", None),
        ("```\n{\"verdict\":\"pass\"}\n```", None),
        ("```diff\n{\"verdict\":\"pass\"}\n```", None),
        ("> {\"verdict\":\"pass\"}", None),
        ("The answer is {\"verdict\":\"pass\"}", None),
        (r#"[{"verdict":"pass"}]"#, None),
        (r#"{"result":{"verdict":"pass"}}"#, None),
    ] {
        assert_eq!(ruled(&judge(), answer), want, "{answer:?}");
    }
}

#[test]
fn a_structured_verdict_keeps_its_words_and_findings() {
    let answer = r#"{"verdict":"fail","summary":" two\nthings ","findings":[
        {"message":"no test","path":"./src/a.rs","line":"12","rule":"tests"},
        "a bare text", {"message":"elsewhere","path":"../x","line":3}, {"path":"/etc/passwd","message":"y"},
        {"line":0,"path":"b","message":"z"}, {"odd":1}, 7, null, {"message":"  "}]}"#;
    let verdict = decide(&judge(), answer).unwrap();
    assert_eq!(verdict.summary, "two things");
    assert_eq!(
        verdict.findings,
        [
            Finding::new("no test").at("src/a.rs", 12).rule("tests"),
            Finding::new("a bare text"),
            Finding::new("elsewhere"),
            Finding::new("y"),
            Finding::new("z").in_file("b"),
            Finding::new("{\"odd\":1}"),
            Finding::new("{\"message\":\"  \"}"),
        ]
    );
}

#[test]
fn a_verdict_always_has_a_summary() {
    for (answer, summary) in [
        (r#"{"verdict":"pass"}"#, "the judge accepts the work"),
        (
            r#"{"verdict":"fail"}"#,
            "the judge does not accept the work",
        ),
        (
            r#"{"verdict":"fail","summary":"  ","findings":["no\ntest"]}"#,
            "no test",
        ),
        (
            r#"{"verdict":"fail","summary":7}"#,
            "the judge does not accept the work",
        ),
        ("JUDGE_SIGNAL: true", "the judge accepts the work"),
        ("JUDGE_SIGNAL: false", "the judge does not accept the work"),
    ] {
        assert_eq!(
            decide(&judge(), answer).unwrap().summary,
            summary,
            "{answer}"
        );
    }
}

#[test]
fn the_reasons_in_front_of_a_token_are_kept() {
    let verdict = decide(
        &reviewer(),
        "The parser has\nno test.\n\nBLOCK: no *test*.\n",
    )
    .unwrap();
    assert_eq!(
        verdict,
        Verdict::fail("no test").with([Finding::new("The parser has\nno test.")])
    );
    let verdict = decide(&judge(), "JUDGE_SIGNAL: false").unwrap();
    assert_eq!(verdict.findings, []);
}

#[test]
fn what_comes_back_is_bounded() {
    let long = "é".repeat(100_000);
    let findings = vec![format!("\"{long}\""); 2].join(",") + &",\"x\"".repeat(1000);
    let answer = format!(
        "```json\n{{\"verdict\":\"fail\",\"summary\":\"s\",\"findings\":[\"{}\"{}]}}\n```",
        "é".repeat(10_000),
        ",\"x\"".repeat(1000)
    );
    let verdict = decide(&judge(), &answer).unwrap();
    assert_eq!(verdict.findings.len(), MAX_FINDINGS + 1);
    assert!(verdict.findings[0].message.len() < MAX_MESSAGE + 50);
    let verdict = decide(&judge(), &format!("{long}\nJUDGE_SIGNAL: false")).unwrap();
    assert!(verdict.findings[0].message.len() < MAX_MESSAGE + 50);
    // An object that is too long is unreadable, not half read.
    assert_eq!(
        ruled(
            &judge(),
            &format!("{{\"verdict\":\"pass\",\"findings\":[{findings}]}}")
        ),
        None
    );
}

#[test]
fn the_complaint_tells_the_model_what_to_write() {
    for (rules, answer, parts) in [
        (
            judge(),
            "hm",
            [
                "its last line is none",
                "`JUDGE_SIGNAL: true` or `JUDGE_SIGNAL: false`",
            ],
        ),
        (reviewer(), "", ["there is no verdict", "`SHIP` or `BLOCK"]),
        (
            judge(),
            "JUDGE_SIGNAL: true\nJUDGE_SIGNAL: false",
            ["both yes and no", "\"verdict\""],
        ),
        (
            judge(),
            "{\"verdict\":\"meh\"}",
            ["\"meh\"", "neither \"pass\" nor \"fail\""],
        ),
        (
            judge(),
            "{\"verdict\":\"pass\"",
            ["it has no end", "fence marked json"],
        ),
    ] {
        let Err(Error::Failed(complaint)) = decide(&rules, answer) else {
            panic!("{answer}")
        };
        assert!(parts.iter().all(|p| complaint.contains(p)), "{complaint}");
        // A complaint that is echoed is no verdict.
        assert_eq!(ruled(&rules, &complaint), None);
    }
}

#[test]
fn hostile_answers_take_no_more_time_than_others() {
    // A quadratic reader would take minutes over some of these.
    for piece in [
        "{\n",
        "{\"\n",
        "{\"verdict\n",
        "{\"}\n",
        "{\"a\":[}\n",
        "{ \\\"\n",
        "```\n",
        "````json\n{\n",
        "~~~\n```json\n",
        "> ",
        "{}\n",
        "{\"verdict\":1\n",
    ] {
        let start = std::time::Instant::now();
        let _ = decide(&judge(), &piece.repeat((1 << 18) / piece.len()));
        assert!(start.elapsed().as_secs() < 20, "{piece:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_answer_makes_it_panic(parts in prop::collection::vec("(\\{|\\}|\"|verdict|\"verdict\":|pass|```json|```|~~~|\n|> |JUDGE_SIGNAL: true|SHIP|BLOCK:|\\\\|é|\u{1b}\\[|[ -~]{0,8})", 0..40)) {
        let answer = parts.concat();
        let _ = decide(&judge(), &answer);
        let _ = decide(&reviewer(), &answer);
    }
}
