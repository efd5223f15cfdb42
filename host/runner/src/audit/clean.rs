//! `ralph clean`: makes room. Receipts, context and logs of old iterations go;
//! journal, attempts and progress stay for ever.

use std::collections::BTreeSet;
use std::time::Duration;

use ralph_engine::Fact;
use ralph_workspace::{ProjectLock, Workspace};
use serde::Serialize;

use super::history::{self, Record};
use crate::clock;
use crate::error::Error;
use crate::journal::{self, Journal};
use crate::names::Places;
use crate::project::Project;
use crate::records::StateFile;

const LOGS: &str = ".ralph/logs";

/// Which iterations keep their records.
#[derive(Debug, Clone, Copy)]
pub enum Keep {
    /// The newest so many.
    Newest(u32),
    /// Those that ended within this time.
    Since(Duration),
}

/// What was removed, or would be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Cleaned {
    /// Of this iteration and all before it; 0 if nothing was old enough.
    pub through: u32,
    /// Iterations that had something to remove.
    pub iterations: u32,
    /// Files.
    pub files: u64,
    /// Their sizes' sum.
    pub bytes: u64,
    /// Only looked.
    pub dry_run: bool,
}

/// Removes old records. Journaled before anything goes, so that `verify` knows.
///
/// # Errors
/// A run is on, the journal can't be read, or the disk refuses.
pub fn clean(project: &Project, keep: Keep, dry_run: bool) -> Result<Cleaned, Error> {
    let ws = &project.ws;
    // A look needs no lock, and leaves no trace.
    let lock = match dry_run {
        true => None,
        false if !ws.exists(journal::PATH) => None,
        false => Some(ProjectLock::acquire(ws)?),
    };
    let mut ended: Vec<(u32, String, Places)> = Vec::new();
    history::scan(ws, |record: Record| {
        if let Some(end) = &record.end {
            let places = Places::of(&record.current.task.id, record.attempt_id());
            ended.push((record.current.number, end.at.clone(), places));
        }
    })?;
    let old = match keep {
        Keep::Newest(newest) => ended.len().saturating_sub(newest as usize),
        Keep::Since(span) => {
            let now = clock::now();
            let limit = span.as_secs_f64();
            ended
                .iter()
                .take_while(|(_, at, _)| clock::seconds(at, &now) > limit)
                .count()
        }
    };
    let mut cleaned = Cleaned {
        dry_run,
        ..Cleaned::default()
    };
    let Some((through, ..)) = ended[..old].last() else {
        return Ok(cleaned);
    };
    cleaned.through = *through;
    let goes = collect(ws, &ended[..old], &mut cleaned)?;
    if dry_run || goes.is_empty() {
        return Ok(cleaned);
    }
    note(ws, cleaned.through)?;
    for path in &goes {
        if ws.dir().symlink_metadata(path).is_ok_and(|m| m.is_dir()) {
            ws.remove_dir_all(path)?;
        } else {
            ws.remove_file(path)?;
        }
    }
    for (_, _, places) in &ended[..old] {
        for path in [&places.receipts, &places.context] {
            if let Some((task, _)) = path.rsplit_once('/') {
                // Only an empty one goes.
                let _ = ws.dir().remove_dir(task);
            }
        }
    }
    drop(lock);
    Ok(cleaned)
}

/// Paths that go, counted.
fn collect(
    ws: &Workspace,
    old: &[(u32, String, Places)],
    cleaned: &mut Cleaned,
) -> Result<Vec<String>, Error> {
    let mut goes = Vec::new();
    let mut attempts = BTreeSet::new();
    let mut touched = BTreeSet::new();
    for (number, _, places) in old {
        attempts.insert(places.attempt_id().to_owned());
        for dir in [&places.receipts, &places.context] {
            let before = cleaned.files;
            weigh(ws, dir, cleaned)?;
            if cleaned.files > before {
                goes.push(dir.clone());
                touched.insert(*number);
            }
        }
    }
    for name in ws.list(LOGS)? {
        if attempt_in(&name).is_some_and(|a| attempts.contains(a)) {
            let path = format!("{LOGS}/{name}");
            weigh(ws, &path, cleaned)?;
            goes.push(path);
        }
    }
    cleaned.iterations = u32::try_from(touched.len()).unwrap_or(u32::MAX);
    Ok(goes)
}

/// `20260101-000000-iter0001-codex.log` → `20260101-000000-iter0001`
fn attempt_in(name: &str) -> Option<&str> {
    let digits = name.find("-iter")? + "-iter".len();
    let end = name[digits..].find(|c: char| !c.is_ascii_digit())?;
    (end > 0).then(|| &name[..digits + end])
}

fn weigh(ws: &Workspace, path: &str, cleaned: &mut Cleaned) -> Result<(), Error> {
    let Ok(meta) = ws.dir().symlink_metadata(path) else {
        return Ok(());
    };
    if meta.is_dir() {
        for name in ws.list(path)? {
            weigh(ws, &format!("{path}/{name}"), cleaned)?;
        }
    } else {
        cleaned.files += 1;
        cleaned.bytes += meta.len();
    }
    Ok(())
}

/// Into the journal, safely, before anything goes.
fn note(ws: &Workspace, through: u32) -> Result<(), Error> {
    let from = StateFile::read(ws).map(|f| (f.checkpoint, f.engine));
    let folded = journal::fold(ws, from)?;
    let mut journal = Journal::open(ws, &folded)?;
    journal.append(&[Fact::Cleaned { through }])?;
    journal.sync()
}

#[cfg(test)]
mod tests {
    use super::attempt_in;

    #[test]
    fn a_log_belongs_to_the_attempt_in_its_name_and_to_no_other() {
        let of = attempt_in;
        assert_eq!(
            of("20260101-000000-iter0012-codex-judge.log"),
            Some("20260101-000000-iter0012")
        );
        assert_eq!(
            of("20260101-000000-iter00123-a.log"),
            Some("20260101-000000-iter00123")
        );
        for odd in ["notes.log", "x-iter.log", "-iter-", "x-iterabc-"] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
