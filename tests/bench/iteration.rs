//! One iteration with an agent and a gate that do next to nothing, against a shell
//! script that does the same git and process work; near the beginning of a project
//! and after ten thousand iterations.

use std::process::Command;

use crate::Bench;
use crate::child;
use crate::history;
use crate::scratch::{Plan, RAN, Scratch};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Promise, Row};

/// Measured this many times each.
const ROUNDS: usize = 5;
/// Iterations beyond the first, over which the time is spread.
const COUNT: usize = 30;
/// What a long past is.
const PAST: u32 = 10_000;

/// It has to change something, or its work isn't accepted.
const AGENT: &str = "echo one more line >>work.txt; echo 'EXIT_SIGNAL: true'";

const SCRIPT: &str = include_str!("loop.sh");

/// The group.
pub fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let young = [project(bench)?, project(bench)?];
    let old = [project(bench)?, project(bench)?];
    history::synthesise(&old[0], PAST)?;
    history::commits(&old[1], PAST)?;
    let scripts = [script(&young[1])?, script(&old[1])?];
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| per_iteration(|count| ralph(&young[0], count))),
        Box::new(|| per_iteration(|count| shell(&young[1], &scripts[0], count))),
        Box::new(|| per_iteration(|count| ralph(&old[0], count))),
        Box::new(|| per_iteration(|count| shell(&old[1], &scripts[1], count))),
    ];
    let measured = interleave(ROUNDS, &mut sides)?;
    let [young_ours, young_theirs, old_ours, old_theirs]: [Samples; 4] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    Ok(vec![
        Row::ratio(
            "iteration 10, script",
            &young_ours,
            &young_theirs,
            Promise::AtMost(1.5),
        ),
        Row::ratio(
            "iteration 10,000, script",
            &old_ours,
            &old_theirs,
            Promise::AtMost(1.5),
        ),
        Row::ratio(
            "iteration 10,000, iteration 10",
            &old_ours,
            &young_ours,
            Promise::AtMost(1.15),
        ),
        Row::ratio(
            "iteration 10, start of the Python loop",
            &young_ours,
            &constant(PYTHON_START, &young_ours),
            Promise::AtMost(1.0),
        ),
    ])
}

/// Seconds `ralph status` of the Python loop 0.8.2 was seen to take on two cores, of which
/// nearly all is its start; it starts anew for each iteration of a `loop.sh`.
const PYTHON_START: f64 = 0.65;

fn constant(value: f64, like: &Samples) -> Samples {
    let mut samples = Samples::default();
    (0..like.len()).for_each(|_| samples.push(value));
    samples
}

fn project(bench: &Bench) -> Result<Scratch, String> {
    let config = format!(
        "[loop]\nagent = \"none\"\nmax_iterations = 100000\n\n\
         [agents.none]\nplugin = \"command\"\nargv = [\"/bin/sh\", \"-c\", \"{AGENT}\"]\n\n\
         [[gates]]\nname = \"none\"\nrun = [\"true\"]\n"
    );
    Scratch::new(
        bench,
        &Plan {
            files: 200,
            tasks: (COUNT + 2) * (ROUNDS + 1) + 10,
            config: &config,
        },
    )
}

fn script(scratch: &Scratch) -> Result<String, String> {
    let path = scratch.path("loop.sh");
    std::fs::write(&path, SCRIPT).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// The start is in both runs, and so in none of the result.
fn per_iteration(run: impl Fn(usize) -> Result<f64, String>) -> Result<f64, String> {
    let one = run(1)?;
    let all = run(1 + COUNT)?;
    Ok((all - one) / COUNT as f64)
}

fn ralph(scratch: &Scratch, count: usize) -> Result<f64, String> {
    scratch.run(&["run", "-n", &count.to_string()], &RAN)
}

fn shell(scratch: &Scratch, script: &str, count: usize) -> Result<f64, String> {
    let mut command: Command = scratch.command("/bin/sh", &[script, &count.to_string()]);
    child::seconds(command.env("AGENT", AGENT), &[0])
}
