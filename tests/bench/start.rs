//! Short commands and the beginning of a run, against `git status` of the same
//! repository; the size of the binary.

use std::fs;

use crate::Bench;
use crate::child::{self, Signal};
use crate::scratch::{Plan, RAN, Scratch};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Compare, Promise, Row, Unit};

/// Files and tasks of the project.
const FILES: usize = 2000;
const TASKS: usize = 1000;
const STATUS_ROUNDS: usize = 40;
const START_ROUNDS: usize = 20;
const COLD_ROUNDS: usize = 3;

/// An agent that only says it is there: the next run begins where this one did.
const IDLE: &str = "printf x >../signal";

/// One whose work is left lying about, so that the next run finds a changed file.
const BUSY: &str = "printf x >../signal; echo one more line >>work.txt; echo 'EXIT_SIGNAL: true'";

/// `AGENT` stands for what the agent does. No run is to end before its agent began.
const CONFIG: &str = r#"
[loop]
agent = "signal"
max_attempts = 100
no_progress_limit = 100
repeat_limit = 0

[agents.signal]
plugin = "command"
argv = ["/bin/sh", "-c", "AGENT"]

[agents.yes]
plugin = "command"
argv = ["/bin/sh", "-c", "echo 'JUDGE_SIGNAL: true'; echo SHIP"]

[[gates]]
name = "true"
run = ["true"]

[[gates]]
name = "scope"
plugin = "diff-scope"

[[gates]]
name = "secrets"
plugin = "no-secrets"

[judge]
enabled = true
agent = "yes"

[review]
enabled = true
agent = "yes"
"#;

fn project(bench: &Bench, agent: &str) -> Result<Scratch, String> {
    Scratch::new(
        bench,
        &Plan {
            files: FILES,
            tasks: TASKS,
            config: &CONFIG.replace("AGENT", agent),
        },
    )
}

fn git_status(scratch: &Scratch) -> Result<f64, String> {
    scratch.git(&["status"])
}

/// The group `status`.
pub fn status(bench: &Bench) -> Result<Vec<Row>, String> {
    let scratch = project(bench, IDLE)?;
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| scratch.run(&["status"], &[0])),
        Box::new(|| git_status(&scratch)),
    ];
    let [ours, theirs] = all(interleave(STATUS_ROUNDS, &mut sides)?)?;
    let promise = Promise::AtMost(3.0);
    Ok(vec![Row::ratio(
        "ralph status, git status",
        &ours,
        &theirs,
        promise,
    )])
}

/// The group `start`.
pub fn start(bench: &Bench) -> Result<Vec<Row>, String> {
    let (scratch, changed) = (project(bench, IDLE)?, project(bench, BUSY)?);
    let signal = Signal::new(&scratch.path("signal"))?;
    let changed_signal = Signal::new(&changed.path("signal"))?;
    let start = || signal.seconds(&mut scratch.ralph(&["run", "-n", "1"]), &RAN);
    let start_changed = || changed_signal.seconds(&mut changed.ralph(&["run", "-n", "1"]), &RAN);
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(start),
        Box::new(|| git_status(&scratch)),
        Box::new(start_changed),
        Box::new(|| git_status(&changed)),
    ];
    let [ours, theirs, ours_changed, theirs_changed] = all(interleave(START_ROUNDS, &mut sides)?)?;
    let cold = || {
        let cache = scratch.path("cache");
        fs::remove_dir_all(&cache)
            .and_then(|()| fs::create_dir(&cache))
            .map_err(|e| format!("{}: {e}", cache.display()))?;
        start()
    };
    let mut sides: Vec<Side<'_>> = vec![Box::new(cold), Box::new(start)];
    let [cold, warm] = all(interleave(COLD_ROUNDS, &mut sides)?)?;
    Ok(vec![
        Row::ratio(
            "start to first agent, git status",
            &ours,
            &theirs,
            Promise::AtMost(3.0),
        ),
        Row::ratio(
            "the same with a changed file, git status",
            &ours_changed,
            &theirs_changed,
            Promise::Nothing,
        ),
        Row::ratio(
            "start with empty cache, warm cache",
            &cold,
            &warm,
            Promise::Nothing,
        ),
    ])
}

/// The group `size`.
pub fn size(bench: &Bench) -> Result<Vec<Row>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", bench.ralph.display());
    let mut ours = Samples::default();
    ours.push(fs::metadata(&bench.ralph).map_err(failed)?.len() as f64);
    // Its name proves that it runs at all.
    let mut version = std::process::Command::new(&bench.ralph);
    child::seconds(version.arg("--version"), &[0])?;
    Ok(vec![Row {
        name: "size of the binary".into(),
        ours,
        theirs: None,
        unit: Unit::Bytes,
        compare: Compare::Alone,
        promise: Promise::AtMost(f64::from(30 << 20)),
    }])
}

fn all<const N: usize>(measured: Vec<Samples>) -> Result<[Samples; N], String> {
    measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())
}
