//! The audit by pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use super::chain::{FILE, LINE_MAX};
use super::kinds::TERMINAL;
use crate::auth::Scope;

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

/// Lines, oldest first, and after which one to go on.
///
/// # Errors
/// The disk refuses.
pub fn page(dir: &Path, asked: &Asked) -> std::io::Result<(Vec<Value>, Option<u64>)> {
    let mut reader = BufReader::new(File::open(dir.join(FILE))?);
    let (mut found, mut line, mut last) = (Vec::new(), Vec::new(), asked.after);
    loop {
        line.clear();
        (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line)?;
        // The last one may just be written.
        let Ok(value) = serde_json::from_slice::<Value>(&line) else {
            return Ok((found, None));
        };
        let seq = value["seq"].as_u64().unwrap_or(0);
        let text = |key: &str| value[key].as_str().unwrap_or_default();
        if seq <= asked.after
            || !asked.scope.has(text("workspace"))
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
