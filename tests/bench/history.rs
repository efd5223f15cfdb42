//! A long past for a project: what ten thousand iterations leave behind, without
//! running them. Made of a real iteration's facts, told again and again under
//! other names, through the journal's own code.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use ralph_engine::fact::EndReason;
use ralph_engine::{Fact, State};
use ralph_runner::journal::{self, Journal, Line};
use ralph_runner::names::Places;
use ralph_runner::records::StateFile;
use ralph_workspace::Workspace;
use serde_json::json;

use crate::scratch::{RAN, Scratch};

/// Gives a project without a past one of `count` iterations, each with a task, an
/// attempt and a commit of its own.
pub fn synthesise(scratch: &Scratch, count: u32) -> Result<(), String> {
    scratch.run(&["run", "-n", "1"], &RAN)?;
    let text = |e: ralph_runner::Error| e.to_string();
    let ws = Workspace::open(&scratch.root()).map_err(|e| e.to_string())?;
    let model = facts(&scratch.root().join(journal::PATH))?;
    let start = find(&model, |fact| matches!(fact, Fact::RunStarted { .. }))?;
    let first = find(&model, |fact| matches!(fact, Fact::Selected { .. }))?;
    let last = find(&model, |fact| matches!(fact, Fact::IterationEnded { .. }))?;

    let folded = journal::fold(&ws, None).map_err(text)?;
    let mut journal = Journal::open(&ws, &folded).map_err(text)?;
    let mut state = folded.state;
    let mut file = StateFile::read(&ws).unwrap_or_default();
    let entry = file.history.last().map(|e| e.value()).unwrap_or_default();
    let mut progress = String::new();
    let mut opening = model[start].clone();
    if let Fact::RunStarted { run, rules, .. } = &mut opening {
        "run-past".clone_into(run);
        rules.max_iterations = count;
    }
    tell(&mut journal, &mut state, &[opening])?;
    for number in 2..=count {
        let task = format!("P{number}");
        let attempt = format!("20260101-000000-iter{number:05}");
        let told: Vec<Fact> = model[first..=last]
            .iter()
            .map(|fact| renamed(fact, &task, &attempt))
            .collect();
        tell(&mut journal, &mut state, &told)?;
        leave_files(
            &scratch.root(),
            &Places::of(&task, &attempt),
            &entry.to_string(),
        )?;
        let _ = writeln!(
            progress,
            "- [{attempt}] iter {number} attempt=1 status=DONE checks=PASS story={task} agent=none \
             log=.ralph/logs/{attempt}-none.log | Add line number {number} to work.txt: accepted"
        );
        let mut entry = entry.clone();
        entry["attempt_id"] = json!(attempt);
        file.remember(&entry).map_err(|e| e.to_string())?;
    }
    let end = EndReason::MaxIterations;
    tell(&mut journal, &mut state, &[Fact::RunEnded { end }])?;
    journal.sync().map_err(text)?;
    file.update(&state, journal.checkpoint());
    file.write(&ws).map_err(text)?;
    ws.append(".ralph/progress.md", progress.as_bytes())
        .map_err(|e| e.to_string())?;
    commits(scratch, count)
}

fn tell(journal: &mut Journal, state: &mut State, facts: &[Fact]) -> Result<(), String> {
    for fact in facts {
        state.apply(fact).map_err(|e| e.to_string())?;
    }
    journal.append(facts).map(drop).map_err(|e| e.to_string())
}

fn facts(path: &Path) -> Result<Vec<Fact>, String> {
    let failed = |e: String| format!("{}: {e}", path.display());
    let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
    text.lines()
        .map(|line| serde_json::from_str::<Line>(line).map(|line| line.fact))
        .collect::<Result<_, _>>()
        .map_err(|e| failed(e.to_string()))
}

fn find(facts: &[Fact], wanted: impl Fn(&Fact) -> bool) -> Result<usize, String> {
    let found = facts.iter().position(wanted);
    found.ok_or_else(|| "the model run has no complete iteration".to_owned())
}

fn renamed(fact: &Fact, id: &str, attempt: &str) -> Fact {
    let mut fact = fact.clone();
    match &mut fact {
        Fact::Selected { task, .. } => id.clone_into(&mut task.id),
        Fact::Prepared { attempt_id, .. } => attempt.clone_into(attempt_id),
        _ => {}
    }
    fact
}

/// What an iteration leaves beside the journal.
fn leave_files(root: &Path, places: &Places, entry: &str) -> Result<(), String> {
    for path in [
        format!("{}/iteration.json", places.receipts),
        format!("{}/prompt.md", places.context),
        places.attempt.clone(),
        places.log("none", ""),
    ] {
        let path = root.join(path);
        let parent = path.parent().unwrap_or(root);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, entry))
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// Gives the repository so many commits more.
pub fn commits(scratch: &Scratch, count: u32) -> Result<(), String> {
    // Whatever the model run left: the past begins and ends with a clean tree.
    scratch.git(&["add", "--all"])?;
    scratch.git(&["commit", "--quiet", "--allow-empty", "--message", "so far"])?;
    let path = scratch.path("commits");
    let failed = |e: std::io::Error| format!("git fast-import: {e}");
    let mut stream = std::io::BufWriter::new(File::create(&path).map_err(failed)?);
    for number in 0..count {
        let from = if number == 0 {
            "from refs/heads/main^0\n"
        } else {
            ""
        };
        let (message, line) = (format!("ralph: P{number}"), format!("past {number}\n"));
        write!(
            stream,
            "commit refs/heads/main\ncommitter Bench <bench@localhost> {} +0000\ndata {}\n{message}\n{from}\
             M 100644 inline past.txt\ndata {}\n{line}\n",
            1_700_000_000 + number,
            message.len(),
            line.len(),
        )
        .map_err(failed)?;
    }
    stream.flush().map_err(failed)?;
    let input = File::open(&path).map_err(failed)?;
    let status = scratch
        .command("git", &["fast-import", "--quiet"])
        .stdin(input)
        .stdout(Stdio::null())
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(format!("git fast-import: {status}"));
    }
    scratch.git(&["reset", "--quiet", "--hard"]).map(drop)
}
