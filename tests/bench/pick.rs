//! Which task is next, of a hundred thousand: the file read and asked anew as before each
//! iteration, against `git status` of the repository it is in.

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
    let pick = || -> Result<f64, String> {
        let begun = Instant::now();
        let bytes = ws.read("PRD.md", 64 << 20).map_err(|e| e.to_string())?;
        let bytes = bytes.ok_or("the task file is gone")?;
        let file = TaskFile::parse_known("PRD.md", &bytes, &ids).map_err(|e| e.to_string())?;
        match black_box(file.next(&|_| false)) {
            Selection::Task(_) => Ok(begun.elapsed().as_secs_f64()),
            _ => Err("there is no next task".into()),
        }
    };
    let mut sides: Vec<Side<'_>> = vec![Box::new(pick), Box::new(|| scratch.git(&["status"]))];
    let measured = interleave(ROUNDS, &mut sides)?;
    let [ours, theirs]: [Samples; 2] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    Ok(vec![Row::ratio(
        "next of 100,000 tasks, git status",
        &ours,
        &theirs,
        Promise::AtMost(1.0),
    )])
}
