#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use ralph_engine::types::{Finding, Severity, Verdict};
use serde_json::{Value, json};

use super::*;

fn result(name: &str, status: Status, severity: Severity, findings: Vec<Finding>) -> GateResult {
    GateResult {
        name: name.into(),
        severity,
        verdict: Verdict {
            status,
            summary: format!("{name} <says> \"no\" & \u{1b}[31mred\u{1b}[0m \u{1}"),
            findings,
        },
    }
}

fn finding(message: &str, path: Option<&str>, line: Option<u32>, rule: Option<&str>) -> Finding {
    Finding {
        message: message.into(),
        path: path.map(Into::into),
        line,
        rule: rule.map(Into::into),
    }
}

fn checked() -> Checked {
    let found = vec![
        finding("one\ntwo, 100%", Some("src/a b:ä.rs"), Some(3), Some("r:1")),
        finding("::error::forged", None, None, None),
        finding("no such line", Some("x"), Some(0), None),
    ];
    Checked {
        files: 1,
        passed: false,
        groups: vec!["both".into()],
        results: vec![
            result("fine", Status::Pass, Severity::Block, vec![]),
            result(
                "hint",
                Status::Pass,
                Severity::Block,
                vec![finding("see", Some("y"), None, None)],
            ),
            result("left", Status::Skip, Severity::Block, vec![]),
            result("lint", Status::Fail, Severity::Block, found),
            result("mute", Status::Fail, Severity::Block, vec![]),
            result("soft", Status::Fail, Severity::Warn, vec![]),
        ],
    }
}

#[test]
fn sarif_has_one_result_for_each_finding_with_its_level_and_place() {
    let log: Value = serde_json::from_str(&report(Format::Sarif, &checked())).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let levels: Vec<_> = results
        .iter()
        .map(|r| (&r["ruleId"], &r["level"]))
        .collect();
    let expected = [
        ("hint", "note"),
        ("lint/r:1", "error"),
        ("lint", "error"),
        ("lint", "error"),
        ("mute", "error"),
        ("soft", "warning"),
        ("both", "error"),
    ]
    .map(|(rule, level)| (json!(rule), json!(level)));
    assert_eq!(
        levels,
        expected.iter().map(|(a, b)| (a, b)).collect::<Vec<_>>()
    );
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/a%20b%3A%C3%A4.rs");
    assert_eq!(place["region"]["startLine"], 3);
    assert_eq!(
        results[3]["locations"][0]["physicalLocation"]["region"],
        Value::Null
    );
    let text = results[4]["message"]["text"].as_str().unwrap();
    assert!(
        !text.contains('\u{1b}') && text.starts_with("mute <says>"),
        "{text}"
    );
    let rules: Vec<_> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
    }
}

#[test]
fn junit_has_one_case_for_each_gate_and_is_xml_whatever_they_say() {
    let xml = report(Format::Junit, &checked());
    assert!(xml.contains("tests=\"7\" failures=\"3\""), "{xml}");
    assert!(xml.contains("skipped=\"1\""));
    assert!(xml.contains("name=\"fine\"/>"));
    assert!(
        xml.contains("<failure message=\"mute &lt;says&gt; &quot;no&quot; &amp; red "),
        "{xml}"
    );
    assert!(
        xml.contains("src/a b:ä.rs:3: one&#10;two, 100% [lint/r:1]"),
        "{xml}"
    );
    assert!(xml.contains("<system-out>warning: soft"));
    assert!(xml.contains("name=\"both\"><failure"));
    assert_eq!(xml.matches("<testcase").count(), 7);
    let bad = |c: char| c < ' ' && !matches!(c, '\n' | '\t');
    assert!(!xml.contains(bad), "{xml:?}");
}

#[test]
fn github_gets_a_command_for_each_finding_and_no_other() {
    let text = report(Format::Github, &checked());
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0], "::notice title=hint,file=y::see");
    assert_eq!(
        lines[1],
        "::error title=lint/r%3A1,file=src/a b%3Aä.rs,line=3::one%0Atwo, 100%25"
    );
    assert_eq!(lines[2], "::error title=lint::::error::forged");
    assert!(lines[5].starts_with("::warning title=soft::soft <says>"));
    assert_eq!(
        lines[6],
        "::error title=both::group `both`: not enough of its gates passed"
    );
}
