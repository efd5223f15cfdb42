//! The most memory ralph has while its agent prints much, against little.

use crate::Bench;
use crate::child;
use crate::scratch::{Plan, RAN, Scratch};
use crate::stats::Samples;
use crate::table::{Compare, Promise, Row, Unit};

/// What the agent prints: a little, and much.
const LITTLE: u64 = 1 << 20;
const MUCH: u64 = 1 << 30;

/// How it prints: a shell pipeline, to be cut off at a number of bytes.
const SHAPES: [(&str, &str); 2] = [
    (
        "in lines",
        "yes 'a line of what an agent says while it is at work on something'",
    ),
    ("in one line", "tr '\\\\0' x </dev/zero"),
];

/// Most memory may differ by this much.
const LIMIT: f64 = (10 << 20) as f64;

/// The group.
pub fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    SHAPES
        .iter()
        .map(|(name, print)| row(bench, name, print))
        .collect()
}

fn row(bench: &Bench, name: &str, print: &str) -> Result<Row, String> {
    let project = |bytes: u64| {
        let config = format!(
            "[loop]\nagent = \"loud\"\n\n[agents.loud]\nplugin = \"command\"\n\
             argv = [\"/bin/sh\", \"-c\", \"{print} | head -c {bytes}; echo one more line >>work.txt; \
             echo; echo 'EXIT_SIGNAL: true'\"]\n"
        );
        let plan = Plan {
            files: 10,
            tasks: 10,
            config: &config,
        };
        Scratch::new(bench, &plan)
    };
    let (much, little) = (project(MUCH)?, project(LITTLE)?);
    let peak =
        |scratch: &Scratch| child::peak_memory(&mut scratch.ralph(&["run", "-n", "1"]), &RAN);
    // Compiles the components, which takes memory once.
    for project in [&little, &much] {
        project.run(&["doctor"], &[0, 1, 2, 3])?;
    }
    let (mut ours, mut theirs) = (Samples::default(), Samples::default());
    ours.push(peak(&much)?);
    theirs.push(peak(&little)?);
    Ok(Row {
        name: format!("memory, agent prints 1 GiB {name}, 1 MiB"),
        ours,
        theirs: Some(theirs),
        unit: Unit::Bytes,
        compare: Compare::Difference,
        promise: Promise::AtMost(LIMIT),
    })
}
