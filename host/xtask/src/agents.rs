//! The real agent programs, at pinned versions, for the tests that drive them: from npm into
//! target/agents, and nowhere else.

use std::fs;
use std::process::Command;

use crate::command::{answer, minutes, run, status};
use crate::paths;

/// Package, version, the program it brings.
const AGENTS: [(&str, &str, &str); 3] = [
    ("@openai/codex", "0.171.0", "codex"),
    ("@anthropic-ai/claude-code", "2.1.332", "claude"),
    ("@github/copilot", "1.0.102", "copilot"),
];

/// `cargo xtask agents`, and a step of `test` and `ci`. Where npm or its registry can't be reached
/// it says so and leaves the reason for the tests to tell; any other failure is one.
pub fn install() -> Result<(), String> {
    let dir = paths::agents();
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let wanted: Vec<String> = AGENTS
        .iter()
        .map(|(name, v, _)| format!("{name}@{v}"))
        .collect();
    let stamp = dir.join("installed");
    let skipped = dir.join("skipped");
    if fs::read_to_string(&stamp).is_ok_and(|old| old == wanted.join("\n")) && all_start() {
        eprintln!("      {} are there", wanted.join(", "));
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    if let Some(reason) = out_of_reach() {
        eprintln!("      SKIPPED: {reason}: the tests with real agents won't run");
        return fs::write(&skipped, reason).map_err(|e| format!("{}: {e}", skipped.display()));
    }
    let _ = fs::remove_file(&skipped);
    let mut npm = npm(&[
        "install",
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--loglevel=error",
    ]);
    npm.arg("--prefix").arg(&dir).args(&wanted);
    run(&mut npm, minutes(10))?;
    if !all_start() {
        return Err("npm has installed the agents, but not all of them start".into());
    }
    fs::write(&stamp, wanted.join("\n")).map_err(|e| format!("{}: {e}", stamp.display()))
}

pub fn npm(args: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(args).current_dir(paths::root());
    command
}

/// Why nothing can be installed from npm here, if that's so.
pub fn out_of_reach() -> Option<String> {
    if answer(&mut npm(&["--version"])).is_none() {
        return Some("there is no npm".into());
    }
    let mut ping = npm(&["ping", "--fetch-retries=1", "--fetch-timeout=20000"]);
    ping.stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    match status(&mut ping, minutes(1)) {
        Ok(ended) if ended.success() => None,
        _ => Some("npm's registry can't be reached".into()),
    }
}

/// Each says its version.
fn all_start() -> bool {
    AGENTS.iter().all(|(_, version, program)| {
        let path = paths::agents().join("node_modules/.bin").join(program);
        answer(Command::new(path).arg("--version")).is_some_and(|said| said.contains(version))
    })
}
