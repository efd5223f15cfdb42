//! One check, written in each language that `ralph plugin new` knows: at most so many changed
//! files. A call of it in ralph, against the same component in bare wasmtime, and against the
//! same check as a program. Built here; a language without its tool chain is left out, and said.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tokio::runtime::Runtime;

use crate::Bench;
use crate::bare::{self, Bare, Seen};
use crate::gate::{self, Ours};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Compare, Promise, Row, Unit};

/// Fewer than of the small gates: a call in Python takes milliseconds, a program tens of them.
const ROUNDS: usize = 20;
const CALLS: u32 = 4;

/// Far above what changed.
const CONFIG: &str = r#"{"max_files":100}"#;

/// A language, and a program that reads paths and fails if there are more than 100: in it where
/// it has an interpreter, else a compiled one of the system's.
const LANGUAGES: [(&str, &[&str]); 5] = [
    ("rust", COMPILED),
    (
        "js",
        &[
            "node",
            "-e",
            "const n = require('fs').readFileSync(0, 'utf8').split('\\n').length - 1; process.exit(n > 100 ? 1 : 0)",
        ],
    ),
    (
        "python",
        &[
            "python3",
            "-I",
            "-c",
            "import sys; sys.exit(len(sys.stdin.readlines()) > 100)",
        ],
    ),
    ("c", COMPILED),
    ("go", COMPILED),
];

const COMPILED: &[&str] = &["awk", "END { exit NR > 100 }"];

/// The group.
pub fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    for (language, program) in LANGUAGES {
        match built(bench, language) {
            Ok(component) => rows.extend(of(&runtime, language, &component, program)?),
            Err(why) => eprintln!("\nSKIPPED: a gate in {language}: {why}"),
        }
    }
    Ok(rows)
}

/// A new project's component, by the tool chain that `cargo xtask kit` or the system has.
fn built(bench: &Bench, language: &str) -> Result<Vec<u8>, String> {
    let base = tempfile::Builder::new()
        .prefix("ralph-bench-")
        .tempdir()
        .map_err(|e| e.to_string())?;
    let kit = bench
        .ralph
        .ancestors()
        .nth(2)
        .ok_or("where is target/?")?
        .join("kit");
    let ralph = |args: &[&str]| {
        let mut command = Command::new(&bench.ralph);
        command
            .args(args)
            .current_dir(base.path())
            .env("XDG_CACHE_HOME", base.path().join("cache"))
            .env("CARGO_TARGET_DIR", base.path().join("cargo"))
            .env("GOFLAGS", "-mod=mod")
            .stdin(Stdio::null());
        let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        Err(last.unwrap_or("it can't be built").to_owned())
    };
    let args = [
        "plugin", "new", "mine", "--lang", language, "--kind", "gate",
    ];
    ralph(&args)?;
    let project = base.path().join("mine");
    lend(&kit.join("node_modules"), &project.join("node_modules"))?;
    lend(&kit.join("venv"), &project.join(".venv"))?;
    ralph(&["plugin", "build", "mine"])?;
    let path = project.join("mine.wasm");
    fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
}

fn lend(from: &Path, to: &Path) -> Result<(), String> {
    if from.is_dir() {
        symlink(from, to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    Ok(())
}

fn of(
    runtime: &Runtime,
    language: &str,
    component: &[u8],
    program: &[&str],
) -> Result<Vec<Row>, String> {
    let seen = gate::seen(CONFIG);
    let ours = runtime.block_on(Ours::new(language, component, true, &seen))?;
    let theirs =
        Bare::new(component, true, seen.clone()).map_err(|e| format!("{language}, bare: {e:#}"))?;
    let it = bare::iteration();
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| timed(|| runtime.block_on(ours.call()))),
        Box::new(|| {
            timed(|| match runtime.block_on(theirs.call(&it)) {
                Ok(true) => Ok(()),
                Ok(false) => Err("the gate is against it".into()),
                Err(e) => Err(format!("{e:#}")),
            })
        }),
        Box::new(|| timed(|| run(program, &seen))),
    ];
    let measured = interleave(ROUNDS, &mut sides)?;
    let [ours, bare, child]: [Samples; 3] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    Ok(vec![
        Row::ratio(
            &format!("gate in {language}, bare wasmtime"),
            &ours,
            &bare,
            Promise::AtMost(1.5),
        ),
        Row {
            name: format!("gate in {language}, the same check by `{}`", program[0]),
            ours,
            theirs: Some(child),
            unit: Unit::Seconds,
            compare: Compare::Faster,
            promise: Promise::Nothing,
        },
    ])
}

/// Seconds per call.
fn timed(run: impl Fn() -> Result<(), String>) -> Result<f64, String> {
    let begun = Instant::now();
    for _ in 0..CALLS {
        run()?;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(CALLS))
}

/// The check as a program that is told the changed paths.
fn run(program: &[&str], seen: &Seen) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", program[0]);
    let mut child = Command::new(program[0])
        .args(&program[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let paths: String = seen
        .files
        .iter()
        .map(|file| format!("{}\n", file.path))
        .collect();
    if let Some(mut input) = child.stdin.take() {
        input.write_all(paths.as_bytes()).map_err(failed)?;
    }
    let status = child.wait().map_err(failed)?;
    status
        .success()
        .then_some(())
        .ok_or_else(|| format!("{}: {status}", program[0]))
}
