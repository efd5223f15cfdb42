//! `ralph fingerprint`: its exit codes are its own, so that a hook can tell them apart.

use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anstyle::AnsiColor;
use ralph_engine::text::shown;
use ralph_prompts::{Look, Mended, PromptError, SIDECAR, Status, Store};
use ralph_runner::{Error, Project};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{FingerprintArgs, FingerprintCommand};
use crate::out::{Out, note};

const ERROR: u8 = 1;
const TAMPERED: u8 = 2;
const MISSING: u8 = 3;

#[derive(Serialize)]
struct Answer {
    files: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mended: Vec<Mended>,
}

pub async fn fingerprint(dir: &Path, args: FingerprintArgs, out: &Out) -> Result<ExitCode, Error> {
    match run(dir, args.command, out).await {
        Ok(code) => Ok(code),
        Err(e) => Ok(out.fail(ERROR, &e.with_advice())),
    }
}

async fn run(dir: &Path, command: FingerprintCommand, out: &Out) -> Result<ExitCode, Error> {
    let project = Project::open(dir)?;
    for warning in &project.warnings {
        note(&format!("warning: {warning}"));
    }
    let store = ralph_runner::fingerprints::store(&project, super::host()?);
    let (paths, algorithm) = match &command {
        FingerprintCommand::Compute(files) | FingerprintCommand::Write(files) => {
            (&files.paths, files.algorithm)
        }
        FingerprintCommand::Verify { paths } | FingerprintCommand::Repair { paths } => {
            (paths, None)
        }
    };
    let mended = match command {
        FingerprintCommand::Repair { .. } => store.repair().await.map_err(failed)?,
        _ => Vec::new(),
    };
    for done in &mended {
        out.text(format!("{}: {}", shown(&done.path), done.what));
    }
    let (mut code, mut files) = (0, Vec::new());
    for path in named(&project, dir, &store, paths).await? {
        let found = match &command {
            FingerprintCommand::Compute(_) => {
                let made = store.compute(&path, algorithm).await;
                made.map(|made| {
                    out.text(format!("{made}  {}", shown(&path)));
                    (
                        0,
                        json!({ "path": path, "form": store.form(&path), "fingerprint": made }),
                    )
                })
            }
            FingerprintCommand::Write(_) => {
                let written = store.write(&path, algorithm).await;
                written.map(|look| {
                    if let Some(made) = &look.fingerprint_stored {
                        out.text(format!("{made}  {}", shown(&path)));
                    }
                    (0, json!(look))
                })
            }
            _ => {
                let look = store.look(&path).await;
                look.map(|look| {
                    tell(&look, out);
                    (code_of(look.status), json!(look))
                })
            }
        };
        let (one, value) = found.unwrap_or_else(|e| {
            let said = shown(&e.to_string());
            note(&format!("error: {said}"));
            (ERROR, json!({ "path": path, "error": said }))
        });
        files.push(value);
        code = worse(code, one);
    }
    if files.is_empty() {
        out.text("there are no files below prompts/");
    }
    Ok(out.done(code, &Answer { files, mended }))
}

/// Tampered counts first: that is what must not be overlooked.
fn worse(a: u8, b: u8) -> u8 {
    let rank = |code| match code {
        TAMPERED => 3,
        ERROR => 2,
        MISSING => 1,
        _ => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}

fn code_of(status: Status) -> u8 {
    match status {
        Status::Verified => 0,
        Status::Tampered => TAMPERED,
        Status::Missing => MISSING,
    }
}

fn tell(look: &Look, out: &Out) {
    let (color, word) = match look.status {
        Status::Verified => (AnsiColor::Green, "verified"),
        Status::Tampered => (AnsiColor::Red, "tampered"),
        Status::Missing => (AnsiColor::Yellow, "missing "),
    };
    let why = match (
        &look.problem,
        &look.fingerprint_stored,
        &look.fingerprint_computed,
    ) {
        (Some(why), ..) => format!(": {}", shown(why)),
        (None, Some(stored), Some(computed)) if look.status == Status::Tampered => {
            format!(": its fingerprint is {stored}, that of its content {computed}")
        }
        _ => String::new(),
    };
    let path = shown(&look.path);
    out.text(format!("{}  {path}{why}", out.paint(color, word)));
}

/// The files that are meant, relative to the root; all below `prompts/` if none is named, all below
/// a directory, and a sidecar's own file.
async fn named(
    project: &Project,
    dir: &Path,
    store: &Store,
    paths: &[PathBuf],
) -> Result<Vec<String>, Error> {
    if paths.is_empty() {
        return store.files().await.map_err(failed);
    }
    let root = project.ws.root();
    let here = std::path::absolute(dir)
        .and_then(|dir| dir.canonicalize())
        .map_err(|e| Error::Usage(format!("{}: {e}", dir.display())))?;
    let mut found = Vec::new();
    for path in paths {
        let mut whole = here.clone();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    whole.pop();
                }
                Component::CurDir => {}
                part => whole.push(part),
            }
        }
        let below = whole.strip_prefix(root).ok().and_then(Path::to_str);
        match below.filter(|below| !below.is_empty()) {
            // Not through a link: what it leads to has a name of its own.
            Some(below) if std::fs::symlink_metadata(&whole).is_ok_and(|m| m.is_dir()) => {
                found.extend(store.files_in(below).await.map_err(failed)?);
            }
            Some(below) => found.push(below.strip_suffix(SIDECAR).unwrap_or(below).to_owned()),
            None => {
                return Err(Error::Usage(format!(
                    "{} isn't a file below {}",
                    path.display(),
                    root.display()
                )));
            }
        }
    }
    // Whoever names a file and its sidecar means it once.
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    Ok(found)
}

fn failed(e: PromptError) -> Error {
    match e {
        PromptError::Guard(e) => Error::Guard(e),
        e => Error::Usage(e.to_string()),
    }
}
