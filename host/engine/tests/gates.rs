//! Expressions over gates, groups, warnings, path filters.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use proptest::prelude::*;
use ralph_engine::expr::Expr;
use ralph_engine::gates::{Groups, Known, When, weigh};
use ralph_engine::types::{ChangeKind, FileChange, GateResult, Severity, Status, Verdict};

fn known(names: &[&'static str]) -> Vec<Known<'static>> {
    let known = |name: &&'static str| Known { name, warns: false };
    names.iter().map(known).collect()
}

fn result(name: &str, status: Status) -> GateResult {
    GateResult {
        name: name.into(),
        severity: Severity::Block,
        verdict: Verdict {
            status,
            summary: String::new(),
            findings: Vec::new(),
        },
    }
}

fn value(text: &str, of: &[(&str, Status)]) -> Status {
    let found = |name: &str| of.iter().find(|(n, _)| *n == name).unwrap().1;
    Expr::parse(text).unwrap().weigh(&found)
}

#[test]
fn and_binds_more_tightly_than_or() {
    use Status::{Fail, Pass};
    let of = [("a", Pass), ("b", Fail), ("c", Fail)];
    assert_eq!(value("a || b && c", &of), Pass);
    assert_eq!(value("(a || b) && c", &of), Fail);
    assert_eq!(value(" a&&a||c ", &of), Pass);
}

#[test]
fn what_is_skipped_drops_out() {
    use Status::{Fail, Pass, Skip};
    for (text, a, b, want) in [
        ("a && b", Skip, Pass, Pass),
        ("a && b", Skip, Fail, Fail),
        ("a || b", Skip, Pass, Pass),
        ("a || b", Skip, Fail, Fail),
        ("a || b", Skip, Skip, Skip),
        ("a && b", Skip, Skip, Skip),
        ("(a || a) && b", Skip, Fail, Fail),
    ] {
        assert_eq!(
            value(text, &[("a", a), ("b", b)]),
            want,
            "{text} {a:?} {b:?}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (text, at, says) in [
        ("", 0, "expected the name"),
        ("lint &&", 7, "expected the name"),
        ("lint & unit", 5, "write `&&`"),
        ("lint | unit", 5, "write `||`"),
        ("(lint", 5, "`)`"),
        ("lint)", 4, "without a `(`"),
        ("lint unit", 5, "expected `&&`"),
        ("!lint", 0, "could not rule"),
        ("a && \"x", 5, "never closed"),
        ("a || *", 5, "expected the name"),
    ] {
        let error = Expr::parse(text).unwrap_err();
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.message.contains(says), "{text}: {error}");
    }
    assert!(Expr::parse(&"(".repeat(100_000)).is_err());
    assert!(Expr::parse(&"a && ".repeat(10_000)).is_err());
}

#[test]
fn groups_name_what_is_there_and_never_themselves() {
    let gates = known(&["lint", "unit"]);
    let wrong = |groups: &[(&str, &str)]| {
        let errors = Groups::new(&gates, groups).unwrap_err();
        let texts: Vec<String> = errors
            .iter()
            .map(|e| format!("{} {}: {}", e.index, e.key, e.message))
            .collect();
        texts.join("\n")
    };
    assert!(
        wrong(&[("g", "lint && smok")]).contains("0 expr: there is no gate and no group `smok`")
    );
    assert!(wrong(&[("g", "g || lint")]).contains("for itself"));
    let cycle = wrong(&[
        ("a", "lint && b"),
        ("b", "c || unit"),
        ("c", "a"),
        ("d", "lint"),
    ]);
    assert!(
        cycle.contains("0 expr") && cycle.contains("1 expr") && cycle.contains("2 expr"),
        "{cycle}"
    );
    assert!(!cycle.contains("3 expr"), "{cycle}");
    assert!(wrong(&[("lint", "unit")]).contains("a gate is called `lint` as well"));
    assert!(wrong(&[("g", "unit"), ("g", "lint")]).contains("1 name: two groups"));
    let warns = [Known {
        name: "style",
        warns: true,
    }];
    let errors = Groups::new(&warns, &[("g", "style")]).unwrap_err();
    assert!(errors[0].message.contains("only warns"));
    // In whatever order they are written.
    let groups = Groups::new(&gates, &[("outer", "inner && lint"), ("inner", "unit")]).unwrap();
    assert_eq!(
        groups.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(),
        ["inner", "outer"]
    );
}

#[test]
fn who_stands_in_a_group_counts_through_it_alone() {
    use Status::{Fail, Pass, Skip};
    let gates = known(&["lint", "unit", "smoke"]);
    let groups = Groups::new(&gates, &[("tested", "unit || smoke")]).unwrap();
    let weighed = |lint, unit, smoke| {
        let results = [
            result("lint", lint),
            result("unit", unit),
            result("smoke", smoke),
        ];
        let w = weigh(&groups, &results);
        let against: Vec<String> = w.against.iter().map(|r| r.name.clone()).collect();
        (w.reason(), against.join(" "))
    };
    let told = |reason: &str, against: &str| (reason.to_owned(), against.to_owned());
    assert_eq!(weighed(Pass, Fail, Pass), told("", ""));
    assert_eq!(weighed(Fail, Fail, Pass), told("gate failed: lint", "lint"));
    assert_eq!(
        weighed(Pass, Fail, Fail),
        told("gate group failed: tested", "unit smoke")
    );
    assert_eq!(
        weighed(Pass, Fail, Skip),
        told("gate group failed: tested", "unit")
    );
    assert_eq!(weighed(Pass, Skip, Skip), told("", ""));
    assert_eq!(
        weighed(Fail, Fail, Fail),
        told(
            "gate failed: lint; gate group failed: tested",
            "lint unit smoke"
        )
    );
}

#[test]
fn a_warning_refuses_nothing_and_is_told() {
    let mut lint = result("lint", Status::Fail);
    lint.severity = Severity::Warn;
    let results = [lint.clone(), result("unit", Status::Pass)];
    let none = Groups::default();
    let w = weigh(&none, &results);
    assert!(!w.refuses());
    assert_eq!(w.warnings, [&lint]);
    // One that could not rule and is let pass, in a group: the others decide.
    let groups = Groups::new(&known(&["lint", "unit"]), &[("g", "lint || unit")]).unwrap();
    let results = [lint, result("unit", Status::Fail)];
    assert!(weigh(&groups, &results).refuses());
}

#[test]
fn a_gate_is_asked_about_its_own_paths() {
    let file = |path: &str, kind| FileChange {
        path: path.into(),
        kind,
        added_lines: 1,
        deleted_lines: 0,
    };
    let when = When::new(&["src/**".into(), "*.toml".into()]).unwrap();
    assert!(
        when.skips(&[file("src/a/b.rs", ChangeKind::Deleted)])
            .is_none()
    );
    assert!(
        when.skips(&[
            file("docs/x", ChangeKind::Added),
            file("x/y.toml", ChangeKind::Renamed)
        ])
        .is_none()
    );
    let skipped = when.skips(&[file("docs/x", ChangeKind::Added)]).unwrap();
    assert_eq!(skipped.status, Status::Skip);
    assert_eq!(skipped.summary, "nothing changed in src/**, *.toml");
    assert!(When::default().skips(&[]).is_none());
    assert!(When::new(&["[".into()]).unwrap_err().contains("`[`"));
}

fn expression() -> impl Strategy<Value = String> {
    let name = prop_oneof!["[abc]", Just("\"with \\\" blank\"".to_owned())];
    name.prop_recursive(5, 32, 3, |inner| {
        (prop::collection::vec(inner, 1..4), any::<bool>())
            .prop_map(|(parts, all)| format!("({})", parts.join(if all { " && " } else { " || " })))
    })
}

fn status() -> impl Strategy<Value = Status> {
    prop_oneof![Just(Status::Fail), Just(Status::Skip), Just(Status::Pass)]
}

fn rank(status: Status) -> u8 {
    match status {
        Status::Fail => 0,
        Status::Skip => 1,
        Status::Pass => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing that passes more is worse off: so what refuses with open answers taken to pass
    /// refuses whatever they will be.
    #[test]
    fn more_passing_is_never_worse(
        text in expression(),
        low in prop::collection::vec(status(), 4),
        more in prop::collection::vec(status(), 4),
    ) {
        let names = ["a", "b", "c", "with \" blank"];
        let at = |values: &[Status], name: &str| values[names.iter().position(|n| *n == name).unwrap()];
        let higher = |name: &str| {
            let (a, b) = (at(&low, name), at(&more, name));
            if rank(a) >= rank(b) { a } else { b }
        };
        let expr = Expr::parse(&text).unwrap();
        prop_assert!(rank(expr.weigh(&|n| at(&low, n))) <= rank(expr.weigh(&higher)));
    }

    #[test]
    fn what_is_written_is_read_back(text in expression()) {
        let expr = Expr::parse(&text).unwrap();
        prop_assert_eq!(Expr::parse(&expr.to_string()).unwrap(), expr.clone());
        let json = serde_json::to_string(&expr).unwrap();
        prop_assert_eq!(serde_json::from_str::<Expr>(&json).unwrap(), expr);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ab()&|!\" \\\\é]{0,40}") {
        let _ = Expr::parse(&text);
    }
}
