//! `cargo xtask demo`: the loop at work, in a scratch repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::command::{cargo, minutes, run as run_command, status};
use crate::components;
use crate::paths;
use crate::steps::Steps;

/// Exits as `ralph run` did.
pub fn run() -> Result<ExitCode, String> {
    let mut steps = Steps::new(components::STEPS + 3);
    components::setup(&mut steps)?;
    let ralph = steps.step("ralph", || {
        let build = ["build", "--profile", "demo", "--package", "ralph-cli"];
        run_command(&mut cargo(build), minutes(30))?;
        paths::ralph_of_demo()
    })?;
    let project = steps.step("a scratch project", project)?;
    let ralph = |args: &[&str]| {
        eprintln!("\n$ ralph {}", args.join(" "));
        let mut command = Command::new(&ralph);
        command.args(args).current_dir(&project);
        status(&mut command, minutes(5))
    };
    let ended = steps.step("the loop", || {
        let trusted = ralph(&["trust", "--yes"])?;
        if !trusted.success() {
            return Err(format!("ralph trust: {trusted}"));
        }
        ralph(&["run"])
    })?;
    ralph(&["status"])?;
    eprintln!("\n$ git log --oneline");
    run_command(
        &mut git(&project, &["--no-pager", "log", "--oneline"]),
        minutes(1),
    )?;
    show_prompt(&project);
    eprintln!(
        "\nAll of it in {}. The project: {}",
        steps.took(),
        project.display()
    );
    eprintln!("  .ralph/ there holds the journal, every attempt's prompt and the receipts.");
    let code = ended.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}

/// What the loop is for: the part of a prompt that tells an attempt what the
/// one before ran into.
fn show_prompt(project: &Path) {
    const HEADING: &str = "## What earlier attempts ran into";
    let attempts = fs::read_dir(project.join(".ralph/context/T2"))
        .into_iter()
        .flatten()
        .flatten();
    let prompts = attempts.map(|attempt| attempt.path().join("prompt.md"));
    for prompt in prompts {
        let text = fs::read_to_string(&prompt).unwrap_or_default();
        let Some(at) = text.find(HEADING) else {
            continue;
        };
        let part = text[at + HEADING.len()..]
            .split("\n## ")
            .next()
            .unwrap_or_default();
        let shown = prompt.strip_prefix(project).unwrap_or(&prompt).display();
        eprintln!("\nThe second attempt at T2 was told, in {shown}:");
        for line in part.trim().lines().take(30) {
            eprintln!("  | {line}");
        }
    }
}

/// A fresh copy of the example, as a repository with one commit.
fn project() -> Result<PathBuf, String> {
    let target = paths::root().join("target");
    remove_old(&target);
    let project = target.join(format!("demo-{}", std::process::id()));
    copy(&paths::root().join("examples/quickstart"), &project)?;
    let settings = [
        ("user.name", "Ralph Demo"),
        ("user.email", "demo@localhost"),
        // A person's own settings are not to interfere.
        ("commit.gpgsign", "false"),
        ("core.hooksPath", "/dev/null"),
        ("core.autocrlf", "false"),
    ];
    let git = |args: &[&str]| run_command(&mut git(&project, args), minutes(1));
    git(&[
        "-c",
        "init.defaultBranch=main",
        "init",
        "--quiet",
        "--template=",
    ])?;
    for (name, value) in settings {
        git(&["config", name, value])?;
    }
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message", "The example as it was"])?;
    Ok(project)
}

fn git(project: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(args).current_dir(project);
    // Set when this runs inside a git hook.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command
}

/// Projects of earlier demos, unless one is still running.
fn remove_old(target: &Path) {
    for entry in fs::read_dir(target).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("demo-"));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target).map_err(failed)?;
        }
    }
    Ok(())
}
