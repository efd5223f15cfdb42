//! Keeps what a program printed, for the drivers' own tests.

use std::path::Path;

use ralph_tests::Project;
use serde_json::{Value, json};

use crate::cli::Cli;

/// Of these lines only these keys are kept: the rest is long, and no driver reads it.
const KEPT: [(&str, &str, &[&str]); 2] = [
    (
        "/subtype",
        "init",
        &[
            "type",
            "subtype",
            "cwd",
            "session_id",
            "model",
            "permissionMode",
            "claude_code_version",
        ],
    ),
    (
        "/type",
        "session.skills_loaded",
        &["type", "id", "timestamp"],
    ),
];

fn shortened(stream: &str) -> String {
    let short = |line: &str| {
        let mut value: Value = serde_json::from_str(line).ok()?;
        let (_, _, keys) = KEPT
            .iter()
            .find(|(at, what, _)| value.pointer(at).is_some_and(|v| v == what))?;
        value
            .as_object_mut()?
            .retain(|key, _| keys.contains(&key.as_str()));
        Some(format!("{value}\n"))
    };
    let lines = stream.split_inclusive('\n');
    lines
        .map(|line| short(line).unwrap_or_else(|| line.into()))
        .collect()
}

/// Writes the first call's standard output as `NAME.jsonl` and its end as `NAME.exit.json` below
/// `RALPH_RECORD/CLI`, with this machine's paths replaced. Without that variable: nothing.
pub fn keep(p: &Project, cli: Cli, name: &str) {
    let Some(dir) = std::env::var_os("RALPH_RECORD") else {
        return;
    };
    let Some(tape) = tape(&p.root().join(".ralph/context")) else {
        return;
    };
    let (from, chunks) = (&tape["from"], &tape["chunks"]);
    let from = from.as_u64().unwrap() as usize;
    let length: u64 = chunks
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .sum();
    let log = p.bytes(tape["log"].as_str().unwrap());
    let out = String::from_utf8_lossy(&log[from..from + length as usize]).into_owned();
    let dir = Path::new(&dir).join(cli.name());
    std::fs::create_dir_all(&dir).unwrap();
    let all = p.all().display().to_string();
    let target = ralph_tests::target().canonicalize().unwrap();
    let clean = |text: &str| {
        text.replace(&format!("{all}/repo"), "/project")
            .replace(&all, "/home/user")
            .replace(&target.display().to_string(), "/opt")
    };
    std::fs::write(dir.join(format!("{name}.jsonl")), shortened(&clean(&out))).unwrap();
    let exit = json!({"exit": tape["exit"], "outcome": tape["outcome"]});
    let text = serde_json::to_string_pretty(&exit).unwrap();
    std::fs::write(dir.join(format!("{name}.exit.json")), clean(&text)).unwrap();
}

/// The first tape of a working agent below the directory.
fn tape(dir: &Path) -> Option<Value> {
    let mut found: Vec<_> = std::fs::read_dir(dir)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .collect();
    found.sort();
    for path in found {
        if path.is_dir() {
            if let Some(tape) = tape(&path) {
                return Some(tape);
            }
        } else if path.ends_with("work.json") {
            return serde_json::from_slice(&std::fs::read(path).ok()?).ok();
        }
    }
    None
}
