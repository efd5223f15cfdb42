//! The audit by pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use axum::http::StatusCode;
use serde_json::Value;

use super::CUT_OFF;
use super::chain::{FILE, LINE_MAX, read_line};
use super::kinds::{DELETED, EDITED, TERMINAL};
use crate::auth::Scope;
use crate::problem::Problem;

const PATH: &[u8] = b"\"prompt_path\"";

/// Which lines are wanted.
pub struct Asked {
    /// Those after this one.
    pub after: u64,
    /// So many.
    pub limit: usize,
    /// Of these workspaces.
    pub scope: Scope,
    /// Of this type.
    pub kind: Option<String>,
    /// Written at this time or later, RFC 3339 in UTC.
    pub since: Option<String>,
    /// Written before this time, RFC 3339 in UTC.
    pub until: Option<String>,
}

/// Lines, oldest first, and after which one to go on. Those before are passed over unread, so that
/// whoever knows of a damaged one can go on behind it.
///
/// # Errors
/// The disk refuses, or one of them is damaged.
pub fn page(dir: &Path, asked: &Asked) -> Result<(Vec<Value>, Option<u64>), Problem> {
    let refused = |e| Problem::internal(format!("the audit can't be read: {e}"));
    let mut reader = BufReader::new(File::open(dir.join(FILE)).map_err(refused)?);
    let (mut found, mut line, mut last) = (Vec::new(), Vec::new(), asked.after);
    for seq in 1.. {
        line.clear();
        let read = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line);
        // The last one may just be written.
        if line.pop() != Some(b'\n') && (read.map_err(refused)? as u64) < LINE_MAX {
            break;
        }
        if seq <= asked.after {
            continue;
        }
        let value = match read_line(&line) {
            Ok(read) if read.seq == seq => read.value,
            Ok(_) => return Err(damaged(seq, "it is another line's")),
            Err(why) => return Err(damaged(seq, why)),
        };
        let text = |key: &str| value[key].as_str().unwrap_or_default();
        if !asked.scope.has(text("workspace"))
            || asked.kind.as_ref().is_some_and(|k| k != text("type"))
            || asked
                .since
                .as_deref()
                .is_some_and(|since| text("at") < since)
            || asked
                .until
                .as_deref()
                .is_some_and(|until| text("at") >= until)
        {
            continue;
        }
        if found.len() == asked.limit {
            return Ok((found, Some(last)));
        }
        last = seq;
        found.push(value);
    }
    Ok((found, None))
}

fn damaged(seq: u64, why: &str) -> Problem {
    let detail = format!(
        "line {seq} of the audit is damaged: {why}. `ralph audit verify` says more; `cursor={seq}` goes on behind it"
    );
    tracing::error!("{detail}");
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    Problem::new(status, "audit-damaged", detail).with("line", seq)
}

/// The intent of the newest edit of a prompt, if its outcome isn't known.
///
/// # Errors
/// The disk refuses.
pub(super) fn open_edit(dir: &Path, workspace: &str, path: &str) -> std::io::Result<Option<Value>> {
    let mut reader = BufReader::new(File::open(dir.join(FILE))?);
    let (mut open, mut line) = (None::<Value>, Vec::new());
    loop {
        line.clear();
        if (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(open);
        }
        // Few lines are of edits, and it is a long file.
        if !line.windows(PATH.len()).any(|part| part == PATH) {
            continue;
        }
        let Ok(value) = serde_json::from_slice::<Value>(&line) else {
            continue;
        };
        let edit = value["type"] == EDITED || value["type"] == DELETED;
        if !edit || value["workspace"] != workspace || value["prompt_path"] != path {
            continue;
        }
        if value["stage"] == "intent" {
            open = Some(value);
        } else if open.as_ref().is_some_and(|open| open["seq"] == value["of"]) {
            let more =
                value["ok"] == false && value["error"] == format!("urn:ralph:problem:{CUT_OFF}");
            open = open.filter(|_| more);
        }
    }
}

/// The lines that tell the end of one of these runs.
///
/// # Errors
/// The disk refuses.
pub fn ends(dir: &Path, of: &BTreeSet<String>) -> std::io::Result<BTreeMap<String, Value>> {
    let mut reader = BufReader::new(File::open(dir.join(FILE))?);
    let (mut found, mut line) = (BTreeMap::new(), Vec::new());
    let wanted = TERMINAL.as_bytes();
    loop {
        line.clear();
        if (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(found);
        }
        // Few lines are, and it is a long file.
        if !line.windows(wanted.len()).any(|part| part == wanted) {
            continue;
        }
        if let Ok(value) = serde_json::from_slice::<Value>(&line)
            && value["type"] == TERMINAL
            && let Some(run) = value["run_id"].as_str().filter(|run| of.contains(*run))
        {
            found.insert(run.to_owned(), value);
        }
    }
}
