//! SARIF 2.1.0 (OASIS standard of 2020-03-27).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Level, level, of_group, remarks};
use crate::watch::Checked;

pub(super) fn write(checked: &Checked) -> String {
    let mut rules: BTreeSet<String> = BTreeSet::new();
    let mut results = Vec::new();
    for gate in &checked.results {
        let level = match level(gate) {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        };
        for remark in remarks(gate) {
            let mut result = json!({
                "ruleId": remark.rule,
                "level": level,
                "message": { "text": remark.message },
            });
            if let Some(path) = remark.path {
                result["locations"] = json!([place(path, remark.line)]);
            }
            results.push(result);
            rules.insert(remark.rule);
        }
    }
    for group in &checked.groups {
        let text = of_group(group);
        results.push(json!({ "ruleId": group, "level": "error", "message": { "text": text } }));
        rules.insert(group.clone());
    }
    let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id })).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "ralph",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "utf16CodeUnits",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn place(path: &str, line: Option<u32>) -> Value {
    let mut place = json!({ "physicalLocation": { "artifactLocation": {
        "uri": reference(path),
        "uriBaseId": "%SRCROOT%",
    }}});
    if let Some(line) = line {
        place["physicalLocation"]["region"] = json!({ "startLine": line });
    }
    place
}

/// A path as a relative reference (RFC 3986, 4.2): a `:` in its first segment would make it a scheme.
fn reference(path: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'@' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
