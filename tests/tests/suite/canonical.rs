//! Canonical forms beside those of others: the digests that `ralph fingerprint compute` gives are those of
//! what npm's `canonicalize` and `yaml` make of the same documents, the YAML test suite's among them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ralph_tests::{Npm, Project};
use serde_json::Value;

/// Why a document that others read has no canonical form here: what they may read in several ways.
const REFUSALS: [&str; 6] = [
    "the root must be a mapping",
    "can't be a key; keys must be strings",
    "is not a string; quote it",
    "the tag `",
    "the directive `",
    "there is no document",
];

/// What others make of the documents that they have put into the project, and what ralph does.
fn beside(p: &Project, what: &str, seed: &str) -> Option<(Vec<Value>, BTreeMap<String, Value>)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("npm/canonical");
    let npm = Npm::install(p, &source, "canonical", &["oracle.mjs"])?;
    let mut node = npm.node(p);
    node.args(["oracle.mjs", what]).arg(p.root()).arg(seed);
    let told = p.start_command(node).wait().expect(0).stdout;
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let paths = told.iter().map(|one| one["path"].as_str().unwrap());
    let args: Vec<&str> = ["--json", "fingerprint", "compute"]
        .into_iter()
        .chain(paths)
        .collect();
    let said = p.run(&args).json();
    let files = said["result"]["files"].as_array().unwrap().iter();
    let files = files.map(|f| (f["path"].as_str().unwrap().to_owned(), f.clone()));
    Some((told, files.collect()))
}

#[test]
fn json_is_the_same_as_an_independent_implementation_has_it() {
    let p = Project::bare();
    let Some((told, files)) = beside(&p, "json", "1") else {
        return;
    };
    assert_eq!(told.len(), 1500);
    for one in told {
        let path = one["path"].as_str().unwrap();
        let text = || String::from_utf8_lossy(&p.bytes(path)).into_owned();
        let got = &files[path]["fingerprint"];
        assert_eq!(got, &one["digest"], "{}", text());
    }
}

#[test]
fn yaml_is_the_same_as_an_independent_implementation_has_it_or_refused_for_a_reason() {
    let p = Project::bare();
    let Some((told, files)) = beside(&p, "yaml", "0") else {
        return;
    };
    let (mut same, mut refused, mut reasons) = (0, 0, BTreeSet::new());
    for one in told {
        let path = one["path"].as_str().unwrap();
        let text = || String::from_utf8_lossy(&p.bytes(path)).into_owned();
        match (&files[path]["fingerprint"], files[path]["error"].as_str()) {
            (got, None) => {
                assert_eq!(got, &one["digest"], "{one}: {}", text());
                same += 1;
            }
            (_, Some(_)) if one["refused"].is_string() => refused += 1,
            (_, Some(error)) => {
                let reason = REFUSALS.iter().find(|reason| error.contains(**reason));
                reasons.insert(*reason.unwrap_or_else(|| panic!("{error}: {}", text())));
            }
        }
    }
    assert!(same >= 250 && refused >= 100, "{same} {refused}");
    assert!(reasons.len() >= 5, "{reasons:?}");
}
