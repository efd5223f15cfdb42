//! The records on disk and their hashes.

use std::collections::BTreeMap;

use ralph_workspace::{Workspace, is_temporary, sha256_hex_of};

use crate::error::Error;
use crate::names::Places;
use crate::rawlog;

/// SHA-256 of a file below the root, read piece by piece; `None` if it isn't there.
///
/// # Errors
/// It is no file, or can't be read.
pub fn hash(ws: &Workspace, path: &str) -> Result<Option<String>, Error> {
    let file = match ws.dir().open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(path, e)),
    };
    let is_file = file.metadata().map_err(|e| Error::io(path, e))?.is_file();
    if !is_file {
        let e = std::io::Error::other("it isn't a file any more");
        return Err(Error::io(path, e));
    }
    let hash = sha256_hex_of(file).map_err(|e| Error::io(path, e))?;
    Ok(Some(hash))
}

/// Removes what deaths in mid-write left in an attempt's directories. Only while nothing writes there.
///
/// # Errors
/// A directory can't be read, or the disk refuses.
fn sweep(ws: &Workspace, places: &Places) -> Result<(), Error> {
    let replay = format!("{}/replay", places.context);
    for dir in [&places.receipts, &places.context, &replay] {
        for name in ws.list(dir)?.iter().filter(|name| is_temporary(name)) {
            ws.remove_file(&format!("{dir}/{name}"))?;
        }
    }
    Ok(())
}

/// Adds what is kept of an attempt beside its receipts: context, tapes, and these logs.
/// What a death left half written goes.
///
/// # Errors
/// A file can't be read.
pub fn kept(
    ws: &Workspace,
    places: &Places,
    logs: &[String],
    into: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    sweep(ws, places)?;
    let below = |dir: &str| -> Result<Vec<String>, Error> {
        let names = ws.list(dir)?;
        Ok(names.iter().map(|name| format!("{dir}/{name}")).collect())
    };
    let mut paths = below(&places.context)?;
    paths.retain(|path| !path.ends_with("/replay") && !path.ends_with("/task-file.refused"));
    paths.extend(below(&format!("{}/replay", places.context))?);
    paths.extend(
        logs.iter()
            .flat_map(|log| [log.clone(), rawlog::older(log)]),
    );
    for path in paths {
        if let Some(hash) = hash(ws, &path)? {
            into.insert(places.short(&path), hash);
        }
    }
    Ok(())
}
