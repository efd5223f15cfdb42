//! Which task is next, of a hundred thousand, against `git status` of the repository they are in:
//! as before each iteration, when one task was ticked since the file was read, and at a run's
//! start, when all of it is new.

use std::hint::black_box;
use std::time::Instant;

use ralph_engine::tasks::{Ids, Reader, Selection, TaskFile};
use ralph_engine::types::TaskState;
use ralph_workspace::Workspace;

use crate::Bench;
use crate::scratch::{Plan, Scratch};
use crate::stats::{Samples, Side, interleave};
use crate::table::{Promise, Row};

const FILE: &str = "PRD.md";
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
    let bytes = || -> Result<Vec<u8>, String> {
        let bytes = ws.read(FILE, 64 << 20).map_err(|e| e.to_string())?;
        bytes.ok_or_else(|| "the task file is gone".to_owned())
    };
    let choose = |reader: &mut Reader| {
        let file = reader
            .read(FILE, &bytes()?, &ids)
            .map_err(|e| e.to_string())?;
        match black_box(file.next(&|_| false)) {
            Selection::Task(entry) => Ok(entry.task.id.clone()),
            _ => Err("there is no next task".to_owned()),
        }
    };
    let mut reader = Reader::default();
    let mut next = choose(&mut reader)?;
    let mut sides: Vec<Side<'_>> = vec![
        Box::new(|| {
            let ticked = TaskFile::parse(FILE, &bytes()?)
                .and_then(|file| file.set_state(&next, TaskState::Done))
                .map_err(|e| e.to_string())?;
            ws.write(FILE, &ticked).map_err(|e| e.to_string())?;
            let begun = Instant::now();
            let chosen = choose(&mut reader)?;
            let took = begun.elapsed().as_secs_f64();
            if chosen == next {
                return Err(format!("{next} is ticked and was chosen again"));
            }
            next = chosen;
            Ok(took)
        }),
        Box::new(|| {
            let begun = Instant::now();
            choose(&mut Reader::default())?;
            Ok(begun.elapsed().as_secs_f64())
        }),
        Box::new(|| scratch.git(&["status"])),
    ];
    let measured = interleave(ROUNDS, &mut sides)?;
    let [again, first, theirs]: [Samples; 3] = measured
        .try_into()
        .map_err(|_| "a side was not measured".to_owned())?;
    let row = |name: &str, ours: &Samples, promise| Row::ratio(name, ours, &theirs, promise);
    Ok(vec![
        row(
            "next of 100,000 tasks, one ticked since, git status",
            &again,
            Promise::AtMost(1.0),
        ),
        row(
            "the same at a run's start, git status",
            &first,
            Promise::Nothing,
        ),
    ])
}
