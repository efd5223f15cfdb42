//! A file and its sidecar are changed as one.
//!
//! Both next contents are written beside their files and brought onto the disk; then an
//! intent below `.ralph/prompt-edits/` says what is about to be done, whole; then the two are
//! renamed into place, the directory is synced, and the intent goes. A death before the intent
//! leaves the old pair, one after it leaves the intent, from which the change is finished: it had
//! been decided, and its audit event is on disk. Where somebody has changed one of the files since,
//! it is given up instead. Whoever changes holds the lock alone, whoever reads shares it.

use ralph_workspace::{Folder, Held, Kind, Workspace, is_temporary, sha256_hex};
use serde::{Deserialize, Serialize};

use crate::error::PromptError;
use crate::paths::{DEPTH_MAX, PROMPTS};
use crate::store::{FILE_MAX, Told};
use crate::stored::{SIDECAR, SIDECAR_MAX};

/// Where intents and the lock are.
pub const EDITS: &str = ".ralph/prompt-edits";
pub(crate) const LOCK: &str = "lock";
/// Nothing of it is git's.
const IGNORE: &str = ".gitignore";
const SCHEMA: &str = "ralph.prompt-edit.v1";
const INTENT_MAX: u64 = 8 * FILE_MAX;

/// A file and its sidecar, as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pair {
    /// The file's content.
    pub content: Option<Vec<u8>>,
    /// The sidecar's.
    pub sidecar: Option<Vec<u8>>,
}

/// What was done about an edit that was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mended {
    /// Relative to the root.
    pub path: String,
    /// Was the edit finished? If not, it was given up.
    pub finished: bool,
    /// In a sentence.
    pub what: String,
}

/// Where a change stands; a test may end the process there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Staged,
    Intended,
    Content,
    Sidecar,
    Synced,
    Done,
}

#[derive(Serialize, Deserialize)]
struct Intent {
    #[serde(rename = "_schema")]
    schema: String,
    path: String,
    /// What is to be there; neither, where both are to go.
    content: Option<String>,
    sidecar: Option<String>,
    /// Hashes of what was there.
    content_before: Option<String>,
    sidecar_before: Option<String>,
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

fn intent_name(path: &str) -> String {
    format!("{}.json", &sha256_hex(path)[..32])
}

fn intent_path(path: &str) -> String {
    format!("{EDITS}/{}", intent_name(path))
}

fn alone(ws: &Workspace) -> Result<Option<Held>, PromptError> {
    let edits = Folder::make(ws, EDITS)?;
    let held = edits.lock(LOCK, true)?;
    if edits.read(IGNORE, 16).ok().flatten().is_none() {
        edits.stage(IGNORE, b"*\n")?.place()?;
    }
    Ok(held)
}

/// Both, and whether an edit was cut off here.
pub(crate) fn read(ws: &Workspace, path: &str) -> Result<(Pair, bool), PromptError> {
    let edits = Folder::open(ws, EDITS)?;
    let _held = match &edits {
        Some(edits) => edits.lock(LOCK, false)?,
        None => None,
    };
    let cut_off = match &edits {
        Some(edits) => edits.read(&intent_name(path), INTENT_MAX)?.is_some(),
        None => false,
    };
    Ok((read_held(ws, path)?, cut_off))
}

fn read_held(ws: &Workspace, path: &str) -> Result<Pair, PromptError> {
    let (dir, name) = split(path);
    let Some(folder) = Folder::open(ws, dir)? else {
        return Ok(Pair::default());
    };
    Ok(Pair {
        content: folder.read(name, FILE_MAX)?,
        sidecar: folder.read(&format!("{name}{SIDECAR}"), SIDECAR_MAX)?,
    })
}

/// Writes one of the two, if they still are as they were. `false`: they aren't.
pub(crate) fn write_one(
    ws: &Workspace,
    path: &str,
    before: &Pair,
    target: &str,
    bytes: &[u8],
) -> Result<bool, PromptError> {
    let _held = alone(ws)?;
    if ws.exists(&intent_path(path)) || read_held(ws, path)? != *before {
        return Ok(false);
    }
    let (dir, name) = split(target);
    let folder = Folder::make(ws, dir)?;
    folder.stage(name, bytes)?.place()?;
    folder.sync()?;
    Ok(true)
}

/// Puts `after` in the place of both (nothing: removes them), if they still are as they were
/// and no edit was cut off meanwhile. `false`: look again. `audit` is called once nothing but
/// the change itself is left to do.
pub(crate) fn change(
    ws: &Workspace,
    path: &str,
    before: &Pair,
    after: Option<(&str, &str)>,
    audit: &mut dyn FnMut() -> Result<(), PromptError>,
    at: &mut dyn FnMut(Step),
) -> Result<bool, PromptError> {
    let _held = alone(ws)?;
    let intent_path = intent_path(path);
    if ws.exists(&intent_path) || read_held(ws, path)? != *before {
        return Ok(false);
    }
    let (dir, name) = split(path);
    let beside = format!("{name}{SIDECAR}");
    let mut made = Made::below(ws, dir)?;
    let folder = Folder::make(ws, dir)?;
    let staged = match after {
        Some((content, sidecar)) => Some((
            folder.stage(name, content.as_bytes())?,
            folder.stage(&beside, sidecar.as_bytes())?,
        )),
        None => None,
    };
    at(Step::Staged);
    audit()?;
    let hash = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(sha256_hex);
    let intent = Intent {
        schema: SCHEMA.to_owned(),
        path: path.to_owned(),
        content: after.map(|(content, _)| content.to_owned()),
        sidecar: after.map(|(_, sidecar)| sidecar.to_owned()),
        content_before: hash(&before.content),
        sidecar_before: hash(&before.sidecar),
    };
    let intent = serde_json::to_vec(&intent).map_err(|e| PromptError::Busy(e.to_string()))?;
    ws.write(&intent_path, &intent)?;
    let new = std::mem::take(&mut made.0);
    at(Step::Intended);
    let cut_off = |e: &dyn std::fmt::Display| PromptError::CutOff {
        path: path.to_owned(),
        why: e.to_string(),
    };
    let (content, sidecar) = match staged {
        Some((content, sidecar)) => (Some(content), Some(sidecar)),
        None => (None, None),
    };
    let first = content.map_or_else(|| folder.remove(name), |staged| staged.place());
    if let Err(e) = first {
        // Nothing has changed yet, and nothing is to change any more.
        return Err(match ws.remove_file(&intent_path) {
            Ok(()) => {
                made.0 = new;
                e.into()
            }
            Err(_) => cut_off(&e),
        });
    }
    at(Step::Content);
    sidecar
        .map_or_else(|| folder.remove(&beside), |staged| staged.place())
        .map_err(|e| cut_off(&e))?;
    at(Step::Sidecar);
    folder.sync().map_err(|e| cut_off(&e))?;
    at(Step::Synced);
    // If it stays, the next one who looks sees that there is nothing left to do.
    let _ = ws.remove_file(&intent_path);
    at(Step::Done);
    Ok(true)
}

/// Finishes or gives up the edit of one file, if one was cut off.
pub(crate) fn mend(
    ws: &Workspace,
    path: &str,
    told: Option<&Told>,
) -> Result<Option<Mended>, PromptError> {
    let _held = alone(ws)?;
    finish(ws, &intent_name(path), told)
}

/// All of them, and what was only being written below `prompts/`.
pub(crate) fn repair(ws: &Workspace, told: Option<&Told>) -> Result<Vec<Mended>, PromptError> {
    let mut mended = Vec::new();
    let Some(edits) = Folder::open(ws, EDITS)? else {
        return Ok(mended);
    };
    let _held = alone(ws)?;
    for (name, kind) in edits.entries()? {
        if kind == Kind::File && name.ends_with(".json") {
            mended.extend(finish(ws, &name, told)?);
        } else if kind == Kind::File && is_temporary(&name) {
            mended.push(swept(&edits, &name)?);
        }
    }
    sweep(ws, PROMPTS, &mut mended, 0)?;
    Ok(mended)
}

/// With the lock held alone nobody is writing: these are of the dead.
fn sweep(
    ws: &Workspace,
    dir: &str,
    mended: &mut Vec<Mended>,
    depth: usize,
) -> Result<(), PromptError> {
    let Some(folder) = Folder::open(ws, dir)? else {
        return Ok(());
    };
    for (name, kind) in folder.entries()? {
        let path = format!("{dir}/{name}");
        match kind {
            Kind::File if is_temporary(&name) => mended.push(swept(&folder, &name)?),
            Kind::Folder if depth < DEPTH_MAX && !name.starts_with('.') => {
                sweep(ws, &path, mended, depth + 1)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn swept(folder: &Folder, name: &str) -> Result<Mended, PromptError> {
    folder.remove(name)?;
    Ok(Mended {
        path: folder.path_of(name),
        finished: false,
        what: "was only being written, and is removed".into(),
    })
}

fn finish(ws: &Workspace, name: &str, told: Option<&Told>) -> Result<Option<Mended>, PromptError> {
    let file = format!("{EDITS}/{name}");
    let Some(bytes) = ws.read(&file, INTENT_MAX)? else {
        return Ok(None);
    };
    let mended = |path: &str, finished, what: &str| Mended {
        path: path.to_owned(),
        finished,
        what: what.to_owned(),
    };
    let intent = serde_json::from_slice::<Intent>(&bytes)
        .ok()
        .filter(|i| i.schema == SCHEMA && intent_name(&i.path) == name && in_prompts(&i.path));
    let Some(intent) = intent else {
        ws.remove_file(&file)?;
        let what = "isn't as ralph wrote it, and is removed";
        return Ok(Some(mended(&file, false, what)));
    };
    let now = read_held(ws, &intent.path)?;
    let is = |now: &Option<Vec<u8>>, before: &Option<String>, after: &Option<String>| {
        now.as_deref() == after.as_ref().map(String::as_bytes)
            || now.as_ref().map(sha256_hex) == *before
    };
    let untouched = is(&now.content, &intent.content_before, &intent.content)
        && is(&now.sidecar, &intent.sidecar_before, &intent.sidecar);
    if untouched {
        let (dir, name) = split(&intent.path);
        let folder = Folder::make(ws, dir)?;
        for (name, bytes) in [
            (name.to_owned(), &intent.content),
            (format!("{name}{SIDECAR}"), &intent.sidecar),
        ] {
            match bytes {
                Some(bytes) => folder.stage(&name, bytes.as_bytes())?.place()?,
                None => folder.remove(&name)?,
            }
        }
        folder.sync()?;
    }
    let what = match untouched {
        true => "an edit was cut off, and is finished now",
        false => {
            "an edit was cut off, and somebody has changed the file since; the edit is given up"
        }
    };
    let mended = mended(&intent.path, untouched, what);
    // While it can be done again: a death in between leaves nothing untold.
    if let Some(told) = told {
        told(&mended);
    }
    ws.remove_file(&file)?;
    Ok(Some(mended))
}

/// Directories that an edit is the first to need. Unless it comes to something, they go again.
struct Made<'a>(Vec<(&'a Workspace, String)>);

impl<'a> Made<'a> {
    /// Those on the way to this one that aren't there yet, the outermost first.
    fn below(ws: &'a Workspace, dir: &str) -> Result<Made<'a>, PromptError> {
        let ends = dir.match_indices('/').map(|(at, _)| at).chain([dir.len()]);
        let mut missing = Vec::new();
        for way in ends.filter_map(|end| dir.get(..end)) {
            if !missing.is_empty() || Folder::open(ws, way)?.is_none() {
                missing.push((ws, way.to_owned()));
            }
        }
        Ok(Made(missing))
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for (ws, way) in self.0.iter().rev() {
            let (dir, name) = split(way);
            // Where somebody else has put something into it meanwhile, it stays.
            if let Ok(Some(folder)) = Folder::open(ws, dir) {
                let _ = folder.remove_empty(name);
            }
        }
    }
}

fn in_prompts(path: &str) -> bool {
    path.strip_prefix(PROMPTS)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
#[path = "pair_tests.rs"]
mod tests;
