//! Which task is next, of a hundred thousand: chosen from those at hand, and the file read
//! anew for it, as before each iteration; against `git status` of the repository it is in.

use std::hint::black_box;
use std::time::Instant;

use ralph_engine::tasks::{Ids, Selection, TaskFile};
use ralph_workspace::Workspace;

use crate::Bench;
use crate::scratch::{Plan, Scratch};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Promise, Row};

const TASKS: usize = 100_000;
const FILES: usize = 2000;
const ROUNDS: usize = 20;

/// The group.
pub fn rows(bench: &Bench) -> Result<Vec<Row>, String> {
    let scratch = Scratch::new(
        bench,
        &Plan {
            files: FILES,
            tasks: TASKS,
            config: "",
        },
    )?;
    let ws = Workspace::open(&scratch.root()).map_err(|e| e.to_string())?;
    let ids = Ids::default();
    let read = || -> Result<TaskFile, String> {
        let bytes = ws.read("PRD.md", 64 << 20).map_err(|e| e.to_string())?;
        let bytes = bytes.ok_or("the task file is gone")?;
        TaskFile::parse_known("PRD.md", &bytes, &ids).map_err(|e| e.to_string())
    };
    let choose = |file: &TaskFile| match black_box(file.next(&|_| false)) {
        Selection::Task(_) => Ok(()),
        _ => Err("there is no next task".to_owned()),
    };
    let at_hand = read()?;
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| timed(|| choose(&at_hand))),
        Box::new(|| timed(|| choose(&read()?))),
        Box::new(|| scratch.git(&["status"])),
    ];
    let measured = interleave(ROUNDS, &mut sides)?;
    let [choosing, reading, theirs]: [Samples; 3] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    let row = |name: &str, ours: &Samples, promise| Row::ratio(name, ours, &theirs, promise);
    Ok(vec![
        row(
            "next of 100,000 tasks, git status",
            &choosing,
            Promise::AtMost(1.0),
        ),
        row(
            "the same with reading, git status",
            &reading,
            Promise::Nothing,
        ),
    ])
}

fn timed(run: impl Fn() -> Result<(), String>) -> Result<f64, String> {
    let begun = Instant::now();
    run()?;
    Ok(begun.elapsed().as_secs_f64())
}
